//! The body of one instruction file.

use std::path::Path;

use crate::frontmatter::{self, MAX_BLOCK};
use crate::source::{self, ReadError};

/// What an instruction file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionBody {
    /// What is behind the frontmatter, or its beginning. Read by the file's byte order mark; what is no text is shown as
    /// replacement characters.
    pub text: String,
    /// BLAKE3 of all bytes of the file, in hexadecimal digits.
    pub hash: String,
    /// All bytes of the file.
    pub bytes: u64,
    /// Whether the text is only the body's beginning.
    pub cut: bool,
    /// Bytes of the file behind the text.
    pub unread: u64,
    /// The line of the file in which the text begins, from 1.
    pub first_line: usize,
}

/// Reads a file's body, at most `limit_bytes` of it, cut between characters. Blocks.
///
/// `path` is that of the file itself: no link is followed in its last part, and a pipe is refused and not waited for.
/// Frontmatter does not belong to the body however broken it is; what nothing closes is no frontmatter.
///
/// # Errors
/// What is no regular file, longer than 64 MiB, UTF-32, or cannot be read.
pub fn read_body(path: &Path, limit_bytes: usize) -> Result<InstructionBody, ReadError> {
    let source = source::read(path, limit_bytes.saturating_add(MAX_BLOCK))?;
    let document = frontmatter::split(&source.text);
    let end = source::border(document.body, limit_bytes);
    let read = source.bytes_until(source.text.len() - document.body.len() + end);
    Ok(InstructionBody {
        text: document.body[..end].to_owned(),
        hash: source.hash.clone(),
        bytes: source.bytes,
        cut: source.more || end < document.body.len(),
        // Replacement characters are longer than what they stand for, so there may seem to be less than nothing.
        unread: source.bytes.saturating_sub(read),
        first_line: document.body_line,
    })
}
