//! Reading: line by line, with one line in memory.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::de::IgnoredAny;

use crate::error::{JournalError, ReadError};
use crate::file::AppendFile;

/// The longest line that is read, in bytes: 64 MiB. A longer one is refused, so that a damaged file does not fill the memory.
pub const MAX_LINE_BYTES: u64 = 64 << 20;

/// How far the whole lines of a file go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// How many there are.
    pub(crate) lines: u64,
    /// Where the last one ends.
    pub(crate) len: u64,
}

/// Reads the lines of a journal that somebody else may be writing to. A last line without its line end is not there yet, and neither
/// is one that is no JSON. Gives how many lines there were.
///
/// # Errors
/// [`ReadError`]: the file cannot be read, or a line was refused.
pub fn read<E>(path: &Path, line: impl FnMut(&str) -> Result<(), E>) -> Result<u64, ReadError<E>> {
    let file = open_to_read(path).map_err(|source| io_error("open", path, source))?;
    Ok(each(&file, path, line)?.lines)
}

/// Opens a regular file. Nothing waits, should something else lie there.
fn open_to_read(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"))
    }
}

/// Hands out each whole line. What a crash may have left of the last one is not handed out.
pub(crate) fn each<E>(
    file: &File,
    path: &Path,
    mut line: impl FnMut(&str) -> Result<(), E>,
) -> Result<Extent, ReadError<E>> {
    let mut reader = BufReader::with_capacity(64 << 10, file);
    let mut bytes = Vec::new();
    let mut extent = Extent { lines: 0, len: 0 };
    loop {
        bytes.clear();
        let failed = |source| io_error("read", path, source);
        let read = reader.by_ref().take(MAX_LINE_BYTES + 1).read_until(b'\n', &mut bytes).map_err(failed)?;
        let number = extent.lines + 1;
        let wrong = |why| ReadError::Line { path: path.to_owned(), line: number, why };
        let whole = bytes.pop_if(|last| *last == b'\n').is_some();
        if !whole && read as u64 > MAX_LINE_BYTES {
            return Err(wrong("is longer than 64 MiB"));
        }
        let is_last = reader.fill_buf().map_err(failed)?.is_empty();
        if !whole || is_last && serde_json::from_slice::<IgnoredAny>(&bytes).is_err() {
            return Ok(extent);
        }
        let Ok(text) = std::str::from_utf8(&bytes) else { return Err(wrong("is not text")) };
        line(text).map_err(ReadError::Refused)?;
        extent = Extent { lines: number, len: extent.len + read as u64 };
        if is_last {
            return Ok(extent);
        }
    }
}

pub(crate) fn io_error(step: &'static str, path: &Path, source: io::Error) -> JournalError {
    JournalError::Io { step, path: path.to_owned(), source }
}

impl AppendFile {
    /// The whole lines, from the beginning.
    pub(crate) fn each<E>(&self, line: impl FnMut(&str) -> Result<(), E>) -> Result<Extent, ReadError<E>> {
        use std::io::Seek;
        (&self.file).rewind().map_err(|source| io_error("read", &self.path, source))?;
        each(&self.file, &self.path, line)
    }
}
