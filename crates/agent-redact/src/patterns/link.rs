//! What stands between a name and its value.

use super::bytes::{is_blank, is_quote, is_word};
use super::name::Name;
use super::window::{MAX_ESCAPES, Window};

/// Blanks between a name and its value, as in aligned tables; bytes.
const MAX_BLANKS: usize = 48;

/// The sign between a name and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// `=`, `:=`, `?=`.
    Equals,
    /// `==`, `=>`: in source code.
    Compare,
    /// `:`.
    Colon,
    /// `,`: in a list of arguments.
    Comma,
    /// Nothing but blanks: `--password x`.
    Blank,
    /// `>`: a value between tags.
    Tag,
    /// `value:` on the same or the next line, after `name: NAME`.
    Value,
    /// `%3D`: in a URL within a URL.
    Encoded,
}

/// How a name and its value hang together.
pub(super) struct Link {
    pub(super) sign: Sign,
    /// Whether the name ends with a quote.
    pub(super) quoted: bool,
    /// Whether there is no blank around the sign.
    pub(super) tight: bool,
    /// Where the value begins.
    pub(super) at: usize,
}

impl Link {
    pub(super) fn after(window: &Window<'_>, name: &Name<'_>) -> Option<Self> {
        let (closed, quoted) = skip_quote(window, name.end);
        let closed = if quoted { window.run_within(closed, 1, |byte| byte == b']') } else { closed };
        let at = window.run_within(closed, MAX_BLANKS, is_blank);
        let link = |sign, end| {
            let value = window.run_within(end, MAX_BLANKS, is_blank);
            Some(Self { sign, quoted, tight: at == closed && value == end, at: value })
        };
        let rest = window.text.get(at..)?;
        match rest {
            [b'=', b'=', b'=', ..] => link(Sign::Compare, at + 3),
            [b'=', b'=' | b'>', ..] => link(Sign::Compare, at + 2),
            [b'=', b'~', ..] | [b':', b':', ..] => None,
            [b'=', ..] => link(Sign::Equals, at + 1),
            [b':' | b'?', b'=', ..] => link(Sign::Equals, at + 2),
            [b':', ..] => link(Sign::Colon, at + 1),
            [b'>', ..] if opens_tag(window, name) => link(Sign::Tag, at + 1),
            [b'%', b'3', b'D' | b'd' | b'A' | b'a', ..] => link(Sign::Encoded, at + 3),
            _ => value_key(window, closed)
                .and_then(|at| link(Sign::Value, at))
                .or_else(|| (quoted && rest.first() == Some(&b',')).then(|| link(Sign::Comma, at + 1)).flatten())
                .or_else(|| (!quoted && at > closed).then(|| link(Sign::Blank, at)).flatten()),
        }
    }

    /// Whether a header and its value may hang together so.
    pub(super) fn is_header(&self) -> bool {
        match self.sign {
            Sign::Colon => true,
            Sign::Equals | Sign::Compare | Sign::Comma => self.quoted,
            Sign::Blank | Sign::Tag | Sign::Value | Sign::Encoded => false,
        }
    }
}

/// Passes a quote and the backslashes before it.
fn skip_quote(window: &Window<'_>, at: usize) -> (usize, bool) {
    let quote = window.run_within(at, MAX_ESCAPES, |byte| byte == b'\\');
    if window.get(quote).is_some_and(is_quote) { (quote + 1, true) } else { (at, false) }
}

fn opens_tag(window: &Window<'_>, name: &Name<'_>) -> bool {
    name.start > 0 && matches!(window.get(name.start - 1), Some(b'<' | b':'))
}

/// After a name that is itself a value: `, "value":` or a line with `value:`; returns where its value begins.
fn value_key(window: &Window<'_>, from: usize) -> Option<usize> {
    let mut at = window.run_within(from, 1, |byte| byte == b',');
    while at < from + MAX_BLANKS {
        at += match &window.text[at..] {
            [b'\\', b'n' | b'r' | b't', ..] => 2,
            [b'\\', b'\\', ..] => 1,
            [byte, ..] if byte.is_ascii_whitespace() => 1,
            _ => break,
        };
    }
    super::bytes::looked_at(at - from + 1);
    let (word, _) = skip_quote(window, at);
    if at == from || !window.has_word(word, b"value") || window.get(word + 5).is_some_and(is_word) {
        return None;
    }
    let (closed, _) = skip_quote(window, word + 5);
    let sign = window.run_within(closed, 4, is_blank);
    window.get(sign).is_some_and(|byte| matches!(byte, b':' | b'=')).then_some(sign + 1)
}
