//! Paths as strings of boundary types: raw, and without loss.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Begins the form that is written byte by byte. No absolute path begins so.
const BYTES: &str = "bytes:";

/// A path as ASCII: letters, digits, `/`, `.`, `_` and `-` as they are, every other byte as `%` and two hexadecimal digits. No
/// two paths share a form.
#[must_use]
pub fn percent_encoded(path: &Path) -> String {
    path.as_os_str().as_bytes().iter().fold(String::new(), |mut text, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => text.push(char::from(*byte)),
            other => {
                // Writing to a string cannot fail.
                let _ = write!(text, "%{other:02X}");
            }
        }
        text
    })
}

/// An absolute path as a string: as it is, or, where it is no UTF-8, `bytes:` and its [`percent_encoded`] form. Nothing is
/// escaped: whoever shows it does that.
#[must_use]
pub fn path_text(path: &Path) -> String {
    path.to_str().map_or_else(|| in_bytes(path), str::to_owned)
}

/// The same for a list with one path a line: a path that holds a line break is written byte by byte as well.
#[must_use]
pub fn path_line(path: &Path) -> String {
    match path.to_str() {
        Some(text) if !text.contains('\n') => text.to_owned(),
        _ => in_bytes(path),
    }
}

/// The path behind a string of [`path_text`] or [`path_line`].
#[must_use]
pub fn path_from_text(text: &str) -> PathBuf {
    text.strip_prefix(BYTES).and_then(decoded).unwrap_or_else(|| PathBuf::from(text))
}

fn in_bytes(path: &Path) -> String {
    format!("{BYTES}{}", percent_encoded(path))
}

/// Nothing where a `%` is not followed by two digits: then nobody here wrote it.
fn decoded(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        rest = after;
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn path(bytes: &[u8]) -> &Path {
        Path::new(OsStr::from_bytes(bytes))
    }

    #[test]
    fn every_byte_has_a_form() {
        let form = |bytes: &[u8]| percent_encoded(path(bytes));
        assert_eq!(form(b"/a-b_c.d/0"), "/a-b_c.d/0");
        assert_eq!(form(b"/p\xff"), "/p%FF");
        assert_eq!(form(b"/p%FF"), "/p%25FF");
        assert_eq!(form("/\u{e4} ?#\n".as_bytes()), "/%C3%A4%20%3F%23%0A");
    }

    /// PRM-6: a path is given as it is, and comes back from its string whatever bytes it has.
    #[test]
    fn paths_come_back() {
        for (bytes, text, line) in [
            (&b"/t/ws/a b\x1b\xe2\x80\xae"[..], "/t/ws/a b\x1b\u{202e}", "/t/ws/a b\x1b\u{202e}"),
            (b"/p/100%41", "/p/100%41", "/p/100%41"),
            (b"/p/a\nb", "/p/a\nb", "bytes:/p/a%0Ab"),
            (b"/p/\xff %", "bytes:/p/%FF%20%25", "bytes:/p/%FF%20%25"),
        ] {
            let path = path(bytes);
            assert_eq!((path_text(path).as_str(), path_line(path).as_str()), (text, line));
            assert_eq!((path_from_text(text).as_path(), path_from_text(line).as_path()), (path, path));
        }
        assert_eq!(path_from_text("bytes:/a%2"), Path::new("bytes:/a%2"));
    }
}
