//! Decisions as text: a script of inputs in, the effects of each step out.
//!
//! Script lines: `start WORDS`, `sources`, `text WORDS`, `cut WORDS` (text cut at the output limit), `empty`, `filtered`,
//! `only-thinks` (up to the output limit), `counted N WORDS` (text, with N tokens of prompt), `calls NAME:ID[=ARG] …` (`+` in
//! front: with text), `cut-calls …`, `filtered-calls …`, `ready ID`, `unready ID`, `allow ID`, `deny ID`,
//! `done ID WORDS`, `fails ID WORDS`, `stopped ID`, `breaks`, `dies`, `overflow`, `aborts WORDS`, `slide`, `cancel`,
//! `expired`, `disk-full`.

use super::testing::sources;
use super::*;
use crate::Calibration;
use agent_protocol::{ErrorCode, ModelFault, ModelMessage, ModelRequest, Reply, StopKind, StopReason, ToolCall};
use std::sync::Arc;

struct Script {
    run: Run,
    trace: Vec<String>,
    last_request: Option<ModelRequest>,
    messages: u64,
}

fn error(text: &str) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::ProviderError, text)
}

impl Script {
    fn new() -> Self {
        Self::on(Path::new(), "run_t")
    }

    fn on(path: Path, run: &str) -> Self {
        let limits = Limits { max_turns: 30, ..Limits::default() };
        let run = Run::new(limits, RunId::parse(run).unwrap(), path, Calibration::default());
        Self { run, trace: Vec::new(), last_request: None, messages: 2000 }
    }

    fn play(&mut self, script: &str) -> &mut Self {
        for line in script.split(['\n', ';']).map(str::trim).filter(|line| !line.is_empty()) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let input = self.input(word, rest);
            let effects = self.run.step(input);
            let shown: Vec<_> = effects.into_iter().filter_map(|effect| self.show(effect)).collect();
            self.trace.push(format!("{line} -> {}", shown.join(", ")));
        }
        self
    }

    fn input(&self, word: &str, rest: &str) -> Input {
        let request = self.run.counts.request;
        let id = |text: &str| ToolCallId::parse(text.split(' ').next().unwrap()).unwrap();
        let tail = rest.split_once(' ').map_or("", |(_, tail)| tail);
        let outcome = |kind| {
            Box::new(Outcome {
                kind,
                content: vec![ContentBlock::text(tail)],
                error: (kind != ResultKind::Ok).then(|| error(tail)),
                metadata: Object::new(),
                summary: None,
                digest: None,
                after: Vec::new(),
            })
        };
        let failed = |fault, partial: Option<&str>| Input::ModelFailed {
            request,
            fault,
            error: error("broken"),
            partial: partial.map(|text| reply(vec![ContentBlock::text(text)], StopKind::Error)),
        };
        let done = |content, stop| Input::ModelDone { request, reply: reply(content, stop) };
        match word {
            "start" => Input::Start { content: vec![ContentBlock::text(rest)] },
            "sources" => Input::Sources(Box::new(sources(self.messages))),
            "text" => done(vec![ContentBlock::text(rest)], StopKind::EndTurn),
            "cut" => done(vec![ContentBlock::text(rest)], StopKind::MaxTokens),
            "empty" => done(vec![ContentBlock::text(" \n")], StopKind::EndTurn),
            "filtered" => done(vec![], StopKind::ContentFilter),
            "calls" => done(calls(rest), StopKind::ToolUse),
            "cut-calls" => done(calls(rest), StopKind::MaxTokens),
            "filtered-calls" => done(calls(rest), StopKind::ContentFilter),
            "counted" => {
                let mut reply = reply(vec![ContentBlock::text(tail)], StopKind::EndTurn);
                reply.usage.input_tokens = rest.split(' ').next().and_then(|count| count.parse().ok());
                Input::ModelDone { request, reply }
            }
            "only-thinks" => {
                let mut reply = reply(vec![], StopKind::MaxTokens);
                reply.metadata.insert(ModelMessage::REASONING.into(), "hm".into());
                Input::ModelDone { request, reply }
            }
            "ready" => Input::Prepared { call: id(rest), result: Ok("a line".into()) },
            "unready" => Input::Prepared { call: id(rest), result: Err(error("bad arguments")) },
            "allow" => Input::Authorized { call: id(rest), verdict: Verdict::Allow },
            "deny" => Input::Authorized { call: id(rest), verdict: Verdict::Deny { error: error("no") } },
            "done" => Input::CallDone { call: id(rest), outcome: outcome(ResultKind::Ok) },
            "fails" => Input::CallDone { call: id(rest), outcome: outcome(ResultKind::Failed) },
            "stopped" => Input::CallDone { call: id(rest), outcome: outcome(ResultKind::Aborted) },
            "breaks" => failed(ModelFault::Retryable, Some("half")),
            "dies" => failed(ModelFault::Fatal, None),
            "overflow" => failed(ModelFault::Overflow, None),
            "aborts" => failed(ModelFault::Aborted, Some(rest)),
            "slide" => Input::ReliefDone { job: self.run.counts.job, result: Ok(Relief::Slide) },
            "cancel" => Input::Cancel,
            "expired" => Input::DrainExpired,
            "disk-full" => Input::StoreFailed {
                commit: self.run.last.commit,
                error: ErrorPayload::new(ErrorCode::StorageError, "disk full"),
            },
            other => panic!("no such line: {other}"),
        }
    }

    fn show(&mut self, effect: Effect) -> Option<String> {
        Some(match effect {
            Effect::Commit { writes, .. } => {
                let shown: Vec<_> = writes.iter().filter_map(show_write).collect();
                if shown.is_empty() {
                    return None;
                }
                format!("[{}]", shown.join(" "))
            }
            Effect::Gather => "gather".into(),
            Effect::CallModel { body, .. } => {
                let shown = format!("ask({})", body.messages.len());
                self.last_request = Some(*body);
                shown
            }
            Effect::Prepare { call } => format!("prepare {}", call.tool_call_id),
            Effect::Authorize(call) => format!("authorize {call}"),
            Effect::Execute(call) => format!("execute {call}"),
            Effect::Relieve { plan, .. } => format!("relieve {} turns", plan.turns),
            Effect::Abort(target) => match target {
                Target::Model(_) => "abort model".into(),
                Target::Call(call) => format!("abort {call}"),
                Target::Job(_) => "abort job".into(),
            },
            Effect::ArmDrain => "arm".into(),
            Effect::Finish { end, error } => {
                let kind = error.and_then(|e| e.details.get("kind").and_then(|k| k.as_str().map(str::to_owned)));
                format!("finish {}{}", end.as_str(), kind.map(|kind| format!("/{kind}")).unwrap_or_default())
            }
        })
    }

    /// The last request's messages, one line each.
    fn request(&self) -> Vec<String> {
        self.last_request.as_ref().unwrap().messages.iter().map(|message| show_message(message)).collect()
    }
}

fn show_write(write: &Write) -> Option<String> {
    match write {
        Write::Node(node) => {
            let mark = if node.metadata.contains_key("partial") { "partial " } else { "" };
            Some(format!("{mark}{}", show_message(&ModelMessage::new(node.role, node.content.clone()))))
        }
        // The rest of the timeline has its own tests.
        Write::Event(event) => match event.event_type {
            EventType::ToolStarted => Some("tool_started".into()),
            EventType::RunCancelled => Some("run_cancelled".into()),
            EventType::CancelTimeout => Some("cancel_timeout".into()),
            _ => None,
        },
        Write::Activate(_) | Write::Run(_) => None,
    }
}

fn show_message(message: &ModelMessage) -> String {
    let words = |text: &str| text.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
    let blocks: Vec<_> = message
        .content
        .iter()
        .map(|block| match block {
            ContentBlock::ToolCall(call) => format!("call {}", call.tool_call_id),
            ContentBlock::ToolResult(result) => {
                let mark = if result.is_error { "error" } else { "ok" };
                let text: Vec<_> =
                    result.content.iter().filter_map(ContentBlock::to_model_text).map(|t| words(&t)).collect();
                format!("{mark} {}: {}", result.tool_call_id, text.join(" + "))
            }
            other => words(&other.to_model_text().unwrap()),
        })
        .collect();
    format!("{}<{}>", message.role.as_str(), blocks.join(" | "))
}

fn reply(content: Vec<ContentBlock>, stop: StopKind) -> Reply {
    Reply { content, usage: Usage::default(), stop: StopReason::new(stop), metadata: Object::new() }
}

fn calls(text: &str) -> Vec<ContentBlock> {
    let mut content = Vec::new();
    for word in text.split(' ') {
        if word == "+" {
            content.push(ContentBlock::text("let me see"));
            continue;
        }
        let (name, id) = word.split_once(':').unwrap();
        let (id, argument) = id.split_once('=').unwrap_or((id, "0"));
        let mut metadata = Object::new();
        if argument == "broken" {
            metadata.insert(ToolCall::ARGUMENTS_ERROR.into(), "line 1 column 3".into());
        }
        content.push(ContentBlock::ToolCall(ToolCall {
            tool_call_id: ToolCallId::parse(id).unwrap(),
            name: name.into(),
            arguments: Object::from_iter([("n".into(), argument.into())]),
            metadata,
        }));
    }
    content
}

#[track_caller]
fn check(script: &str, expected: &[&str]) {
    let mut played = Script::new();
    played.play("start hi; sources").trace.clear();
    played.play(script);
    assert_eq!(played.trace, expected, "\n{:#?}", played.trace);
}

/// RUN-5: an answer without calls ends the run; calls are run and answered first.
#[test]
fn answer_and_calls() {
    let mut script = Script::new();
    script.play("start hi; sources; text hello");
    assert_eq!(
        script.trace,
        ["start hi -> [user<hi>], gather", "sources -> ask(1)", "text hello -> [assistant<hello>], finish completed",]
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
            "breaks -> [partial assistant<half>], finish failed",
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

/// RUN-20: a call whose result was never stored gets one that says so, before the next message.
#[test]
fn interrupted_calls_are_answered() {
    let mut first = Script::new();
    first.play("start one; sources; calls write:a; ready a; allow a");
    let (path, _) = first.run.into_path();
    let mut second = Script::on(path, "run_u");
    second.play("start two; sources");
    assert_eq!(
        second.request(),
        ["user<one>", "assistant<call a>", "tool<error a: interrupted: the program ended>", "user<two>"]
    );
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
    script.run.usage.total_tokens = Some(100);
    script.play("calls look:a; ready a; allow a; done a x; sources");
    assert_eq!(script.trace.last().unwrap(), "sources -> finish failed/budget");
}

/// CTX-6, CFG-8: a message that cannot fit is said at once, and no request is sent.
#[test]
fn a_message_that_is_too_long() {
    let mut script = Script::new();
    script.messages = 50;
    script.play(&format!("start {}; sources", "word ".repeat(100)));
    assert_eq!(script.trace.last().unwrap(), "sources -> finish prompt_too_long/prompt_too_long");
    assert!(script.last_request.is_none());
}

/// PRV-15, CTX-4, CTX-5, CTX-9: a slide frees down to 60 % at once, keeps the user's message and the latest exchange, and
/// leaves one visible marker.
#[test]
fn the_window_slides() {
    let mut script = Script::new();
    script.messages = 600;
    script.play("start keep me; sources");
    let mut slides = 0;
    for n in 0..12 {
        script.play(&format!("calls look:s{n}={n}; ready s{n}; allow s{n}; done s{n} {}", "word ".repeat(60)));
        script.trace.clear();
        script.play("sources");
        if script.trace[0].contains("relieve") {
            slides += 1;
            script.play("slide");
            let tokens: u64 = script.run.path.nodes().iter().map(|node| node.tokens).sum();
            assert!(tokens > 600);
        }
    }
    assert!((2..=4).contains(&slides), "{slides} slides: each must free for several turns");
    let request = script.request();
    assert_eq!(request[0], "user<keep me>");
    assert!(request[1].contains("earlier turns left"), "{request:?}");
    assert_eq!(request.iter().filter(|line| line.contains("turns left")).count(), 1);
    assert!(request.last().unwrap().contains("ok s11"));
}

/// CTX-7: where the provider counts twice what we estimate, the window slides in the provider's tokens, and the run goes on.
#[test]
fn a_calibrated_window_slides() {
    let mut script = Script::new();
    script.messages = 600;
    for _ in 0..40 {
        script.run.calibration.observe(1000, Some(2000));
    }
    script.play("start keep me; sources");
    for n in 0..8 {
        script.play(&format!("calls look:s{n}={n}; ready s{n}; allow s{n}; done s{n} {}; sources", "word ".repeat(40)));
        if script.trace.last().unwrap().contains("relieve") {
            script.play("slide");
        }
        assert!(script.trace.last().unwrap().contains("ask"), "turn {n}: {:?}", script.trace.last());
    }
}

/// PRV-15: within an epoch every request begins with the very messages of the one before.
#[test]
fn requests_grow_at_their_end_only() {
    let mut script = Script::new();
    script.messages = 100_000;
    script.play("start hi; sources");
    let mut before: Vec<Arc<ModelMessage>> = Vec::new();
    for n in 0..25 {
        let now = script.last_request.as_ref().unwrap().messages.clone();
        assert!(before.iter().zip(&now).all(|(a, b)| Arc::ptr_eq(a, b)) && before.len() < now.len());
        before = now;
        script.play(&format!("calls look:p{n}={n} look:q{n}=x{n}; ready q{n}; allow q{n}; done q{n} y; ready p{n}; allow p{n}; done p{n} x; sources"));
    }
}

/// A result that would fill the window is shortened for the model, the same way each turn; the stored one is whole.
#[test]
fn big_results_are_shortened() {
    let mut script = Script::new();
    script.messages = 1000;
    script
        .play(&format!("start hi; sources; calls look:a; ready a; allow a; done a {}; sources", "word ".repeat(5000)));
    let first = script.last_request.clone().unwrap();
    let ContentBlock::ToolResult(result) = &first.messages[2].content[0] else { panic!() };
    let text = result.content[0].as_text().unwrap();
    assert!(text.contains("left out here") && text.len() < 2200, "{}", text.len());
    script.play("calls look:b=2; ready b; allow b; done b x; sources");
    assert!(Arc::ptr_eq(&first.messages[2], &script.last_request.as_ref().unwrap().messages[2]));
}

/// A script with a conversation of about 450 estimated tokens, in a window of 1000, before its next reply.
fn long_conversation() -> Script {
    let mut script = Script::new();
    script.messages = 500;
    script.play("start hi; sources");
    for n in 0..4 {
        script.play(&format!("calls look:o{n}={n}; ready o{n}; allow o{n}; done o{n} {}; sources", "word ".repeat(60)));
    }
    script.trace.clear();
    script
}

/// PRV-12, CTX-7: a count that falls although the prompt grew teaches the estimate nothing; alone it makes no answer wrong.
#[test]
fn a_count_that_falls_teaches_nothing() {
    let mut script = long_conversation();
    for _ in 0..40 {
        script.run.calibration.observe(1000, Some(1500));
    }
    let ratio = script.run.calibration.ratio();
    script.play("counted 70 an answer");
    assert_eq!(script.trace, ["counted 70 an answer -> [assistant<an answer>], finish completed"]);
    assert!((script.run.calibration.ratio() - ratio).abs() < f64::EPSILON);
}

/// PRV-12: a count of half a window is that of a prompt the server cut: what it answered is kept and not believed, room is made
/// and the whole is asked again; where there is no room to make, the answer stands.
#[test]
fn half_a_window_is_a_cut_prompt() {
    let mut script = long_conversation();
    // The provider's tokens are bigger than ours: the prompt is longer than the window.
    for _ in 0..40 {
        script.run.calibration.observe(1000, Some(2600));
    }
    let ratio = script.run.calibration.ratio();
    script.play("counted 500 half an answer");
    assert!(
        script.trace[0].starts_with("counted 500 half an answer -> [partial assistant<half an answer>], relieve"),
        "{:?}",
        script.trace
    );
    assert!((script.run.calibration.ratio() - ratio).abs() < f64::EPSILON);
    script.play("slide");
    assert!(script.trace[1].contains("ask"), "{:?}", script.trace);

    let mut script = Script::new();
    script.messages = 500;
    script.play(&format!("start {}; sources", "word ".repeat(380)));
    for _ in 0..40 {
        script.run.calibration.observe(1000, Some(1500));
    }
    script.play("counted 400 an answer");
    assert_eq!(script.trace.last().unwrap(), "counted 400 an answer -> [assistant<an answer>], finish completed");
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
    assert!(error.message.contains("output limit of 77 tokens on thinking"), "{}", error.message);
}

/// When the provider says that the prompt is too long, room is made below what it refused; where nothing is left to drop,
/// the run ends instead of looping.
#[test]
fn the_provider_says_too_long() {
    let mut script = Script::new();
    script.play("start hi; sources");
    for n in 0..4 {
        script.play(&format!("calls look:o{n}={n}; ready o{n}; allow o{n}; done o{n} {}; sources", "word ".repeat(40)));
    }
    script.trace.clear();
    script.play("overflow; slide; overflow; slide; overflow");
    assert!(script.trace[0].contains("relieve"), "{:?}", script.trace);
    assert!(script.trace[1].contains("ask"), "{:?}", script.trace);
    assert!(script.trace.last().unwrap().contains("finish prompt_too_long"), "{:?}", script.trace);
}
