//! Letters that Unicode writes in two ways: `é` is one character, or an `e` and an accent.
//!
//! Both look the same. What is shown is in the composed form (NFC), as nearly all text is; a character that would take it
//! out of that form is written as its number, so that no two texts are two spellings of the same letters.

use unicode_normalization::{IsNormalized, UnicodeNormalization, char::canonical_combining_class, is_nfc_quick};

/// So many characters of one letter are looked at; Unicode's own bound for text in streams is 30 accents. More are numbers.
const MAX_RUN: usize = 32;

/// The letter a character may belong to: what has stayed since the last character that begins a new one.
#[derive(Debug, Default)]
pub(super) struct Letter(Vec<char>);

impl Letter {
    /// Whether the text stays in its composed form with this character behind what has stayed before; if so it is part of
    /// it from now on.
    pub(super) fn takes(&mut self, c: char) -> bool {
        match is_nfc_quick(std::iter::once(c)) {
            IsNormalized::No => return false,
            IsNormalized::Yes if canonical_combining_class(c) == 0 => self.0.clear(),
            IsNormalized::Yes | IsNormalized::Maybe if self.0.len() >= MAX_RUN => return false,
            IsNormalized::Yes | IsNormalized::Maybe => {}
        }
        self.0.push(c);
        let composed = self.0.len() == 1 || self.0.iter().copied().nfc().eq(self.0.iter().copied());
        if !composed {
            self.0.pop();
        }
        composed
    }

    /// Something else has been written, to which nothing can belong.
    pub(super) fn end(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests;
