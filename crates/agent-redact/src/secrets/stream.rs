//! Known secrets in bytes that come in pieces.

use std::fmt;

use super::KnownSecrets;

/// Replaces known values in a stream of bytes, also those that are split over pieces: it holds back the end of what came for
/// as long as that may be the beginning of a value, and no longer. What it holds is shorter than the longest value.
///
/// The pieces it gives, put together, are what redacting the whole at once would give.
pub struct SecretStream {
    secrets: KnownSecrets,
    held: Vec<u8>,
    hit: bool,
}

impl KnownSecrets {
    /// A redactor for bytes that come in pieces.
    #[must_use]
    pub fn stream(&self) -> SecretStream {
        SecretStream::new(self.clone())
    }
}

impl SecretStream {
    fn new(secrets: KnownSecrets) -> Self {
        Self { secrets, held: Vec::new(), hit: false }
    }

    /// Takes the next piece and appends to `out` what is certain by now.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(piece);
        let done = self.replace(&text, false, out);
        text.drain(..done);
        self.held = text;
    }

    /// Ends the stream: appends what was held back. True if anything was replaced in the whole stream.
    #[must_use]
    pub fn finish(mut self, out: &mut Vec<u8>) -> bool {
        let text = std::mem::take(&mut self.held);
        self.replace(&text, true, out);
        self.hit
    }

    /// Whether anything was replaced so far.
    #[must_use]
    pub fn hit(&self) -> bool {
        self.hit
    }

    /// Appends the redacted beginning of `text` to `out`; returns how far it got.
    fn replace(&mut self, text: &[u8], last: bool, out: &mut Vec<u8>) -> usize {
        let secrets = self.secrets.clone();
        let mut done = 0;
        let mut open = if last { text.len() } else { secrets.open_end(text, 0) };
        for (start, end, marker) in secrets.matches(text) {
            // A longer value, or one that begins earlier, may still come true.
            if start >= open {
                break;
            }
            out.extend_from_slice(&text[done..start]);
            out.extend_from_slice(marker.text.as_bytes());
            self.hit |= marker.secret;
            done = end;
            if open < done {
                open = secrets.open_end(text, done);
            }
        }
        out.extend_from_slice(&text[done..open]);
        open
    }
}

impl KnownSecrets {
    /// Where the earliest value may have begun, at or after `from`, that the text does not hold the whole of.
    fn open_end(&self, text: &[u8], from: usize) -> usize {
        let earliest = from.max((text.len() + 1).saturating_sub(self.0.longest));
        (earliest..text.len()).find(|at| self.begins(&text[*at..])).unwrap_or(text.len())
    }

    /// Whether a longer pattern begins with `end`.
    fn begins(&self, end: &[u8]) -> bool {
        // Patterns that begin with `end` follow each other from where `end` itself would be sorted in.
        let patterns = &self.0.patterns;
        let at = patterns.partition_point(|pattern| pattern.as_slice() <= end);
        patterns.get(at).is_some_and(|pattern| pattern.starts_with(end))
    }
}

/// Not what is held back: it may be most of a value.
impl fmt::Debug for SecretStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretStream")
            .field("secrets", &self.secrets)
            .field("held_bytes", &self.held.len())
            .field("hit", &self.hit)
            .finish()
    }
}
