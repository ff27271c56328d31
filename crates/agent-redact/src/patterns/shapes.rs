//! Secrets with a shape of their own.

use super::bytes::{is_base64_url, is_word};
use super::cut::Cut;
use super::marker;
use super::shape::{self, Shape};
use super::window::Window;

/// Keys of several model providers begin alike. Shorter ones are none; bytes.
const SK_MIN: usize = 20;

/// What says whose key it is; others are told from words by their mixture.
const VENDORS: &[(&str, &str)] = &[
    ("ant-", "[redacted anthropic key]"),
    ("or-", "[redacted openrouter key]"),
    ("proj-", "[redacted openai key]"),
    ("svcacct-", "[redacted openai key]"),
    ("admin-", "[redacted openai key]"),
];

pub(super) fn sk(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    if !window.has(window.start, b"sk-") || !window.begins(window.start, is_base64_url) {
        return;
    }
    let end = window.run(window.end, is_base64_url);
    let body = &window.text[window.end..end];
    let vendor = VENDORS.iter().find(|(word, _)| body.starts_with(word.as_bytes()));
    let beginning = |from: usize, count: usize| body.get(from..from + count);
    let (found, marker) = match vendor {
        Some((word, marker)) => (beginning(word.len(), SK_MIN).is_some_and(shape::is_generated), *marker),
        None => {
            let random = |count| beginning(0, count).is_some_and(|part| Shape::of(part).is_random());
            ([SK_MIN, 32, 2 * SK_MIN].into_iter().any(random), "[redacted api key]")
        }
    };
    if found {
        cuts.push(Cut { range: window.start..end, marker });
    }
}

/// Two parts after the prefix.
pub(super) fn sendgrid(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    if !window.has(window.start, b"SG.") || !window.begins(window.start, is_word) {
        return;
    }
    let dot = window.run(window.end, is_base64_url);
    let end = window.run(dot + 1, is_base64_url);
    if dot - window.end >= 16 && window.get(dot) == Some(b'.') && end - dot > 16 {
        cuts.push(Cut { range: window.start..end, marker: "[redacted sendgrid key]" });
    }
}

/// `eyJ` is the base64 of `{"`: a header, and after a dot the claims. Without a dot it is some JSON.
pub(super) fn jwt(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    if !window.has(window.start, b"eyJ") || !window.begins(window.start, is_base64_url) {
        return;
    }
    let part = |from: usize| window.run(from, is_base64_url);
    let header = part(window.end);
    let mut end = part(header + 1);
    if header - window.end < 8 || window.get(header) != Some(b'.') || end < header + 9 {
        return;
    }
    // The signature; an encrypted one has five parts.
    for _ in 0..3 {
        if window.get(end) == Some(b'.') && window.get(end + 1).is_some_and(|byte| is_base64_url(byte) || byte == b'.')
        {
            end = part(end + 1);
        }
    }
    cuts.push(Cut { range: window.start..end, marker: "[redacted jwt]" });
}

/// The bot's number stays.
pub(super) fn telegram(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    let number = window.back(window.start, 12, |byte| byte.is_ascii_digit());
    let (from, end) = (window.start + 1, window.run(window.start + 1, is_base64_url));
    let body = &window.text[from..end];
    if window.start - number >= 8 && body.len() >= 32 && shape::is_generated(&body[..32]) {
        cuts.push(Cut { range: from..end, marker: "[redacted telegram token]" });
    }
}

/// Twilio's secrets are 32 hexadecimal digits, which only the name before them tells from a hash.
pub(super) fn twilio(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    const NEAR: usize = 64;
    let line = window.run_within(window.end, NEAR, |byte| byte != b'\n');
    let mut at = window.end;
    while at < line {
        let from = window.run_within(at, line - at, |byte| !byte.is_ascii_alphanumeric());
        let end = window.run_within(from, 40, is_word);
        let word = &window.text[from..end];
        let digits = word.strip_prefix(b"SK").unwrap_or(word);
        if digits.len() == 32 && digits.iter().all(u8::is_ascii_hexdigit) && !window.touches_marker(end) {
            if shape::is_generated(digits) {
                cuts.push(Cut { range: from..end, marker: "[redacted twilio key]" });
            }
            return;
        }
        at = end.max(from + 1);
    }
}

pub(super) fn slack_hook(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    let kind = window.run_within(window.end, 12, |byte| byte.is_ascii_lowercase());
    if window.get(kind) == Some(b'/') {
        webhook(window, kind + 1, 30, cuts, |byte| is_base64_url(byte) || byte == b'/');
    }
}

/// The hook's number stays.
pub(super) fn discord_hook(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    let number = window.run_within(window.end, 24, |byte| byte.is_ascii_digit());
    if number >= window.end + 15 && window.get(number) == Some(b'/') {
        webhook(window, number + 1, 40, cuts, is_base64_url);
    }
}

fn webhook(window: &Window<'_>, from: usize, min: usize, cuts: &mut Vec<Cut>, class: fn(u8) -> bool) {
    let end = window.run(from, class);
    if end - from >= min && shape::is_generated(&window.text[from..from + min]) {
        cuts.push(Cut { range: from..end, marker: "[redacted webhook]" });
    }
}

/// What makes a signed URL work: Azure's `sig=`, and `X-Amz-Signature=` and the like.
pub(super) fn signature(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    let name = window.back(window.start, 16, |byte| is_base64_url(byte) || byte == b';');
    if name > 0 && !matches!(window.get(name - 1), Some(b'?' | b'&' | b' ' | b',' | b'\\')) {
        return;
    }
    let in_value = |byte| is_base64_url(byte) || matches!(byte, b'%' | b'+' | b'/' | b'=');
    let end = window.run(window.end, in_value);
    let value = &window.text[window.end..end];
    if value.len() >= 32 && Shape::of(&value[..32]).is_random() {
        cuts.push(Cut { range: window.end..end, marker: marker::PLAIN });
    }
}
