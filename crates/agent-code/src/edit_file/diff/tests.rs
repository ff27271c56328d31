use super::*;

/// A diff of `f`, or the hunks of one, applied.
fn apply(text: &str, diff: &str) -> Result<String, DiffError> {
    let patched =
        patch(Some(text.as_bytes()), &Names::new([b"f".as_slice()]), diff, Numbers::Count, &KnownSecrets::none())?;
    Ok(String::from_utf8(patched.text).unwrap())
}

#[track_caller]
fn check(text: &str, diff: &str, expected: &str) {
    assert_eq!(apply(text, diff).as_deref(), Ok(expected), "{diff}");
}

/// What it says when it does not apply; every one of these words is in it.
#[track_caller]
fn fails(text: &str, diff: &str, words: &[&str]) {
    let message = apply(text, diff).unwrap_err().to_string();
    for word in words {
        assert!(message.contains(word), "{word:?} is not in: {message}");
    }
}

/// EDIT-12: a count may be left out of a header; where there is no hunk nothing is "applied".
#[test]
fn short_headers_and_no_hunks() {
    let text = "l1\nl2\nl3\n";
    check(text, "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-l2\n+X\n", "l1\nX\nl3\n");
    assert_eq!(apply(text, "--- a/f\n+++ b/f\n"), Err(DiffError::NoHunk));
    assert_eq!(apply(text, "\n\n"), Err(DiffError::NoHunk));
    fails(text, "Replace l2 by X, please.\n", &["line 1 of the diff", "Replace l2", "nothing but the diff"]);
    fails(text, "-l2\n+X\n", &["line 1 of the diff", "not in a hunk", "@@ -start,count +start,count @@"]);
}

/// EDIT-32: a bare header is enough where the old lines occur once. Otherwise it says so, and a broken header is quoted
/// with the form wanted.
#[test]
fn bare_headers() {
    check("l1\nl2\n", "--- a/f\n+++ b/f\n@@\n l1\n-l2\n+X\n", "l1\nX\n");
    check("l1\nl2\n", "@@ fn f() {\n-l2\n+X\n", "l1\nX\n");
    fails("l\nx\nl\n", "@@\n-l\n+X\n", &["hunk 1 (\"@@\")", "fits 2 places", "at lines 1, 3"]);
    fails("l1\nl2\n", "@@ -l2 @@\n-l2\n+X\n", &["hunk 1 (\"@@ -l2 @@\")", "@@ -start,count +start,count @@"]);
    fails("l1\n", "@@\n+X\n", &["hunk 1", "are not certain"]);
}

/// EDIT-26: nothing follows the last newline, and the line number chooses among places that are the same.
#[test]
fn line_numbers_choose_among_equals() {
    check("x\nfoo\ny\nfoo\n", "@@ -4,1 +4,2 @@\n foo\n+added\n", "x\nfoo\ny\nfoo\nadded\n");
    check("x\nfoo\ny\nfoo\n", "@@ -2,1 +2,2 @@\n foo\n+added\n", "x\nfoo\nadded\ny\nfoo\n");
    check("a\nb\n", "@@ -2,1 +2,2 @@\n b\n+c\n", "a\nb\nc\n");
    fails("x\nfoo\ny\nfoo\n", "@@ -3,1 +3,2 @@\n foo\n+added\n", &["fits 2 places", "at lines 2, 4"]);
    fails("a\n", "@@ -2,1 +2,2 @@\n \n+c\n", &["was not found"]);
    // A header whose two numbers contradict each other decides nothing.
    fails("\nc\nc\nc\nc", "@@ -3 +2 @@\n-c\n+a\n", &["does not decide"]);
    fails("c\n\nb\nb\n", "@@ -3 +4 @@\n-b\n+\n", &["fits 2 places"]);
    check("a\nb\n", "@@ -1 +2 @@\n-b\n+c\n", "a\nc\n");
}

/// Lines beyond the count are taken where they can only be meant, and not where they are of something else: the signature of
/// a mail, or a hunk whose header got lost.
#[test]
fn lines_beyond_the_count() {
    check("a\nb\n", "@@ -1 +1 @@\n-a\n-b\n+c\n", "c\n");
    fails("a\n- \n", "@@ -1 +1 @@\n-a\n+b\n-- \n", &["more lines than its header says", "2 instead of 1 old"]);
    fails("a\n-\n", "@@ -1 +1 @@\n-a\n+b\n--\n", &["more lines"]);
    check("a\n- \n", "@@ -1,2 +1 @@\n-a\n+b\n-- \n", "b\n");
    fails("c\nd\n", "@@ -0,0 +1 @@\n+new\n-d\n+NEW\n", &["more lines", "write the header"]);
    fails("c\nd\n", "@@ -1 +0,0 @@\n-c\n+x\n", &["more lines"]);
}

/// A wrong line number does no harm where the lines occur once. Where they do not, it takes the other numbers' credit.
#[test]
fn wrong_line_numbers() {
    check("a\nb\nc\nd\n", "@@ -77,2 +80,2 @@\n c\n-d\n+D\n", "a\nb\nc\nD\n");
    check("a\nb\nc\nd\n", "@@ -0,1 +0,1 @@\n-a\n+A\n@@ -9 +9 @@\n-d\n+D\n", "A\nb\nc\nD\n");
    let repeated = "x\nx\nx\nend\n";
    check(repeated, "@@ -2 +2 @@\n-x\n+X\n@@ -4 +4 @@\n-end\n+END\n", "x\nX\nx\nEND\n");
    fails(repeated, "@@ -2 +2 @@\n-x\n+X\n@@ -3 +3 @@\n-end\n+END\n", &["hunk 1", "fits 3 places, at lines 1, 2, 3"]);
}

/// In a file that changed since it was read they choose nothing.
#[test]
fn stale_line_numbers() {
    let names = Names::new([b"f".as_slice()]);
    let stale =
        |text: &str, diff: &str| patch(Some(text.as_bytes()), &names, diff, Numbers::Stale, &KnownSecrets::none());
    assert_eq!(stale("x\ny\n", "@@ -1 +1 @@\n-x\n+X\n").map(|patched| patched.text), Ok(b"X\ny\n".to_vec()));
    for diff in ["@@ -1 +1 @@\n-x\n+X\n", "@@ -1,0 +2 @@\n+X\n"] {
        assert!(matches!(stale("x\nx\n", diff), Err(DiffError::Hunk { number: 1, .. })), "{diff}");
        assert!(apply("x\nx\n", diff).is_ok(), "{diff}");
    }
}

/// EDIT-24: a newline missing at the end stays missing unless the diff speaks of it.
#[test]
fn newlines_at_the_end() {
    let marker = "\\ No newline at end of file\n";
    let hunk = |old: &str, new: &str| format!("@@ -1,2 +1,2 @@\n a\n-b\n{old}+c\n{new}");
    // D1 to D4.
    check("a\nb", &hunk("", ""), "a\nc");
    check("a\nb", &hunk(marker, marker), "a\nc");
    check("a\nb", &hunk(marker, ""), "a\nc\n");
    check("a\nb\n", &hunk("", marker), "a\nc");
    check("a\nb", &hunk("", marker), "a\nc");
    fails("a\nb\n", &hunk(marker, ""), &["at line 1", "does end with a newline"]);
    fails("a\nb\nd\n", &hunk("", marker), &["at line 1", "the file goes on there"]);
    check("a\nb", "@@ -2 +2,2 @@\n b\n+c\n", "a\nb\nc");
    check("a\r\nb", "@@ -2,0 +3 @@\n+c\n", "a\r\nb\r\nc");
    check("a\nb", "@@ -1,2 +1 @@\n a\n-b\n", "a\n");
    check("a\nb", "@@ -1,2 +1 @@\n-a\n b\n\\ No newline at end of file", "b");
    fails("a\nb", &format!("@@ -1,2 +1,2 @@\n-a\n+c\n{marker} b\n"), &["hunk 1", "does not follow the last line"]);
    fails("a\nb", &format!("@@ -1 +1 @@\n-a\n+c\n{marker}@@ -2 +2 @@\n-b\n+d\n"), &["hunk 1", "does not follow"]);
    // A lost blank before TeX is no marker.
    fails("\\x\n", "@@ -1,2 +1,2 @@\n-b\n\\x\n+c\n", &["line 3 of the diff", "\\\\x"]);
}

/// EDIT-01, EDIT-19: a CRLF file takes an LF diff and stays one.
#[test]
fn line_ends_are_kept() {
    check("a\r\nb\r\nc\r\n", "@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B2\n c\n", "a\r\nB\r\nB2\r\nc\r\n");
    check(
        "def a():\r\n    return 1\r\n",
        "@@ -1,2 +1,2 @@\n def a():\n-    return 1\n+    return 2\n",
        "def a():\r\n    return 2\r\n",
    );
    check("a\r\n", "@@ -0,0 +1 @@\n+x\n", "x\r\na\r\n");
    check("a\r\n", "@@ -1,0 +2 @@\n+x\n", "a\r\nx\r\n");
    // The diff's own line ends are not the file's, but where they are not everywhere they are meant.
    check("a\nb\n", "@@ -2 +2 @@\r\n-b\r\n+B\r\n", "a\nB\n");
    check("a\r\nb\r\n", "@@ -2 +2 @@\r\n-b\r\n+B\r\n", "a\r\nB\r\n");
    check("a\r\nb\r\n", "@@ -2 +2 @@\n-b\r\n+B\r\n", "a\r\nB\r\n");
    check("a\r\nb\r\n", "@@ -2 +2 @@\n-b\r\n+b\n", "a\r\nb\n");
    check("a\nb\n", "@@ -2 +2 @@\n-b\r\n+B\r\n", "a\nB\n");
}

/// EDIT-31: in a file of many kinds of line ends nothing else moves, and a lone CR is none.
#[test]
fn mixed_line_ends_stay_mixed() {
    check("a\r\nb\nc\rd\n", "@@ -3 +3 @@\n-c\rd\n+c\rD\n", "a\r\nb\nc\rD\n");
    fails("a\r\nb\nc\rd\n", "@@ -4 +4 @@\n-d\n+D\n", &["was not found"]);
    check("a\r\nb\nc\n", "@@ -1,3 +1,5 @@\n-a\n-b\n+A\n+B\n+B2\n c\n+d\n", "A\r\nB\nB2\nc\nd\n");
    check("a\r\nb\nc\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n", "a\r\nx\r\nb\nc\n");
    check("a\r\nb\nc\n", "@@ -1,3 +1,4 @@\n-a\n+A\n b\n+x\n c\n", "A\r\nb\nx\nc\n");
}

/// Counts that are too small are taken for what they are; ones that are too big may mean that lines are missing.
#[test]
fn wrong_counts() {
    let text = "a\nb\nc\nd\n";
    check(text, "@@ -1,1 +1,1 @@\n a\n-b\n+B\n c\n", "a\nB\nc\nd\n");
    check(text, "@@ -1,2 +1,2 @@\n a\n-b\n+B\n\n@@ -4 +4 @@\n-d\n+D\n\n\n", "a\nB\nc\nD\n");
    let short = "@@ -1,4 +1,5 @@\n a\n-b\n+B\n";
    fails(text, short, &["hunk 1", "2 of 4 old, 2 of 5 new", "cut off", "the header @@ -1,2 +1,2 @@"]);
    fails(text, &format!("{short}@@ -4 +4 @@\n-d\n+D\n"), &["hunk 1", "cut off"]);
    fails(text, "@@ -1,2 +1,2 @@\n", &["hunk 1", "0 of 2 old"]);
}

/// An empty line in a hunk is an empty context line whose blank got lost, if there is one.
#[test]
fn empty_lines() {
    check("a\n\nb\n", "@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n", "a\n\nB\n");
    check("a\n\n", "@@ -1,2 +1,2 @@\n-a\n+A\n\n", "A\n\n");
    check("a\nb\n", "@@ -1 +1 @@\n-a\n+A\n\n", "A\nb\n");
    fails(
        "a\nb\n",
        "@@ -1,2 +1,2 @@\n-a\n+A\n\n",
        &["was not found", "line 2 of the file is \"b\", the hunk has \"\""],
    );
}

/// Mere insertions go where all of their numbers say, or nowhere.
#[test]
fn insertions_without_context() {
    check("a\nb\n", "@@ -0,0 +1,2 @@\n+x\n+y\n", "x\ny\na\nb\n");
    check("a\nb\n", "@@ -1,0 +2 @@\n+x\n", "a\nx\nb\n");
    check("a\nb\n", "@@ -1 +1,2 @@\n-a\n+A\n+A2\n@@ -2,0 +4 @@\n+x\n", "A\nA2\nb\nx\n");
    check("", "@@ -1,0 +1,1 @@\n+x\n", "x\n");
    check("", "@@\n+x\n", "x\n");
    for header in ["@@ -1,0 +1 @@", "@@ -3,0 +4 @@", "@@ -2,0 +2 @@"] {
        fails("a\nb\n", &format!("{header}\n+x\n"), &["hunk 1", header, "only adds lines"]);
    }
    fails("a\nb\n", "@@ -1,0 +2 @@\n+x\n@@ -1 +3 @@\n-b\n+B\n", &["hunk 1", "only adds lines"]);
}

/// Hunks go from top to bottom, all of the file as it was.
#[test]
fn hunks_in_order() {
    let text = "a\nb\nc\n";
    check(text, "@@ -1 +1,2 @@\n-a\n+A\n+A\n@@ -2,2 +3,1 @@\n b\n-c\n", "A\nA\nb\n");
    fails(text, "@@ -3 +3 @@\n-c\n+C\n@@ -1 +1 @@\n-a\n+A\n", &["hunk 2", "fits at line 1", "order hunks"]);
    fails(text, "@@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -2,2 +2,2 @@\n b\n-c\n+C\n", &["hunk 2", "fits at line 2", "join"]);
    fails(text, "@@ -1 +1 @@\n-a\n+A\n@@ -1 +1 @@\n-A\n+B\n", &["hunk 2", "was not found"]);
}

/// A success changes something.
#[test]
fn something_must_change() {
    fails("a\nb\n", "@@ -1,2 +1,2 @@\n a\n b\n", &["hunk 1", "changes nothing"]);
    fails("a\nb\n", "@@ -1 +1 @@\n-a\n+a\n", &["hunk 1", "changes nothing"]);
    let back = "@@ -1,2 +1 @@\n-a\n b\n@@ -2,0 +2 @@\n+b\n";
    check("a\nb\n", back, "b\nb\n");
    assert_eq!(apply("a\na\n", "@@ -1 +0,0 @@\n-a\n@@ -2,0 +2 @@\n+a\n"), Err(DiffError::Pointless));
}

/// What is there is shown beside what was wanted, and both are bounded.
#[test]
fn what_is_there_is_told() {
    let text = "fn f() {\n\tlet x = 1;\n\treturn x;\n}\n";
    fails(
        text,
        "@@ -1,3 +1,3 @@\n fn f() {\n-    let x = 1;\n+    let x = 2;\n \treturn x;\n",
        &[
            "hunk 1 (\"@@ -1,3 +1,3 @@\")",
            r#"line 2 of the file is "\tlet x = 1;""#,
            r#""    let x = 1;""#,
            "other whitespace",
        ],
    );
    fails(text, "@@ -1 +1 @@\n-fn g() {\n+fn h() {\n", &["none of its old lines", "nearest text is in line 1"]);
    fails(text, "@@ -4,2 +4,2 @@\n }\n-x\n+y\n", &["it wants \"x\" in line 5", "the file has 4 lines"]);
    fails("X\n", "@@ -1 +1 @@\n-l\n+X\n", &["its new lines are at line 1 already"]);
    fails("", "@@ -1 +1 @@\n-l\n+X\n", &["the file is empty"]);
    let long = "\u{1F600}".repeat(100_000);
    let message =
        apply(&format!("a\n{long}1\n"), &format!("@@ -1,2 +1,1 @@ {long}\n a\n-{long}2\n")).unwrap_err().to_string();
    assert!(message.len() < 6000 && message.contains("hunk 1"), "{} bytes", message.len());
}

/// COD-12: a file is made of added lines only, and only where there is none.
#[test]
fn files_are_made() {
    let names = Names::new([b"f".as_slice()]);
    let made = |diff: &str| {
        patch(None, &names, diff, Numbers::Count, &KnownSecrets::none())
            .map(|patched| String::from_utf8(patched.text).unwrap())
    };
    for head in [
        "",
        "--- /dev/null\n+++ b/f\n",
        "diff --git a/f b/f\nnew file mode 100644\nindex 000..123\n--- /dev/null\n+++ b/f\n",
    ] {
        assert_eq!(made(&format!("{head}@@ -0,0 +1,2 @@\n+x\n+y\n")).as_deref(), Ok("x\ny\n"));
    }
    assert_eq!(made("@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n").as_deref(), Ok("x"));
    assert_eq!(made("@@ -0,0 +1 @@\n+x\r\n").as_deref(), Ok("x\r\n"));
    assert_eq!(made("@@ -1 +1 @@\n-a\n+x\n"), Err(DiffError::Missing));
    assert_eq!(apply("", "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n"), Err(DiffError::Exists));
}
