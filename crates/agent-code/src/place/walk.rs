//! The walk along a path.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Component, Path, PathBuf},
};

use agent_protocol::shown_path;
use rustix::fs::Stat;

use super::folder::{Entry, Folder};

/// As many links as Linux follows in one path.
const MAX_LINKS: usize = 40;

/// What a path leads to; the folder is held open.
#[derive(Debug)]
pub(crate) enum Found {
    /// A folder.
    Folder(Folder),
    /// A file or something special: its folder, its name there, and what it was.
    Entry { folder: Folder, name: OsString, stat: Stat },
    /// Nothing: the deepest folder on the way, and what is missing below it. `missing` is not empty and has no `..`.
    Missing { folder: Folder, missing: Vec<OsString> },
}

/// Why a walk ends nowhere.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WalkError {
    #[error("{} is not a folder", shown_path(.0))]
    NotAFolder(PathBuf),
    #[error("{} links lead in a circle or are too many", shown_path(.0))]
    Links(PathBuf),
    #[error("cannot look at {}", shown_path(path))]
    Os { path: PathBuf, source: io::Error },
}

enum Step {
    Root,
    Up,
    Name(OsString),
}

/// Follows an absolute path. What does not exist is taken for a plain folder that could be made, so that `..` in it has
/// a meaning: `new/../x` is `x`.
pub(crate) fn walk(path: &Path) -> Result<Found, WalkError> {
    let mut todo: Vec<Step> = steps(path);
    let mut here = Folder::root().map_err(|source| WalkError::Os { path: PathBuf::from("/"), source })?;
    let mut missing: Vec<OsString> = Vec::new();
    let mut links = 0;
    while let Some(step) = todo.pop() {
        match step {
            Step::Root => here = Folder::root().map_err(|source| failed(&here, "/".as_ref(), source))?,
            Step::Up if missing.pop().is_some() => {}
            Step::Up => here = here.parent().map_err(|source| failed(&here, "..".as_ref(), source))?,
            Step::Name(name) if !missing.is_empty() => missing.push(name),
            Step::Name(name) => match here.look(&name).map_err(|source| failed(&here, &name, source))? {
                Entry::Folder(folder) => here = folder,
                Entry::Missing => missing.push(name),
                Entry::Link(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(WalkError::Links(path.to_owned()));
                    }
                    todo.extend(steps(&target));
                }
                Entry::Other(stat) if todo.is_empty() => {
                    return Ok(Found::Entry { folder: here.with_real_path(), name, stat });
                }
                Entry::Other(_) => return Err(WalkError::NotAFolder(here.path().join(name))),
            },
        }
    }
    let folder = here.with_real_path();
    Ok(if missing.is_empty() { Found::Folder(folder) } else { Found::Missing { folder, missing } })
}

fn failed(folder: &Folder, name: &OsStr, source: io::Error) -> WalkError {
    WalkError::Os { path: folder.path().join(name), source }
}

/// A path as steps, the first one last. A trailing slash or dot means nothing, so that `.env/.` is `.env`.
fn steps(path: &Path) -> Vec<Step> {
    path.components()
        .rev()
        .filter_map(|component| match component {
            Component::RootDir => Some(Step::Root),
            Component::ParentDir => Some(Step::Up),
            Component::Normal(name) => Some(Step::Name(name.to_owned())),
            Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests;
