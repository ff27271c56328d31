//! What a person should see of a change before deciding about it.

use std::{borrow::Cow, fmt::Write, time::Duration};

use agent_redact::{escape_word, quote_name};
use similar::TextDiff;

use crate::{read_file::Encoding, tool::counted};

/// More text than this is not compared. Bytes.
const MAX_COMPARED: usize = 2 * 1024 * 1024;
/// A diff that takes longer is left coarse.
const MAX_TIME: Duration = Duration::from_millis(200);

/// A file that is written whole, over one that may exist: of its `size` bytes `before` are known if they are few enough.
pub(crate) fn written(path: &str, size: u64, before: Option<&[u8]>, after: &[u8]) -> String {
    let Some(before) = before else {
        return format!("replaces {size} bytes of {} with:\n{}", quote_name(path), shown(after));
    };
    let encoding = Encoding::of(before);
    match (encoding.name(), encoding.decode(before)) {
        (Some(name), Some(text)) if text == after => {
            format!("{} becomes UTF-8 instead of {name}; of its text nothing changes", quote_name(path))
        }
        (Some(name), Some(text)) => {
            format!("{} becomes UTF-8 instead of {name}\n{}", quote_name(path), diff(path, Some(&text), after))
        }
        _ => diff(path, Some(before), after),
    }
}

/// The change of a file as a unified diff; `before` is `None` for one that does not exist yet. Bytes that are not UTF-8 are
/// written `<0xE9>`, and a line before the diff says how many of them are lost, so that no text can pass for them.
pub(crate) fn diff(path: &str, before: Option<&[u8]>, after: &[u8]) -> String {
    let old = before.unwrap_or_default();
    if old == after {
        return match before {
            None => format!("creates {}, which is empty", quote_name(path)),
            Some(_) => format!("changes nothing in {}", quote_name(path)),
        };
    }
    if differing(old, after) > MAX_COMPARED {
        let size = counted(after.len(), "byte");
        return format!("{} with {size}:\n{}", replaces(path, before), shown(after));
    }
    if memchr::memchr(0, old).is_some() {
        return format!("{} (binary) with:\n{}", replaces(path, before), shown(after));
    }
    format!("{}{}", lost(old, after), unified(path, before.map(shown).as_deref(), &shown(after)))
}

fn unified(path: &str, before: Option<&str>, after: &str) -> String {
    // A name with a line break in it must not look like a line of ours.
    let path = &*escape_word(path);
    let old = before.unwrap_or_default();
    // Not `diff_lines`: to it a lone CR ends a line.
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let diff = TextDiff::configure().timeout(MAX_TIME).newline_terminated(true).diff_slices(&old, &new);
    let side = |mark| if path.starts_with('/') { path.to_owned() } else { format!("{mark}/{path}") };
    let from = if before.is_some() { side('a') } else { "/dev/null".to_owned() };
    diff.unified_diff().context_radius(3).header(&from, &side('b')).to_string()
}

/// A line about the bytes that are no text and will be gone.
fn lost(old: &[u8], after: &[u8]) -> String {
    let broken = |bytes: &[u8]| bytes.utf8_chunks().map(|chunk| chunk.invalid().len()).sum::<usize>();
    match broken(old).saturating_sub(broken(after)) {
        0 => String::new(),
        1 => "1 byte that is not UTF-8 is replaced\n".to_owned(),
        count => format!("{count} bytes that are not UTF-8 are replaced\n"),
    }
}

/// How many bytes of both lie between a common beginning and a common end: what comparing has to think about.
fn differing(old: &[u8], new: &[u8]) -> usize {
    let start = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(one, other)| one == other).count();
    old.len() + new.len() - 2 * end
}

fn replaces(path: &str, before: Option<&[u8]>) -> String {
    match before {
        None => format!("creates {}", quote_name(path)),
        Some(before) => format!("replaces {} of {}", counted(before.len(), "byte"), quote_name(path)),
    }
}

/// Text with a number in place of each byte that is none.
fn shown(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "<0x{byte:02X}>");
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PRM-6: a change is shown as a diff.
    #[test]
    fn changes_are_diffs() {
        assert_eq!(
            diff("a.txt", Some(b"one\ntwo\nthree\n"), b"one\n2\nthree\n"),
            "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
        );

        assert_eq!(diff("a\nb", None, b"x\n").lines().count(), 4);
        assert_eq!(
            diff("m", Some(b"a\rb\r\nc"), b"a\rB\r\nc"),
            "--- a/m\n+++ b/m\n@@ -1,2 +1,2 @@\n-a\rb\r\n+a\rB\r\n c\n\\ No newline at end of file\n"
        );
        assert_eq!(diff("n", None, b"x\n"), "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!(diff("/t/n", None, b"x\n"), "--- /dev/null\n+++ /t/n\n@@ -0,0 +1 @@\n+x\n");
    }

    /// PRM-6: a small change of a big file is shown as what it is.
    #[test]
    fn small_changes_of_big_files_are_diffs() {
        let lines = |changed: &str| {
            let line = |n: usize| if n == 150_000 { format!("{changed}\n") } else { format!("line {n} of many\n") };
            (0..300_000).map(line).collect::<String>()
        };
        let (before, after) = (lines("before"), lines("after"));
        assert!(before.len() > MAX_COMPARED);
        let shown = diff("big", Some(before.as_bytes()), after.as_bytes());
        assert!(shown.contains("@@ -149998,7 +149998,7 @@"), "{}", &shown[..200.min(shown.len())]);
        assert_eq!(
            (shown.matches("\n-before").count(), shown.matches("\n+after").count(), shown.lines().count()),
            (1, 1, 11)
        );
    }

    /// What cannot be compared is still shown whole.
    #[test]
    fn what_cannot_be_compared_is_shown() {
        assert_eq!(diff("a", Some(b"\0\x01"), b"text"), "replaces 2 bytes of a (binary) with:\ntext");
        assert!(diff("a\nb", Some(b"\0"), b"text").starts_with("replaces 1 byte of a\\nb (binary)"));
        assert_eq!(diff("a (binary)", Some(b"\0"), b"x"), "replaces 1 byte of 'a (binary)' (binary) with:\nx");
        assert_eq!(written("a\nb", 9, None, b"text"), "replaces 9 bytes of a\\nb with:\ntext");
        let big = "x".repeat(MAX_COMPARED);
        assert!(diff("a", Some(b"1"), big.as_bytes()).ends_with(&big));
    }

    /// PRM-6: bytes that are no text are seen, and so is that they go: no text passes for them.
    #[test]
    fn bytes_that_are_no_text_are_seen() {
        let latin = b"caf\xe9\nx\n";
        let header = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n";
        for (after, changed) in
            [(&b"caf\xef\xbf\xbd\nx\n"[..], " x\n"), (b"caf<0xE9>\nx\n", ""), (b"caf\xe9\ny\n", "-x\n+y\n")]
        {
            let shown = diff("f", Some(latin), after);
            let says = shown.starts_with("1 byte that is not UTF-8 is replaced\n");
            assert_eq!(says, std::str::from_utf8(after).is_ok(), "{shown}");
            assert_eq!(shown.contains(header), !changed.is_empty(), "{shown}");
            assert!(shown.ends_with(changed), "{shown}");
        }
        let shown = diff("f", Some(latin), b"caf\xef\xbf\xbd\nx\n");
        assert!(shown.contains("\n-caf<0xE9>\n+caf\u{fffd}\n"), "{shown}");
        assert!(diff("f", Some(b"\xff\xfe\n"), b"a\n").starts_with("2 bytes that are not UTF-8 are replaced\n---"));
    }

    /// PRM-6: no preview is empty.
    #[test]
    fn what_changes_nothing_says_so() {
        assert_eq!(diff("f", Some(b"a\n"), b"a\n"), "changes nothing in f");
        assert_eq!(diff("f", Some(b"\0"), b"\0"), "changes nothing in f");
        assert_eq!(diff("f", Some(b""), b""), "changes nothing in f");
        assert_eq!(diff("f g", None, b""), "creates 'f g', which is empty");
    }

    /// PRM-6: text in another encoding is compared as the text it is.
    #[test]
    fn utf16_is_compared_as_text() {
        let before = b"\xff\xfea\0\n\0b\0\n\0";
        assert_eq!(
            written("f", 10, Some(before), b"a\nc\n"),
            "f becomes UTF-8 instead of utf-16le\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
        );
        // Of the text nothing changes, of the file all.
        assert_eq!(
            written("f", 10, Some(before), b"a\nb\n"),
            "f becomes UTF-8 instead of utf-16le; of its text nothing changes"
        );
        assert!(written("f", 3, Some(b"\xff\xfe\0"), b"a").contains("(binary)"));
    }
}
