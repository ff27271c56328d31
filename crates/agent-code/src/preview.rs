//! What a person should see of a change before deciding about it.

mod bytes;
mod regions;
mod unified;

use agent_redact::{escape_word, quote_name};

use crate::tool::counted;
use bytes::shown;
pub(crate) use regions::Regions;
use unified::Unified;

/// A file that is written whole over one of `size` bytes, of which none was read.
pub(crate) fn written_unread(path: &str, size: u64, after: &[u8]) -> String {
    format!("replaces {size} bytes of {} with:\n{}", quote_name(path), shown(after))
}

/// The change of a file as a unified diff; `before` is `None` for one that does not exist yet.
pub(crate) fn diff(path: &str, before: Option<&[u8]>, after: &[u8]) -> String {
    diff_at(path, before, after, None)
}

/// The same where it is known what was changed. Above the diff stands how many lines come and go, so that it is known where not
/// all of it can be shown. Bytes that are not UTF-8 are written `<0xE9>`, and a line says how many of them are lost.
pub(crate) fn diff_at(path: &str, before: Option<&[u8]>, after: &[u8], regions: Option<&Regions>) -> String {
    let old = before.unwrap_or_default();
    if old == after {
        return match before {
            None => format!("creates {}, which is empty", quote_name(path)),
            Some(_) => format!("changes nothing in {}", quote_name(path)),
        };
    }
    if memchr::memchr(0, old).is_some() {
        let size = counted(old.len(), "byte");
        return format!("replaces {size} of {} (binary) with:\n{}", quote_name(path), shown(after));
    }
    let regions = regions.map_or_else(|| Regions::between(old, after), |regions| regions.found(old, after));
    let Unified { added, removed, hunks } = Unified::of(old, after, &regions);
    format!("+{added} −{removed}\n{}{}{hunks}", lost(old, after), header(path, before.is_some()))
}

fn header(path: &str, exists: bool) -> String {
    // A name with a line break in it must not look like a line of ours.
    let path = &*escape_word(path);
    let side = |mark| if path.starts_with('/') { path.to_owned() } else { format!("{mark}/{path}") };
    let from = if exists { side('a') } else { "/dev/null".to_owned() };
    format!("--- {from}\n+++ {}\n", side('b'))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// PRM-6, FND-28: a change is shown as a diff, with its numbers above it.
    #[test]
    fn changes_are_diffs() {
        assert_eq!(
            diff("a.txt", Some(b"one\ntwo\nthree\n"), b"one\n2\nthree\n"),
            "+1 −1\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
        );
        assert_eq!(diff("a\nb", None, b"x\n").lines().count(), 5);
        assert_eq!(
            diff("m", Some(b"a\rb\r\nc"), b"a\rB\r\nc"),
            "+1 −1\n--- a/m\n+++ b/m\n@@ -1,2 +1,2 @@\n-a\rb\r\n+a\rB\r\n c\n\\ No newline at end of file\n"
        );
        assert_eq!(diff("n", None, b"x\n"), "+1 −0\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!(diff("/t/n", None, b"x\n"), "+1 −0\n--- /dev/null\n+++ /t/n\n@@ -0,0 +1 @@\n+x\n");
        assert_eq!(
            diff("n", Some(b"x\ny"), b""),
            "+0 −2\n--- a/n\n+++ b/n\n@@ -1,2 +0,0 @@\n-x\n-y\n\\ No newline at end of file\n"
        );
    }

    /// PRM-6: a small change of a big file is shown as what it is.
    #[test]
    fn small_changes_of_big_files_are_diffs() {
        let lines = |changed: &str| {
            let line = |n: usize| if n == 150_000 { format!("{changed}\n") } else { format!("line {n} of many\n") };
            (0..300_000).map(line).collect::<String>()
        };
        let (before, after) = (lines("before"), lines("after"));
        let shown = diff("big", Some(before.as_bytes()), after.as_bytes());
        assert!(shown.contains("@@ -149998,7 +149998,7 @@"), "{}", &shown[..200.min(shown.len())]);
        assert_eq!(
            (shown.matches("\n-before").count(), shown.matches("\n+after").count(), shown.lines().count()),
            (1, 1, 12)
        );
    }

    /// What cannot be compared is still shown whole.
    #[test]
    fn what_cannot_be_compared_is_shown() {
        assert_eq!(diff("a", Some(b"\0\x01"), b"text"), "replaces 2 bytes of a (binary) with:\ntext");
        assert!(diff("a\nb", Some(b"\0"), b"text").starts_with("replaces 1 byte of a\\nb (binary)"));
        assert_eq!(diff("a (binary)", Some(b"\0"), b"x"), "replaces 1 byte of 'a (binary)' (binary) with:\nx");
        assert_eq!(written_unread("a\nb", 9, b"text"), "replaces 9 bytes of a\\nb with:\ntext");
        let big = "x\n".repeat(300_000);
        let shown = diff("a", Some("y\n".repeat(300_000).as_bytes()), big.as_bytes());
        assert!(shown.starts_with("+300000 −300000\n") && shown.lines().count() == 600_004, "{}", &shown[..99]);
    }

    /// PRM-6, FND-01: bytes that are no text are seen, and so is that they go: no text passes for them.
    #[test]
    fn bytes_that_are_no_text_are_seen() {
        let latin = b"caf\xe9\nx\n";
        for (after, changed) in [
            (&b"caf\xef\xbf\xbd\nx\n"[..], "-caf<0xE9>\n+caf\u{fffd}\n x\n"),
            (b"caf<0xE9>\nx\n", "-caf<0xE9>\n+caf<0xE9 as text>\n x\n"),
            (b"caf\xe9\ny\n", " caf<0xE9>\n-x\n+y\n"),
        ] {
            let shown = diff("f", Some(latin), after);
            let says = shown.contains("\n1 byte that is not UTF-8 is replaced\n");
            assert_eq!(says, std::str::from_utf8(after).is_ok(), "{shown}");
            assert!(shown.ends_with(&format!("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n{changed}")), "{shown}");
        }
        assert!(diff("f", Some(b"\xff\xfe\n"), b"a\n").contains("\n2 bytes that are not UTF-8 are replaced\n---"));
    }

    /// PRM-6: no preview is empty.
    #[test]
    fn what_changes_nothing_says_so() {
        assert_eq!(diff("f", Some(b"a\n"), b"a\n"), "changes nothing in f");
        assert_eq!(diff("f", Some(b"\0"), b"\0"), "changes nothing in f");
        assert_eq!(diff("f", Some(b""), b""), "changes nothing in f");
        assert_eq!(diff("f g", None, b""), "creates 'f g', which is empty");
    }
}
