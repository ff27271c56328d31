//! Names and paths as results tell them.

use std::{borrow::Cow, ffi::OsStr, fmt::Write, os::unix::ffi::OsStrExt};

/// A name as text. Bytes that are none are written `\xNN`, so that two names never look the same because of them.
pub(crate) fn shown_name(name: &OsStr) -> Cow<'_, str> {
    if let Some(text) = name.to_str() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        shown.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02X}");
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(crate::testing::cases(256))]

        /// FND-29: names that are no text and differ look different, and text is left as it is.
        #[test]
        fn names_that_differ_look_different(
            one in prop::collection::vec(prop_oneof![Just(b'a'), 0xc0u8..=0xff], 0..6),
            other in prop::collection::vec(prop_oneof![Just(b'a'), 0xc0u8..=0xff], 0..6),
            text in "\\PC{0,8}",
        ) {
            let (one, other) = (OsStr::from_bytes(&one), OsStr::from_bytes(&other));
            prop_assert_eq!(shown_name(one) == shown_name(other), one == other);
            prop_assert_eq!(shown_name(OsStr::new(&text)), text.as_str());
        }
    }
}
