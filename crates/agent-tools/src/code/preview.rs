//! What a person should see of a change before deciding about it.

use std::time::Duration;

use agent_policy::escape_word;
use similar::TextDiff;

/// More text than this is not compared. Bytes.
const MAX_COMPARED: usize = 2 * 1024 * 1024;
/// A diff that takes longer is left coarse.
const MAX_TIME: Duration = Duration::from_millis(200);

/// The change of a file as a unified diff; `before` is `None` for one that does not exist yet.
pub(crate) fn diff(path: &str, before: Option<&[u8]>, after: &[u8]) -> String {
    // A name with a line break in it must not look like a line of ours.
    let path = &*escape_word(path);
    let old = before.unwrap_or_default();
    if differing(old, after) > MAX_COMPARED {
        return format!("{} with these {} bytes:\n{}", replaces(path, before), after.len(), lossy(after));
    }
    if memchr::memchr(0, old).is_some() {
        return format!("{} (binary) with:\n{}", replaces(path, before), lossy(after));
    }
    let (old, new) = (lossy(old), lossy(after));
    // Not `diff_lines`: to it a lone CR ends a line.
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let diff = TextDiff::configure().timeout(MAX_TIME).newline_terminated(true).diff_slices(&old, &new);
    let side = |mark| if path.starts_with('/') { path.to_owned() } else { format!("{mark}/{path}") };
    let from = if before.is_some() { side('a') } else { "/dev/null".to_owned() };
    diff.unified_diff().context_radius(3).header(&from, &side('b')).to_string()
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
        None => format!("creates {path}"),
        Some(before) => format!("replaces {} bytes of {path}", before.len()),
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
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
        assert!(diff("a\nb", Some(b"\0"), b"text").starts_with("replaces 1 bytes of a\\nb (binary)"));
        let big = "x".repeat(MAX_COMPARED);
        assert!(diff("a", Some(b"1"), big.as_bytes()).ends_with(&big));
    }
}
