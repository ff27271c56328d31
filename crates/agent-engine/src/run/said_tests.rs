//! What was said and is no answer: in place of a call, beside one, before the answer broke off; and what it cost.

use crate::Price;
use agent_protocol::EventType;

use super::script_testing::{Script, check};
use super::*;

const WRITTEN: &str = "text {\"name\": \"look\", \"arguments\": {\"n\": 1}}";

/// FND-41, RUN-9: a call that is written as text is asked for once more and never run; the second in a row is an error that says
/// so. What the model does right in between counts.
#[test]
fn a_written_call_is_asked_for_once_more() {
    let step = |end: &str| format!("{WRITTEN} -> [assistant<{{\"name\": \"look\", \"arguments\": {{\"n\":>{end}");
    let asked_again = step(" user<Your last reply holds>], gather");
    let failed = step("], finish failed/written_call");
    check(&format!("{WRITTEN}; sources; {WRITTEN}"), &[&asked_again, "sources -> ask(3)", &failed]);
    check(
        &format!("{WRITTEN}; sources; text so"),
        &[&asked_again, "sources -> ask(3)", "text so -> [assistant<so>], finish completed"],
    );
    let mut script = Script::new();
    script.play(&format!(
        "start hi; sources; {WRITTEN}; sources; calls look:a; ready a; allow a; done a x; sources; {WRITTEN}"
    ));
    assert_eq!(script.trace.last().unwrap(), &asked_again);
    assert_eq!(script.run.answer(), None, "no answer is made of it");
    let completed = script.events.iter().rfind(|event| event.event_type == EventType::MessageCompleted).unwrap();
    assert_eq!((completed.payload.get("tool_calls"), &completed.payload["reason"]), (None, &"written_call".into()));
}

/// FND-41: words about calls, and calls of tools that the run does not have, are an answer.
#[test]
fn words_about_calls_are_an_answer() {
    for words in ["look(n=1) is how it is called", "{\"name\": \"loook\", \"arguments\": {}}"] {
        let mut script = Script::new();
        script.play(&format!("start hi; sources; text {words}"));
        assert!(script.trace.last().unwrap().ends_with("finish completed"), "{:?}", script.trace);
    }
}

/// FND-53, RUN-9: where the model says nothing more behind calls that succeeded, what it said beside them is the answer, once it
/// was asked again.
#[test]
fn what_was_said_beside_the_last_calls() {
    let mut script = Script::new();
    script.play("start hi; sources; calls + look:a; ready a; allow a; done a x; sources; empty; sources; empty");
    assert!(script.trace.last().unwrap().ends_with("finish completed"), "{:?}", script.trace);
    assert_eq!(script.run.answer().as_deref(), Some("let me see"));
    for (script_of_calls, why) in [
        ("calls look:a; ready a; allow a; done a x", "nothing was said"),
        ("calls + look:a; ready a; allow a; fails a x", "a call failed"),
        ("calls + write:a; ready a; deny a", "a call was denied"),
        ("calls + look:a look:b=2; ready a; allow a; done a x; unready b", "one of two failed"),
        (
            "calls + look:a; ready a; allow a; done a x; sources; calls look:b=2; ready b; allow b; done b x",
            "not the last",
        ),
    ] {
        let mut script = Script::new();
        script.play(&format!("start hi; sources; {script_of_calls}; sources; empty; sources; empty"));
        assert!(script.trace.last().unwrap().ends_with("finish failed/empty"), "{why}: {:?}", script.trace);
    }
    // What an earlier run said is no answer to this one's question.
    let mut first = Script::new();
    first.play("start one; sources; calls + look:a; ready a; allow a; done a x; cancel");
    let mut second = Script::on(first.run.into_path().0, "run_u");
    second.play("start two; sources; empty; sources; empty");
    assert!(second.trace.last().unwrap().ends_with("finish failed/empty"), "{:?}", second.trace);
}

/// AGT-C01: what a run had said that came to no answer: the parts of one, with what was shown of a reply that broke off, or what was said
/// last, be it beside calls; never what an earlier run said.
#[test]
fn what_was_said_so_far() {
    for (script, said) in [
        ("dies", None),
        ("empty; sources; empty", None),
        ("breaks; sources; dies", Some("half")),
        ("cancel; aborts some words", Some("some words")),
        ("cut one; sources; dies", Some("one")),
        ("cut one; sources; breaks; sources; dies", Some("onehalf")),
        ("calls + look:a; ready a; allow a; done a x; sources; dies", Some("let me see")),
        ("calls + look:a; ready a; allow a; done a x; sources; empty; sources; dies", Some("let me see")),
        ("calls look:a; ready a; allow a; done a x; sources; dies", None),
    ] {
        let mut before = Script::new();
        before.play("start zero; sources; text an earlier answer");
        let mut run = Script::on(before.run.into_path().0, "run_u");
        run.play("start one; sources").play(script);
        assert_eq!(run.run.said_so_far().as_deref(), said, "{script}");
    }
}

/// AGT-5: an answer that is not as the task wants it is sent back once with what is wrong; the next one is the answer, whatever it is,
/// also where calls or a cut come between. What was sent back is no part of it.
#[test]
fn an_answer_off_its_form_is_sent_back_once() {
    for (script, answer, ends, off) in [
        ("text right", Some("right"), "finish completed", 0),
        ("text wrong; sources; text right", Some("right"), "finish completed", 1),
        ("text wrong; sources; text as wrong", Some("as wrong"), "finish completed", 1),
        (
            "text wrong; sources; calls look:a; ready a; allow a; done a x; sources; text right",
            Some("right"),
            "finish completed",
            1,
        ),
        ("cut ri; sources; text ght", Some("right"), "finish completed", 0),
        ("cut wr; sources; text ong; sources; cut ri; sources; text ght", Some("right"), "finish completed", 1),
        ("text wrong; sources; dies", Some("wrong"), "finish failed", 1),
    ] {
        let mut run = Script::new();
        run.run.answer_rule = Some(AnswerRule::new(|text| (text != "right").then(|| "it is not right".to_owned())));
        run.play("start one; sources").play(script);
        assert!(run.trace.last().unwrap().contains(ends), "{script}: {:?}", run.trace);
        assert_eq!(run.run.answer().as_deref(), answer, "{script}");
        let reasons = run.events.iter().filter(|event| event.payload.get("reason") == Some(&"off_schema".into()));
        assert_eq!(reasons.count(), off, "{script}");
        let note = run.trace.iter().filter(|step| step.contains("user<Your answer is not")).count();
        assert_eq!(note, off, "{script}: {:?}", run.trace);
    }
}

/// The notes of the last request to the model that follows on a run.
fn told(script: &str) -> String {
    let mut first = Script::new();
    first.play("start one; sources").play(script);
    let path = first.run.into_path().0;
    let replies = path.nodes().iter().filter(|node| node.message.role == Role::Assistant);
    assert!(
        replies.flat_map(|node| node.message.content.iter()).all(|block| block.as_text().is_none()),
        "it is on the path"
    );
    let mut second = Script::on(path, "run_u");
    second.play("start two; sources");
    let request = second.last_request.unwrap();
    request.messages.iter().flat_map(|message| message.content.iter()).filter_map(ContentBlock::as_text).collect()
}

/// FND-65, RUN-8: the next request quotes what was seen of an answer that broke off, as far as there is room; the broken reply
/// itself stays off the path.
#[test]
fn what_was_seen_is_quoted() {
    let seen = "half an answer that was seen";
    for script in [
        format!("cancel; aborts {seen}"),
        format!("cancel; text {seen}"),
        format!("aborts {seen}"),
        "breaks; sources; breaks; sources; breaks".to_owned(),
        "breaks; sources; dies".to_owned(),
        "breaks; sources; cancel; aborts".to_owned(),
    ] {
        let told = told(&script);
        let quoted = if script.contains(seen) { seen } else { "half" };
        assert!(told.contains(&format!("was cut):\n{quoted}\n</system_note>")), "{script}: {told}");
    }
    for script in ["cancel; expired", "dies", "calls look:a; ready a; allow a; cancel; stopped a x"] {
        assert!(!told(script).contains("was cut)"), "{script}");
    }
    // An answer that came whole after all is not quoted.
    assert!(!told("breaks; sources; calls look:a; ready a; allow a; cancel; stopped a x").contains("half"));
    let long = format!("first {}last", "word ".repeat(20_000));
    let told = told(&format!("cancel; aborts {long}"));
    assert!(told.contains("first word") && told.contains("word last") && told.len() < 2_500, "{}", told.len());
}

/// FND-44: `max_tokens` and `max_cost` are held by estimates where the server counts nothing, or says 0; the error says so.
#[test]
fn limits_hold_without_counts() {
    let price = Price { input: 1e6, cache_read: 0.0, cache_write: 0.0, output: 1e6 };
    for (max_tokens, max_cost) in [(Some(60), None), (None, Some(60.0))] {
        for counted in [None, Some(0)] {
            let mut script = Script::new();
            script.run.limits = Limits { max_tokens, max_cost, price: Some(price), ..Limits::default() };
            script.play("start hi; sources");
            for turn in 1.. {
                assert!(turn < 5, "the limit is not held");
                let mut input = script.input("calls", &format!("look:c{turn}={turn}"));
                if let Input::ModelDone { reply, .. } = &mut input {
                    (reply.usage.input_tokens, reply.usage.output_tokens) = (counted, counted);
                }
                script.run.step(input);
                script.play(&format!("ready c{turn}; allow c{turn}; done c{turn} x"));
                let effects = script.run.step(script.input("sources", ""));
                if let Some(Effect::Finish { error: Some(error), .. }) = effects.last() {
                    assert!(turn > 1 && error.details["kind"] == "budget", "{error:?}");
                    assert!(
                        error.message.contains("about ") && error.message.contains("estimated"),
                        "{}",
                        error.message
                    );
                    break;
                }
            }
            assert_eq!(script.run.usage().input_tokens, counted.map(|_| 0), "the usage shown is the server's own");
        }
    }
}

/// FND-72: an answer that is not asked for again is not told as one that is.
#[test]
fn asking_again_is_told_only_where_it_is_so() {
    let mut script = Script::new();
    script.play("start hi; sources; overflow");
    assert!(script.trace.last().unwrap().contains("finish"), "{:?}", script.trace);
    let failed: Vec<_> = script.events.iter().filter(|event| event.event_type == EventType::ModelFailed).collect();
    assert_eq!(failed.iter().map(|event| event.payload["will_retry"] == true).collect::<Vec<_>>(), [false]);
}

/// FND-72: thoughts that were never closed name the option that takes them for text.
#[test]
fn unclosed_thoughts_name_the_option() {
    let mut script = Script::new();
    script.play("start hi; sources; empty; sources");
    let mut input = script.input("empty", "");
    if let Input::ModelDone { reply, .. } = &mut input {
        reply.metadata.insert(agent_protocol::Reply::UNCLOSED_THINKING.into(), true.into());
    }
    let effects = script.run.step(input);
    let Some(Effect::Finish { error: Some(error), .. }) = effects.last() else { panic!("{effects:?}") };
    assert!(error.message.contains("inline_thinking = false"), "{}", error.message);
}

/// DEC-226: `max_tokens` and `max_cost` are held against a server that says the same small counts of each request.
#[test]
fn limits_hold_with_constant_counts() {
    let price = Price { input: 1e6, cache_read: 0.0, cache_write: 0.0, output: 1e6 };
    for (max_tokens, max_cost) in [(Some(6_000), None), (None, Some(6_000.0))] {
        for (input, output) in [(42, 1), (1, 1), (64, 1), (100, 1), (300, 2)] {
            let mut script = Script::new();
            script.messages = 20_000;
            script.run.limits =
                Limits { max_turns: 100, max_tokens, max_cost, price: Some(price), ..Limits::default() };
            script.play(&format!("start {}; sources", "word ".repeat(400)));
            let mut sent = 0;
            for turn in 1.. {
                assert!(turn < 40, "the limit is not held");
                let super::Phase::Streaming { estimated } = script.run.phase else {
                    panic!("{}", script.run.describe())
                };
                assert!(sent < 7_000, "{input} {output}: the limit is not held");
                sent += estimated;
                let mut done = script.input("calls", &format!("look:c{turn}={turn}"));
                if let Input::ModelDone { reply, .. } = &mut done {
                    (reply.usage.input_tokens, reply.usage.output_tokens) = (Some(input), Some(output));
                }
                script.run.step(done);
                script.play(&format!("ready c{turn}; allow c{turn}; done c{turn} {}", "word ".repeat(150)));
                let effects = script.run.step(script.input("sources", ""));
                if let Some(Effect::Finish { error: Some(error), .. }) = effects.last() {
                    assert_eq!(error.details["kind"], "budget", "{error:?}");
                    assert_eq!(error.details["estimated"], true, "{error:?}");
                    break;
                }
            }
        }
    }
}
