//! What a crash left of the last line: kept in a file of its own, so that nothing is lost unseen.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::error::JournalError;
use crate::file::{AppendFile, Medium, sync_folder_of};
use crate::lines::io_error;

/// The end of a log that was no whole line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    /// Where it began, in bytes from the beginning of the log.
    pub offset: u64,
    /// How many bytes it had.
    pub bytes: u64,
    /// Where they are kept.
    pub kept_at: PathBuf,
}

/// Puts what is behind `len` aside and cuts the log there. The bytes are on disk in their new place before they leave the old one.
pub(crate) fn mend(log: &mut AppendFile, len: u64, bytes: u64) -> Result<Torn, JournalError> {
    let path = log.path.clone();
    let (kept_at, kept) = make_beside(&path, len)?;
    let failed = |source| io_error("keep the torn end of", &path, source);
    log.file.seek(SeekFrom::Start(len)).and_then(|_| keep(&mut log.file, kept, &kept_at)).map_err(failed)?;
    log.cut(len).map_err(|source| {
        // The log has it still; the next try keeps it anew.
        let _ = fs::remove_file(&kept_at);
        io_error("cut the torn end of", &path, source)
    })?;
    log.sync().map_err(|source| io_error("cut the torn end of", &path, source))?;
    Ok(Torn { offset: len, bytes, kept_at })
}

/// Copies a torn end to a file that was made for it. Where it does not get there whole, as on a full disk, the file goes again.
fn keep(mut end: impl Read, mut kept: File, kept_at: &Path) -> io::Result<()> {
    let copied = io::copy(&mut end, &mut kept).and_then(|_| kept.sync_all()).and_then(|()| sync_folder_of(kept_at));
    if copied.is_err() {
        let _ = fs::remove_file(kept_at);
    }
    copied
}

/// A torn end that lies beside its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptEnd {
    /// Its file.
    pub path: PathBuf,
    /// How big it is.
    pub bytes: u64,
}

/// The torn ends that were kept of a log, by name.
///
/// # Errors
/// The folder cannot be read.
pub fn kept_of(log: &Path) -> io::Result<Vec<KeptEnd>> {
    let (Some(folder), Some(name)) = (log.parent(), log.file_name()) else { return Ok(Vec::new()) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut kept = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !is_kept_of(&entry.file_name(), name) {
            continue;
        }
        let metadata = entry.metadata()?;
        if metadata.is_file() {
            kept.push(KeptEnd { path: entry.path(), bytes: metadata.len() });
        }
    }
    kept.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(kept)
}

/// Whether a file is called `<log>.torn-<offset>`, with or without a number behind it.
fn is_kept_of(file: &OsStr, log: &OsStr) -> bool {
    let rest = file.as_bytes().strip_prefix(log.as_bytes()).and_then(|rest| rest.strip_prefix(b".torn-"));
    let Some(rest) = rest else { return false };
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let mut numbers = rest.splitn(2, |byte| *byte == b'-');
    numbers.all(is_number) && !rest.is_empty()
}

/// How many torn ends may begin at the same byte before the folder has to be looked at by a person.
const TRIES: u32 = 1_000;

/// A new file beside the log: `<log>.torn-<offset>`, and a number where there is one.
fn make_beside(path: &Path, offset: u64) -> Result<(PathBuf, File), JournalError> {
    for n in 1..=TRIES {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".torn-{offset}"));
        if n > 1 {
            name.push(format!("-{n}"));
        }
        let kept_at = PathBuf::from(name);
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&kept_at) {
            Ok(file) => return Ok((kept_at, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(io_error("make", &kept_at, source)),
        }
    }
    Err(io_error("keep the torn end of", path, io::Error::other("too many were kept before: look through the folder")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives some bytes and then fails, as a disk does.
    struct Fails(usize);

    impl Read for Fails {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let given = self.0.min(buffer.len());
            buffer[..given].fill(b'x');
            self.0 -= given;
            if given > 0 { Ok(given) } else { Err(io::Error::from(io::ErrorKind::StorageFull)) }
        }
    }

    /// WAL-4: a torn end that cannot be kept leaves no file, however far it came and however often it is tried.
    #[test]
    fn what_cannot_be_kept_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("t.wal.jsonl");
        for came in [0, 1, 100_000] {
            let (kept_at, kept) = make_beside(&log, 7).unwrap();
            assert_eq!(keep(Fails(came), kept, &kept_at).unwrap_err().kind(), io::ErrorKind::StorageFull);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
        let (kept_at, kept) = make_beside(&log, 7).unwrap();
        keep(&b"torn"[..], kept, &kept_at).unwrap();
        assert_eq!(fs::read(&kept_at).unwrap(), b"torn");
    }
}
