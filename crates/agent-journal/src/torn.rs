//! What a crash left of the last line: kept in a file of its own, so that nothing is lost unseen.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
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
    let (kept_at, mut kept) = make_beside(&path, len)?;
    let failed = |source| io_error("keep the torn end of", &path, source);
    log.file.seek(SeekFrom::Start(len)).map_err(failed)?;
    io::copy(&mut log.file, &mut kept).map_err(failed)?;
    kept.sync_all().map_err(failed)?;
    sync_folder_of(&kept_at).map_err(failed)?;
    log.cut(len).and_then(|()| log.sync()).map_err(|source| io_error("cut the torn end of", &path, source))?;
    Ok(Torn { offset: len, bytes, kept_at })
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
