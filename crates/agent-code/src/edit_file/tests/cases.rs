//! Edits that broke comparable products, from the arguments to the bytes on disk.

use super::*;

/// The file after its edits, or the code of why not; then it must be as it was.
#[track_caller]
fn check(before: &[u8], edits: Value, expected: Result<&[u8], ErrorCode>) {
    let tree = Tree::new("edit-cases");
    tree.file("f", before);
    let arguments = json!({"path": "f", "edits": edits});
    match expected {
        Ok(after) => {
            let result = tree.ok(EditFile, arguments);
            assert_eq!(tree.read("f"), after, "{edits}");
            assert_eq!(result["bytes_written"], after.len(), "{edits}");
        }
        Err(code) => {
            tree.refused(EditFile, arguments, code);
            assert_eq!(tree.read("f"), before, "{edits}");
        }
    }
}

fn one(old: &str, new: &str) -> Value {
    json!([{ "old": old, "new": new }])
}

/// EDIT-02, EDIT-04: text that occurs more than once, overlapping itself too, is not replaced; what is not there neither.
#[test]
fn several_places() {
    check(b"foo\nfoo\nfoo\n", one("foo\nfoo\n", "X\n"), Err(ErrorCode::AmbiguousEdit));
    check(b"x=1\ny\nx=1\n", one("x=1", "x=2"), Err(ErrorCode::AmbiguousEdit));
    check(b"x=1\ny\nx=1\n", one("zzz", "q"), Err(ErrorCode::TextNotFound));
}

/// EDIT-06, EDIT-14: nothing that is merely like the text is taken for it: neither blanks, nor quotes, nor another form of a
/// character.
#[test]
fn nothing_that_is_merely_alike() {
    check(b"def f():\n    x = 1\n    y = 2\n", one("    x  =  1", "    x = 9"), Err(ErrorCode::TextNotFound));
    check("say “hi”\n".as_bytes(), one("say \"hi\"", "x"), Err(ErrorCode::TextNotFound));
    check("say “hi”\n".as_bytes(), one("“hi”", "\"hi\""), Ok(b"say \"hi\"\n"));
    check("e\u{301}\n".as_bytes(), one("\u{e9}", "e"), Err(ErrorCode::TextNotFound));
}

/// EDIT-11: edits follow each other on a working copy; those that share text are refused, not mixed.
#[test]
fn edits_that_share_text() {
    let both = |first: [&str; 2], second: [&str; 2]| json!([{"old": first[0], "new": first[1]}, {"old": second[0], "new": second[1]}]);
    check(b"one two three\n", both(["one two", "A"], ["two three", "B"]), Err(ErrorCode::TextNotFound));
    check(b"one\n", both(["one", "two words"], ["words", "lines"]), Ok(b"two lines\n"));
    check(b"a b\n", both(["a", "b"], ["b", "c"]), Err(ErrorCode::AmbiguousEdit));
}

/// EDIT-19, EDIT-31, EDIT-34: line ends are the file's, each as it was; a text may end anywhere.
#[test]
fn ends_of_lines_and_texts() {
    check(
        b"def a():\r\n    return 1\r\n",
        one("def a():\n    return 1", "def a():\n    return 2"),
        Ok(b"def a():\r\n    return 2\r\n"),
    );
    check(b"a\r\nb\nc\rd\n", one("d", "D"), Ok(b"a\r\nb\nc\rD\n"));
    check(b"k = v; // build tree now\n", one("// build tree", "// make tree"), Ok(b"k = v; // make tree now\n"));
}
