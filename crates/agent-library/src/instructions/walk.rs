//! Looking for instruction files: down only, near before far, within limits.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, ReadDir};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::names::NAMES;
use super::near::NearMisses;
use super::places::{Kind, is_open};
use super::scan::{ScanLimits, ScanReport, Stop};
use crate::source::{is_markdown, target};

/// So many names of the user's home are looked at.
const HOME_NAMES: usize = 1000;

/// The clock is looked at once for so many names.
const NAMES_PER_LOOK: usize = 256;

/// A file, its own path and where it was found, which a link makes two.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) named: PathBuf,
    pub(super) resolved: PathBuf,
    /// Folders between it and its root.
    pub(super) depth: usize,
}

impl Found {
    /// By folder, so that what governs a folder comes before what lies deeper in it, then by name.
    pub(super) fn in_path_order(&self, other: &Self) -> Ordering {
        (self.named.parent(), self.named.file_name()).cmp(&(other.named.parent(), other.named.file_name()))
    }
}

/// One walk through several trees, with one set of limits.
pub(super) struct Walk<'a> {
    limits: ScanLimits,
    clock: &'a dyn Fn() -> Duration,
    report: ScanReport,
    near: NearMisses,
}

/// A folder that is still to be listed.
struct Folder {
    path: PathBuf,
    depth: usize,
}

/// What a folder holds that matters.
#[derive(Default)]
struct Listing {
    folders: Vec<OsString>,
    /// The names of files and links that may be instructions.
    files: Vec<OsString>,
    is_repository: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(limits: ScanLimits, clock: &'a dyn Fn() -> Duration) -> Self {
        Self { limits, clock, report: ScanReport::default(), near: NearMisses::default() }
    }

    pub(super) fn into_report(self) -> (ScanReport, NearMisses) {
        (self.report, self.near)
    }

    /// The user's file in the home itself.
    pub(super) fn named(&mut self, home: &Path) -> Option<Found> {
        // Few names lie there; what cannot be listed is told where it is opened.
        for entry in fs::read_dir(home).into_iter().flatten().flatten().take(HOME_NAMES) {
            if entry.file_type().is_ok_and(|known| !known.is_dir()) {
                self.near.name(home, &entry.file_name());
            }
        }
        self.choose(home, home, 0, &NAMES.map(OsString::from))
    }

    /// The user's rules.
    pub(super) fn rules(&mut self, home: &Path) -> Vec<Found> {
        let rules = home.join("rules");
        if rules.is_symlink() {
            self.report.links_out += 1;
            self.near.linked_folder(rules);
            return Vec::new();
        }
        let mut found = Vec::new();
        self.down(Folder { path: rules, depth: 1 }, None, Kind::Rules, &mut |walk, folder, listing| {
            for name in listing.files {
                found.extend(walk.take(home, folder.path.join(name), folder.depth));
            }
        });
        found
    }

    /// The project's files. The agent's home, if it lies in the project, is the user's and not the project's.
    pub(super) fn project(&mut self, project: &Path, home: Option<&Path>) -> Vec<Found> {
        let home = home.filter(|home| *home != project);
        let mut found = Vec::new();
        let root = Folder { path: project.to_owned(), depth: 0 };
        self.down(root, home, Kind::Project, &mut |walk, folder, listing| {
            found.extend(walk.choose(project, &folder.path, folder.depth, &listing.files));
        });
        found
    }

    /// Lists folder after folder, level by level, until there is none left or a limit is reached.
    fn down(
        &mut self,
        root: Folder,
        closed: Option<&Path>,
        kind: Kind,
        each: &mut dyn FnMut(&mut Self, &Folder, Listing),
    ) {
        let mut waiting = VecDeque::from([root]);
        while let Some(folder) = waiting.pop_front() {
            if self.report.stopped.is_some() || self.out_of_time() {
                // Whatever was spent before: what lies in the project's root is never passed over.
                if kind == Kind::Project && folder.depth == 0 {
                    each(self, &folder, Listing { files: NAMES.map(OsString::from).into(), ..Listing::default() });
                }
                return;
            }
            let Some(mut listing) = self.list(&folder, kind) else { continue };
            if listing.is_repository && kind == Kind::Project && folder.depth > 0 {
                self.report.repositories += 1;
                continue;
            }
            listing.folders.sort_unstable();
            for name in listing.folders.drain(..) {
                let path = folder.path.join(name);
                if closed != Some(path.as_path()) {
                    waiting.push_back(Folder { path, depth: folder.depth + 1 });
                }
            }
            each(self, &folder, listing);
        }
    }

    /// None of a folder that is gone or cannot be read.
    fn list(&mut self, folder: &Folder, kind: Kind) -> Option<Listing> {
        let entries = match fs::read_dir(&folder.path) {
            Ok(entries) => entries,
            Err(error) => {
                self.unreadable(&folder.path, &error);
                return None;
            }
        };
        self.report.folders += 1;
        let mut listing = Listing::default();
        if let Err(error) = self.fill(&mut listing, &folder.path, entries, kind) {
            self.unreadable(&folder.path, &error);
        }
        if self.report.stopped.is_some() && kind == Kind::Project {
            // Names come in no order. What matters in this folder must not depend on it.
            listing.is_repository = folder.path.join(".git").symlink_metadata().is_ok();
            listing.files = NAMES.map(OsString::from).into();
        }
        Some(listing)
    }

    fn fill(&mut self, listing: &mut Listing, folder: &Path, entries: ReadDir, kind: Kind) -> io::Result<()> {
        for entry in entries {
            if self.report.visited >= self.limits.visited {
                self.report.stopped = Some(Stop::Visited);
                break;
            }
            self.report.visited += 1;
            if self.report.visited.is_multiple_of(NAMES_PER_LOOK) && self.out_of_time() {
                break;
            }
            let entry = entry?;
            let name = entry.file_name();
            listing.is_repository |= name == ".git";
            // Known from the listing itself, without a look at each file.
            let Ok(known) = entry.file_type() else { continue };
            if known.is_dir() {
                if is_wanted(&name, kind) {
                    self.near.unusable(folder.join(&name));
                }
                if is_open(&name, kind) {
                    listing.folders.push(name);
                }
            } else if is_wanted(&name, kind) {
                listing.files.push(name);
            } else {
                match kind {
                    Kind::Project => self.near.name(folder, &name),
                    Kind::Rules => self.near.rule(folder, &name),
                }
            }
        }
        Ok(())
    }

    fn out_of_time(&mut self) -> bool {
        let over = (self.clock)() >= self.limits.time;
        if over {
            self.report.stopped = Some(Stop::Time);
        }
        over
    }

    /// The first of the two names that stands for a file.
    fn choose(&mut self, root: &Path, folder: &Path, depth: usize, there: &[OsString]) -> Option<Found> {
        let named = NAMES.into_iter().filter(|name| there.iter().any(|there| there == name));
        let found = named.into_iter().find_map(|name| self.take(root, folder.join(name), depth))?;
        if found.named.ends_with(NAMES[0]) {
            self.near.hides(root, &found.named, &found.resolved);
        }
        Some(found)
    }

    fn take(&mut self, root: &Path, named: PathBuf, depth: usize) -> Option<Found> {
        match target(root, &named) {
            Some(resolved) => Some(Found { named, resolved, depth }),
            None => {
                self.report.links_out += usize::from(named.is_symlink());
                self.near.unusable(named);
                None
            }
        }
    }

    fn unreadable(&mut self, folder: &Path, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            self.report.unreadable += 1;
            self.report.first_unreadable.get_or_insert_with(|| folder.to_owned());
        }
    }
}

fn is_wanted(name: &OsStr, kind: Kind) -> bool {
    match kind {
        Kind::Project => NAMES.iter().any(|known| name == *known),
        Kind::Rules => is_markdown(name),
    }
}
