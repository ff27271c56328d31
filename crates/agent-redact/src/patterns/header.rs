//! HTTP headers: credentials after `Bearer` and `Basic`, and cookies. Others are pairs of a name and a value.

use std::ops::Range;

use super::bytes::{is_base64, is_base64_url, is_blank, is_quote, is_word, run};
use super::cut::Cut;
use super::link::Link;
use super::name::Name;
use super::shape::Shape;
use super::stand_in::is_stand_in;
use super::window::{MAX_ESCAPES, SAMPLE, Window};
use super::{base64, marker};

/// Bytes after the scheme that are surely no word of a sentence.
const CREDENTIALS: usize = 8;
/// Shorter cookies are switches and numbers; bytes.
const COOKIE: usize = 4;

/// `Bearer` and a token, wherever it stands. A longer token would be one too, so that a marker may follow.
pub(super) fn bearer(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    let Some(from) = after_scheme(window) else { return };
    let is_token = |byte| is_base64(byte) || is_base64_url(byte) || matches!(byte, b'.' | b'~');
    let enough = window.run_within(from, 2 * CREDENTIALS, is_token);
    let token = &window.text[from..enough];
    let shape = Shape::of(token);
    let says_something = shape.digits > 0 || (token.len() == 2 * CREDENTIALS && shape.upper > 1 && shape.lower > 1);
    if token.len() >= CREDENTIALS && says_something && !is_stand_in(&token[..CREDENTIALS]) {
        let end = window.run(enough, is_token);
        let dots = window.text[enough..end].iter().rev().take_while(|&&byte| byte == b'.').count();
        cuts.push(Cut { range: from..end - dots, marker: marker::PLAIN });
    }
}

/// `Basic` and base64 of a user, a colon and a password.
pub(super) fn basic(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    let Some(from) = after_scheme(window) else { return };
    let max = SAMPLE / 4 * 4;
    let enough = window.run_within(from, max, is_base64);
    if enough - from >= CREDENTIALS && base64::holds_user(&window.text[from..enough], max) {
        cuts.push(Cut { range: from..window.run(enough, is_base64), marker: marker::PLAIN });
    }
}

fn after_scheme(window: &Window<'_>) -> Option<usize> {
    let blanks = window.run_within(window.end, 8, is_blank);
    let from = if window.has(window.end, b"%20") { window.end + 3 } else { blanks };
    (from > window.end && window.begins(window.start, is_word)).then_some(from)
}

/// `Cookie:` and `Set-Cookie:`: the values, each by itself.
pub(super) fn cookie(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    let name = Name::around(window);
    let Some(header) = name.as_ref().and_then(|name| Header::of(name.text)) else { return };
    let Some(link) = name.and_then(|name| Link::after(window, &name)) else { return };
    if link.is_header() {
        let from = window.run_within(link.at, MAX_ESCAPES + 2, |byte| is_quote(byte) || matches!(byte, b'\\' | b'['));
        // Cookies go on behind markers.
        let cut = |range| cuts.push(Cut { range, marker: marker::PLAIN });
        cookies(window.beyond, from, header, |at| window.marker(at), cut);
    }
}

/// Which way cookies go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Header {
    /// All are cookies.
    Cookie,
    /// The first is one, the others say how long and where it is valid.
    SetCookie,
}

impl Header {
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        let is = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
        if is("cookie") {
            Some(Self::Cookie)
        } else {
            (is("set-cookie") || is("set-cookie2")).then_some(Self::SetCookie)
        }
    }
}

/// Goes through `name=value` pairs for as long as they are some. It passes nothing by that could hold another header
/// but what it cuts, so that many headers on one line take no longer than one.
pub(super) fn cookies(
    text: &[u8],
    from: usize,
    header: Header,
    marker: impl Fn(usize) -> Option<usize>,
    mut cut: impl FnMut(Range<usize>),
) {
    let mut at = from;
    loop {
        let name = run(text, at, is_blank);
        let equals = run(&text[..text.len().min(name + SAMPLE)], name, is_cookie_name);
        if equals == name || text.get(equals) != Some(&b'=') {
            return;
        }
        let value = skip_quote(text, equals + 1);
        let end = match marker(value) {
            Some(length) => value + length,
            None => {
                let Some(end) = cookie_value(text, value, &marker) else { return };
                if end >= value + COOKIE {
                    cut(value..end);
                }
                end
            }
        };
        let end = if value > equals + 1 { skip_quote(text, end) } else { end };
        if text.get(end) != Some(&b';') || header == Header::SetCookie {
            return;
        }
        at = end + 1;
    }
}

/// Cookies may be quoted, and the quotes escaped.
fn skip_quote(text: &[u8], at: usize) -> usize {
    let quote = run(&text[..text.len().min(at + MAX_ESCAPES)], at, |byte| byte == b'\\');
    if text.get(quote) == Some(&b'"') { quote + 1 } else { at }
}

/// Where a value ends, unless it stands for one.
fn cookie_value(text: &[u8], from: usize, marker: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    let sample = run(&text[..text.len().min(from + SAMPLE)], from, in_cookie);
    if is_stand_in(&text[from..sample]) && sample > from {
        return None;
    }
    let end = run(text, sample, in_cookie);
    Some((from..end).find(|&at| marker(at).is_some()).unwrap_or(end))
}

fn is_cookie_name(byte: u8) -> bool {
    is_word(byte) || b"!#$%&'*+-.^|~".contains(&byte)
}

fn in_cookie(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !matches!(byte, b';' | b'"' | b'\'' | b'`' | b'\\')
}
