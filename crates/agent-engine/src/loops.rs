//! Notices that a model goes round in circles (RUN-10).

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use agent_protocol::Object;
use serde_json::Value;

/// How many of a run's last calls are looked at.
const WINDOW: usize = 12;
/// From this equal call on, a reminder is added to the result.
const REMIND: usize = 3;
/// From this one on, the call is answered with an error and not run.
const REFUSE: usize = 5;
/// This one ends the run.
const FAIL: usize = 7;

/// A ring of the last calls and what they gave.
#[derive(Debug, Clone, Default)]
pub struct LoopWindow {
    seen: VecDeque<Seen>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    call: u64,
    result: u64,
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
        let mut hasher = DefaultHasher::new();
        tool.hash(&mut hasher);
        hash_object(arguments, &mut hasher);
        hasher.finish()
    }

    /// Judges a call before it runs, by the calls equal to it whose outcome did not change.
    #[must_use]
    pub fn judge(&self, call: u64) -> LoopVerdict {
        match self.equal_so_far(call) + 1 {
            nth if nth >= FAIL => LoopVerdict::Fail(nth),
            nth if nth >= REFUSE => LoopVerdict::Refuse(nth),
            _ => LoopVerdict::Go,
        }
    }

    /// Remembers a call that ran. Says which repetition it is, if it is worth a reminder.
    pub fn ran(&mut self, call: u64, result: u64, changed_something: bool) -> Option<usize> {
        let new_arguments = self.seen.iter().all(|seen| seen.call != call);
        if changed_something && new_arguments {
            self.seen.clear();
        }
        let nth = self.seen.iter().filter(|seen| **seen == Seen { call, result }).count() + 1;
        self.push(Seen { call, result });
        (nth >= REMIND).then_some(nth)
    }

    /// Remembers a call that was refused: it counts as one more of the same.
    pub fn refused(&mut self, call: u64) {
        if let Some(last) = self.seen.iter().rev().find(|seen| seen.call == call).copied() {
            self.push(last);
        }
    }

    fn push(&mut self, seen: Seen) {
        if self.seen.len() == WINDOW {
            self.seen.pop_front();
        }
        self.seen.push_back(seen);
    }

    /// Equal calls that gave the same as the latest of them. Polling whose result changes is no loop.
    fn equal_so_far(&self, call: u64) -> usize {
        let mut same = self.seen.iter().rev().filter(|seen| seen.call == call);
        let Some(latest) = same.next() else { return 0 };
        1 + same.filter(|seen| seen.result == latest.result).count()
    }
}

/// Hashes JSON so that equal values are equal whatever the order of keys.
pub(crate) fn hash_value(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Object(fields) => hash_object(fields, hasher),
        Value::Array(items) => {
            (4_u8, items.len()).hash(hasher);
            items.iter().for_each(|item| hash_value(item, hasher));
        }
        Value::String(text) => (3_u8, text).hash(hasher),
        Value::Number(number) => (2_u8, number).hash(hasher),
        Value::Bool(flag) => (1_u8, flag).hash(hasher),
        Value::Null => 0_u8.hash(hasher),
    }
}

fn hash_object(fields: &Object, hasher: &mut DefaultHasher) {
    let mut keys: Vec<_> = fields.keys().collect();
    keys.sort_unstable();
    (5_u8, keys.len()).hash(hasher);
    for key in keys {
        key.hash(hasher);
        hash_value(&fields[key], hasher);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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

    /// RUN-10: third a reminder, fifth refused, seventh the end.
    #[test]
    fn third_fifth_seventh() {
        let mut window = LoopWindow::default();
        let mut told = Vec::new();
        for nth in 1..=7 {
            match window.judge(9) {
                LoopVerdict::Go => told.push((nth, if window.ran(9, 1, false).is_some() { "reminded" } else { "ran" })),
                LoopVerdict::Refuse(_) => {
                    window.refused(9);
                    told.push((nth, "refused"));
                }
                LoopVerdict::Fail(_) => told.push((nth, "failed")),
            }
        }
        assert_eq!(
            told,
            [(1, "ran"), (2, "ran"), (3, "reminded"), (4, "reminded"), (5, "refused"), (6, "refused"), (7, "failed")]
        );
    }

    /// RUN-10: polling whose result changes is no loop.
    #[test]
    fn polling_is_no_loop() {
        let mut window = LoopWindow::default();
        for result in 0..40 {
            assert_eq!(window.judge(9), LoopVerdict::Go);
            assert_eq!(window.ran(9, result, false), None);
        }
    }

    /// RUN-10: a successful write with new arguments starts afresh; the same write again does not.
    #[test]
    fn progress_empties_the_window() {
        let mut window = LoopWindow::default();
        for _ in 0..4 {
            window.ran(9, 1, false);
        }
        assert!(matches!(window.judge(9), LoopVerdict::Refuse(_)));
        window.ran(5, 1, true);
        assert_eq!(window.judge(9), LoopVerdict::Go);
        for _ in 0..4 {
            window.ran(5, 1, true);
        }
        assert!(matches!(window.judge(5), LoopVerdict::Refuse(_)));
    }

    /// RUN-10: only the last twelve calls count.
    #[test]
    fn old_calls_are_forgotten() {
        let mut window = LoopWindow::default();
        for _ in 0..4 {
            window.ran(9, 1, false);
        }
        for other in 100..112 {
            window.ran(other, 1, false);
        }
        assert_eq!(window.judge(9), LoopVerdict::Go);
    }
}
