//! The instruction files there are.

use std::path::Path;
use std::time::{Duration, Instant};

use super::entry::{self, InstructionEntry};
use super::level::Level;
use super::near::NearMiss;
use super::places::{InstructionPlaces, Resolved};
use super::scan::{ScanLimits, ScanReport};
use super::walk::{Found, Walk};

/// The instruction files there are.
#[derive(Debug, Clone, Default)]
pub struct InstructionCatalog {
    pub(super) places: Resolved,
    pub(super) entries: Vec<InstructionEntry>,
    pub(super) report: ScanReport,
    pub(super) near: Vec<NearMiss>,
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
        let (mut report, mut near) = walk.into_report();
        report.left_out = found.len().saturating_sub(limits.entries);
        found.truncate(limits.entries);
        let level = |index| if index < users { Level::User } else { Level::Project };
        let entries = found.into_iter().enumerate().map(|(index, file)| entry::describe(file, level(index), &places));
        let entries: Vec<_> = entries.collect();
        entries.iter().for_each(|entry| near.long(&entry.named, &entry.path));
        let near = near.shown(|path| places.below(path));
        Self { entries, report, near, places }
    }

    /// The same without files that may not be looked at, however they came to be here: by a link, or by their folder.
    #[must_use]
    pub fn without(mut self, is_hidden: &dyn Fn(&Path) -> bool) -> Self {
        self.entries.retain(|entry| !is_hidden(&entry.path));
        self.near.retain(|near| !is_hidden(&near.path));
        self
    }

    /// Files that are nearly instruction files, or say less than they seem to.
    #[must_use]
    pub fn near_misses(&self) -> &[NearMiss] {
        &self.near
    }

    /// What is wrong with files, one line each: those that cannot be read as what they are, and near misses.
    pub fn problems(&self) -> impl Iterator<Item = String> {
        let broken = self.entries.iter().filter_map(|entry| Some((&entry.shown, entry.problem.as_ref()?)));
        broken.map(|(shown, problem)| format!("{shown}: {problem}")).chain(self.near.iter().map(ToString::to_string))
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
