//! Agent definitions that the user wrote down, `<home>/agents/*.md` (AGD-1).
//!
//! [`AgentFiles::read`] reads all of them. Unlike skills they are read whole and strictly: an agent that is silently missing, or
//! silently another one, is worse than no start (AGD-5).

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

mod entry;
mod file;

pub use entry::{AgentFile, AgentFileProblem};

use crate::source;

/// No more definitions than this are taken.
const MAX_AGENTS: usize = 200;

/// A folder with more names than this is none of definitions.
const MAX_NAMES: usize = 10_000;

/// The definitions of a folder, and what is wrong with the other files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentFiles {
    /// What could be read, by the order of the files' names.
    pub files: Vec<AgentFile>,
    /// What could not.
    pub problems: Vec<AgentFileProblem>,
}

impl AgentFiles {
    /// Reads all definitions in `folder`. Blocks. Where there is no such folder, that is one question to the system.
    ///
    /// Every name that ends in `.md`, in whatever case, counts, but for hidden ones; a link counts if it leads to a regular file in
    /// the folder.
    #[must_use]
    pub fn read(folder: &Path) -> Self {
        let mut read = Self::default();
        if let Err(error) = folder.symlink_metadata()
            && matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        {
            return read;
        }
        let listed = source::real_folder(folder).and_then(|folder| Ok((names(&folder)?, folder)));
        let (names, folder) = match listed {
            Ok(listed) => listed,
            Err(error) => {
                let message = format!("the folder of agent definitions cannot be listed: {error}");
                read.problems.push(AgentFileProblem::of(folder, message));
                return read;
            }
        };
        if names.len() > MAX_AGENTS {
            let message = format!("holds {} agent definitions; at most {MAX_AGENTS} are taken", names.len());
            read.problems.push(AgentFileProblem::of(&folder, message));
            return read;
        }
        for name in names {
            match one(&folder, &folder.join(&name)) {
                Ok(file) => read.files.push(file),
                Err(problem) => read.problems.push(problem),
            }
        }
        read
    }
}

/// The names that are, or look like, those of definitions, in order.
fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for (index, entry) in fs::read_dir(folder)?.enumerate() {
        if index == MAX_NAMES {
            return Err(io::Error::other(format!("it holds more than {MAX_NAMES} names")));
        }
        let name = entry?.file_name();
        if source::is_markdown(&name) || source::is_nearly_markdown(&name) {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn one(folder: &Path, path: &Path) -> Result<AgentFile, AgentFileProblem> {
    let problem = |message: &str| AgentFileProblem::of(path, message);
    if path.file_name().is_some_and(source::is_nearly_markdown) {
        return Err(problem("the name of an agent definition ends in .md, in small letters: rename it"));
    }
    let Some(target) = source::target(folder, path) else {
        let message = if path.is_symlink() {
            "is a link that leads to no file in the folder of agent definitions"
        } else {
            "is no regular file"
        };
        return Err(problem(message));
    };
    file::read(path, &target)
}

#[cfg(test)]
mod tests;
