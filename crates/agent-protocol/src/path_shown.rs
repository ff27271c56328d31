//! Paths as people and models read and write them: text, whatever bytes a path has.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// A path, or a name, as text that [`path_from_shown`] reads back. Bytes that are no text are written `\xNN`, and so is a
/// backslash that would read like one of these (`\x5C`). So no two paths look the same; nearly all are shown as they are.
#[must_use]
pub fn shown_path<P: AsRef<OsStr> + ?Sized>(path: &P) -> Cow<'_, str> {
    let path = path.as_ref();
    if let Some(text) = path.to_str()
        && !text.match_indices('\\').any(|(at, _)| escaped(&text.as_bytes()[at..]).is_some())
    {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for chunk in path.as_bytes().utf8_chunks() {
        let mut text = chunk.valid();
        while let Some(at) = text.find('\\') {
            shown.push_str(&text[..at]);
            match escaped(&text.as_bytes()[at..]) {
                Some(_) => push_byte(&mut shown, b'\\'),
                None => shown.push('\\'),
            }
            text = &text[at + 1..];
        }
        shown.push_str(text);
        chunk.invalid().iter().for_each(|byte| push_byte(&mut shown, *byte));
    }
    Cow::Owned(shown)
}

/// A path for one line of a text: the same, with every character for which `is_shown` does not hold written byte by byte. It
/// is not asked about what stands for bytes.
#[must_use]
pub fn shown_path_with<P: AsRef<OsStr> + ?Sized>(path: &P, is_shown: impl Fn(char) -> bool) -> String {
    let mut line = String::new();
    for c in shown_path(path).chars() {
        match c {
            '\\' => line.push(c),
            c if is_shown(c) => line.push(c),
            c => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push_byte(&mut line, byte)),
        }
    }
    line
}

/// The path behind a text of [`shown_path`]: `\xNN` is a byte, everything else stands for itself. Neither NUL nor a slash can be
/// written as a byte, so that the parts of a path are those that are seen.
#[must_use]
pub fn path_from_shown(text: &str) -> Cow<'_, Path> {
    if !text.contains("\\x") {
        return Cow::Borrowed(Path::new(text));
    }
    let (mut path, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        match escaped(rest) {
            Some(byte) if !matches!(byte, 0 | b'/') => {
                path.push(byte);
                rest = &rest[ESCAPE..];
            }
            _ => {
                path.push(*first);
                rest = after;
            }
        }
    }
    Cow::Owned(PathBuf::from(OsString::from_vec(path)))
}

/// How long a byte is as `\xNN`.
const ESCAPE: usize = 4;

/// The byte that a text begins with in this form, if it does.
fn escaped(text: &[u8]) -> Option<u8> {
    let [b'\\', b'x', high, low, ..] = text else { return None };
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some((digit(high)? << 4) | digit(low)?)
}

fn push_byte(shown: &mut String, byte: u8) {
    // Writing to a string cannot fail.
    let _ = write!(shown, "\\x{byte:02X}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes of names out of which escapes are made, and those that are no text.
    fn names() -> impl Strategy<Value = Vec<u8>> {
        let pieces: [&[u8]; 17] = [
            b"\\",
            b"x",
            b"5C",
            b"E9",
            b"e9",
            b"2F",
            b"00",
            b"E",
            b"9",
            b"\xe9",
            b"\xff",
            b"\xe2\x80",
            b"\\xE9",
            b"\n",
            b"`",
            b"/",
            "\u{e9}\u{202e}".as_bytes(),
        ];
        prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1024) })]

        /// FND-29, COD-10: whatever bytes and backslashes paths hold, each is read back from how it is shown, so that two that differ look
        /// different; text without escapes is left as it is.
        #[test]
        fn paths_are_read_back(one in names(), other in names(), any in prop::collection::vec(1u8.., 0..8), text in "[^\\\\\\pC]{0,8}|\\\\[^x\\\\\\pC]{0,4}") {
            let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
            for bytes in [&one, &other, &any] {
                let path = path(bytes);
                let shown = shown_path(&path).into_owned();
                prop_assert_eq!(&*path_from_shown(&shown), &*path);
                let line = shown_path_with(&path, |c| c.is_ascii_graphic() && c != '`');
                prop_assert!(line.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'`'), "{}", line);
                prop_assert_eq!(&*path_from_shown(&line), &*path);
            }
            let (one, other) = (path(&one), path(&other));
            prop_assert_eq!(shown_path(&one) == shown_path(&other), one.as_os_str() == other.as_os_str());
            prop_assert_eq!(shown_path(&text), text.as_str());
            prop_assert_eq!(&*path_from_shown(&text), Path::new(&text));
        }
    }

    /// The file of the byte and the one that is called like its escape; digits in either case; no slash and no NUL out of nowhere.
    #[test]
    fn an_escape_in_a_name_is_not_a_byte() {
        let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
        assert_eq!(shown_path(&path(b"caf\xe9.txt")), "caf\\xE9.txt");
        assert_eq!(shown_path("caf\\xE9.txt"), "caf\\x5CxE9.txt");
        assert_eq!(shown_path("a\\b\\xyz"), "a\\b\\xyz");
        for (text, bytes) in [
            ("caf\\xe9", &b"caf\xe9"[..]),
            ("caf\\xC3\\xA9", "caf\u{e9}".as_bytes()),
            ("a\\x2Fb\\x00", b"a\\x2Fb\\x00"),
            ("a\\\\xE9", b"a\\\xe9"),
            ("\\x5", b"\\x5"),
        ] {
            assert_eq!(&*path_from_shown(text), path(bytes), "{text}");
        }
    }
}
