//! Instruction files of the user and of the project: which there are, what they say about themselves, what is in them.
//!
//! [`InstructionCatalog::scan`] finds them, [`InstructionCatalog::render`] lists them for the model, [`read_body`] reads one,
//! [`share_room`] fits several into the room there is. Whether a file binds is decided above.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

mod body;
mod entry;
mod places;
mod render;
mod share;
mod walk;

pub use body::{InstructionBody, read_body};
pub use entry::{EntryProblem, InstructionEntry};
pub use places::InstructionPlaces;
pub use share::{Cut, Fitted, Loaded, share_room};

pub use crate::catalog::Rendered;
use places::Resolved;
use walk::{Found, Walk};

/// The names of instruction files. In one folder the first that is there wins.
const NAMES: [&str; 2] = ["CLAUDE.md", "AGENTS.md"];

/// Folders that hold what others wrote or what was built, and what core itself puts into a project: never looked into.
const SKIPPED: [&str; 11] = [
    ".git",
    "node_modules",
    ".venv",
    "venv",
    "dist",
    "build",
    "target",
    ".next",
    ".cache",
    "__pycache__",
    ".soong-agent",
];

/// Whose instructions they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The user's own, for every project.
    User,
    /// The project's, for the folder they lie in and below.
    Project,
}

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

/// The instruction files there are.
#[derive(Debug, Clone, Default)]
pub struct InstructionCatalog {
    places: Resolved,
    entries: Vec<InstructionEntry>,
    report: ScanReport,
}

impl InstructionCatalog {
    /// Looks for instruction files (INS-1). Blocks, for [`ScanLimits::time`] at most.
    ///
    /// It goes down only, from the folders nearest to the root to those far from it, and follows no link to a folder. A
    /// link to a file counts if it leads to a regular file in the same root. Repositories below the project (folders
    /// with a `.git` in them) are other people's. What cannot be read is counted and does no harm.
    #[must_use]
    pub fn scan(places: &InstructionPlaces, limits: ScanLimits) -> Self {
        let start = Instant::now();
        Self::scan_with_clock(places, limits, &|| start.elapsed())
    }

    /// The same with the time since it began as `clock` tells it.
    #[must_use]
    pub fn scan_with_clock(places: &InstructionPlaces, limits: ScanLimits, clock: &dyn Fn() -> Duration) -> Self {
        let places = Resolved::of(places);
        let mut walk = Walk::new(limits, clock);
        let mut found = Vec::new();
        if let Some(home) = &places.home {
            found.extend(walk.named(home));
            found.extend(walk.rules(home));
        }
        found.sort_by(Found::in_path_order);
        let users = found.len();
        if let Some(project) = &places.project {
            let mut theirs = walk.project(project, places.home.as_deref());
            theirs.retain(|file| found[..users].iter().all(|user| user.resolved != file.resolved));
            theirs.sort_by(Found::in_path_order);
            found.extend(theirs);
        }
        let mut report = walk.into_report();
        report.left_out = found.len().saturating_sub(limits.entries);
        found.truncate(limits.entries);
        let level = |index| if index < users { Level::User } else { Level::Project };
        let entries = found.into_iter().enumerate().map(|(index, file)| entry::describe(file, level(index), &places));
        Self { entries: entries.collect(), report, places }
    }

    /// The same without files that may not be looked at, however they came to be here: by a link, or by their folder.
    #[must_use]
    pub fn without(mut self, is_hidden: &dyn Fn(&Path) -> bool) -> Self {
        self.entries.retain(|entry| !is_hidden(&entry.path));
        self
    }

    /// All files: the user's first, in each folder's order of paths.
    #[must_use]
    pub fn entries(&self) -> &[InstructionEntry] {
        &self.entries
    }

    /// How the scan went.
    #[must_use]
    pub fn report(&self) -> &ScanReport {
        &self.report
    }

    /// The entry of a file, by the path a tool resolves it to.
    #[must_use]
    pub fn entry_of(&self, resolved: &Path) -> Option<&InstructionEntry> {
        self.entries.iter().find(|entry| entry.path == resolved)
    }

    /// Whose instructions a file holds, by the path a tool resolves it to; none if it is no instruction file. Also of a
    /// file that the catalog has no room for or that is newer than the scan. Looks at the disk.
    ///
    /// Ordinary Markdown never is one (INS-4).
    #[must_use]
    pub fn level_of(&self, resolved: &Path) -> Option<Level> {
        self.entry_of(resolved).map(|entry| entry.level).or_else(|| self.places.level_of(resolved))
    }
}

#[cfg(test)]
mod tests;
