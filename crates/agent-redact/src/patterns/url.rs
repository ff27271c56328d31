//! Passwords in URLs: `scheme://user:password@host`.

use super::cut::Cut;
use super::shape::Shape;
use super::window::{SAMPLE, Window};
use super::{marker, value};

/// Between the colon and the `@`; or, without a colon, instead of the user. A slash ends it, so no two hits look at
/// the same.
pub(super) fn look(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    let end = window.run(window.end, is_authority);
    let authority = &window.text[window.end..end];
    if window.touches_marker(end) {
        return;
    }
    let Some(at) = authority.iter().rposition(|&byte| byte == b'@').filter(|&at| at + 1 < authority.len()) else {
        return;
    };
    let info = &authority[..at];
    let colon = info.iter().position(|&byte| byte == b':');
    let (user, password) = info.split_at(colon.unwrap_or(info.len()));
    let from = window.end;
    if user.len() >= 20 && Shape::of(&user[..user.len().min(SAMPLE)]).is_random() {
        cuts.push(Cut { range: from..from + user.len(), marker: marker::PLAIN });
    }
    if let [_, password @ ..] = password
        && value::is_password_of_url(password)
    {
        cuts.push(Cut { range: from + user.len() + 1..from + at, marker: marker::PLAIN });
    }
}

fn is_authority(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
}

/// `user:password@tcp(host)`, as drivers of Go have it.
pub(super) fn dsn(window: &Window<'_>, cuts: &mut Vec<Cut>) {
    let from = window.back(window.start, SAMPLE, |byte| is_authority(byte) && byte != b'=');
    let info = &window.text[from..window.start];
    if let Some(colon) = info.iter().position(|&byte| byte == b':')
        && colon > 0
        && value::is_password_of_url(&info[colon + 1..])
    {
        cuts.push(Cut { range: from + colon + 1..window.start, marker: marker::PLAIN });
    }
}
