//! Text as UTF-8, whatever the byte order mark of a file says: one reading of a file's bytes for whoever reads them.

use std::io::{self, Read};

/// How a file's text is encoded, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextEncoding {
    /// No mark.
    Plain,
    /// UTF-8 with a mark.
    Utf8Mark,
    /// UTF-16 with a mark, the low byte first.
    Utf16Little,
    /// UTF-16 with a mark, the high byte first.
    Utf16Big,
    /// UTF-32 with a mark, in either order. Hardly anybody writes it, and it is not read.
    Utf32,
}

impl TextEncoding {
    /// By the first bytes of a file.
    #[must_use]
    pub fn of(start: &[u8]) -> Self {
        match start {
            [0xEF, 0xBB, 0xBF, ..] => Self::Utf8Mark,
            // As UTF-16 the first of these would begin with NUL, which is no text either.
            [0xFF, 0xFE, 0, 0, ..] | [0, 0, 0xFE, 0xFF, ..] => Self::Utf32,
            [0xFF, 0xFE, ..] => Self::Utf16Little,
            [0xFE, 0xFF, ..] => Self::Utf16Big,
            _ => Self::Plain,
        }
    }

    /// The mark's bytes; of what is not read none.
    #[must_use]
    pub fn mark(self) -> &'static [u8] {
        match self {
            Self::Plain | Self::Utf32 => &[],
            Self::Utf8Mark => &[0xEF, 0xBB, 0xBF],
            Self::Utf16Little => &[0xFF, 0xFE],
            Self::Utf16Big => &[0xFE, 0xFF],
        }
    }

    /// What people call it, where it is not the usual one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Plain | Self::Utf8Mark => None,
            Self::Utf16Little => Some("utf-16le"),
            Self::Utf16Big => Some("utf-16be"),
            Self::Utf32 => Some("utf-32"),
        }
    }

    /// Whether the text comes in units of two bytes.
    #[must_use]
    pub fn is_utf16(self) -> bool {
        matches!(self, Self::Utf16Little | Self::Utf16Big)
    }

    fn unit(self, bytes: [u8; 2]) -> u16 {
        if self == Self::Utf16Big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    fn bytes(self, unit: u16) -> [u8; 2] {
        if self == Self::Utf16Big { unit.to_be_bytes() } else { unit.to_le_bytes() }
    }

    /// The whole of a file as UTF-8 without its mark, if that loses nothing: encoding it again gives the same bytes.
    #[must_use]
    pub fn decode(self, content: &[u8]) -> Option<Vec<u8>> {
        let text = content.strip_prefix(self.mark())?;
        match self {
            Self::Plain | Self::Utf8Mark => return Some(text.to_vec()),
            Self::Utf16Little | Self::Utf16Big => {}
            Self::Utf32 => return None,
        }
        let (pairs, []) = text.as_chunks::<2>() else { return None };
        let units = pairs.iter().map(|pair| self.unit(*pair));
        let text: String = char::decode_utf16(units).collect::<Result<_, _>>().ok()?;
        Some(text.into_bytes())
    }

    /// The inverse of [`decode`](Self::decode). `None` where the text is no UTF-8 and so has no UTF-16 form, and for UTF-32.
    #[must_use]
    pub fn encode(self, text: Vec<u8>) -> Option<Vec<u8>> {
        let mut content = self.mark().to_vec();
        match self {
            Self::Plain => return Some(text),
            Self::Utf32 => return None,
            Self::Utf8Mark => content.extend(text),
            Self::Utf16Little | Self::Utf16Big => {
                let text = std::str::from_utf8(&text).ok()?;
                content.extend(text.encode_utf16().flat_map(|unit| self.bytes(unit)));
            }
        }
        Some(content)
    }
}

/// A UTF-16 source, without its mark, read as UTF-8. Half a pair becomes a replacement character.
#[derive(Debug)]
pub struct FromUtf16<R> {
    source: R,
    encoding: TextEncoding,
    /// Bytes that came and are not decoded yet: less than one character.
    raw: Vec<u8>,
    text: Vec<u8>,
    given: usize,
    ended: bool,
}

impl<R: Read> FromUtf16<R> {
    /// `encoding` says which byte of a unit comes first.
    pub fn new(source: R, encoding: TextEncoding) -> Self {
        Self { source, encoding, raw: Vec::new(), text: Vec::new(), given: 0, ended: false }
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut chunk = vec![0; 64 * 1024];
        let read = self.source.read(&mut chunk)?;
        self.ended = read == 0;
        self.raw.extend_from_slice(&chunk[..read]);
        let (pairs, _) = self.raw.as_chunks::<2>();
        let mut units: Vec<u16> = pairs.iter().map(|pair| self.encoding.unit(*pair)).collect();
        let mut used = units.len() * 2;
        // The second half may come with the next chunk.
        if !self.ended && units.last().is_some_and(|unit| (0xD800..0xDC00).contains(unit)) {
            units.pop();
            used -= 2;
        }
        let mut text: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        if self.ended && self.raw.len() % 2 == 1 {
            text.push(char::REPLACEMENT_CHARACTER);
            used = self.raw.len();
        }
        self.raw.drain(..used);
        (self.text, self.given) = (text.into_bytes(), 0);
        Ok(())
    }
}

impl<R: Read> Read for FromUtf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() && !self.ended {
            self.fill()?;
        }
        let count = (self.text.len() - self.given).min(buffer.len());
        buffer[..count].copy_from_slice(&self.text[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives one byte at a time.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            (buffer[0], self.0) = (*first, rest);
            Ok(1)
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

        /// However the bytes come, the text is what decoding the whole gives, and encoding it gives the bytes back.
        #[test]
        fn utf16_survives(text: String, big: bool) {
            let encoding = if big { TextEncoding::Utf16Big } else { TextEncoding::Utf16Little };
            let content = encoding.encode(text.clone().into_bytes()).unwrap();
            // A text that begins with NUL looks like UTF-32, and is none that anybody edits.
            prop_assume!(!text.starts_with('\0'));
            prop_assert_eq!(TextEncoding::of(&content), encoding);
            prop_assert_eq!(encoding.decode(&content).unwrap(), text.as_bytes());
            let mut read = String::new();
            FromUtf16::new(Drip(&content[2..]), encoding).read_to_string(&mut read).unwrap();
            prop_assert_eq!(read, text);
        }
    }

    #[test]
    fn broken_utf16_is_shown_and_not_edited() {
        for (content, shown) in [(&[0x61, 0, 0x00, 0xD8][..], "a\u{FFFD}"), (&[0x61, 0, 0x62], "a\u{FFFD}")] {
            let mut text = String::new();
            FromUtf16::new(Drip(content), TextEncoding::Utf16Little).read_to_string(&mut text).unwrap();
            assert_eq!(text, shown);
            assert_eq!(TextEncoding::Utf16Little.decode(&[&[0xFF, 0xFE], content].concat()), None);
        }
    }
}
