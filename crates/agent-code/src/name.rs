//! Names and paths as results tell them.

use std::{borrow::Cow, ffi::OsStr, fmt::Write, os::unix::ffi::OsStrExt};

/// A name as text. Bytes that are none are written `\xNN`, and so is a backslash of a name that would read like one of these
/// (`\x5C`), so that two names never look the same.
pub(crate) fn shown_name(name: &OsStr) -> Cow<'_, str> {
    if let Some(text) = name.to_str()
        && !text.match_indices('\\').any(|(at, _)| is_escape(&text[at..]))
    {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        let mut text = chunk.valid();
        while let Some(at) = text.find('\\') {
            shown.push_str(&text[..at]);
            shown.push_str(if is_escape(&text[at..]) { "\\x5C" } else { "\\" });
            text = &text[at + 1..];
        }
        shown.push_str(text);
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02X}");
        }
    }
    Cow::Owned(shown)
}

/// Whether a text begins like a byte that was written as one.
fn is_escape(text: &str) -> bool {
    matches!(text.as_bytes(), [b'\\', b'x', one, other, ..] if one.is_ascii_hexdigit() && other.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bytes of names out of which escapes are made, and those that are no text.
    fn names() -> impl Strategy<Value = Vec<u8>> {
        let pieces: [&[u8]; 11] =
            [b"\\", b"x", b"5C", b"E9", b"e9", b"E", b"9", b"\xe9", b"\xff", b"\\xE9", "\u{e9}".as_bytes()];
        let piece = prop::sample::select(pieces.to_vec());
        prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
    }

    /// What a shown name stands for.
    fn read(shown: &str) -> Vec<u8> {
        let (mut bytes, mut rest) = (Vec::new(), shown);
        while let Some(first) = rest.chars().next() {
            if is_escape(rest) {
                bytes.push(u8::from_str_radix(&rest[2..4], 16).unwrap());
                rest = &rest[4..];
            } else {
                bytes.extend_from_slice(first.to_string().as_bytes());
                rest = &rest[first.len_utf8()..];
            }
        }
        bytes
    }

    proptest! {
        #![proptest_config(crate::testing::cases(512))]

        /// FND-29: names that differ look different, whatever bytes and backslashes they hold; text without escapes is left as it is.
        #[test]
        fn names_that_differ_look_different(one in names(), other in names(), text in "[^\\\\\\pC]{0,8}|\\\\[^x\\\\\\pC]{0,4}") {
            for name in [&one, &other] {
                prop_assert_eq!(&read(&shown_name(OsStr::from_bytes(name))), name);
            }
            let (one, other) = (OsStr::from_bytes(&one), OsStr::from_bytes(&other));
            prop_assert_eq!(shown_name(one) == shown_name(other), one == other);
            prop_assert_eq!(shown_name(OsStr::new(&text)), text.as_str());
        }
    }

    /// The file of the byte and the one that is called like its escape.
    #[test]
    fn an_escape_in_a_name_is_not_a_byte() {
        assert_eq!(shown_name(OsStr::from_bytes(b"caf\xe9.txt")), "caf\\xE9.txt");
        assert_eq!(shown_name(OsStr::new("caf\\xE9.txt")), "caf\\x5CxE9.txt");
        assert_eq!(shown_name(OsStr::new("a\\b\\xyz")), "a\\b\\xyz");
    }
}
