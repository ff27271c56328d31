//! All memories there are.

use std::{collections::BTreeMap, ffi::OsStr};

use agent_protocol::shown_path;

use super::{
    Based, MemoryCategory, MemoryEntry, MemoryError, MemoryId, MemoryProblem, folder::Folder, id::PREFIX, name,
};

/// Files that are read, of all categories together.
pub(super) const MOST_FILES: usize = 5_000;

/// A larger file is a problem. Bytes.
pub(super) const MOST_FILE_BYTES: u64 = 64 * 1024;

/// What is read of all files together. Bytes.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// What a beginning of an id must have behind `mem_`, so that it stands for something.
const SHORTEST: usize = 8;

/// Ids that are named in an error.
const NAMED: usize = 10;

/// Memories, and what stands beside them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryListing {
    /// Newest created first.
    pub entries: Vec<MemoryEntry>,
    /// Files that are no memories. They keep nobody from reading the others.
    pub problems: Vec<MemoryProblem>,
    /// There are more files than are read.
    pub is_cut: bool,
}

impl MemoryListing {
    /// What a model that sees this in a project bases its decisions on (MEM-07, MEM-12).
    #[must_use]
    pub fn based(&self, project: &str) -> Based {
        let visible = self.entries.iter().filter(|entry| entry.is_visible_in(project));
        Based(visible.map(|entry| (entry.id.clone(), entry.hash.clone())).collect())
    }

    /// The memory with this id, or the only one whose id begins so: from 8 characters behind `mem_` on.
    ///
    /// # Errors
    /// When there is none, or several.
    pub fn find(&self, id: &str) -> Result<&MemoryEntry, MemoryError> {
        if let Some(whole) = self.entries.iter().find(|entry| entry.id.as_str() == id) {
            return Ok(whole);
        }
        let is_long = id.strip_prefix(PREFIX).is_some_and(|rest| rest.len() >= SHORTEST);
        let begins = |entry: &&MemoryEntry| is_long && entry.id.as_str().starts_with(id);
        let mut found = self.entries.iter().filter(begins);
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(only),
            (Some(_), Some(_)) => {
                let ids = self.entries.iter().filter(begins).take(NAMED).map(|entry| entry.id.clone()).collect();
                Err(MemoryError::Ambiguous { beginning: id.to_owned(), ids })
            }
            (None, _) => Err(self.not_found(id)),
        }
    }

    fn not_found(&self, id: &str) -> MemoryError {
        let id: String = id.chars().take(80).collect();
        let mut near: Vec<_> = self.entries.iter().map(|entry| (distance(&id, &entry.id), &entry.id)).collect();
        near.retain(|(edits, _)| *edits <= id.len() / 3);
        near.sort();
        MemoryError::NotFound { near: near.into_iter().take(3).map(|(_, id)| id.clone()).collect(), id }
    }

    pub(super) fn sort(&mut self) {
        self.entries.sort_by(|a, b| (&b.created_at, &b.id).cmp(&(&a.created_at, &a.id)));
    }
}

fn distance(asked: &str, id: &MemoryId) -> usize {
    strsim::levenshtein(asked, id.as_str())
}

/// Reads what lies in the three folders; those that are missing are empty.
pub(super) fn read(memory: &Folder) -> MemoryListing {
    let mut reading = Reading::default();
    for category in MemoryCategory::ALL {
        let folder = match memory.child(OsStr::new(category.as_str()), false) {
            Ok(Some(folder)) => folder,
            Ok(None) => continue,
            Err(error) => {
                reading.problem(category.as_str(), &error);
                continue;
            }
        };
        if let Err(error) = reading.folder(category, &folder) {
            reading.problem(category.as_str(), &error);
        }
    }
    reading.listing.sort();
    reading.listing
}

#[derive(Default)]
struct Reading {
    listing: MemoryListing,
    paths: BTreeMap<MemoryId, String>,
    files: usize,
    bytes: u64,
}

impl Reading {
    fn folder(&mut self, category: MemoryCategory, folder: &Folder) -> Result<(), MemoryError> {
        let (names, more) = folder.names(MOST_FILES - self.files, is_meant)?;
        self.files += names.len();
        let mut is_cut = more;
        for name in names {
            if self.bytes >= MOST_BYTES {
                is_cut = true;
                break;
            }
            self.file(category, folder, &name);
        }
        if is_cut {
            self.listing.is_cut = true;
            let message = format!(
                "not all files were read: at most {MOST_FILES} files and {} MiB of memories are; forget some",
                MOST_BYTES >> 20
            );
            self.listing.problems.push(MemoryProblem::of(category.as_str(), message));
        }
        Ok(())
    }

    fn file(&mut self, category: MemoryCategory, folder: &Folder, name: &OsStr) {
        let path = format!("{category}/{}", shown_path(name));
        if !is_named_like_one(name) {
            let message = "no memory is named like this: a-z, 0-9, _ and -, then .md; move it away";
            self.listing.problems.push(MemoryProblem::of(path, message));
            return;
        }
        let bytes = match folder.read(name, MOST_FILE_BYTES) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return,
            Err(error) => return self.problem(&path, &error),
        };
        self.bytes += bytes.len() as u64;
        match MemoryEntry::read(category, path, &bytes) {
            Ok(entry) => self.entry(entry),
            Err(problem) => self.listing.problems.push(problem),
        }
    }

    fn entry(&mut self, entry: MemoryEntry) {
        match self.paths.get(&entry.id) {
            Some(known) => {
                let message = format!("{known} has the same id; remove one of them");
                self.listing.problems.push(MemoryProblem::of(entry.path, message));
            }
            None => {
                self.paths.insert(entry.id.clone(), entry.path.clone());
                self.listing.entries.push(entry);
            }
        }
    }

    fn problem(&mut self, path: &str, error: &MemoryError) {
        self.listing.problems.push(MemoryProblem::of(path, error.about_it()));
    }
}

/// Hidden files and copies of editors are nobody's memories.
fn is_meant(name: &[u8]) -> bool {
    !name.starts_with(b".") && !name.ends_with(b"~")
}

fn is_named_like_one(name: &OsStr) -> bool {
    let stem = name.to_str().and_then(|name| name.strip_suffix(".md"));
    stem.is_some_and(|stem| !stem.is_empty() && stem.chars().all(name::is_safe))
}
