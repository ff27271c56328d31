//! Halves of surrogate pairs. A server that cuts text into pieces of UTF-16 cuts emoji in two and escapes each half by itself;
//! no strict JSON reader takes that. The halves are carried through the reader as characters that nobody writes, and put
//! together again where the pieces of one text meet.

use std::borrow::Cow;

/// The private characters that stand for the 2048 halves: the last ones there are.
const FIRST_MARK: u32 = 0x10_f800;
/// The first half of all, which [`FIRST_MARK`] stands for.
const FIRST_HALF: u16 = 0xd800;
/// The first half that ends a pair.
const FIRST_LOW: u16 = 0xdc00;

/// JSON text with each half that stands alone written by `write`; none if there is no such half.
fn replace(json: &str, write: impl Fn(u16, &mut String)) -> Option<String> {
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = memchr::memchr(b'\\', &json.as_bytes()[at..]) {
        let escape = at + found;
        at = escape + 2;
        match escaped_half(json, escape) {
            None => {}
            Some(half) if half < FIRST_LOW && escaped_half(json, escape + 6).is_some_and(|low| low >= FIRST_LOW) => {
                at = escape + 12;
            }
            Some(half) => {
                out.push_str(&json[copied..escape]);
                write(half, &mut out);
                at = escape + 6;
                copied = at;
            }
        }
        if at >= json.len() {
            break;
        }
    }
    (copied > 0).then(|| out + &json[copied..])
}

/// The half whose escape stands at this place.
fn escaped_half(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
    let unit = u16::from_str_radix(digits, 16).ok()?;
    (FIRST_HALF..0xe000).contains(&unit).then_some(unit)
}

/// JSON text with the halves as characters of their own, for [`Halves::join`]; none if there is no half.
pub(crate) fn mark(json: &str) -> Option<String> {
    replace(json, |half, out| out.extend(char::from_u32(FIRST_MARK + u32::from(half - FIRST_HALF))))
}

/// A JSON string of argument text with the halves left as escapes: the text is JSON itself, and its next piece may hold the
/// other half.
pub(super) fn escape_once_more(json: &str) -> Option<String> {
    replace(json, |half, out| out.push_str(&format!("\\\\u{half:04x}")))
}

/// Marked argument text, the halves as escapes again.
pub(super) fn as_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match half(c) {
            Some(half) => out.push_str(&format!("\\u{half:04x}")),
            None => out.push(c),
        }
    }
    out
}

/// The half a character stands for.
fn half(c: char) -> Option<u16> {
    let offset = u32::from(c).checked_sub(FIRST_MARK)?;
    Some(FIRST_HALF + u16::try_from(offset).ok()?)
}

/// Joins halves over the pieces of one text.
#[derive(Debug, Default)]
pub(super) struct Halves {
    /// The first half of a pair whose other half has not come.
    high: Option<u16>,
}

impl Halves {
    /// Whether the end of the text so far is held back.
    pub(super) fn is_waiting(&self) -> bool {
        self.high.is_some()
    }

    /// The piece with its pairs whole; what ends in a first half is held back, what stays alone is a replacement character.
    /// `marked`: the piece holds marks.
    pub(super) fn join<'a>(&mut self, text: Cow<'a, str>, marked: bool) -> Cow<'a, str> {
        if !(marked || self.is_waiting()) || text.is_empty() {
            return text;
        }
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            let unit = if marked { half(c) } else { None };
            match (self.high.take(), unit) {
                (Some(high), Some(low)) if low >= FIRST_LOW => {
                    out.extend(char::decode_utf16([high, low]).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
                }
                (high, unit) => {
                    out.extend(high.map(|_| char::REPLACEMENT_CHARACTER));
                    match unit {
                        Some(high) if high < FIRST_LOW => self.high = Some(high),
                        Some(_) => out.push(char::REPLACEMENT_CHARACTER),
                        None => out.push(c),
                    }
                }
            }
        }
        out.into()
    }

    /// What is still held back, now that nothing follows.
    pub(super) fn rest(&mut self) -> &'static str {
        if self.high.take().is_some() { "\u{fffd}" } else { "" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks the pieces, reads and joins them.
    #[track_caller]
    fn check(pieces: &[&str], expected: &str) {
        let mut halves = Halves::default();
        let mut text = String::new();
        for piece in pieces {
            let json = format!("\"{piece}\"");
            let marked = mark(&json);
            let read: String = serde_json::from_str(marked.as_deref().unwrap_or(&json)).unwrap();
            text.push_str(&halves.join(read.into(), marked.is_some()));
        }
        text.push_str(halves.rest());
        assert_eq!(text, expected, "{pieces:?}");
    }

    /// Pairs come together over pieces, and what has no other half is a replacement character.
    #[test]
    fn halves_meet() {
        check(&["a\\ud83d", "\\ude00!"], "a😀!");
        check(&["a\\ud83d\\ude00!"], "a😀!");
        check(&["\\ud83d", "", "\\ude00\\ud83d", "\\ude01"], "😀😁");
        check(&["a\\ud83d", "b"], "a\u{fffd}b");
        check(&["\\ude00a"], "\u{fffd}a");
        check(&["\\ud83d\\ud83d", "\\ude00"], "\u{fffd}😀");
        check(&["a\\ud83d"], "a\u{fffd}");
        check(&["\\\\ud83d", "\\\\ude00"], "\\ud83d\\ude00");
        check(&["\\ud83d\\n"], "\u{fffd}\n");
    }

    /// Argument text keeps the halves as escapes, which its own reader puts together.
    #[test]
    fn argument_text_keeps_its_escapes() {
        assert_eq!(escape_once_more(r#""a\ud83d""#).as_deref(), Some(r#""a\\ud83d""#));
        assert_eq!(escape_once_more(r#""a\\ud83d\ud83d\ude00""#), None);
        let marked: String = serde_json::from_str(&mark(r#""a\ude00b""#).unwrap()).unwrap();
        assert_eq!(as_escapes(&marked), "a\\ude00b");
    }
}
