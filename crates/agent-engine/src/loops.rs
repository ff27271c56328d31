//! Notices that a model goes round in circles (RUN-10).

use std::collections::{HashSet, VecDeque};

use agent_protocol::Object;

use crate::digest;

/// How many different calls of a run are remembered, the latest ones.
const WINDOW: usize = 12;
/// From this equal call on, a reminder is added to the result.
const REMIND: usize = 3;
/// From this one on, the call is answered with an error and not run.
const REFUSE: usize = 5;
/// This one ends the run.
const FAIL: usize = 7;
/// Changes of a run that are remembered; beyond that every one counts as new.
const CHANGES: usize = 20_000;

/// The latest different calls, how often each was made in a row with the same outcome, and what that was.
#[derive(Debug, Clone, Default)]
pub struct LoopWindow {
    /// The one made last is the last.
    seen: VecDeque<Seen>,
    /// Calls that have changed something.
    changes: HashSet<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    call: u64,
    given: Given,
    times: usize,
}

/// What a call came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Given {
    /// A result, good or bad, by its digest.
    Result(u64),
    /// A denial, whatever the reason.
    Denied,
}

/// What to do with a call, by what came before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopVerdict {
    /// Nothing to see.
    Go,
    /// Answer it with an error instead of running it: it was made this often, with the same outcome.
    Refuse(usize),
    /// End the run.
    Fail(usize),
}

impl LoopWindow {
    /// Stands for a tool and its arguments; the order of keys does not matter.
    #[must_use]
    pub fn call_key(tool: &str, arguments: &Object) -> u64 {
        digest::of_call(tool, arguments)
    }

    /// Judges a call before it runs, by the calls equal to it whose outcome did not change. One that was denied is asked for each
    /// time, since a denial is for one call only; the end comes all the same.
    #[must_use]
    pub fn judge(&self, call: u64) -> LoopVerdict {
        let Some(seen) = self.seen.iter().find(|seen| seen.call == call) else { return LoopVerdict::Go };
        match seen.times + 1 {
            nth if nth >= FAIL => LoopVerdict::Fail(nth),
            nth if nth >= REFUSE && seen.given != Given::Denied => LoopVerdict::Refuse(nth),
            _ => LoopVerdict::Go,
        }
    }

    /// Remembers what a call came to. Says which repetition it is, if it is worth a reminder. What changes something for the first
    /// time makes all earlier calls worth another try.
    pub fn came_to(&mut self, call: u64, given: Given, changed_something: bool) -> Option<usize> {
        if changed_something && (self.changes.len() >= CHANGES || self.changes.insert(call)) {
            self.seen.clear();
        }
        let before = self.take(call).filter(|seen| seen.given == given);
        let times = before.map_or(1, |seen| seen.times + 1);
        self.push(Seen { call, given, times });
        (times >= REMIND).then_some(times)
    }

    /// Remembers a call that was refused: it counts as one more of the same.
    pub fn refused(&mut self, call: u64) {
        if let Some(seen) = self.take(call) {
            self.push(Seen { times: seen.times + 1, ..seen });
        }
    }

    fn take(&mut self, call: u64) -> Option<Seen> {
        let at = self.seen.iter().position(|seen| seen.call == call)?;
        self.seen.remove(at)
    }

    fn push(&mut self, seen: Seen) {
        if self.seen.len() == WINDOW {
            self.seen.pop_front();
        }
        self.seen.push_back(seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn object(value: Value) -> Object {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn key_order_does_not_matter() {
        let key = |value| LoopWindow::call_key("t", &object(value));
        assert_eq!(key(json!({"a": 1, "b": {"c": 2, "d": 3}})), key(json!({"b": {"d": 3, "c": 2}, "a": 1})));
        assert_ne!(key(json!({"a": 1})), key(json!({"a": "1"})));
        assert_ne!(key(json!({"a": [1, 2]})), key(json!({"a": [2, 1]})));
    }

    const SAME: Given = Given::Result(1);

    /// What becomes of a call that is made again and again with this outcome.
    fn fates(window: &mut LoopWindow, given: Given, times: usize) -> Vec<&'static str> {
        let fate = |_| match window.judge(9) {
            LoopVerdict::Go => window.came_to(9, given, false).map_or("ran", |_| "reminded"),
            LoopVerdict::Refuse(_) => {
                window.refused(9);
                "refused"
            }
            LoopVerdict::Fail(_) => "failed",
        };
        (0..times).map(fate).collect()
    }

    /// RUN-10: third a reminder, fifth refused, seventh the end.
    #[test]
    fn third_fifth_seventh() {
        let told = fates(&mut LoopWindow::default(), SAME, 7);
        assert_eq!(told, ["ran", "ran", "reminded", "reminded", "refused", "refused", "failed"]);
    }

    /// FND-20: a call that is denied is asked for each time, and ends the run like any other.
    #[test]
    fn denied_calls_are_asked_for_each_time() {
        let told = fates(&mut LoopWindow::default(), Given::Denied, 7);
        assert_eq!(told, ["ran", "ran", "reminded", "reminded", "reminded", "reminded", "failed"]);
    }

    /// RUN-10: polling whose result changes is no loop.
    #[test]
    fn polling_is_no_loop() {
        let mut window = LoopWindow::default();
        for result in 0..40 {
            assert_eq!(window.judge(9), LoopVerdict::Go);
            assert_eq!(window.came_to(9, Given::Result(result), false), None);
        }
        assert_eq!(fates(&mut window, Given::Denied, 3), ["ran", "ran", "reminded"]);
        assert_eq!(fates(&mut window, SAME, 3), ["ran", "ran", "reminded"]);
    }

    /// RUN-10: a successful write with new arguments starts afresh; the same write again does not, whatever came between.
    #[test]
    fn progress_empties_the_window() {
        let mut window = LoopWindow::default();
        fates(&mut window, SAME, 4);
        assert!(matches!(window.judge(9), LoopVerdict::Refuse(_)));
        window.came_to(5, SAME, true);
        assert_eq!(window.judge(9), LoopVerdict::Go);
        for _ in 0..4 {
            window.came_to(5, SAME, true);
        }
        assert!(matches!(window.judge(5), LoopVerdict::Refuse(_)));
    }

    /// FND-20: two changes that undo each other are no progress.
    #[test]
    fn changes_to_and_fro_are_noticed() {
        let mut window = LoopWindow::default();
        for _ in 0..5 {
            window.came_to(5, SAME, true);
            window.came_to(6, SAME, true);
        }
        assert!(matches!(window.judge(5), LoopVerdict::Refuse(_)));
        assert!(matches!(window.judge(6), LoopVerdict::Refuse(_)));
    }

    /// RUN-10: only the last twelve different calls count; a circle of as many is noticed.
    #[test]
    fn old_calls_are_forgotten() {
        let mut window = LoopWindow::default();
        fates(&mut window, SAME, 4);
        for other in 100..112 {
            window.came_to(other, SAME, false);
        }
        assert_eq!(window.judge(9), LoopVerdict::Go);
        for _ in 0..3 {
            for other in 100..112 {
                window.came_to(other, SAME, false);
            }
        }
        assert!((100..112).all(|other| matches!(window.judge(other), LoopVerdict::Refuse(5))));
    }
}
