//! Older turns become a summary, seen through scripts.

use agent_protocol::EventType;

use super::script_testing::Script;
use super::*;
use crate::AfterNode;

const GOOD: &str = "summary build it";

/// In a window of so many tokens, compacted as a server with one slot is: at the end and in need.
fn script(messages: u64, background: bool) -> Script {
    let mut script = Script::new();
    script.messages = messages;
    script.compacting = Compacting {
        background,
        at_end: !background,
        recovery: Recovery::Summary,
        request: "summarise in {max_words} words".into(),
        ..Compacting::default()
    };
    script
}

/// One exchange of about `words` tokens, up to the next request.
fn exchange(script: &mut Script, n: usize, words: usize) {
    script.trace.clear();
    script.play(&format!(
        "calls look:s{n}={n}; ready s{n}; allow s{n}; done s{n} {n} {}; sources",
        "word ".repeat(words)
    ));
}

/// Exchanges until something has been asked for a summary; how many.
fn until_compaction(script: &mut Script) -> usize {
    (0..50)
        .find(|n| {
            exchange(script, *n, 60);
            script.trace.last().unwrap().contains("compact ")
        })
        .expect("a summary is asked for some day")
}

/// CMP-5, CMP-1, PRV-15: what does not fit is summarised in the foreground: the conversation's own beginning and one more
/// message are sent, the summary goes first in the next request, and an epoch begins.
#[test]
fn a_request_that_does_not_fit() {
    let mut script = script(1000, false);
    script.play("start always be kind; sources");
    until_compaction(&mut script);
    assert!(script.trace.last().unwrap().contains("compact recovery("), "{:?}", script.trace);
    let (before, asked) = (script.last_request.clone().unwrap(), script.last_compaction.clone().unwrap());
    let covered = &asked.messages[..asked.messages.len() - 1];
    assert!(covered.iter().zip(&before.messages).all(|(a, b)| std::sync::Arc::ptr_eq(a, b)));
    assert!(
        std::sync::Arc::ptr_eq(&asked.system, &before.system) && std::sync::Arc::ptr_eq(&asked.tools, &before.tools)
    );
    script.trace.clear();
    script.play(&format!("{GOOD}; sources"));
    assert!(script.trace[0].ends_with("gather anew"), "{:?}", script.trace);
    let request = script.request();
    assert!(request[0].starts_with("user<<compaction> "), "{request:?}");
    assert_eq!(request[1], "user<always be kind>");
    let said = script.last_request.as_ref().unwrap().messages[0].content[0].as_text().unwrap().to_owned();
    for part in ["turns of this conversation, in summary", "## Goal\nbuild it", "own words", "- always be kind"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let built = script.events.iter().rfind(|event| event.event_type == EventType::ContextBuilt).unwrap();
    assert_eq!(built.payload["epoch_part"]["epoch_because"], "compaction");
    assert!(built.payload["turns_summarised"].as_u64().unwrap() > 3);
    assert_eq!(
        built.payload["compaction_node_id"],
        script.run.path().compaction().map(|c| script.run.path().nodes()[c.at].node_id.to_string()).unwrap()
    );
}

/// CMP-5, CMP-6: ahead of need and beside the turns, one at a time; the result joins at the next turn's border.
#[test]
fn beside_the_turns() {
    let mut script = script(1000, true);
    script.play("start hi; sources");
    let n = until_compaction(&mut script);
    assert!(script.trace.last().unwrap().contains("ask("), "the run goes on meanwhile: {:?}", script.trace);
    exchange(&mut script, n + 1, 5);
    assert!(!script.trace.iter().any(|line| line.contains("compact ")), "{:?}", script.trace);
    script.trace.clear();
    script.play(GOOD);
    assert_eq!(script.trace, [format!("{GOOD} -> ")]);
    exchange(&mut script, n + 2, 5);
    assert!(
        script.trace.iter().any(|line| line.contains("<compaction>") || line.ends_with("gather anew")),
        "{:?}",
        script.trace
    );
    assert!(script.request()[0].starts_with("user<<compaction>"));
}

/// CMP-5: an overflow while a summary is under way waits for that one; one that is ready is used at once.
#[test]
fn an_overflow_adopts_the_job() {
    for ready_first in [false, true] {
        let mut script = script(1000, true);
        script.play("start hi; sources");
        until_compaction(&mut script);
        script.trace.clear();
        script.play(&if ready_first {
            format!("{GOOD}; overflow; sources")
        } else {
            format!("overflow; {GOOD}; sources")
        });
        assert!(!script.trace.iter().any(|line| line.contains("compact ")), "{:?}", script.trace);
        assert!(script.trace.last().unwrap().contains("ask("), "{:?}", script.trace);
    }
}

/// CMP-5: with one slot it is asked for as the run ends, and the next run takes it over.
#[test]
fn at_the_end_of_a_run() {
    let mut first = script(1000, false);
    first.play("start hi; sources");
    for n in 0..8 {
        exchange(&mut first, n, 60);
    }
    first.trace.clear();
    first.play("text done");
    assert!(
        first.trace[0].contains("compact at_end(") && first.trace[0].ends_with("finish completed"),
        "{:?}",
        first.trace
    );
    let plan = first.run.open_compaction().map(|(_, plan)| plan.clone()).unwrap();
    let (path, _) = first.run.into_path();

    let mut next = script(1000, false);
    next.run = Run::new(Limits::default(), RunId::parse("run_u").unwrap(), path, Calibration::default());
    next.run.adopt(CompactMode::AtEnd, plan);
    next.play("start go on; sources");
    next.trace.clear();
    next.play(&format!("{GOOD}; calls look:x=1; ready x; allow x; done x y; sources"));
    assert!(next.request()[0].starts_with("user<<compaction>"), "{:?}", next.request());
    assert_eq!(next.run.open_compaction(), None);
}

/// CMPT-06, CMP-7: what is no summary is refused with its reason, nothing is written, and the run goes on without.
#[test]
fn what_is_no_summary_is_not_written() {
    for (line, kind) in [
        ("summarised ", "empty"),
        ("summarised I cannot help with that.", "no_sections"),
        ("summarised {\"goal\": 1}", "no_sections"),
        ("no-summary", "error"),
    ] {
        let mut script = script(1000, false);
        script.play("start never lie; sources");
        until_compaction(&mut script);
        script.trace.clear();
        script.play(line).play("sources");
        let trace = script.trace.join(" ");
        assert!(
            trace.contains(&format!("no summary: {kind}")) && trace.contains("slid ") && trace.contains("ask("),
            "{trace}"
        );
        assert!(script.run.path().compaction().is_none());
        assert!(script.request().iter().any(|line| line.contains("turns left")), "{:?}", script.request());
    }
}

/// CMP-8: without recovery the run ends; without compaction at all turns are left out.
#[test]
fn recovery_may_be_off() {
    let mut off = script(1000, false);
    off.compacting = Compacting { recovery: Recovery::End, ..off.compacting };
    off.play("start hi; sources");
    let mut n = 0;
    while !off.trace.last().unwrap().contains("finish") {
        exchange(&mut off, n, 60);
        n += 1;
    }
    assert!(off.trace.last().unwrap().contains("finish prompt_too_long"), "{:?}", off.trace);
}

/// CMP-6: a summary of a path that is not the beginning of the active one any more is recorded as stale and not written.
#[test]
fn a_stale_summary() {
    let mut first = script(1000, false);
    first.play("start hi; sources");
    for n in 0..8 {
        exchange(&mut first, n, 60);
    }
    first.play("text done");
    let plan = first.run.open_compaction().map(|(_, plan)| plan.clone()).unwrap();
    let mut next = script(1000, false);
    next.run.adopt(CompactMode::AtEnd, plan);
    next.play(&format!("start elsewhere; sources; {GOOD}"));
    next.trace.clear();
    next.play("calls look:x=1; ready x; allow x; done x y");
    assert!(next.trace.last().unwrap().contains("no summary: stale"), "{:?}", next.trace);
    assert!(next.run.path().compaction().is_none());
}

/// CMPT-02: a model that reads the same again after each summary gets nowhere; the run ends and says why.
#[test]
fn compacting_in_circles() {
    let mut script = script(1000, false);
    script.run = Run::new(
        Limits { max_turns: 500, ..Limits::default() },
        RunId::parse("run_c").unwrap(),
        Path::new(),
        Calibration::default(),
    );
    script.play("start hi; sources");
    for n in 0..200 {
        let file = n % 9;
        script.play(&format!(
            "calls look:c{n}={file}; ready c{n}; allow c{n}; done c{n} {file} {}; sources",
            "word ".repeat(60)
        ));
        if script.trace.last().unwrap().contains("compact ") {
            script.play(&format!("{GOOD}; sources"));
        }
        if script.trace.iter().any(|line| line.contains("finish")) {
            let trace = script.trace.iter().find(|line| line.contains("finish")).unwrap();
            assert!(trace.contains("finish failed/compaction_loop"), "{trace}");
            return;
        }
    }
    panic!("it goes on for ever");
}

/// CMPT-02: where the answer comes before the circle is closed, the run has completed, once, and the last summary is written.
#[test]
fn an_answer_ends_a_circle() {
    let mut script = script(1000, true);
    let limits = Limits { max_turns: 500, ..Limits::default() };
    script.run = Run::new(limits, RunId::parse("run_c").unwrap(), Path::new(), Calibration::default());
    script.play("start hi; sources");
    let mut begun = 0;
    for n in 0..200 {
        let (file, words) = (n % 9, "word ".repeat(60));
        script.trace.clear();
        script.play(&format!("calls look:c{n}={file}; ready c{n}; allow c{n}; done c{n} {file} {words}; sources"));
        if script.trace.last().unwrap().contains("compact ") {
            begun += 1;
            script.play(GOOD);
        }
        if begun == 4 {
            script.trace.clear();
            script.play("text done");
            let trace = &script.trace[0];
            assert!(trace.ends_with("finish completed") && trace.matches("finish").count() == 1, "{trace}");
            assert!(trace.contains("earlier turns of"), "{trace}");
            return;
        }
    }
    panic!("no summary was asked for");
}

/// CMPT-12: a refused request is not made again bigger: neither the error nor the failed attempt enters the conversation, and what
/// is asked for leaves room for the answer.
#[test]
fn refusals_do_not_grow_the_request() {
    let mut script = script(1000, false);
    script.play("start hi; sources");
    for n in 0..6 {
        exchange(&mut script, n, 60);
    }
    let mut last = u64::MAX;
    for _ in 0..5 {
        script.play("overflow");
        if script.trace.last().unwrap().contains("compact ") {
            script.play("no-summary");
        }
        if script.trace.last().unwrap().contains("gather") {
            script.play("sources");
        }
        if script.trace.last().unwrap().contains("finish") {
            break;
        }
        let request = script.last_request.as_ref().unwrap();
        let tokens = request.messages.iter().map(|message| TokenCounter.message(&message.content)).sum::<u64>();
        assert!(tokens < last && tokens + request.max_output_tokens <= 2000, "{tokens}");
        assert!(!script.request().iter().any(|line| line.contains("broken")));
        last = tokens;
    }
    assert!(script.trace.last().unwrap().contains("finish prompt_too_long"), "{:?}", script.trace);
}

/// CMPT-01: where the fixed part leaves hardly any room and the first message fills it, nothing is compacted for nothing.
#[test]
fn no_compaction_without_headroom() {
    for background in [false, true] {
        let mut script = script(400, background);
        script.play(&format!("start {}; sources; text an answer", "word ".repeat(280)));
        assert!(!script.trace.iter().any(|line| line.contains("compact ")), "{:?}", script.trace);
        assert!(script.trace.last().unwrap().contains("finish completed"));
    }
}

/// CTX-6: where what is always kept is too much together, what tools brought is shortened further before the run ends: results, and
/// what was loaded.
#[test]
fn what_tools_brought_is_squeezed() {
    let mut script = script(1000, false);
    script.compacting = Compacting { recovery: Recovery::Slide, ..script.compacting };
    let said = "word ".repeat(330);
    script.play(&format!("start {said}; sources"));
    script.play("calls look:a=1 peek:b=2; ready a; allow a; ready b; allow b");
    let skill = |n: usize| AfterNode {
        node_type: NodeType::SkillContext,
        content: vec![ContentBlock::text("how to do it ".repeat(40))],
        metadata: crate::ContextMark { items: vec![(format!("skill {n}"), "h".into())], call: None }.metadata(),
    };
    let outcome = Outcome {
        kind: ResultKind::Ok,
        content: vec![ContentBlock::text("word ".repeat(300))],
        error: None,
        metadata: Object::new(),
        summary: None,
        after: (0..4).map(skill).collect(),
    };
    for id in ["a", "b"] {
        let call = ToolCallId::parse(id).unwrap();
        script.run.step(Input::CallDone { call, outcome: Box::new(outcome.clone()) });
    }
    for _ in 0..5 {
        script.play("sources");
        if script.trace.last().unwrap().contains("ask(") {
            break;
        }
    }
    assert!(script.trace.last().unwrap().contains("ask("), "{:?}", script.trace);
    let request = script.last_request.as_ref().unwrap();
    let tokens: u64 = request.messages.iter().map(|message| TokenCounter.message(&message.content)).sum();
    assert!(tokens <= 1000, "{tokens}");
    assert!(script.request()[0].starts_with("user<word word"), "the user's message is whole");
    let built = script.events.iter().rfind(|event| event.event_type == EventType::ContextBuilt).unwrap();
    assert!(built.payload["squeeze"].as_u64().unwrap() > 0);
}
