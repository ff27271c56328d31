//! Where a value begins and ends.

use super::bytes::{is_blank, is_quote, is_word, looked_at};
use super::link::{Link, Sign};
use super::name::Name;
use super::place::Place;
use super::window::{MAX_ESCAPES, SAMPLE, Window};

/// The name of a type or of a function between the sign and a quote; bytes.
const MAX_WORDS: usize = 48;

/// A value, whose end is looked for once it is known to be a secret.
pub(super) struct Value<'t> {
    pub(super) start: usize,
    /// Its beginning, [`SAMPLE`] bytes at most.
    pub(super) sample: &'t [u8],
    /// Whether it is an argument: `String::from("…")`, but also `getenv("…")`.
    pub(super) wrapped: bool,
    /// What follows, if the sample is all of it.
    pub(super) next: Option<u8>,
    close: Close,
}

/// What ends a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Close {
    /// The quote with as many backslashes as it began with.
    Quote { quote: u8, escapes: usize },
    /// The next tag.
    Tag,
    /// A blank or what ends an expression, depending on the place.
    Bare(Place),
}

impl<'t> Value<'t> {
    pub(super) fn after(window: &Window<'t>, name: &Name<'_>, link: &Link, place: Place) -> Option<Self> {
        let (mut start, close, wrapped) = beginning(window, link, place)?;
        if name.is_authorization() {
            start = skip_scheme(window, start);
        }
        let rest = window.text.get(start..)?;
        let most = &rest[..rest.len().min(SAMPLE)];
        let length = close.find(most);
        let whole = length < most.len() || most.len() == rest.len();
        let next = if whole { rest.get(length).copied() } else { None };
        (length > 0).then_some(Self { start, sample: &most[..length], wrapped, next, close })
    }

    /// The whole of a string that is a value by itself.
    pub(super) fn of_string(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let sample = &bytes[..bytes.len().min(SAMPLE)];
        let close = Close::Quote { quote: b'"', escapes: 0 };
        Self { start: 0, sample, wrapped: false, next: None, close }
    }

    pub(super) fn is_quoted(&self) -> bool {
        !matches!(self.close, Close::Bare(_))
    }

    pub(super) fn end(&self, window: &Window<'_>) -> usize {
        self.start + self.close.find(&window.text[self.start..])
    }
}

/// Where the value begins, what ends it, and whether it is an argument; `None` where a marker hides that.
fn beginning(window: &Window<'_>, link: &Link, place: Place) -> Option<(usize, Close, bool)> {
    if link.sign == Sign::Tag {
        return Some((link.at, Close::Tag, false));
    }
    let typed = if link.sign == Sign::Colon { annotation(window, link.at)? } else { None };
    for at in [typed, Some(link.at)].into_iter().flatten() {
        if let Some((start, close)) = opening(window, at) {
            return Some((start, close, false));
        }
        if let Some((start, close)) = wrapper(window, at).and_then(|at| opening(window, at)) {
            return Some((start, close, true));
        }
    }
    Some((link.at, Close::Bare(place), false))
}

/// `Token`, `ApiKey` and the like before credentials.
fn skip_scheme(window: &Window<'_>, at: usize) -> usize {
    let end = window.run_within(at, 20, |byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if end > at && window.get(end) == Some(b' ') { end + 1 } else { at }
}

/// A quote with what may stand before it: `b"`, `r#"`, `\"`, `"""`. Returns where the text begins.
fn opening(window: &Window<'_>, at: usize) -> Option<(usize, Close)> {
    let letters = window.run_within(at, 2, |byte| b"bBrRuUfFcLN@".contains(&byte));
    let hashes = window.run_within(letters, 3, |byte| byte == b'#');
    let quote = window.run_within(hashes, MAX_ESCAPES, |byte| byte == b'\\');
    let byte = window.get(quote).filter(|&byte| is_quote(byte))?;
    let start = if window.has(quote, &[byte; 3]) { quote + 3 } else { quote + 1 };
    Some((start, Close::Quote { quote: byte, escapes: quote - hashes }))
}

/// `&str = ` after `NAME:`; returns where the value begins, if there is one. `None` where a marker hides that.
fn annotation(window: &Window<'_>, at: usize) -> Option<Option<usize>> {
    let in_type = |byte| is_word(byte) || b" &<>'[]|?:".contains(&byte);
    let equals = window.run_within(at, MAX_WORDS, in_type);
    let found = equals > at && window.get(equals) == Some(b'=') && is_blank(window.text[equals - 1]);
    (!window.touches_marker(equals)).then(|| found.then(|| window.run_within(equals + 1, 4, is_blank)))
}

/// `String::from(`; returns where the argument begins.
fn wrapper(window: &Window<'_>, at: usize) -> Option<usize> {
    let parenthesis =
        window.run_within(at, MAX_WORDS, |byte| is_word(byte) || matches!(byte, b':' | b'.' | b'&' | b'!'));
    (parenthesis > at && window.get(parenthesis) == Some(b'(')).then_some(parenthesis + 1)
}

impl Close {
    /// How much of `text` is the value.
    fn find(self, text: &[u8]) -> usize {
        let length = match self {
            Self::Quote { quote, escapes } => find_quote(text, quote, escapes),
            Self::Tag => text.iter().position(|&byte| matches!(byte, b'<' | b'\n' | b'\r')).unwrap_or(text.len()),
            Self::Bare(Place::Environment) => find_end_of_word(text),
            Self::Bare(place) => find_end_of_expression(text, place),
        };
        looked_at(length + 1);
        length
    }
}

fn find_quote(text: &[u8], quote: u8, escapes: usize) -> usize {
    let mut backslashes = 0;
    for (at, &byte) in text.iter().enumerate() {
        if matches!(byte, b'\n' | b'\r') {
            return at;
        }
        // Fewer backslashes: the quote ends what this one is in. Without any, two of them are one of the text.
        if byte == quote && (backslashes <= escapes || (escapes == 0 && backslashes % 2 == 0)) {
            return if escapes == 0 { at } else { at - backslashes };
        }
        backslashes = if byte == b'\\' { backslashes + 1 } else { 0 };
    }
    text.len()
}

/// A word of a shell or of a file of variables: any character may belong to a password.
fn find_end_of_word(text: &[u8]) -> usize {
    for (at, &byte) in text.iter().enumerate() {
        let rest = &text[at + 1..];
        let ends = match byte {
            b'\\' => matches!(rest, [b'n' | b'r' | b't' | b'u' | b'"' | b'\'' | b'\\', ..]),
            b';' | b'&' | b',' => rest.is_empty() || is_blank(rest[0]) || begins_pair(rest),
            b')' | b'|' | b'>' | b']' | b'}' => {
                rest.first().is_none_or(|&next| next.is_ascii_whitespace() || is_quote(next) || next == b'\\')
            }
            _ => byte.is_ascii_whitespace() || is_quote(byte),
        };
        if ends {
            return at;
        }
    }
    text.len()
}

/// Whether another `NAME=` follows.
fn begins_pair(text: &[u8]) -> bool {
    let name = super::bytes::run(&text[..text.len().min(MAX_WORDS)], 0, |byte| is_word(byte) || byte == b'-');
    name > 0 && text.get(name) == Some(&b'=')
}

fn find_end_of_expression(text: &[u8], place: Place) -> usize {
    let mut symbols = false;
    for (at, &byte) in text.iter().enumerate() {
        let ends = match byte {
            b'(' | b'[' | b'{' => !symbols,
            b'"' | b'\'' | b'`' | b',' | b';' | b')' | b'}' | b']' | b'<' | b'>' | b'|' | b'\\' | b'&' => true,
            b'#' | b'%' if place == Place::Query => byte == b'#' || text[at..].starts_with(b"%26"),
            _ => byte.is_ascii_whitespace(),
        };
        if ends {
            return at;
        }
        symbols |= b"@!#$%^*+~?/".contains(&byte);
    }
    text.len()
}
