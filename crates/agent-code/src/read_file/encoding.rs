//! Text as UTF-8, whatever the file's byte order mark says.

use std::io::{self, Read};

/// How a file's text is encoded, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// No mark.
    Plain,
    /// UTF-8 with a mark.
    Utf8Mark,
    Utf16Little,
    Utf16Big,
}

impl Encoding {
    /// By the first bytes of a file.
    pub(crate) fn of(start: &[u8]) -> Self {
        match start {
            [0xEF, 0xBB, 0xBF, ..] => Self::Utf8Mark,
            // Four bytes FF FE 00 00 would be UTF-32, which nobody writes; as UTF-16 it shows as binary.
            [0xFF, 0xFE, ..] => Self::Utf16Little,
            [0xFE, 0xFF, ..] => Self::Utf16Big,
            _ => Self::Plain,
        }
    }

    /// The mark's bytes.
    pub(crate) fn mark(self) -> &'static [u8] {
        match self {
            Self::Plain => &[],
            Self::Utf8Mark => &[0xEF, 0xBB, 0xBF],
            Self::Utf16Little => &[0xFF, 0xFE],
            Self::Utf16Big => &[0xFE, 0xFF],
        }
    }

    /// What people call it, where it is not the usual one.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Plain | Self::Utf8Mark => None,
            Self::Utf16Little => Some("utf-16le"),
            Self::Utf16Big => Some("utf-16be"),
        }
    }

    fn unit(self, bytes: [u8; 2]) -> u16 {
        if self == Self::Utf16Big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    fn bytes(self, unit: u16) -> [u8; 2] {
        if self == Self::Utf16Big { unit.to_be_bytes() } else { unit.to_le_bytes() }
    }

    /// The whole of a file as UTF-8 without its mark, if that loses nothing: encoding it again gives the same bytes.
    pub(crate) fn decode(self, content: &[u8]) -> Option<Vec<u8>> {
        let text = content.strip_prefix(self.mark())?;
        if matches!(self, Self::Plain | Self::Utf8Mark) {
            return Some(text.to_vec());
        }
        let (pairs, []) = text.as_chunks::<2>() else { return None };
        let units = pairs.iter().map(|pair| self.unit(*pair));
        let text: String = char::decode_utf16(units).collect::<Result<_, _>>().ok()?;
        Some(text.into_bytes())
    }

    /// The inverse of [`decode`](Self::decode). `None` where the text is no UTF-8 and so has no UTF-16 form.
    pub(crate) fn encode(self, text: Vec<u8>) -> Option<Vec<u8>> {
        let mut content = self.mark().to_vec();
        match self {
            Self::Plain => return Some(text),
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
pub(crate) struct FromUtf16<R> {
    source: R,
    encoding: Encoding,
    /// Bytes that came and are not decoded yet: less than one character.
    raw: Vec<u8>,
    text: Vec<u8>,
    given: usize,
    ended: bool,
}

impl<R: Read> FromUtf16<R> {
    pub(crate) fn new(source: R, encoding: Encoding) -> Self {
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
        #![proptest_config(crate::testing::cases(256))]

        /// However the bytes come, the text is what decoding the whole gives, and encoding it gives the bytes back.
        #[test]
        fn utf16_survives(text: String, big: bool) {
            let encoding = if big { Encoding::Utf16Big } else { Encoding::Utf16Little };
            let content = encoding.encode(text.clone().into_bytes()).unwrap();
            prop_assert_eq!(Encoding::of(&content), encoding);
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
            FromUtf16::new(Drip(content), Encoding::Utf16Little).read_to_string(&mut text).unwrap();
            assert_eq!(text, shown);
            assert_eq!(Encoding::Utf16Little.decode(&[&[0xFF, 0xFE], content].concat()), None);
        }
    }
}
