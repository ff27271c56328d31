//! Bytes that are no text, in a text that a person reads.

use std::{borrow::Cow, fmt::Write};

/// Follows a number in a text that has it written out.
const AS_TEXT: &str = " as text";

/// Text with `<0xE9>` in place of each byte that is none. Where a text holds just these words they become `<0xE9 as text>`, so
/// that no two texts become the same.
pub(super) fn shown(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.contains("<0x")
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        push_marked(chunk.valid(), &mut out);
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(out, "<0x{byte:02X}>");
        }
    }
    Cow::Owned(out)
}

fn push_marked(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find("<0x") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let inside = rest
            .get(5..)
            .filter(|_| rest.as_bytes()[3..5].iter().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F')));
        let marks = inside.map(|inside| inside.len() - inside.trim_start_matches(AS_TEXT).len());
        match (inside, marks) {
            (Some(inside), Some(marks)) if inside[marks..].starts_with('>') => {
                out.push_str(&rest[..5 + marks]);
                out.push_str(AS_TEXT);
                out.push('>');
                rest = &inside[marks + 1..];
            }
            _ => {
                out.push_str("<0x");
                rest = &rest[3..];
            }
        }
    }
    out.push_str(rest);
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bytes_have_numbers() {
        for (bytes, expected) in [
            (&b"plain <0x"[..], "plain <0x"),
            (b"caf\xe9", "caf<0xE9>"),
            (b"caf<0xE9>", "caf<0xE9 as text>"),
            (b"<0xE9 as text>", "<0xE9 as text as text>"),
            (b"<0xe9> <0x1> <0x\xff", "<0xe9> <0x1> <0x<0xFF>"),
            ("<0xé>".as_bytes(), "<0xé>"),
        ] {
            assert_eq!(shown(bytes), expected);
        }
    }

    const PIECES: [&[u8]; 9] = [b"\xe9", b"<0xE9>", b"<0xE9", b" as text", b">", b"<", b"0xE9", b"\xff", b"x"];

    proptest! {
        #![proptest_config(crate::testing::cases(256))]

        /// FND-01, PRM-6: no two texts are shown as one, whatever bytes and words they are put together from.
        #[test]
        fn no_two_texts_are_shown_as_one(texts in prop::collection::vec(prop::collection::vec(0..PIECES.len(), 0..6), 2..60)) {
            let mut seen: HashMap<String, Vec<u8>> = HashMap::new();
            for pieces in texts {
                let bytes: Vec<u8> = pieces.iter().flat_map(|piece| PIECES[*piece]).copied().collect();
                let before = seen.insert(shown(&bytes).into_owned(), bytes.clone());
                prop_assert!(before.as_ref().is_none_or(|before| *before == bytes), "{:?} {:?}", before, bytes);
            }
        }
    }
}
