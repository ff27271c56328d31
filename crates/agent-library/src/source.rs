//! Reading a file of the user's: regular files only, so much and no more.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use agent_protocol::{FromUtf16, TextEncoding};
use rustix::fs::{Mode, OFlags};

use crate::shown;

/// A longer file is not read at all. Bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is a folder, a link, a pipe or a device.
    #[error("{} is not a regular file", shown::path(.0))]
    NotRegular(PathBuf),
    /// It has other names, and one of them may be that of a secret: what is read here is sent unasked.
    #[error("{} is not read, since the file has several names (hard links)", shown::path(.0))]
    SeveralNames(PathBuf),
    /// It is longer than whatever is written for a model.
    #[error("{} has {size} bytes; at most {MAX_FILE} are read", shown::path(.path))]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        size: u64,
    },
    /// It is in an encoding that is not read.
    #[error("{} is UTF-32, which is not read; save it as UTF-8", shown::path(.0))]
    Utf32(PathBuf),
    /// The system refused.
    #[error("cannot read {}", shown::path(.path))]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl ReadError {
    /// The reason without the path.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::NotRegular(_) => "no regular file".to_owned(),
            Self::SeveralNames(_) => "the file has several names (hard links)".to_owned(),
            Self::TooLong { size, .. } => format!("{size} bytes are too many"),
            Self::Utf32(_) => "it is UTF-32, which is not read; save it as UTF-8".to_owned(),
            Self::Io { source, .. } => source.to_string(),
        }
    }
}

/// A file, or its beginning.
pub(crate) struct Source {
    /// As much as was asked for.
    pub(crate) text: String,
    /// All of its bytes, read or not.
    pub(crate) bytes: u64,
    /// Whether there is more than the text.
    pub(crate) more: bool,
    /// BLAKE3 of all bytes, in hexadecimal digits.
    pub(crate) hash: String,
    encoding: TextEncoding,
    /// Whether the text is what stands in the file, and not what could be made of bytes that are no text.
    pub(crate) is_text: bool,
}

impl Source {
    /// How many bytes of the file the first `end` bytes of the text are.
    pub(crate) fn bytes_until(&self, end: usize) -> u64 {
        let read = match self.encoding.is_utf16() {
            true => self.encoding.mark().len() + 2 * self.text[..end].encode_utf16().count(),
            false => end,
        };
        read as u64
    }
}

/// The first `limit` bytes as text; of UTF-16, which takes two for a letter, twice as many.
pub(crate) fn head(path: &Path, limit: usize) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    let mut file = open(path)?;
    (&mut file).take(limit as u64).read_to_end(&mut bytes).map_err(failed(path))?;
    let mut cut = bytes.len() == limit;
    if cut && TextEncoding::of(&bytes).is_utf16() {
        let more = file.take(limit as u64).read_to_end(&mut bytes).map_err(failed(path))?;
        cut = more == limit;
    }
    Ok(text(path, bytes, cut)?.0)
}

/// The whole file goes into the hash, its first `limit` bytes are kept; of UTF-16, which takes two for a letter, twice as many.
pub(crate) fn read(path: &Path, limit: usize) -> Result<Source, ReadError> {
    let mut file = open(path)?;
    let (mut hasher, mut kept, mut bytes) = (blake3::Hasher::new(), Vec::new(), 0_u64);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(path)(error)),
        };
        bytes += count as u64;
        // It may have grown since it was opened.
        if bytes > MAX_FILE {
            return Err(ReadError::TooLong { path: path.to_owned(), size: bytes });
        }
        hasher.update(&buffer[..count]);
        let start = if kept.is_empty() { &buffer[..count] } else { &kept };
        let most = if TextEncoding::of(start).is_utf16() { limit.saturating_mul(2) } else { limit };
        let room = most.saturating_sub(kept.len());
        kept.extend_from_slice(&buffer[..count.min(room)]);
    }
    let more = bytes > kept.len() as u64;
    let (encoding, hash) = (TextEncoding::of(&kept), hasher.finalize().to_hex().to_string());
    let (text, is_text) = text(path, kept, more)?;
    Ok(Source { text, bytes, more, hash, encoding, is_text })
}

/// Whether a file of this name is one of the user's texts. Editors keep their own things under hidden names.
pub(crate) fn is_markdown(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.ends_with(b".md") && !name.starts_with(b".")
}

/// Whether a name ends like that of Markdown but for its case.
pub(crate) fn is_nearly_markdown(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    let ends = bytes.len() > 3 && bytes[bytes.len() - 3..].eq_ignore_ascii_case(b".md");
    ends && !bytes.starts_with(b".") && !is_markdown(name)
}

/// The path of a folder without links; none may be in its last part.
pub(crate) fn real_folder(path: &Path) -> io::Result<PathBuf> {
    if path.is_symlink() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is a link, move the folder itself there"));
    }
    fs::canonicalize(path)
}

/// The regular file that a path stands for: itself, or what a link leads to, if that is below `root` too.
pub(crate) fn target(root: &Path, path: &Path) -> Option<PathBuf> {
    let known = path.symlink_metadata().ok()?;
    if known.is_file() {
        return Some(path.to_owned());
    }
    if !known.is_symlink() {
        return None;
    }
    let real = fs::canonicalize(path).ok()?;
    (real.starts_with(root) && real.symlink_metadata().is_ok_and(|known| known.is_file())).then_some(real)
}

/// Opened without following a link in the path's last part and without waiting for a pipe's other end.
fn open(path: &Path) -> Result<File, ReadError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::NXIO) => return Err(ReadError::NotRegular(path.to_owned())),
        Err(error) => return Err(failed(path)(error.into())),
    };
    let known = file.metadata().map_err(failed(path))?;
    if !known.is_file() {
        return Err(ReadError::NotRegular(path.to_owned()));
    }
    if known.nlink() > 1 {
        return Err(ReadError::SeveralNames(path.to_owned()));
    }
    if known.len() > MAX_FILE {
        return Err(ReadError::TooLong { path: path.to_owned(), size: known.len() });
    }
    Ok(file)
}

fn failed(path: &Path) -> impl Fn(io::Error) -> ReadError {
    move |source| ReadError::Io { path: path.to_owned(), source }
}

/// Text as `code.read_file` reads it (INS-3): by the file's byte order mark. What is none becomes replacement characters, but for a
/// character that the limit cut in two; whether nothing did.
fn text(path: &Path, bytes: Vec<u8>, cut: bool) -> Result<(String, bool), ReadError> {
    let encoding = TextEncoding::of(&bytes);
    match encoding {
        TextEncoding::Utf32 => Err(ReadError::Utf32(path.to_owned())),
        TextEncoding::Utf16Little | TextEncoding::Utf16Big => {
            let mut text = String::new();
            let units = &bytes[encoding.mark().len()..];
            FromUtf16::new(units, encoding).read_to_string(&mut text).map_err(failed(path))?;
            if cut && text.ends_with(char::REPLACEMENT_CHARACTER) {
                text.pop();
            }
            // One that stands in the file itself is not told from one that was made.
            let is_text = !text.contains(char::REPLACEMENT_CHARACTER);
            Ok((text, is_text))
        }
        TextEncoding::Plain | TextEncoding::Utf8Mark => Ok(utf8(bytes, cut)),
    }
}

fn utf8(bytes: Vec<u8>, cut: bool) -> (String, bool) {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return (text, true),
        Err(error) if cut && error.utf8_error().error_len().is_none() => {
            let end = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(end);
            bytes
        }
        Err(error) => error.into_bytes(),
    };
    match String::from_utf8_lossy(&bytes) {
        Cow::Borrowed(text) => (text.to_owned(), true),
        Cow::Owned(text) => (text, false),
    }
}

/// The end of the longest beginning of at most `limit` bytes that cuts no character.
pub(crate) fn border(text: &str, limit: usize) -> usize {
    text.floor_char_boundary(limit)
}

#[cfg(test)]
mod tests;
