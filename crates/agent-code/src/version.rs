//! Whether a file is still what the agent last saw (COD-5).

use std::path::Path;

use agent_tool::{FileStamp, FileVersion, FileVersions};
use rustix::fs::Stat;

use crate::place::stamp;

/// Bigger files are told apart by what the file system says, smaller ones by their content. Bytes.
pub(crate) const HASHED_MAX: u64 = 4 * 1024 * 1024;

/// The version of a file with this content and state.
pub(crate) fn version(content: &[u8], stamp: FileStamp) -> FileVersion {
    if content.len() as u64 <= HASHED_MAX { FileVersion::Content(hash(content)) } else { FileVersion::Stamp(stamp) }
}

/// BLAKE3.
pub(crate) fn hash(content: &[u8]) -> [u8; 32] {
    *blake3::hash(content).as_bytes()
}

/// How a file is another than the agent knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChangedBy {
    /// Another agent of the session, by its id.
    Agent(String),
    /// Somebody else: the user, a command, another program.
    Others,
}

impl ChangedBy {
    /// Who it was, for a message.
    pub(crate) fn who(&self) -> String {
        match self {
            Self::Agent(id) => format!("the agent {id} of this session has changed it"),
            Self::Others => "it changed".to_owned(),
        }
    }
}

/// Whether the file is another than the agent knows it: what it saw is not there any more, or it never saw what another agent
/// wrote. `hash` is there where the file was small enough.
pub(crate) fn changed(
    versions: &dyn FileVersions,
    path: &Path,
    stat: &Stat,
    hash: Option<[u8; 32]>,
) -> Option<ChangedBy> {
    let now = hash.map_or_else(|| FileVersion::Stamp(stamp(stat)), FileVersion::Content);
    let seen = versions.seen(path);
    let is_known = match seen {
        None => false,
        Some(FileVersion::Content(seen)) => hash == Some(seen),
        Some(FileVersion::Stamp(seen)) => stamp(stat) == seen,
    };
    if is_known {
        return None;
    }
    match (versions.writer(path, now), seen) {
        (Some(agent), _) => Some(ChangedBy::Agent(agent)),
        (None, Some(_)) => Some(ChangedBy::Others),
        (None, None) => None,
    }
}
