//! Private keys in armour: PEM, PGP, PuTTY. The lines that begin and end them stay.

use std::ops::Range;

use super::bytes::{is_base64, is_blank};
use super::cut::Cut;
use super::window::Window;

const MARKER: &str = "[redacted private key]";
/// Shorter pieces between line ends are no line of a key, but for its last; bytes.
const LINE: usize = 16;
/// Blanks, quotes and line ends between two lines; bytes.
const GAP: usize = 64;
/// Lines such as `Proc-Type: 4,ENCRYPTED` before the key, and their longest names.
const HEADERS: usize = 8;
const HEADER_NAME: usize = 24;
const HEADER: usize = 128;

/// From the line that begins a key, whether it ends or is cut off. The first line says enough, so a marker may follow.
pub(super) fn begin(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    if let Some(from) = label(window, window.end) {
        body(window, from, cuts);
    }
}

/// `RSA PRIVATE KEY-----`; returns where it ends.
fn label(window: &Window<'_>, from: usize) -> Option<usize> {
    let is_label = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ';
    let end = window.run_within(from, 48, is_label);
    let dashes = window.run_within(end, 5, |byte| byte == b'-');
    let private = window.text[from..end].windows(11).any(|part| part == b"PRIVATE KEY");
    (private && dashes - end >= 4).then_some(dashes)
}

/// PuTTY counts the lines that follow.
pub(super) fn putty(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    body(window, window.run_within(window.end, 8, |byte| byte == b' ' || byte.is_ascii_digit()), cuts);
}

fn body(window: &Window<'_>, from: usize, cuts: &mut Vec<Cut>) {
    let mut at = skip_headers(window, from);
    let (mut first, mut last, mut ended) = (None, at, false);
    loop {
        at = skip_gap(window, at);
        let end = piece(window, at);
        let text = &window.text[at..end];
        let checksum = text.starts_with(b"=");
        if is_plus(text) || is_line_number(window, text, end) {
            at = end;
        } else if (!ended && continues(window, first.is_some(), at..end)) || (ended && checksum) {
            first = first.or(Some(at));
            ended = text.len() < LINE;
            (at, last) = (end, end);
        } else {
            break;
        }
    }
    if let Some(first) = first {
        cuts.push(Cut { range: first..last, marker: MARKER });
    }
}

/// Whether a piece is a line of a key, or the rest of one that has begun.
fn continues(window: &Window<'_>, begun: bool, piece: Range<usize>) -> bool {
    let text = &window.text[piece.clone()];
    is_line(text) || (begun && (text.len() >= LINE || is_last(window, text, piece.end)))
}

/// A run of base64; some JSON writers put a backslash before each slash.
fn piece(window: &Window<'_>, from: usize) -> usize {
    let mut end = window.run(from, is_base64);
    while window.has(end, br"\/") {
        end = window.run(end + 2, is_base64);
    }
    end
}

/// The first line is told from a name by its digits.
fn is_line(text: &[u8]) -> bool {
    text.len() >= LINE && (text.len() >= 48 || text.iter().take(48).any(|byte| !byte.is_ascii_alphabetic()))
}

/// The rest of the key: followed by the line that ends it or by nothing, or alone on its line and no word.
fn is_last(window: &Window<'_>, text: &[u8], end: usize) -> bool {
    let next = skip_gap(window, end);
    let alone = window.get(end).is_some_and(|byte| matches!(byte, b'\r' | b'\n' | b'\\' | b'"'));
    let odd = text.iter().any(|byte| !byte.is_ascii_alphabetic());
    !text.is_empty() && ((alone && odd) || window.has(next, b"----") || next == window.beyond.len())
}

/// Lines put together by a program, or added in a diff.
fn is_plus(text: &[u8]) -> bool {
    text == b"+"
}

fn is_line_number(window: &Window<'_>, text: &[u8], end: usize) -> bool {
    (1..=6).contains(&text.len())
        && text.iter().all(u8::is_ascii_digit)
        && window.get(end).is_some_and(|byte| matches!(byte, b':' | b'\t' | b'|'))
}

/// Blanks, line ends as they are or escaped, and what editors, diffs and languages put around lines.
fn skip_gap(window: &Window<'_>, from: usize) -> usize {
    let mut at = from;
    while at < from + GAP {
        at += match &window.text[at.min(window.text.len())..] {
            [b'\\', b'n' | b'r' | b't', ..] => 2,
            [b'-', next, ..] if is_base64(*next) => 1,
            [byte, ..] if byte.is_ascii_whitespace() || b"\\\"'`,>|#*:".contains(byte) => 1,
            _ => break,
        };
    }
    super::bytes::looked_at(at - from + 1);
    at
}

fn skip_headers(window: &Window<'_>, from: usize) -> usize {
    let mut at = from;
    for _ in 0..HEADERS {
        let name = skip_gap(window, at);
        let colon = window.run_within(name, HEADER_NAME, |byte| byte.is_ascii_alphabetic() || byte == b'-');
        if colon == name || !window.has(colon, b": ") {
            break;
        }
        let Some(end) = end_of_line(window, colon) else { break };
        at = end;
    }
    at
}

/// A line end as it is or escaped, as often as it may be.
fn end_of_line(window: &Window<'_>, from: usize) -> Option<usize> {
    let mut at = from;
    while at < from + HEADER {
        at = window.run_within(at, HEADER, |byte| !matches!(byte, b'\n' | b'\\'));
        let escape = window.run_within(at, HEADER, |byte| byte == b'\\');
        match window.get(escape)? {
            b'\n' => return Some(at),
            b'n' | b'r' if escape > at => return Some(at),
            _ if escape > at => at = escape,
            _ => return None,
        }
    }
    None
}

/// Before the line that ends a key which began before the text does. A key that began in the text is cut already.
pub(super) fn end(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    if label(window, window.end).is_none() {
        return;
    }
    let last = skip_gap_back(window, window.start);
    let (mut at, mut first, mut short) = (last, None, 0);
    loop {
        let from = piece_back(window, at);
        if at - from >= LINE {
            first = Some(from);
        } else if first.is_some() || from == at || short == 2 {
            break;
        } else {
            // The rest of the key, and PGP's checksum.
            short += 1;
        }
        at = skip_gap_back(window, from);
    }
    if let Some(first) = first {
        cuts.push(Cut { range: first..last, marker: MARKER });
    }
}

fn piece_back(window: &Window<'_>, to: usize) -> usize {
    let from = window.back(to, usize::MAX, is_base64);
    // The letter of an escape is none of the key's.
    from + usize::from(from < to && window.has_before(from, b"\\") && matches!(window.text[from], b'n' | b'r' | b't'))
}

fn skip_gap_back(window: &Window<'_>, to: usize) -> usize {
    let mut at = to;
    while at + GAP > to {
        at -= match &window.text[..at] {
            [.., b'\\', b'n' | b'r' | b't'] => 2,
            [.., byte] if is_blank(*byte) || b"\r\n\"'`,>|#*\\".contains(byte) => 1,
            _ => break,
        };
    }
    at
}
