//! What a session last saw of each file (COD-5): asked and answered in memory, stored with the next commit.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent_store::Write;
use agent_tool::{FileStamp, FileVersion, FileVersions};

/// The versions of one session.
#[derive(Debug, Default)]
pub(crate) struct Versions(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    seen: HashMap<PathBuf, FileVersion>,
    unstored: Vec<PathBuf>,
}

impl Versions {
    /// The versions that were stored. One that cannot be read is left out: its file counts as never seen, which asks for
    /// another look at worst.
    pub(crate) fn stored(rows: Vec<agent_store::FileVersion>) -> Self {
        let seen = rows.into_iter().filter_map(|row| Some((PathBuf::from(row.path), decode(&row.hash)?))).collect();
        Self(Mutex::new(State { seen, unstored: Vec::new() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole after every operation, so a panic elsewhere has not broken it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has not been stored yet. A path that is not UTF-8 is kept in memory only.
    pub(crate) fn take_unstored(&self) -> Vec<Write> {
        let mut state = self.state();
        let paths = std::mem::take(&mut state.unstored);
        let write = |path: PathBuf| {
            let hash = encode(state.seen.get(&path)?);
            Some(Write::FileVersion { path: path.to_str()?.to_owned(), hash, written: false })
        };
        paths.into_iter().filter_map(write).collect()
    }
}

impl FileVersions for Versions {
    fn seen(&self, path: &Path) -> Option<FileVersion> {
        self.state().seen.get(path).copied()
    }

    fn record(&self, path: &Path, version: FileVersion) {
        let mut state = self.state();
        if state.seen.insert(path.to_owned(), version) != Some(version) {
            state.unstored.push(path.to_owned());
        }
    }
}

fn encode(version: &FileVersion) -> String {
    match version {
        FileVersion::Content(hash) => hash.iter().fold("b3:".to_owned(), |text, byte| text + &format!("{byte:02x}")),
        FileVersion::Stamp(stamp) => {
            let (seconds, nanos) = stamp.modified;
            format!("st:{}:{}:{}:{seconds}:{nanos}", stamp.device, stamp.inode, stamp.size)
        }
    }
}

fn decode(text: &str) -> Option<FileVersion> {
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
            let stamp = FileStamp { device, inode, size, modified };
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
        let stamp = FileStamp { device: 1, inode: u64::MAX, size: 3, modified: (-5, 999) };
        for version in [FileVersion::Content([0xA7; 32]), FileVersion::Stamp(stamp)] {
            assert_eq!(decode(&encode(&version)), Some(version));
        }
        for broken in ["", "b3:zz", "st:1:2", "st:1:2:3:4:5:6", "xx:1"] {
            assert_eq!(decode(broken), None, "{broken}");
        }
    }

    #[test]
    fn only_news_is_stored() {
        let versions = Versions::default();
        let path = Path::new("/p/a");
        versions.record(path, FileVersion::Content([1; 32]));
        assert_eq!(versions.take_unstored().len(), 1);
        versions.record(path, FileVersion::Content([1; 32]));
        assert!(versions.take_unstored().is_empty());
        versions.record(path, FileVersion::Content([2; 32]));
        assert_eq!(versions.seen(path), Some(FileVersion::Content([2; 32])));
        assert_eq!(versions.take_unstored().len(), 1);
    }
}
