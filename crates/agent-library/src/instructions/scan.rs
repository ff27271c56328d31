//! Where a scan ends, and what it did.

use std::path::PathBuf;
use std::time::Duration;

/// Where a scan ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanLimits {
    /// Files in the catalog.
    pub entries: usize,
    /// Names that are looked at.
    pub visited: usize,
    /// Time for looking.
    pub time: Duration,
}

impl Default for ScanLimits {
    /// Those of INS-1.
    fn default() -> Self {
        Self { entries: 200, visited: 200_000, time: Duration::from_secs(1) }
    }
}

/// Why a scan saw less than there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// [`ScanLimits::visited`].
    Visited,
    /// [`ScanLimits::time`].
    Time,
}

/// What a scan did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// Names looked at.
    pub visited: usize,
    /// Folders listed.
    pub folders: usize,
    /// Why it ended before everything was seen; what lies near the root was seen first.
    pub stopped: Option<Stop>,
    /// Files found beyond [`ScanLimits::entries`].
    pub left_out: usize,
    /// Folders that could not be listed.
    pub unreadable: usize,
    /// The first of them.
    pub first_unreadable: Option<PathBuf>,
    /// Links with an instruction file's name that lead nowhere, to no regular file or out of their root.
    pub links_out: usize,
    /// Folders that were passed over since they are repositories of their own.
    pub repositories: usize,
}

impl ScanReport {
    /// Whether there may be more files than the catalog has (INS-1).
    #[must_use]
    pub fn truncated(&self) -> bool {
        self.stopped.is_some() || self.left_out > 0
    }
}
