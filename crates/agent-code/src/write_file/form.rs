//! A new text in the form of the file it replaces: its byte order mark, its encoding, its line ends (FND-26).
//!
//! A model writes UTF-8 with LF, whatever the file it has read was. What it did not see it did not mean to change.

use agent_protocol::TextEncoding;
use memchr::{memchr_iter, memmem};

use crate::{edit_file::with_crlf, preview};

/// What is written, and what there is to say about it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) content: Vec<u8>,
    /// What was kept that the call did not ask for.
    pub(super) note: Option<String>,
    /// What goes although nobody asked for that.
    pub(super) lost: Option<String>,
    encoding: TextEncoding,
}

impl Kept {
    /// `before` is what is there, if something is and was read.
    pub(super) fn of(before: Option<&[u8]>, text: &str) -> Self {
        let before = before.unwrap_or_default();
        let encoding = TextEncoding::of(before);
        let as_given = |lost: &str| Self {
            content: text.as_bytes().to_vec(),
            note: None,
            lost: Some(lost.to_owned()),
            encoding: TextEncoding::Plain,
        };
        let Some(old) = encoding.decode(before) else {
            return as_given(match encoding {
                TextEncoding::Utf32 => "the file was UTF-32, which is not kept, and is UTF-8 now",
                _ => "the file was not valid UTF-16, and is UTF-8 now",
            });
        };
        if std::str::from_utf8(&old).is_err() {
            return as_given("the file held bytes that are not UTF-8, and all of them are replaced");
        }
        let crlf = ends_in_crlf(&old) && text.contains('\n') && !text.contains('\r');
        let text = if encoding.mark().is_empty() { text } else { text.strip_prefix('\u{feff}').unwrap_or(text) };
        let body = if crlf { with_crlf(text) } else { text.as_bytes().to_vec() };
        let form = match (encoding, encoding.name()) {
            (TextEncoding::Utf8Mark, _) => Some("its byte order mark".to_owned()),
            (_, name) => name.map(|name| format!("its encoding ({name})")),
        };
        let parts: Vec<String> = form.into_iter().chain(crlf.then(|| "its line ends (CRLF)".to_owned())).collect();
        let note = (!parts.is_empty()).then(|| format!("the file kept {}", parts.join(" and ")));
        match encoding.encode(body) {
            Some(content) => Self { content, note, lost: None, encoding },
            None => as_given("the text cannot be written in the encoding of the file, which is UTF-8 now"),
        }
    }

    /// What a person is shown: the change of the text, and above it what stays as it was.
    pub(super) fn preview(&self, path: &str, before: Option<&[u8]>) -> String {
        let decoded = |content: &[u8]| self.encoding.decode(content).unwrap_or_else(|| content.to_vec());
        let diff = preview::diff(path, before.map(decoded).as_deref(), &decoded(&self.content));
        match &self.note {
            Some(note) => format!("{note}\n{diff}"),
            None => diff,
        }
    }
}

/// Whether all lines of a text do, of which there is at least one.
fn ends_in_crlf(text: &[u8]) -> bool {
    let crlf = memmem::find_iter(text, b"\r\n").count();
    crlf > 0 && crlf == memchr_iter(b'\n', text).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(before: &[u8], text: &str, content: &[u8], note: Option<&str>) {
        let kept = Kept::of(Some(before), text);
        assert_eq!((kept.content.as_slice(), kept.note.as_deref(), kept.lost), (content, note, None));
    }

    /// FND-26: mark, encoding and line ends of a file outlive its content, and that is said.
    #[test]
    fn forms_are_kept() {
        check(b"a\r\nb\r\n", "c\nd\n", b"c\r\nd\r\n", Some("the file kept its line ends (CRLF)"));
        check(b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n", Some("the file kept its byte order mark"));
        check(b"\xef\xbb\xbfa\n", "\u{feff}b\n", b"\xef\xbb\xbfb\n", Some("the file kept its byte order mark"));
        check(
            b"\xff\xfea\0\r\0\n\0",
            "b\n",
            b"\xff\xfeb\0\r\0\n\0",
            Some("the file kept its encoding (utf-16le) and its line ends (CRLF)"),
        );
        // Nothing to keep, or the text says itself how its lines end.
        check(b"a\n", "b\n", b"b\n", None);
        check(b"a\r\nb\n", "c\n", b"c\n", None);
        check(b"a\r\n", "b\r\nc\n", b"b\r\nc\n", None);
        check(b"a\r\n", "b", b"b", None);
        check(b"", "b\n", b"b\n", None);
    }

    /// FND-26: where the old form cannot be kept, that is said.
    #[test]
    fn lost_forms_are_said() {
        for before in [&b"caf\xe9\n"[..], b"\xff\xfea", b"\xff\xfe\x00\xd8"] {
            let kept = Kept::of(Some(before), "é\n");
            assert_eq!(kept.content, "é\n".as_bytes());
            assert!(kept.lost.is_some() && kept.note.is_none(), "{before:?}");
        }
    }

    /// FND-26, PRM-6: the question shows the change of the text, and what stays.
    #[test]
    fn questions_show_the_text() {
        let before = b"\xff\xfea\0\n\0";
        assert_eq!(
            Kept::of(Some(before), "a\nb\n").preview("f", Some(before)),
            "the file kept its encoding (utf-16le)\n+1 −0\n--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n a\n+b\n"
        );
        let crlf = b"a\r\nb\r\n";
        let shown = Kept::of(Some(crlf), "a\nc\n").preview("f", Some(crlf));
        assert!(shown.ends_with("@@ -1,2 +1,2 @@\n a\r\n-b\r\n+c\r\n"), "{shown}");
    }

    proptest! {
        #![proptest_config(crate::testing::cases(256))]

        /// FND-26: a file written back with the text that reading it shows is the same, byte by byte, whatever its form.
        #[test]
        fn what_was_read_can_be_written_back(text in "[ab\u{e9}\n]{0,20}", crlf: bool, form in 0usize..4) {
            let encoding = [TextEncoding::Plain, TextEncoding::Utf8Mark, TextEncoding::Utf16Little, TextEncoding::Utf16Big][form];
            let body = if crlf { text.replace('\n', "\r\n") } else { text.clone() };
            let file = encoding.encode(body.into_bytes()).unwrap();
            let kept = Kept::of(Some(&file), &text);
            prop_assert_eq!(kept.content, file);
            prop_assert_eq!(kept.note.is_some(), form > 0 || crlf && text.contains('\n'));
        }
    }
}
