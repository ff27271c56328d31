//! Reads a file that decides what runs, after a look at who could have written it (CFG-12).

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why a file of the user's was not read.
#[derive(Debug, thiserror::Error)]
pub enum UserFileError {
    /// There is none.
    #[error("{} does not exist", .path.display())]
    Missing {
        /// The file asked for.
        path: PathBuf,
    },
    /// It is a folder, a pipe, a device.
    #[error("{} is not a regular file", .path.display())]
    NotAFile {
        /// The file asked for.
        path: PathBuf,
    },
    /// Somebody else could have written it.
    #[error("{} {why}; it decides what runs in your name, so it is not read", .path.display())]
    Distrusted {
        /// The file asked for.
        path: PathBuf,
        /// What speaks against it.
        why: Distrust,
    },
    /// It is larger than any honest one.
    #[error("{} is larger than {limit} bytes, which no such file needs to be", .path.display())]
    TooBig {
        /// The file asked for.
        path: PathBuf,
        /// Most bytes that are read.
        limit: u64,
    },
    /// It is not text.
    #[error("{} is not UTF-8 text: line {line} has an invalid byte; save it as UTF-8", .path.display())]
    NotUtf8 {
        /// The file asked for.
        path: PathBuf,
        /// Line of the first invalid byte, from 1.
        line: usize,
    },
    /// The system refused.
    #[error("cannot read {}", .path.display())]
    Read {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Why a file is not to be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// Neither this user's nor root's.
    #[error("belongs to another user (uid {owner}); make it yours with chown")]
    ForeignOwner {
        /// Numeric id of the owner.
        owner: u32,
    },
    /// The group or everybody may change it.
    #[error("can be changed by others (mode {mode:03o}); take that away with `chmod go-w` on it")]
    WritableByOthers {
        /// Permission bits.
        mode: u32,
    },
}

/// Reads the text of a file of the user's: `config.toml`, and every other that may name commands to run.
///
/// What is judged is what is read: owner and mode are those of the opened file, behind any symlink, and a pipe in its place
/// is refused without waiting for a writer.
///
/// # Errors
/// When it is missing, no regular file, not to be trusted, larger than `limit` bytes, not UTF-8, or cannot be read.
pub fn read_user_file(path: &Path, limit: u64) -> Result<String, UserFileError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => UserFileError::Missing { path: path.to_owned() },
        _ => UserFileError::Read { path: path.to_owned(), source },
    };
    // Opening a pipe for reading would wait for somebody to write into it.
    let no_wait = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(no_wait).open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(UserFileError::NotAFile { path: path.to_owned() });
    }
    if let Some(why) = distrust(metadata.uid(), metadata.mode(), rustix::process::geteuid().as_raw()) {
        return Err(UserFileError::Distrusted { path: path.to_owned(), why });
    }
    let bytes = read_at_most(file, limit).map_err(failed)?;
    let Some(bytes) = bytes else {
        return Err(UserFileError::TooBig { path: path.to_owned(), limit });
    };
    String::from_utf8(bytes).map_err(|error| not_utf8(path, &error))
}

/// Root may write anything anyway, so its files are as good as one's own.
fn distrust(owner: u32, mode: u32, me: u32) -> Option<Distrust> {
    if owner != me && owner != 0 {
        return Some(Distrust::ForeignOwner { owner });
    }
    let mode = mode & 0o777;
    (mode & 0o022 != 0).then_some(Distrust::WritableByOthers { mode })
}

/// The bytes, or `None` when there are more than `limit`. The length is not asked for beforehand: it may change.
fn read_at_most(file: File, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((u64::try_from(read).unwrap_or(u64::MAX) <= limit).then_some(bytes))
}

fn not_utf8(path: &Path, error: &std::string::FromUtf8Error) -> UserFileError {
    let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
    UserFileError::NotUtf8 { path: path.to_owned(), line: valid.iter().filter(|byte| **byte == b'\n').count() + 1 }
}

#[cfg(test)]
#[path = "user_file_tests.rs"]
mod tests;
