//! Files that are nearly instruction files, or say less than whoever wrote them may think (FND-70).

use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use super::names::NAMES;
use crate::frontmatter;
use crate::shown;
use crate::source;

/// So many of them are named.
const MOST: usize = 20;
/// Of a longer file only the beginning is read. Bytes.
const LONG: u64 = 256 * 1024;
/// A file that says more than this says something of its own. Bytes.
const POINTER: usize = 240;

/// A file of the user's that does not do what it seems to be there for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearMiss {
    /// The file, as it was found.
    pub path: PathBuf,
    /// The path for people, one line.
    pub shown: String,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Display for NearMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.shown, self.message)
    }
}

/// Where they are collected; a few only, since a tree of the wrong names says the same again and again.
#[derive(Debug, Default)]
pub(super) struct NearMisses(Vec<(PathBuf, String)>);

impl NearMisses {
    pub(super) fn add(&mut self, path: PathBuf, message: String) {
        if self.0.len() < MOST {
            self.0.push((path, message));
        }
    }

    /// A file whose name is one of the two but for its case. Both have as many letters, so that nearly every other file is passed over
    /// by its length.
    pub(super) fn name(&mut self, folder: &Path, name: &OsStr) {
        if let Some(meant) = meant(name) {
            let message = format!("is not read: an instruction file is called {meant}, in just these letters");
            self.add(folder.join(name), message);
        }
    }

    /// A rule whose name ends in something like `.md`.
    pub(super) fn rule(&mut self, folder: &Path, name: &OsStr) {
        if source::is_nearly_markdown(name) {
            self.add(folder.join(name), "is not read: the name of a rule ends in .md, in small letters".to_owned());
        }
    }

    /// A `CLAUDE.md` that only says to read the `AGENTS.md` beside it, and hides that one: of the two one is read.
    pub(super) fn hides(&mut self, root: &Path, named: &Path, chosen: &Path) {
        let other = named.with_file_name(NAMES[1]);
        if source::target(root, &other).is_none_or(|other| other == chosen) {
            return;
        }
        let Ok(head) = source::head(chosen, POINTER + frontmatter::MAX_BLOCK) else { return };
        let body = frontmatter::split(&head).body.trim();
        if body.len() <= POINTER && body.contains(NAMES[1]) {
            let message = format!(
                "only names {} beside it, which is not read then: of the two {} comes first; remove it, or make it a link to {}",
                NAMES[1], NAMES[0], NAMES[1]
            );
            self.add(named.to_owned(), message);
        }
    }

    /// What has the name of an instruction file and is none; nothing if nothing is there. Only looked at, never opened: a pipe would
    /// wait for its other end.
    pub(super) fn unusable(&mut self, path: PathBuf) {
        let Ok(known) = path.symlink_metadata() else { return };
        let message = match known.file_type() {
            kind if kind.is_dir() => "is a folder, and no instruction file: put the text into a file of this name",
            kind if kind.is_symlink() => {
                "is not read: it is a link that leads to no file here; put the file itself here, or make the link lead to one"
            }
            kind if kind.is_file() => return,
            _ => "is not read: it is a pipe, a socket or a device, and no file",
        };
        self.add(path, message.to_owned());
    }

    /// A folder of rules that is a link, and is not followed.
    pub(super) fn linked_folder(&mut self, path: PathBuf) {
        self.add(path, "is not read: it is a link; move the folder itself there".to_owned());
    }

    /// A file that is longer than what is read of it.
    pub(super) fn long(&mut self, named: &Path, file: &Path) {
        if let Some(size) = file.metadata().ok().map(|known| known.len()).filter(|size| *size > LONG) {
            let message = format!("has {size} bytes; the model is given no more than the first {LONG} at once");
            self.add(named.to_owned(), message);
        }
    }

    /// With each path as `show` has it.
    pub(super) fn shown(self, show: impl Fn(&Path) -> PathBuf) -> Vec<NearMiss> {
        let shown = |(path, message): (PathBuf, String)| NearMiss { shown: shown::path(&show(&path)), path, message };
        self.0.into_iter().map(shown).collect()
    }
}

/// The name that a name is but for its case.
fn meant(name: &OsStr) -> Option<&'static str> {
    let near =
        |known: &&&str| name.len() == known.len() && name.eq_ignore_ascii_case(known) && name != OsStr::new(known);
    NAMES.iter().find(near).copied()
}
