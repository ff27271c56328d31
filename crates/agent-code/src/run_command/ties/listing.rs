//! The names in folders, each folder read once for a command.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    rc::Rc,
};

use crate::place::{Found, walk};

/// How many names are read for one command.
const MAX_NAMES: usize = 16 * 1024;

/// What is known of folders so far.
#[derive(Default)]
pub(super) struct Listings {
    by_folder: HashMap<PathBuf, Rc<Listing>>,
    names: usize,
    /// Not all names could be read.
    pub(super) incomplete: bool,
}

/// One folder; empty if it is none, or cannot be listed: then a shell cannot list it either.
#[derive(Default)]
pub(super) struct Listing {
    /// Where it really is.
    pub(super) resolved: Option<PathBuf>,
    /// In order; what is not UTF-8 cannot be a word.
    pub(super) names: BTreeSet<String>,
    /// Has names that are not UTF-8; a pattern may fit them all the same.
    pub(super) foreign: bool,
}

impl Listings {
    pub(super) fn of(&mut self, folder: &Path) -> Rc<Listing> {
        if let Some(known) = self.by_folder.get(folder) {
            return Rc::clone(known);
        }
        let listing = Rc::new(self.read(folder));
        self.by_folder.insert(folder.to_owned(), Rc::clone(&listing));
        listing
    }

    fn read(&mut self, path: &Path) -> Listing {
        let Ok(Found::Folder(folder)) = walk(path) else { return Listing::default() };
        let mut listing = Listing { resolved: Some(folder.path().to_owned()), ..Listing::default() };
        for entry in folder.entries().into_iter().flatten().flatten() {
            if self.names >= MAX_NAMES {
                self.incomplete = true;
                break;
            }
            self.names += 1;
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_str();
            listing.foreign |= name.is_none();
            listing.names.extend(name.filter(|name| !matches!(*name, "." | "..")).map(str::to_owned));
        }
        listing
    }
}

impl Listing {
    /// The names that go on after this one with a dot: `tool.py` for `tool`.
    pub(super) fn with_extension(&self, stem: &str) -> impl Iterator<Item = &str> {
        let start = format!("{stem}.");
        let from = self.names.range(start.clone()..);
        from.take_while(move |name| name.starts_with(&start)).map(String::as_str)
    }
}
