//! A model that goes round in circles comes to an end, whatever its calls come to (RUN-10).

use super::script_testing::Script;

/// How a run ended, its turns, and how often somebody was asked and something ran.
struct Circle {
    end: String,
    turns: usize,
    asked: usize,
    ran: usize,
}

/// Calls of one tool with `cycle` different arguments in turn, each with the same outcome every time.
fn circle(tool: &str, outcome: &str, cycle: usize) -> Circle {
    let mut script = Script::new();
    script.run.limits.max_turns = 10_000;
    script.messages = 20_000;
    script.play("start hi; sources");
    let (mut asked, mut ran) = (0, 0);
    for turn in 1.. {
        assert!(turn <= 8 * cycle + 2, "{tool} that {outcome} in a circle of {cycle} does not end");
        let (id, argument) = (format!("c{turn}"), turn % cycle);
        let argument = if outcome == "broken" { "broken".to_owned() } else { argument.to_string() };
        script.trace.clear();
        script.play(&format!("calls {tool}:{id}={argument}"));
        if script.trace[0].contains("prepare") {
            script.play(&if outcome == "unready" { format!("unready {id}") } else { format!("ready {id}") });
        }
        if script.trace.last().unwrap().contains("authorize") {
            asked += 1;
            script.play(&if outcome == "deny" { format!("deny {id}") } else { format!("allow {id}") });
        }
        if script.trace.last().unwrap().contains("execute") {
            ran += 1;
            script.play(&format!("{outcome} {id} the same"));
        }
        let last = script.trace.last().unwrap();
        if let Some((_, end)) = last.split_once("finish ") {
            return Circle { end: end.to_owned(), turns: turn, asked, ran };
        }
        script.play("sources");
    }
    unreachable!()
}

/// FND-20, RUN-10: a call of any tool, with any outcome, made again and again, alone or in a circle of up to twelve, ends the run:
/// each runs at most four times and is asked for at most six times.
#[test]
fn equal_calls_come_to_an_end() {
    let outcomes = ["done", "fails", "stopped", "deny", "unready"];
    let mut all: Vec<(&str, &str)> = Vec::new();
    for tool in ["look", "write", "order", "child"] {
        all.extend(outcomes.map(|outcome| (tool, outcome)));
        all.push((tool, "broken"));
    }
    all.push(("no_such_tool", "done"));
    for (tool, outcome) in all {
        for cycle in if outcome == "broken" { 1..=1 } else { 1..=12 } {
            let Circle { end, turns, asked, ran } = circle(tool, outcome, cycle);
            let what = format!("{tool} that {outcome} in a circle of {cycle}: {turns} turns, asked {asked}, ran {ran}");
            assert_eq!(end, "failed/tool_loop", "{what}");
            // The first round of changes is progress.
            let rounds = if (tool, outcome) == ("write", "done") && cycle > 1 { 8 } else { 7 };
            assert!(turns > 6 * cycle && turns <= rounds * cycle, "{what}");
            let most = if outcome == "deny" { 6 } else { rounds - 3 };
            assert!(asked <= most * cycle && ran <= (rounds - 3) * cycle, "{what}");
        }
    }
}

/// FND-20: a call that cannot be used and stands twice in one reply counts once: the model has not seen what came of it.
#[test]
fn a_reply_counts_once() {
    let mut script = Script::new();
    script.play("start hi; sources");
    let calls: Vec<_> = (0..20).map(|n| format!("lok:c{n}")).collect();
    script.play(&format!("calls {}", calls.join(" ")));
    assert!(script.trace.last().unwrap().ends_with("gather"), "{:?}", script.trace);
    assert!(!script.trace.last().unwrap().contains("This is call"), "{:?}", script.trace);
}

/// FND-20: who is denied again and again is told so, and a call that is allowed at last begins anew.
#[test]
fn denials_are_reminded_of() {
    let mut script = Script::new();
    script.play("start hi; sources");
    for n in 1..=6 {
        script.trace.clear();
        script.play(&format!("calls write:c{n}; ready c{n}; deny c{n}"));
        let reminded = script.trace.last().unwrap().contains("[This call was denied");
        assert_eq!(reminded, n >= 3, "{:?}", script.trace);
        script.play("sources");
    }
    script.play("calls write:c7");
    assert!(script.trace.last().unwrap().ends_with("finish failed/tool_loop"), "{:?}", script.trace);
}
