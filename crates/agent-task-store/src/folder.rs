//! The folder of a session's logs.

use std::fs::{self, DirBuilder, DirEntry, File, FileType};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use agent_protocol::SessionId;
use agent_tasks::WalName;

use crate::error::TaskError;

pub(crate) const EXTENSION: &str = ".wal.jsonl";

/// Where the logs of a session lie (WAL-1).
#[must_use]
pub fn session_folder(wal_dir: &Path, session_id: &SessionId) -> PathBuf {
    wal_dir.join(session_id.as_str())
}

/// A log, as it lies there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// Its name without extension.
    pub name: WalName,
    /// The file.
    pub path: PathBuf,
    /// When it was last written.
    pub modified: SystemTime,
    /// Its size.
    pub bytes: u64,
    /// What has a log's name and is no file: nothing reads or writes it.
    pub odd: Option<&'static str>,
}

/// The folder of a session, as it lies there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFolder {
    /// The session.
    pub session_id: SessionId,
    /// The folder.
    pub path: PathBuf,
}

/// The folders of sessions, by id. A folder that is not there has none; what has another name, or is no folder, is none.
///
/// # Errors
/// [`TaskError::Io`] where `wal_dir` cannot be read.
pub fn session_folders(wal_dir: &Path) -> Result<Vec<SessionFolder>, TaskError> {
    let mut folders = Vec::new();
    for entry in entries(wal_dir)? {
        let Some(session_id) = entry.file_name().to_str().and_then(|name| SessionId::parse(name).ok()) else {
            continue;
        };
        // Not followed: a link is no session's folder.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            folders.push(SessionFolder { session_id, path: entry.path() });
        }
    }
    folders.sort_by(|one, other| one.session_id.as_str().cmp(other.session_id.as_str()));
    Ok(folders)
}

/// What lies in a folder; nothing where it is not there.
fn entries(folder: &Path) -> Result<Vec<DirEntry>, TaskError> {
    let listed = fs::read_dir(folder).and_then(Iterator::collect);
    match listed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        listed => listed.map_err(|source| TaskError::Io { step: "list", path: folder.to_owned(), source }),
    }
}

pub(crate) fn path_of(folder: &Path, name: &WalName) -> PathBuf {
    folder.join(format!("{name}{EXTENSION}"))
}

/// The logs in a folder, the newest first; those of the same age by name. A folder that is not there has none. What has another name
/// is no log. What has a log's name and is no file comes with what it is, so that nobody misses a Task without a word.
///
/// # Errors
/// [`TaskError::Io`] where the folder cannot be read.
pub fn logs(folder: &Path) -> Result<Vec<LogFile>, TaskError> {
    let mut logs = Vec::new();
    for entry in entries(folder)? {
        let file_name = entry.file_name();
        let name = file_name.to_str().and_then(|name| name.strip_suffix(EXTENSION));
        let Some(name) = name.and_then(|name| WalName::parse(name).ok()) else { continue };
        // Not followed: a link is no log.
        let Ok(metadata) = entry.metadata() else { continue };
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let odd = odd(metadata.file_type());
        let bytes = if odd.is_none() { metadata.len() } else { 0 };
        logs.push(LogFile { name, path: entry.path(), modified, bytes, odd });
    }
    logs.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.name.cmp(&b.name)));
    Ok(logs)
}

fn odd(kind: FileType) -> Option<&'static str> {
    match kind {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a folder"),
        kind if kind.is_symlink() => Some("a link"),
        _ => Some("a pipe or device"),
    }
}

/// Why a log is not to be opened: what has its name is no file.
pub(crate) fn not_a_file(path: &Path) -> Option<String> {
    let odd = odd(fs::symlink_metadata(path).ok()?.file_type())?;
    Some(format!("it is {odd}, and a task's log is a file: move it elsewhere"))
}

/// Makes the folder of a session, for its owner alone, and keeps the logs out of version control.
pub(crate) fn make(folder: &Path) -> Result<(), TaskError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| TaskError::Io { step: "make", path, source }
    };
    let there = fs::symlink_metadata(folder);
    if there.as_ref().is_ok_and(|there| !there.is_dir()) {
        let source = io::Error::other("something else than a folder has this name");
        return Err(TaskError::Io { step: "make", path: folder.to_owned(), source });
    }
    if there.is_err() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed(folder))?;
    }
    let Some(wal_dir) = folder.parent() else { return Ok(()) };
    let ignore = wal_dir.join(".gitignore");
    match File::create_new(&ignore) {
        Ok(mut file) => io::Write::write_all(&mut file, b"*\n").map_err(failed(&ignore)),
        // Whatever it says, it is the user's.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(&ignore)(error)),
    }
}

/// So much of a log's end is looked at to see how it ends. A longer last line is found by reading all of it.
const TAIL: u64 = 64 << 10;

/// The last whole line of a log, where it is not longer than the tail that is looked at.
pub(crate) fn last_line(path: &Path) -> io::Result<Option<String>> {
    if not_a_file(path).is_some() {
        return Ok(None);
    }
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    let Some(end) = tail.iter().rposition(|byte| *byte == b'\n') else { return Ok(None) };
    let start = tail[..end].iter().rposition(|byte| *byte == b'\n');
    let start = match start {
        Some(at) => at + 1,
        None if len <= TAIL => 0,
        None => return Ok(None),
    };
    Ok(String::from_utf8(tail[start..end].to_vec()).ok())
}
