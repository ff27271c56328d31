//! The oldest of many, without keeping the many.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use agent_protocol::{ArtifactId, SessionId, Timestamp};

use super::CleanupCandidate;

/// Candidates, the oldest first; only as many of the oldest as are needed, where enough is enough.
pub(super) struct Oldest {
    /// The newest on top.
    heap: BinaryHeap<ByAge>,
    bytes: u64,
    enough: Option<u64>,
}

impl Oldest {
    /// Takes as many as are needed for so many bytes, or all of them.
    pub(super) fn new(enough: Option<u64>) -> Self {
        Self { heap: BinaryHeap::new(), bytes: 0, enough }
    }

    pub(super) fn add(&mut self, candidate: CleanupCandidate) {
        self.bytes = self.bytes.saturating_add(candidate.bytes);
        self.heap.push(ByAge(candidate));
        let Some(enough) = self.enough else { return };
        while let Some(ByAge(newest)) = self.heap.peek() {
            let without = self.bytes.saturating_sub(newest.bytes);
            if without < enough {
                break;
            }
            self.bytes = without;
            self.heap.pop();
        }
    }

    pub(super) fn sorted(self) -> Vec<CleanupCandidate> {
        self.heap.into_sorted_vec().into_iter().map(|ByAge(candidate)| candidate).collect()
    }
}

/// Ordered by age, then by id, so that a cleanup chooses the same twice.
struct ByAge(CleanupCandidate);

impl ByAge {
    fn key(&self) -> (&Timestamp, &SessionId, Option<&ArtifactId>) {
        (&self.0.created_at, &self.0.session_id, self.0.artifact_id.as_ref())
    }
}

impl Ord for ByAge {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for ByAge {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByAge {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for ByAge {}
