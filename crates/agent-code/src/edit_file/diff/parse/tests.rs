use super::*;

fn read(diff: &str) -> Result<usize, DiffError> {
    parse(diff, &Names::new([b"src/x.rs".as_slice(), b"/p/src/x.rs"])).map(|parsed| parsed.hunks.len())
}

const HUNK: &str = "@@ -1 +1 @@\n-a\n+b\n";

#[track_caller]
fn fails(diff: &str, words: &[&str]) {
    let message = read(diff).unwrap_err().quoted(&agent_redact::KnownSecrets::none()).to_string();
    for word in words {
        assert!(message.contains(word), "{word:?} is not in: {message}");
    }
}

/// EDIT-27: headers of the file in every usual form, or none.
#[test]
fn headers_of_the_file() {
    for head in [
        "",
        "\n",
        "--- a/src/x.rs\n+++ b/src/x.rs\n",
        "--- src/x.rs\n+++ src/x.rs\n",
        "--- a//p/src/x.rs\n+++ a//p/src/x.rs\n",
        "--- /p/src/x.rs\t2024-01-01 00:00:00 +0000\n+++ /p/src/x.rs\t2024-01-01 00:00:01 +0000\n",
        "diff --git a/src/x.rs b/src/x.rs\nindex 1234567..89abcde 100644\n--- a/src/x.rs\n+++ b/src/x.rs\n",
        "diff -u -r1.2 src/x.rs src/x.rs\n--- src/x.rs\n+++ src/x.rs\n",
        "Index: src/x.rs\n===================================================================\n--- src/x.rs\n+++ src/x.rs\n",
        "+++ b/src/x.rs\n",
    ] {
        assert_eq!(read(&format!("{head}{HUNK}")), Ok(1), "{head}");
        assert_eq!(read(&format!("{head}{HUNK}").replace('\n', "\r\n")), Ok(1), "{head}");
    }
}

/// COD-12, EDIT-27: any other file, first or second, is another file.
#[test]
fn other_files() {
    for diff in [
        "--- a/src/x.rs\n+++ b/src/y.rs\n",
        "--- a/src/y.rs\n+++ b/src/x.rs\n",
        "diff --git a/src/x.rs b/src/y.rs\n",
        "Index: src/y.rs\n",
        "--- /dev/null\n+++ b/src/y.rs\n",
        "--- a/src/y.rs\n+++ /dev/null\n",
        "@@ -1 +1 @@\n-a\n+b\n--- a/src/y.rs\n+++ b/src/y.rs\n",
        "@@ -1,2 +1,2 @@\n-a\n+b\n c\ndiff --git a/src/y.rs b/src/y.rs\n",
        // The counts do not say that these are lines of the hunk.
        "@@ -1,0 +1,0 @@\n-a\n+b\n--- a/src/y.rs\n+++ b/src/y.rs\n",
        "@@\n-a\n+b\n--- a/src/y.rs\n+++ b/src/y.rs\n",
    ] {
        assert!(matches!(read(&format!("{diff}{HUNK}")), Err(DiffError::OtherFile { .. })), "{diff}");
    }
    fails(&format!("--- a/src/x.rs\n+++ b/src/y.rs\n{HUNK}"), &["line 2 of the diff", "\"b/src/y.rs\"", "one file"]);
    fails(&format!("{HUNK}--- a/src/x.rs\n+++ b/src/x.rs\n{HUNK}"), &["line 4", "second file header"]);
    fails(&format!("--- a/src/x.rs\n--- a/src/x.rs\n{HUNK}"), &["line 2", "second file header"]);
}

/// Lines of a hunk may look like a header; the counts tell.
#[test]
fn removed_comments_are_no_headers() {
    assert_eq!(read("@@ -1,2 +1,2 @@\n--- a\n+++ b\n c\n"), Ok(1));
    assert_eq!(read("@@ -1 +0,0 @@\n--- a\n@@ -3 +2 @@\n-c\n+d\n"), Ok(2));
}

/// COD-12: nothing but the text of the file can be changed.
#[test]
fn what_is_not_supported() {
    let git = "diff --git a/src/x.rs b/src/x.rs\n";
    for (diff, word) in [
        (
            "diff --git a/src/x.rs b/src/y.rs\nsimilarity index 90%\nrename from src/x.rs\nrename to src/y.rs\n",
            "renames or copies",
        ),
        ("diff --git a/src/x.rs b/src/y.rs\ncopy from src/x.rs\ncopy to src/y.rs\n", "renames or copies"),
        (&format!("{git}deleted file mode 100644\n--- a/src/x.rs\n+++ /dev/null\n"), "deletes"),
        ("--- a/src/x.rs\n+++ /dev/null\n", "deletes"),
        (&format!("{git}old mode 100644\nnew mode 100755\n"), "mode"),
        (&format!("{git}new file mode 100755\n"), "mode"),
        (&format!("{git}index 1..2\nGIT binary patch\n"), "binary"),
        (&format!("{git}Binary files a/src/x.rs and b/src/x.rs differ\n"), "binary"),
    ] {
        for diff in [diff.to_owned(), format!("{diff}{HUNK}")] {
            assert!(matches!(read(&diff), Err(DiffError::Unsupported { .. })), "{diff}");
            fails(&diff, &[word, "not supported"]);
        }
    }
}

/// FND-30: a binary patch of git is called what it is, whatever letters its bytes are written in.
#[test]
fn binary_patches_of_git() {
    let git = "diff --git a/src/x.rs b/src/x.rs\nindex 1..2 100644\nGIT binary patch\n";
    for body in [
        "",
        "literal 10\nRcmZQzU|?flWdHyGIRF3v00000\n\nliteral 0\nHcmV?d00001\n",
        "delta 12\nTcmV-70?++=l\n@@ nothing\n",
        "literal 3\r\nKcmWIYaQQRQ0ssI2\r\n",
        "--- a/other\n+++ b/other\n",
    ] {
        fails(&format!("{git}{body}"), &["is a binary one", "not supported"]);
    }
    fails(&git.replace("x.rs", "y.rs"), &["another file"]);
}

/// A fence around the whole is taken off; anything else around it is told.
#[test]
fn fences_and_other_formats() {
    assert_eq!(read(&format!("```diff\n{HUNK}```\n")), Ok(1));
    assert_eq!(read(&format!("\n````\n{HUNK}````  \n\n")), Ok(1));
    fails(&format!("```diff\n{HUNK}"), &["line 1", "code fence"]);
    fails(&format!("{HUNK}```\n"), &["line 4", "code fence"]);
    fails("```", &["line 1", "code fence"]);
    fails(&format!("\n```\nHere it is:\n{HUNK}```"), &["line 3", "Here it is"]);
    fails("*** Begin Patch\n*** Update File: src/x.rs\n", &["line 1", "another patch format"]);
    fails("@@ -1,2 +1,2 @@\n-a\n+b\nfn f() {\n", &["line 4 of the diff", "\"fn f() {\"", "begin with a blank"]);
}
