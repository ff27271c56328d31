//! Each tool call is answered directly after by exactly its results.

use std::collections::HashSet;

use super::findings::Findings;
use super::turn::{CallRef, ResultRef, Turn, message};

pub(super) fn check(turns: &[Turn<'_>], findings: &mut Findings) {
    let mut open: Vec<(usize, &CallRef<'_>)> = Vec::new();
    let mut ids = HashSet::new();
    for (i, turn) in turns.iter().enumerate() {
        if let Turn::Result(result) = turn {
            take_answered(i, result, &mut open, findings);
            continue;
        }
        report_open(&mut open, findings);
        if let Turn::Assistant(calls) = turn {
            for call in calls {
                if call.id.is_some_and(|id| !ids.insert(id)) {
                    findings.add(message(i), format!("the id of call {call} was used before"));
                }
                open.push((i, call));
            }
        }
    }
    report_open(&mut open, findings);
}

fn take_answered(i: usize, result: &ResultRef<'_>, open: &mut Vec<(usize, &CallRef<'_>)>, findings: &mut Findings) {
    let Some(place) = open.iter().position(|(_, call)| answers(result, call)) else {
        findings.add(message(i), format!("the result for {result} answers no open call directly before it"));
        return;
    };
    let (_, call) = open.remove(place);
    if result.name.is_some_and(|name| name != call.name) {
        findings.add(message(i), format!("the result for {result} belongs to call {call}"));
    }
}

/// Ids decide; where neither side has one, names do.
fn answers(result: &ResultRef<'_>, call: &CallRef<'_>) -> bool {
    match (result.id, call.id) {
        (Some(answered), Some(asked)) => answered == asked,
        (None, None) => result.name == Some(call.name),
        _ => false,
    }
}

fn report_open(open: &mut Vec<(usize, &CallRef<'_>)>, findings: &mut Findings) {
    for (i, call) in open.drain(..) {
        findings.add(message(i), format!("call {call} has no result directly after it"));
    }
}

impl std::fmt::Display for CallRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.name, self.id.unwrap_or("no id"))
    }
}

impl std::fmt::Display for ResultRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.name.unwrap_or("a call"), self.id.unwrap_or("no id"))
    }
}
