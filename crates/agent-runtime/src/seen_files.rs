//! What an agent last saw of each file (COD-5): asked and answered in memory, stored with the next commit.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_protocol::{AgentId, path_from_text, path_text};
use agent_store::Write;
use agent_tool::{FileStamp, FileVersion, FileVersions, WriteGuard};

use crate::session_files::SessionFiles;

/// The versions one agent knows.
#[derive(Debug)]
pub(crate) struct SeenFiles {
    agent_id: AgentId,
    /// What all agents of its session have written.
    session: Arc<SessionFiles>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    seen: HashMap<PathBuf, Seen>,
    unstored: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Seen {
    version: FileVersion,
    /// The agent wrote it itself.
    written: bool,
}

impl SeenFiles {
    /// For an agent that has seen nothing yet.
    pub(crate) fn new(agent_id: AgentId, session: Arc<SessionFiles>) -> Self {
        Self { agent_id, session, known: Mutex::default() }
    }

    /// With the versions that were stored. One that cannot be read is left out: its file counts as never seen, which asks
    /// for another look at worst.
    pub(crate) fn stored(agent_id: AgentId, session: Arc<SessionFiles>, rows: Vec<agent_store::FileVersion>) -> Self {
        let seen = rows.into_iter().filter_map(|row| {
            let version = decode(&row.hash)?;
            Some((path_from_text(&row.path), Seen { version, written: row.written }))
        });
        let known = Known { seen: seen.collect(), unstored: Vec::new() };
        Self { agent_id, session, known: Mutex::new(known) }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Whole after every operation, so a panic elsewhere has not broken it.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, path: &Path, version: FileVersion, written: bool) {
        let mut known = self.known();
        let before = known.seen.get(path).copied();
        // Who reads what they wrote has still written it.
        let written = written || before.is_some_and(|seen| seen.written && seen.version == version);
        let seen = Seen { version, written };
        if before != Some(seen) {
            known.seen.insert(path.to_owned(), seen);
            known.unstored.push(path.to_owned());
        }
    }

    /// What has not been stored yet.
    pub(crate) fn take_unstored(&self) -> Vec<Write> {
        let mut known = self.known();
        let paths = std::mem::take(&mut known.unstored);
        let write = |path: PathBuf| {
            let Seen { version, written } = known.seen.get(&path)?;
            Some(Write::FileVersion { path: path_text(&path), hash: encode(version), written: *written })
        };
        paths.into_iter().filter_map(write).collect()
    }
}

impl FileVersions for SeenFiles {
    fn seen(&self, path: &Path) -> Option<FileVersion> {
        self.known().seen.get(path).map(|seen| seen.version)
    }

    fn read(&self, path: &Path, version: FileVersion) {
        self.note(path, version, false);
    }

    fn wrote(&self, path: &Path, version: FileVersion) {
        self.session.wrote(path, version, &self.agent_id);
        self.note(path, version, true);
    }

    fn writer(&self, path: &Path, version: FileVersion) -> Option<String> {
        let writer = self.session.writer(path, version)?;
        (writer != self.agent_id).then(|| writer.to_string())
    }

    fn exclusive(&self, path: &Path) -> WriteGuard {
        self.session.exclusive(path)
    }
}

fn encode(version: &FileVersion) -> String {
    match version {
        FileVersion::Content(hash) => hash.iter().fold("b3:".to_owned(), |text, byte| text + &format!("{byte:02x}")),
        FileVersion::Stamp(stamp) => {
            let (seconds, nanos) = stamp.modified;
            let changed = stamp.status_changed.map(|(seconds, nanos)| format!(":{seconds}:{nanos}"));
            let changed = changed.unwrap_or_default();
            format!("st:{}:{}:{}:{seconds}:{nanos}{changed}", stamp.device, stamp.inode, stamp.size)
        }
    }
}

pub(crate) fn decode(text: &str) -> Option<FileVersion> {
    match text.split_once(':')? {
        ("b3", hex) if hex.len() == 64 && hex.is_ascii() => {
            let mut hash = [0; 32];
            for (at, byte) in hash.iter_mut().enumerate() {
                *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok()?;
            }
            Some(FileVersion::Content(hash))
        }
        ("st", numbers) => {
            let mut numbers = numbers.split(':');
            let device = numbers.next()?.parse().ok()?;
            let inode = numbers.next()?.parse().ok()?;
            let size = numbers.next()?.parse().ok()?;
            let modified = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
            let status_changed = match numbers.next() {
                Some(seconds) => Some((seconds.parse().ok()?, numbers.next()?.parse().ok()?)),
                None => None,
            };
            let stamp = FileStamp { device, inode, size, modified, status_changed };
            numbers.next().is_none().then_some(FileVersion::Stamp(stamp))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// COD-5: what a session saw survives the process that saw it.
    #[test]
    fn versions_survive_being_stored() {
        let older = FileStamp { device: 1, inode: u64::MAX, size: 3, modified: (-5, 999), status_changed: None };
        let stamp = FileStamp { status_changed: Some((-6, 1)), ..older };
        for version in [FileVersion::Content([0xA7; 32]), FileVersion::Stamp(stamp), FileVersion::Stamp(older)] {
            assert_eq!(decode(&encode(&version)), Some(version));
        }
        for broken in ["", "b3:zz", "st:1:2", "st:1:2:3:4:5:6", "st:1:2:3:4:5:6:7:8", "xx:1"] {
            assert_eq!(decode(broken), None, "{broken}");
        }
    }

    fn agent(name: &str) -> AgentId {
        AgentId::parse(&format!("{}{name}", AgentId::PREFIX)).unwrap()
    }

    const ONE: FileVersion = FileVersion::Content([1; 32]);
    const TWO: FileVersion = FileVersion::Content([2; 32]);

    #[test]
    fn only_news_is_stored() {
        let files = SeenFiles::new(agent("a"), Arc::default());
        let path = Path::new("/p/a");
        files.read(path, ONE);
        assert_eq!(files.take_unstored().len(), 1);
        files.read(path, ONE);
        assert!(files.take_unstored().is_empty());
        files.read(path, TWO);
        assert_eq!(files.seen(path), Some(TWO));
        assert_eq!(files.take_unstored().len(), 1);
    }

    /// COD-5, AGT-C06: what counts is what this agent saw; who of the session wrote what is there now has a name.
    #[test]
    fn agents_see_for_themselves() {
        let session = Arc::new(SessionFiles::default());
        let [one, other] = ["a", "b"].map(|name| SeenFiles::new(agent(name), Arc::clone(&session)));
        let path = Path::new("/p/a");
        one.read(path, ONE);
        other.read(path, ONE);
        other.wrote(path, TWO);
        assert_eq!((one.seen(path), other.seen(path)), (Some(ONE), Some(TWO)));
        assert_eq!(one.writer(path, TWO).as_deref(), Some("agent_b"));
        assert_eq!(other.writer(path, TWO), None, "it wrote that itself");
        assert_eq!(one.writer(path, ONE), None, "somebody outside did");
    }

    /// Who reads what they wrote has still written it.
    #[test]
    fn reading_ones_own_writing_changes_nothing() {
        let files = SeenFiles::new(agent("a"), Arc::default());
        let path = Path::new("/p/a");
        files.wrote(path, ONE);
        files.take_unstored();
        files.read(path, ONE);
        assert!(files.take_unstored().is_empty());
        files.read(path, TWO);
        let [Write::FileVersion { written, .. }] = &files.take_unstored()[..] else { panic!() };
        assert!(!written);
    }

    /// COD-5: of a file whose path is no UTF-8 the version is stored, and is that of this very file afterwards.
    #[test]
    fn paths_of_any_bytes_are_stored() {
        use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
        let files = SeenFiles::new(agent("a"), Arc::default());
        let paths = [&b"/p/caf\xe9"[..], b"/p/caf\xe8", b"/p/caf\\xE9"].map(|path| Path::new(OsStr::from_bytes(path)));
        for path in paths.iter().take(2) {
            files.read(path, ONE);
        }
        let row = |write: Write| match write {
            Write::FileVersion { path, hash, written } => {
                let seen_at = agent_protocol::Timestamp::from_unix_millis(0);
                agent_store::FileVersion { path, hash, written, agent_id: agent("a"), seen_at }
            }
            other => panic!("{other:?}"),
        };
        let rows: Vec<_> = files.take_unstored().into_iter().map(row).collect();
        let again = SeenFiles::stored(agent("a"), Arc::default(), rows);
        assert_eq!(paths.map(|path| again.seen(path)), [Some(ONE), Some(ONE), None]);
    }
}
