use super::*;
use proptest::prelude::*;

fn edit(old: &str, new: &str) -> Edit {
    Edit { old: old.to_owned(), new: new.to_owned(), replace_all: false }
}

fn all(old: &str, new: &str) -> Edit {
    Edit { replace_all: true, ..edit(old, new) }
}

#[track_caller]
fn check(text: &str, edits: &[Edit], expected: &str) {
    let applied = apply(text.as_bytes(), edits, &KnownSecrets::none()).unwrap();
    assert_eq!(String::from_utf8(applied.text).unwrap(), expected);
}

#[track_caller]
fn not_found(text: &str, edits: &[Edit], index: usize) -> String {
    match apply(text.as_bytes(), edits, &KnownSecrets::none()) {
        Err(ApplyError::NotFound { edit, hint, .. }) if edit == index => hint,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn ambiguous(text: &str, edits: &[Edit], index: usize, expected: &[usize]) {
    let count = expected.len();
    let expected = ApplyError::Ambiguous { edit: index, count, lines: expected.to_vec(), earlier: None };
    assert_eq!(apply(text.as_bytes(), edits, &KnownSecrets::none()), Err(expected));
}

/// EDIT-01, EDIT-19: the line ends of a file are kept, and an edit written with LF finds them.
#[test]
fn line_ends_are_kept() {
    check("a\r\nb\r\nc\r\n", &[edit("b", "B")], "a\r\nB\r\nc\r\n");
    check(
        "def a():\r\n    return 1\r\n",
        &[edit("def a():\n    return 1", "def a():\n    return 2")],
        "def a():\r\n    return 2\r\n",
    );
    check("a\r\nb\r\n", &[edit("a\r\nb", "a\nx\r\nb")], "a\r\nx\r\nb\r\n");
    check("a\r\nb", &[edit("b", "c\nd")], "a\r\nc\r\nd");
    check("a\nb\n", &[edit("a\n", "x\ny\n")], "x\ny\nb\n");
}

/// EDIT-31: in a file of many kinds of line ends nothing else moves.
#[test]
fn mixed_line_ends_stay_mixed() {
    check("a\r\nb\nc\rd\n", &[edit("d", "D")], "a\r\nb\nc\rD\n");
    check("a\r\nb\nc\n", &[edit("a\nb", "x\ny")], "x\r\ny\nc\n");
    check("a\r\nb\nc\n", &[edit("b\nc", "x\ny")], "a\r\nx\ny\n");
}

/// FND-26: in such a file an edit is found wherever its lines are, and what stays keeps its line ends, each its own.
#[test]
fn mixed_line_ends_are_not_looked_at() {
    check("x\na\r\nb\nc\r\n", &[edit("a\nb\n", "A\nb\n")], "x\nA\r\nb\nc\r\n");
    check("a\nb\r\nc\n", &[edit("a\nb\nc\n", "a\nnew\nb\nc\n")], "a\nnew\nb\r\nc\n");
    check("a\nb\r\nc\nd\n", &[edit("b\nc", "c")], "a\nc\nd\n");
    check("a\nb\r\n", &[edit("b", "b\nmore")], "a\nb\r\nmore\r\n");
    check("a\nb\r\nc", &[edit("c", "c\nd")], "a\nb\r\nc\r\nd");
    // What says how it ends is taken at its word.
    check("a\nb\r\na\r\nb\n", &[edit("a\r\nb", "c\r\nd")], "a\nb\r\nc\r\nd\n");
    ambiguous("a\r\nb\nc\na\nb\r\nc\n", &[edit("a\nb\nc", "x")], 0, &[1, 4]);
    check("a\r\nb\nc\na\nb\r\nc\n", &[all("a\nb\nc", "x\ny")], "x\r\ny\nx\ny\n");
    // The other way round: CRLF in an edit of a file that has none.
    check("a\nb\n", &[edit("a\r\nb", "c\r\nd")], "c\nd\n");
}

/// EDIT-02: places that overlap are places.
#[test]
fn overlapping_places_count() {
    ambiguous("foo\nfoo\nfoo\n", &[edit("foo\nfoo\n", "X\n")], 0, &[1, 2]);
    check("aaaa", &[all("aa", "b")], "bb");
}

/// EDIT-04: many places are an error that names their lines, no place is another.
#[test]
fn one_place_is_needed() {
    ambiguous("x=1\ny\nx=1\n", &[edit("x=1", "x=2")], 0, &[1, 3]);
    not_found("x=1\ny\nx=1\n", &[edit("zzz", "q")], 0);
    check("x=1\ny\nx=1\n", &[all("x=1", "x=2")], "x=2\ny\nx=2\n");
    let many = apply("x".repeat(5000).as_bytes(), &[edit("x", "y")], &KnownSecrets::none()).unwrap_err();
    assert!(many.to_string().contains("more than 1000 times"), "{many}");
}

/// EDIT-06, EDIT-14: nothing is found by blanks, quotes or normal forms alone; `new` is written byte for byte.
#[test]
fn nothing_is_guessed() {
    let hint = not_found("def f():\n    x = 1\n    y = 2\n", &[edit("    x  =  1", "    x = 9")], 0);
    assert!(hint.contains("line 2") && hint.contains("whitespace"), "{hint}");
    not_found("say “hi”\n", &[edit("say \"hi\"", "x")], 0);
    check("say “hi”\n", &[edit("“hi”", "\"hi\"")], "say \"hi\"\n");
    not_found("e\u{301}", &[edit("\u{e9}", "x")], 0);
}

/// EDIT-07: an empty `old` means nothing in a file that exists; and an edit must change something.
#[test]
fn pointless_edits_are_refused() {
    let pointless = |edits: &[Edit], index| match apply(b"ab", edits, &KnownSecrets::none()) {
        Err(ApplyError::Pointless { edit, .. }) => assert_eq!(edit, index),
        other => panic!("{other:?}"),
    };
    pointless(&[edit("", "X")], 0);
    pointless(&[all("", "X")], 0);
    pointless(&[edit("a", "c"), edit("b", "b")], 1);
    // The second takes back what the first did.
    pointless(&[edit("b", "c"), edit("c", "b")], 1);
}

/// EDIT-09: the failing edit is named; the others are not applied either.
#[test]
fn all_or_nothing() {
    not_found("keep\n", &[edit("keep", "K"), edit("nope", "N")], 1);
}

/// EDIT-11: edits see what the ones before left.
#[test]
fn edits_follow_each_other() {
    let hint = not_found("one two three\n", &[edit("one two", "A"), edit("two three", "B")], 1);
    assert!(hint.contains("edits[0] changed that text"), "{hint}");
    check("one\n", &[edit("one", "two"), edit("two", "three")], "three\n");
    let error = apply(b"a b\n", &[edit("a", "b"), edit("b", "c")], &KnownSecrets::none()).unwrap_err();
    assert_eq!(error, ApplyError::Ambiguous { edit: 1, count: 2, lines: vec![1, 1], earlier: Some(0) });
    assert!(error.to_string().contains("edits[0] wrote more of it"), "{error}");
}

/// EDIT-34: `old` is text, not lines.
#[test]
fn parts_of_lines() {
    check("k = v; // build tree now\n", &[edit("// build tree", "// make tree")], "k = v; // make tree now\n");
}

proptest! {
    #![proptest_config(crate::testing::cases(512))]

    /// Outside the place that is replaced, every byte stays, whatever bytes they are and however lines end.
    #[test]
    fn bytes_outside_stay(before: Vec<u8>, after: Vec<u8>, old in "[a-zé\n]{1,12}", new in "[a-z\n]{0,12}") {
        let text = [&before[..], old.as_bytes(), &after[..]].concat();
        prop_assume!(old != new && Plain::exact(&text).places(old.as_bytes(), 2).len() == 1);
        prop_assume!(LineEnds::of(&text) == LineEnds::Lf);
        let applied = apply(&text, &[edit(&old, &new)], &KnownSecrets::none()).unwrap();
        prop_assert_eq!(applied.text, [&before[..], new.as_bytes(), &after[..]].concat());
    }

    /// FND-26: however lines end, an edit comes to the same as in a file that has LF only, and line ends outside of it stay.
    #[test]
    fn edits_do_not_depend_on_line_ends(
        text in "[ab\n]{1,30}", ends in prop::collection::vec(any::<bool>(), 30), old in "[ab\n]{1,5}", new in "[abc\n]{0,5}",
    ) {
        let mut ends = ends.iter();
        let mixed: String = text.chars().flat_map(|c| {
            let crlf = c == '\n' && *ends.next().unwrap();
            crlf.then_some('\r').into_iter().chain([c])
        }).collect();
        prop_assume!(LineEnds::of(mixed.as_bytes()) == LineEnds::Mixed);
        let (plain, applied) = (apply(text.as_bytes(), &[edit(&old, &new)], &KnownSecrets::none()), apply(mixed.as_bytes(), &[edit(&old, &new)], &KnownSecrets::none()));
        match (plain, applied) {
            (Ok(plain), Ok(applied)) => {
                prop_assert_eq!(String::from_utf8(applied.text.clone()).unwrap().replace("\r\n", "\n").into_bytes(), plain.text);
                let region = &applied.regions.found(mixed.as_bytes(), &applied.text)[0];
                prop_assert_eq!(&mixed.as_bytes()[..region.old.start], &applied.text[..region.new.start]);
                prop_assert_eq!(&mixed.as_bytes()[region.old.end..], &applied.text[region.new.end..]);
            }
            (plain, applied) => prop_assert_eq!(plain.is_err(), applied.is_err()),
        }
    }

    /// Many places at once, in texts of one kind of line end: as if done by hand from left to right, and nothing else.
    #[test]
    fn bytes_between_stay(
        text in "[ab\u{e9}\n]{1,40}", old in "[ab\n]{1,3}", new in "[abc\n]{0,3}", crlf: bool,
    ) {
        let ends = |text: &str| if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
        let (text, expected) = (ends(&text), ends(&text).replace(&ends(&old), &ends(&new)));
        // A text without a line end is not known to be of this kind.
        prop_assume!(text != expected && (!crlf || text.contains('\n')));
        let applied = apply(text.as_bytes(), &[all(&old, &new)], &KnownSecrets::none()).unwrap();
        prop_assert_eq!(applied.replacements, text.matches(&ends(&old)).count());
        prop_assert_eq!(String::from_utf8(applied.text).unwrap(), expected);
    }

    /// A CRLF file stays one: editing it and editing its LF twin come to the same.
    #[test]
    fn crlf_files_are_like_lf_files(
        text in "[a-c\n]{1,30}\n", old in "[a-c\n]{1,4}", new in "[a-c\n]{0,4}", every: bool,
    ) {
        let crlf = text.replace('\n', "\r\n");
        let edits = [Edit { old, new, replace_all: every }];
        let lf = apply(text.as_bytes(), &edits, &KnownSecrets::none());
        let twin = apply(crlf.as_bytes(), &edits, &KnownSecrets::none());
        match (lf, twin) {
            (Ok(lf), Ok(twin)) => {
                let expected = String::from_utf8(lf.text).unwrap().replace('\n', "\r\n");
                prop_assert_eq!(String::from_utf8(twin.text).unwrap(), expected);
            }
            (lf, twin) => prop_assert_eq!(lf.is_err(), twin.is_err()),
        }
    }
}

proptest! {
    #![proptest_config(crate::testing::cases(512))]

    /// FND-32: where an edit would apply to the file, and does not after the ones before it, it is said that edits apply in order and
    /// which one is in the way; nowhere else.
    #[test]
    fn the_edit_that_is_in_the_way_is_named(
        lines in proptest::collection::vec("[abc]{1,2}", 1..5),
        edits in proptest::collection::vec(("[abc]{1,2}", "[abcd]{0,3}", any::<bool>()), 1..5),
    ) {
        let text = lines.join("\n");
        let edits: Vec<_> =
            edits.iter().map(|(old, new, every)| Edit { replace_all: *every, ..edit(old, new) }).collect();
        let run = |edits: &[Edit]| apply(text.as_bytes(), edits, &KnownSecrets::none());
        let Err(error) = run(&edits) else { return Ok(()) };
        let (ApplyError::NotFound { edit: at, .. } | ApplyError::Ambiguous { edit: at, .. }) = error else { return Ok(()) };
        let alone = run(&edits[at..=at]).is_ok();
        let told = error.to_string();
        prop_assert_eq!(told.contains("edits apply in order"), alone, "{}", &told);
        if alone {
            let named = told.split("and edits[").nth(1).and_then(|rest| rest.split(']').next()).unwrap().parse::<usize>();
            let named = named.unwrap();
            prop_assert!(named < at, "{}", &told);
            // With all up to that one it fails in the same way; with those before it, it does not.
            let with = |last: usize| [&edits[..last], &edits[at..=at]].concat();
            let fails = |edits: &[Edit]| matches!(
                run(edits),
                Err(ApplyError::NotFound { edit, .. } | ApplyError::Ambiguous { edit, .. }) if edit + 1 == edits.len()
            );
            prop_assert!(fails(&with(named + 1)) && !fails(&with(named)), "{}", &told);
        }
    }
}
