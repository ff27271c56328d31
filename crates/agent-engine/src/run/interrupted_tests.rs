//! After a crash: calls whose result was never stored (RUN-20).

use std::collections::HashSet;

use super::script_testing::Script;
use super::world_testing::{Dice, Figures, Rates, World};
use super::*;
use crate::notes;
use agent_protocol::{CutCall, CutCause, CutShort, EventPayload, EventType};

/// The results that the next run gives after a script that breaks off, with these calls written down as begun.
fn answers(script: &str, started: Option<&[&str]>) -> Vec<String> {
    let mut first = Script::new();
    first.play("start one; sources").play(script);
    let (path, _) = first.run.into_path();
    let mut second = Script::on(path, "run_u");
    if let Some(started) = started {
        second.run = second.run.with_started_calls(ids(started));
    }
    second.play("start two; sources");
    let request = second.request();
    assert_eq!(request.last().unwrap(), "user<two>");
    request.into_iter().filter(|line| line.starts_with("tool<")).collect()
}

fn ids(texts: &[&str]) -> HashSet<ToolCallId> {
    texts.iter().map(|id| ToolCallId::parse(id).unwrap()).collect()
}

/// RUN-20: a call whose result was never stored gets one that says so, before the next message; nothing more is said where it is
/// not known which calls began.
#[test]
fn interrupted_calls_are_answered() {
    let script = "calls write:a write:b; ready a; allow a";
    let may_have_run = |id| format!("tool<error {id}: interrupted: the run was>");
    assert_eq!(answers(script, None), [may_have_run("a"), may_have_run("b")]);
}

/// RUN-20: a call that was never written down as begun did not run, and is told so.
#[test]
fn calls_that_never_began_did_not_run() {
    let script = "calls write:a write:b=2; ready a; allow a";
    assert_eq!(
        answers(script, Some(&["a"])),
        ["tool<error a: interrupted: the run was>", "tool<error b: not run: the run>"]
    );
    let nothing_began = answers("calls write:a look:b; ready a", Some(&["of_another_branch"]));
    assert_eq!(nothing_began, ["tool<error a: not run: the run>", "tool<error b: not run: the run>"]);
}

/// RUN-20, RUN-10: of equal calls that run as one only the first is written down as begun; the others do not claim more.
#[test]
fn twins_of_a_call_that_began() {
    assert_eq!(
        answers("calls look:a=1 look:b=1 look:c=2; ready a; allow a", Some(&["a"])),
        [
            "tool<error a: interrupted: the run was>",
            "tool<error b: interrupted: the run was>",
            "tool<error c: not run: the run>"
        ]
    );
}

/// RUN-20, RUN-21: a run that follows one that was cut short says so once, in front of its message: what cut it short, and which
/// calls had begun of which nobody knows what they did. Its first event says the same.
#[test]
fn a_run_that_was_cut_short_is_told() {
    let call = |tool: &str, summary: Option<&str>, may_still_run| CutCall {
        tool_name: tool.to_owned(),
        summary: summary.map(str::to_owned),
        may_still_run,
    };
    let long = "word ".repeat(500);
    let many = (0..20).map(|n| call(&format!("tool_{n}"), None, false)).collect();
    for (cause, says) in [
        (CutCause::ProcessEnded, "cut short: the process ended. "),
        (CutCause::StorageFailed, "cut short: the session could not be stored any more. "),
        (CutCause::InternalError, "cut short: the program had an internal error. "),
    ] {
        for (calls, lines) in [
            (vec![], vec![]),
            (vec![call("write", Some("a.txt"), false)], vec!["- write: a.txt"]),
            (
                vec![call("sh", Some("make all"), true), call("write", None, false)],
                vec!["- sh: make all (what it started may still be running)", "- write"],
            ),
            (vec![call("sh", Some(&long), true)], vec![]),
            (Vec::clone(&many), vec!["- tool_0", "- tool_7", "- 12 more"]),
        ] {
            let mut script = Script::new();
            let cut = CutShort { run_id: RunId::parse("run_before").unwrap(), cause, calls };
            script.run = script.run.with_cut_short(Some(cut.clone()));
            script.play("start two; sources; text done; start three; sources");
            let nodes = script.run.path().nodes();
            let said: Vec<_> = nodes.iter().filter_map(|node| node.message.content[0].as_text()).collect();
            assert!(said[0].contains(says) && said[1].contains("two"), "{said:?}");
            assert_eq!(said[0].contains("had begun"), !cut.calls.is_empty(), "{said:?}");
            lines.iter().for_each(|line| assert!(said[0].lines().any(|said| said == *line), "{line}: {said:?}"));
            assert!(said[0].len() < 1_000 && said[1..].iter().all(|text| !text.contains("cut short")), "{said:?}");
            let begun: Vec<_> = script.events.iter().filter(|it| it.event_type == EventType::LoopStarted).collect();
            let wanted = LoopStarted { cut_short: Some(cut), ..LoopStarted::default() };
            assert_eq!(begun[0].payload, wanted.into_object());
        }
    }
}

/// RUN-14: a call of any class is written down as begun before it runs.
#[test]
fn calls_of_every_class_are_written_down() {
    for tool in ["look", "write", "order", "child"] {
        let mut script = Script::new();
        script.play(&format!("start hi; sources; calls {tool}:a; ready a; allow a"));
        assert_eq!(script.trace.last().unwrap(), "allow a -> [tool_started], execute a", "{tool}");
    }
}

/// RUN-20: wherever a process ends, what the next run says of the open calls is true: what is said not to have run did not.
#[test]
fn crashes_anywhere() {
    let (mut figures, mut did_not_run, mut may_have_run) = (Figures::default(), 0, 0);
    for number in 0..3_000 {
        let rates = Rates { crash: 12, ..Rates::CALM };
        let mut world = World::new(Dice::of_world(number), Path::new(), number, rates);
        if world.live(&mut figures) {
            continue;
        }
        let mut path = Path::new();
        world.chain.iter().for_each(|id| path.push(&world.stored[id]));
        let open = path.unanswered();
        let mut next = World::new(world.dice.clone(), path, number + 3_000, Rates::CALM);
        next.run = next.run.with_started_calls(world.begun.clone());
        next.live(&mut figures);
        let results = next.stored.values().flat_map(|node| node.content.iter()).filter_map(|block| match block {
            ContentBlock::ToolResult(result) => Some((&result.tool_call_id, result.content[0].as_text()?)),
            _ => None,
        });
        for (call, text) in results.filter(|(call, _)| open.iter().any(|(id, _)| id == *call)) {
            match text {
                notes::NOT_BEGUN => {
                    did_not_run += 1;
                    assert!(!world.executed.contains(call), "world {number}: {call} ran");
                }
                text => {
                    may_have_run += 1;
                    assert_eq!(text, notes::INTERRUPTED, "world {number}: {call}");
                }
            }
        }
    }
    assert!(did_not_run > 100 && may_have_run > 100, "{did_not_run}, {may_have_run}");
}
