//! A unified diff of one file, applied to its text: pure, on bytes, all or nothing.
//!
//! [`parse`](parse::parse) reads the diff and holds it to one file; [`place`] finds for each hunk the one place it can
//! mean; [`build`] writes the new text. Nothing is matched loosely but line ends: what a hunk says is there must be there,
//! letter for letter.

mod build;
mod error;
mod explain;
mod hunk;
mod names;
mod parse;
mod place;
mod source;

pub(crate) use error::{DiffError, HunkError};
pub(crate) use names::Names;
pub(crate) use place::Numbers;

use agent_redact::KnownSecrets;
use source::Source;

/// A text after the whole diff.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Patched {
    pub(crate) text: Vec<u8>,
    /// How many hunks were applied; at least one.
    pub(crate) hunks: usize,
}

/// Applies a diff to a text; `None` is a file that does not exist and is to be made. Why it does not apply is told without the
/// secrets.
pub(crate) fn patch(
    original: Option<&[u8]>,
    names: &Names,
    diff: &str,
    numbers: Numbers,
    secrets: &KnownSecrets,
) -> Result<Patched, DiffError> {
    let parsed = parse::parse(diff, names).map_err(|error| error.quoted(secrets))?;
    if parsed.creates && original.is_some() {
        return Err(DiffError::Exists);
    }
    if original.is_none() && parsed.hunks.iter().any(|hunk| hunk.old_len() > 0) {
        return Err(DiffError::Missing);
    }
    let source = Source::new(original.unwrap_or_default()).without(secrets);
    let places = place::place(&source, &parsed.hunks, numbers).map_err(|error| error.quoted(secrets))?;
    let text = build::build(source.text(), &parsed.hunks, &places);
    if original.is_some_and(|original| original == text) {
        return Err(DiffError::Pointless);
    }
    Ok(Patched { text, hunks: parsed.hunks.len() })
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
