//! The one compaction of a path that may be under way (CMP-6).

use super::types::{CompactMode, Compacted};
use crate::cut::CompactionPlan;
use crate::numbers::JobNo;

/// The one compaction of a path.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) number: JobNo,
    pub(super) mode: CompactMode,
    pub(super) plan: CompactionPlan,
    /// Estimated tokens of the request.
    pub(super) estimated: u64,
    pub(super) ready: Option<Box<Compacted>>,
}

impl Job {
    pub(super) fn open(number: JobNo, mode: CompactMode, plan: CompactionPlan, estimated: u64) -> Self {
        Self { number, mode, plan, estimated, ready: None }
    }

    pub(super) fn is_open(&self) -> bool {
        self.ready.is_none()
    }
}
