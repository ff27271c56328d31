//! The name of stored bytes.

use std::fmt;

/// The BLAKE3 hash of some bytes, as 64 lowercase hexadecimal digits (STO-13).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(String);

/// A text that is not the hash of anything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a content hash has 64 lowercase hexadecimal digits")]
pub struct ContentHashError;

impl ContentHash {
    /// The hash of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).to_hex().to_string())
    }

    /// Reads a hash that was written down.
    ///
    /// # Errors
    /// [`ContentHashError`] if it has another length or other characters.
    pub fn parse(text: &str) -> Result<Self, ContentHashError> {
        let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == 64 && text.bytes().all(hex) { Ok(Self(text.to_owned())) } else { Err(ContentHashError) }
    }

    /// The hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_survives_being_written_down() {
        let hash = ContentHash::of(b"abc");
        // The published test vector of BLAKE3 for "abc".
        assert_eq!(hash.as_str(), "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
        assert_eq!(ContentHash::parse(hash.as_str()), Ok(hash));
        for bad in ["", "ab", &"g".repeat(64), &"A".repeat(64), &"a".repeat(65)] {
            assert_eq!(ContentHash::parse(bad), Err(ContentHashError), "{bad}");
        }
    }
}
