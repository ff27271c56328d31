//! Decisions as text: a script of inputs in ([`super::script_testing`]), the effects of each step out.

use agent_protocol::ErrorCode;

use super::script_testing::{Script, check};
use super::*;

/// RUN-5: an answer without calls ends the run; calls are run and answered first.
#[test]
fn answer_and_calls() {
    let mut script = Script::new();
    script.play("start hi; sources; text hello");
    assert_eq!(
        script.trace,
        [
            "start hi -> [user<hi>], gather anew",
            "sources -> ask(1)",
            "text hello -> [assistant<hello>], finish completed",
        ]
    );
    check(
        "calls + look:a; ready a; allow a; done a found; sources; text so",
        &[
            "calls + look:a -> [assistant<let me see | call a>], prepare a",
            "ready a -> authorize a",
            "allow a -> [tool_started], execute a",
            "done a found -> [tool<ok a: found>], gather",
            "sources -> ask(3)",
            "text so -> [assistant<so>], finish completed",
        ],
    );
}

/// RUN-11, RUN-12: readonly neighbours run together and are stored as they end; writes wait; the model sees its own order.
#[test]
fn readonly_calls_run_together_and_writes_alone() {
    let mut script = Script::new();
    script.play("start hi; sources").trace.clear();
    script.play("calls look:a=1 look:b=2 write:c; ready b; allow b; ready a; allow a; done b B; done a A; ready c; allow c; done c C; sources");
    assert_eq!(
        script.trace,
        [
            "calls look:a=1 look:b=2 write:c -> [assistant<call a | call b | call c>], prepare a, prepare b",
            "ready b -> authorize b",
            "allow b -> [tool_started], execute b",
            "ready a -> authorize a",
            "allow a -> [tool_started], execute a",
            "done b B -> [tool<ok b: B>]",
            "done a A -> [tool<ok a: A>], prepare c",
            "ready c -> authorize c",
            "allow c -> [tool_started], execute c",
            "done c C -> [tool<ok c: C>], gather",
            "sources -> ask(5)",
        ]
    );
    assert_eq!(
        script.request(),
        ["user<hi>", "assistant<call a | call b | call c>", "tool<ok a: A>", "tool<ok b: B>", "tool<ok c: C>"]
    );
}

/// RUN-13: after a failed readonly call all later calls run; after a failed or denied write they are skipped, each with
/// its own error result.
#[test]
fn a_failed_write_stops_the_later_calls() {
    check(
        "calls look:a=1 write:b look:c=2; unready a; ready b; deny b",
        &[
            "calls look:a=1 write:b look:c=2 -> [assistant<call a | call b | call c>], prepare a",
            "unready a -> [tool<error a: bad arguments>], prepare b",
            "ready b -> authorize b",
            "deny b -> [tool<error b: no> tool<error c: skipped: the earlier call>], gather",
        ],
    );
}

/// RUN-22: after a denied readonly call later readonly calls run; later writes are skipped.
#[test]
fn a_denied_read_stops_only_later_writes() {
    check(
        "calls look:a=1 write:b look:c=2; ready a; deny a; ready c; allow c; done c C",
        &[
            "calls look:a=1 write:b look:c=2 -> [assistant<call a | call b | call c>], prepare a",
            "ready a -> authorize a",
            "deny a -> [tool<error a: no> tool<error b: skipped: the earlier call>], prepare c",
            "ready c -> authorize c",
            "allow c -> [tool_started], execute c",
            "done c C -> [tool<ok c: C>], gather",
        ],
    );
}

/// RUN-15, RUN-16, STRM-14, STRM-11: a tool that does not exist and arguments that are no object are answered, not run.
#[test]
fn unusable_calls_are_answered() {
    check(
        "calls lok:a look:b=broken",
        &[
            "calls lok:a look:b=broken -> [assistant<call a | call b> tool<error a: there is no tool> tool<error b: the arguments of look>], gather",
        ],
    );
    let mut script = Script::new();
    script.play("start hi; sources; calls lok:a; sources");
    let result = &script.last_request.as_ref().unwrap().messages[2];
    let ContentBlock::ToolResult(result) = &result.content[0] else { panic!() };
    let error = result.error.as_ref().unwrap();
    assert_eq!(error.code, ErrorCode::ToolNotAvailable);
    assert!(error.message.contains("did you mean look?"), "{}", error.message);
}

/// PRV-5: an id that is taken on the path is replaced; the provider's stays in the metadata.
#[test]
fn taken_ids_are_replaced() {
    check(
        "calls look:a=1 look:a=2; ready a; ready call_t_1",
        &[
            "calls look:a=1 look:a=2 -> [assistant<call a | call call_t_1>], prepare a, prepare call_t_1",
            "ready a -> authorize a",
            "ready call_t_1 -> authorize call_t_1",
        ],
    );
}

/// RUN-10: equal readonly calls of one group run once, and both get the result.
#[test]
fn equal_calls_of_a_group_run_once() {
    check(
        "calls look:a=1 look:b=1; ready a; allow a; done a found",
        &[
            "calls look:a=1 look:b=1 -> [assistant<call a | call b>], prepare a",
            "ready a -> authorize a",
            "allow a -> [tool_started], execute a",
            "done a found -> [tool<ok a: found> tool<ok b: found>], gather",
        ],
    );
}

/// RUN-10: a reminder with the third, no run of the fifth, the end with the seventh.
#[test]
fn loops_are_noticed() {
    let mut script = Script::new();
    script.play("start hi; sources");
    let mut told = Vec::new();
    for n in 1..=7 {
        script.trace.clear();
        script.play(&format!("calls look:l{n}"));
        if script.trace[0].contains("prepare") {
            script.play(&format!("ready l{n}; allow l{n}; done l{n} same"));
        }
        told.push(script.trace.last().unwrap().split(" -> ").nth(1).unwrap().to_owned());
        if !script.trace.last().unwrap().contains("finish") {
            script.play("sources");
        }
    }
    assert_eq!(
        told,
        [
            "[tool<ok l1: same>], gather",
            "[tool<ok l2: same>], gather",
            "[tool<ok l3: same + [This is call 3>], gather",
            "[tool<ok l4: same + [This is call 4>], gather",
            "[assistant<call l5> tool<error l5: not run: this is>], gather",
            "[assistant<call l6> tool<error l6: not run: this is>], gather",
            "[assistant<call l7> tool<error l7: the model went round>], finish failed/tool_loop",
        ]
    );
}

/// RUN-7, STRM-07: no call of a cut reply runs, each is told why, and it does not go on for ever.
#[test]
fn cut_calls_do_not_run() {
    check(
        "cut-calls write:a write:b=2; sources; cut-calls write:c; sources; cut-calls write:d; sources; cut-calls write:e",
        &[
            "cut-calls write:a write:b=2 -> [assistant<call a | call b> tool<error a: not run: the reply> tool<error b: not run: the reply>], gather",
            "sources -> ask(4)",
            "cut-calls write:c -> [assistant<call c> tool<error c: not run: the reply>], gather",
            "sources -> ask(6)",
            "cut-calls write:d -> [assistant<call d> tool<error d: not run: the reply>], gather",
            "sources -> ask(8)",
            "cut-calls write:e -> [assistant<call e> tool<error e: not run: the reply>], finish max_output_tokens_recovery/max_output_tokens_recovery",
        ],
    );
}

/// RUN-7: a cut answer is continued at most three times in a row; the answer is all its parts.
#[test]
fn a_cut_answer_goes_on() {
    let mut script = Script::new();
    script.play("start hi; sources; cut one; sources; text two");
    assert_eq!(script.run.answer.len(), 2);
    assert_eq!(script.request(), ["user<hi>", "assistant<one>", "user<<system_note> Your reply was>"]);
    check(
        "cut 1; sources; cut 2; sources; cut 3; sources; cut 4",
        &[
            "cut 1 -> [assistant<1> user<Your reply was cut>], gather",
            "sources -> ask(3)",
            "cut 2 -> [assistant<2> user<Your reply was cut>], gather",
            "sources -> ask(5)",
            "cut 3 -> [assistant<3> user<Your reply was cut>], gather",
            "sources -> ask(7)",
            "cut 4 -> [assistant<4>], finish max_output_tokens_recovery/max_output_tokens_recovery",
        ],
    );
}

/// RUN-9, STRM-17: an empty answer is asked for once more, then it is an error; a filtered one is said at once.
#[test]
fn empty_answers() {
    check(
        "empty; sources; empty",
        &["empty -> [user<Your last reply was>], gather", "sources -> ask(2)", "empty -> finish failed/empty"],
    );
    check(
        "empty; sources; text fine",
        &[
            "empty -> [user<Your last reply was>], gather",
            "sources -> ask(2)",
            "text fine -> [assistant<fine>], finish completed",
        ],
    );
    check("filtered", &["filtered -> finish failed/filtered"]);
}

/// RUN-23, RUN-8: a broken stream is asked again at most twice; the half is stored, not active, and in no prompt.
#[test]
fn broken_streams_are_asked_again() {
    check(
        "breaks; sources; breaks; sources; breaks",
        &[
            "breaks -> [partial assistant<half>], gather",
            "sources -> ask(1)",
            "breaks -> [partial assistant<half>], gather",
            "sources -> ask(1)",
            "breaks -> [partial assistant<half> user<The previous answer broke>], finish failed",
        ],
    );
    check("dies", &["dies -> finish failed"]);
    let mut script = Script::new();
    script.play("start hi; sources; breaks; sources; text ok");
    assert_eq!(script.run.turns(), 1, "the same turn, asked again");
}

/// RUN-18, RUN-8, RUN-19: cancel while the model answers.
#[test]
fn cancel_while_streaming() {
    check(
        "cancel; cancel; aborts half an answer",
        &[
            "cancel -> abort model, arm",
            "cancel -> ",
            "aborts half an answer -> [partial assistant<half an answer> user<The user stopped the> run_cancelled], finish aborted_streaming",
        ],
    );
}

/// RUN-18, STRM-09: cancel while tools are at work: what runs keeps its output, what waits gets an error result.
#[test]
fn cancel_during_tools() {
    check(
        "calls look:a=1 look:b=2 write:c; ready a; allow a; cancel; ready b; stopped a some output",
        &[
            "calls look:a=1 look:b=2 write:c -> [assistant<call a | call b | call c>], prepare a, prepare b",
            "ready a -> authorize a",
            "allow a -> [tool_started], execute a",
            "cancel -> [tool<error c: cancelled by the user>], abort a, abort b, arm",
            "ready b -> [tool<error b: cancelled by the user>]",
            "stopped a some output -> [tool<error a: some output> user<The user stopped the> run_cancelled], finish aborted_tools",
        ],
    );
}

/// RUN-17: what does not stop in time is given up, and its late result changes nothing (RUN-12).
#[test]
fn calls_that_do_not_stop() {
    check(
        "calls write:a; ready a; allow a; cancel; expired; stopped a late",
        &[
            "calls write:a -> [assistant<call a>], prepare a",
            "ready a -> authorize a",
            "allow a -> [tool_started], execute a",
            "cancel -> abort a, arm",
            "expired -> [cancel_timeout tool<error a: cancelled by the user;> user<The user stopped the> run_cancelled], finish aborted_tools",
            "stopped a late -> ",
        ],
    );
}

/// RUN-19: the next run of a cancelled session sends a valid request that says what happened.
#[test]
fn a_cancelled_session_is_usable() {
    let mut first = Script::new();
    first.play("start one; sources; cancel; aborts half");
    let (path, _) = first.run.into_path();
    let mut second = Script::on(path, "run_u");
    second.play("start two; sources");
    assert_eq!(second.request(), ["user<one>", "user<<system_note> The user stopped>", "user<two>"]);
}

/// RUN-21: when the store is gone, what runs is stopped, nothing begins, and the run fails.
#[test]
fn a_full_disk_ends_the_run() {
    check(
        "calls look:a=1 look:b=2; ready a; allow a; ready b; allow b; disk-full; stopped a x",
        &[
            "calls look:a=1 look:b=2 -> [assistant<call a | call b>], prepare a, prepare b",
            "ready a -> authorize a",
            "allow a -> [tool_started], execute a",
            "ready b -> authorize b",
            "allow b -> [tool_started], execute b",
            "disk-full -> abort a, arm",
            "stopped a x -> finish failed",
        ],
    );
    check("text fine; disk-full", &["text fine -> [assistant<fine>], finish completed", "disk-full -> finish failed"]);
}

/// RUN-5: `max_turns` is the backstop.
#[test]
fn max_turns() {
    let mut script = Script::new();
    script.run.limits.max_turns = 1;
    script.play("start hi; sources; calls look:a; ready a; allow a; done a x; sources");
    assert_eq!(script.trace.last().unwrap(), "sources -> finish max_turns/max_turns");
}

/// DEC-18: a token budget ends the run as cancelled / budget, between turns.
#[test]
fn token_budget() {
    let mut script = Script::new();
    script.run.limits.max_tokens = Some(100);
    script.play("start hi; sources");
    let mut input = script.input("calls", "look:a");
    if let Input::ModelDone { reply, .. } = &mut input {
        reply.usage = Usage { input_tokens: Some(90), output_tokens: Some(10), ..Usage::default() };
    }
    script.run.step(input);
    script.play("ready a; allow a; done a x; sources");
    assert_eq!(script.trace.last().unwrap(), "sources -> finish failed/budget");
}

/// TYP-8: calls of a reply that was withheld do not run, and each is told why.
#[test]
fn filtered_calls_do_not_run() {
    check(
        "filtered-calls look:a write:b",
        &["filtered-calls look:a write:b -> [assistant<call a | call b> tool<error a: not run: the provider's> \
             tool<error b: not run: the provider's>], finish failed/filtered"],
    );
}

/// RUN-9: a model that only thinks, up to its limit, is told apart from one that says nothing.
#[test]
fn thinking_may_use_up_the_limit() {
    let mut script = Script::new();
    script.play("start hi; sources; only-thinks; sources");
    let input = script.input("only-thinks", "");
    let effects = script.run.step(input);
    let Some(Effect::Finish { error: Some(error), .. }) = effects.last() else { panic!("{effects:?}") };
    assert!(error.message.contains("output limit of 77 tokens, while it was still thinking"), "{}", error.message);
}
