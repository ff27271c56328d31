//! Whether a run gets anywhere between its compactions (CMPT-02): a model that forgets what it read, reads it again and
//! forgets it again costs its user everything and brings nothing.

use std::collections::HashSet;

/// Compactions in a row without anything new between them, after which the run ends.
const MOST: u32 = 3;
/// Calls remembered; beyond that every call counts as new.
const REMEMBERED: usize = 20_000;

/// What a run has seen, by digest.
#[derive(Debug, Default)]
pub(super) struct Progress {
    seen: HashSet<(u64, u64)>,
    something_new: bool,
    barren: u32,
}

impl Progress {
    /// A call came to this result; or it changed something.
    pub(super) fn note(&mut self, call: u64, result: u64, changed_something: bool) {
        let is_new = self.seen.len() >= REMEMBERED || self.seen.insert((call, result));
        self.something_new |= is_new || changed_something;
    }

    /// A compaction took place. True if the run only goes round in circles.
    pub(super) fn compacted(&mut self) -> bool {
        self.barren = if std::mem::take(&mut self.something_new) { 0 } else { self.barren + 1 };
        self.barren >= MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CMPT-02: the same three files between compactions are no progress; one new result is.
    #[test]
    fn rereading_is_no_progress() {
        let mut progress = Progress::default();
        let reads = |progress: &mut Progress, result| (0..3).for_each(|call| progress.note(call, result, false));
        reads(&mut progress, 1);
        assert!(!progress.compacted());
        for _ in 0..2 {
            reads(&mut progress, 1);
            assert!(!progress.compacted());
        }
        reads(&mut progress, 1);
        assert!(progress.compacted());
        reads(&mut progress, 2);
        assert!(!progress.compacted());
        progress.note(0, 2, true);
        assert!(!progress.compacted());
    }
}
