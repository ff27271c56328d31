use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;

use super::{Block, MAX_BLOCK, split};

#[derive(Debug, Deserialize, PartialEq)]
struct Card {
    name: String,
    description: Option<String>,
    tags: Option<Vec<String>>,
}

/// The block, whether one is not closed, the body and its line.
#[track_caller]
fn check(text: &str, block: Option<&str>, unclosed: bool, body: &str, body_line: usize) {
    let document = split(text);
    assert_eq!(document.frontmatter.map(|block| block.text()), block, "{text:?}");
    assert_eq!((document.unclosed, document.body, document.body_line), (unclosed, body, body_line), "{text:?}");
}

fn block(text: &str) -> Block<'_> {
    Block { text }
}

/// INST-01, INST-09: where a block begins and ends.
#[test]
fn only_the_first_block_counts() {
    check("---\nid: a\n---\nBody\n", Some("id: a\n"), false, "Body\n", 4);
    check("\u{feff}---\nid: a\n---\nBody\n", Some("id: a\n"), false, "Body\n", 4);
    check("\u{feff}Body\n", None, false, "Body\n", 1);
    check("---\r\nid: a\r\n---\r\nBody\r\n", Some("id: a\r\n"), false, "Body\r\n", 4);
    check("--- \t\nid: a\n---\t\n\nBody", Some("id: a\n"), false, "\nBody", 4);
    check("---\n---\n", Some(""), false, "", 3);
    check("---\nid: a\n---", Some("id: a\n"), false, "", 4);
    // Rulers further down are the body's.
    check("---\nid: a\n---\nA\n---\nB\n", Some("id: a\n"), false, "A\n---\nB\n", 4);
    check("A\n---\nB\n---\n", None, false, "A\n---\nB\n---\n", 1);
    // Not at the beginning, not three dashes, not on a line of its own.
    for text in
        ["\n---\nid: a\n---\n", " ---\nid: a\n---\n", "----\nid: a\n----\n", "--- a\n---\n", "--\n", "", "\u{feff}"]
    {
        let document = split(text);
        assert_eq!((document.frontmatter, document.unclosed), (None, false), "{text:?}");
    }
}

/// INST-09: an opening fence that nothing closes is told apart; `...` closes nothing.
#[test]
fn unclosed() {
    for text in ["---", "---\n", "---\nid: a\n", "---\nid: a\n...\nBody\n", "---\nid: a\n --- \n", "---\nid: a\n---x\n"]
    {
        check(text, None, true, text, 1);
    }
}

/// A block is read as what its reader asks for, or key by key in the order of the file.
#[test]
fn what_a_block_says() {
    let text = "name: A\r\ndescription: |\r\n  two\r\n  lines\r\ntags: [x, 'y: z']\r\n";
    let card: Card = block(text).parse().unwrap();
    let tags = Some(vec!["x".to_owned(), "y: z".to_owned()]);
    assert_eq!(card, Card { name: "A".into(), description: Some("two\nlines\n".into()), tags });

    let text = "zeta: 1\nalpha: [a, b]\non: yes\nnan: .nan\nnone:\nsub: {k: v}\n1: x\n";
    let fields = block(text).fields().unwrap();
    let keys: Vec<_> = fields.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["zeta", "alpha", "on", "nan", "none", "sub", "1"]);
    let values: Vec<_> = fields.into_iter().map(|(_, value)| value).collect();
    assert_eq!(
        values,
        [json!(1), json!(["a", "b"]), json!("yes"), json!(".nan"), json!(null), json!({"k": "v"}), json!("x")]
    );
    assert_eq!(block("").fields(), Ok(Vec::new()));
    assert_eq!(block("# a remark\n").fields(), Ok(Vec::new()));
}

/// INST-02: errors name line and column of the file, and what to do.
#[test]
fn errors_name_the_place() {
    for (text, line, column, says) in [
        ("description: Use for marketing work: writing\n", 2, 36, "put the value in quotes"),
        ("a: 1\nglobs: *.rs\n", 3, 8, "put the value in quotes"),
        ("a: 1\nname: a\nname: b\n", 4, 1, "name"),
        ("a: 1\nname: 'x\n", 3, 7, "quote"),
        ("- a\n", 2, 1, "`key: value`"),
        ("just words\n", 2, 1, "`key: value`"),
        ("a: 1\n...\nb: 2\n", 4, 1, "only a line `---` ends"),
        ("a: 1\n<<: {b: 2}\n", 3, 1, "merge"),
        ("é: 1\nb: \u{7}\n", 3, 4, ""),
        // Only what ends a line in an editor counts as one.
        ("a\r\r{\0", 2, 5, ""),
    ] {
        let error = block(text).fields().unwrap_err();
        assert_eq!((error.line, error.column), (line, column), "{text:?}: {error}");
        assert!(error.message.contains(says), "{text:?}: {error}");
        assert!(error.to_string().starts_with(&format!("line {line}, column {column}: ")));
    }
    let error = block("description: >\n  x\n").parse::<Card>().unwrap_err();
    assert_eq!(error.message, "missing field `name`");
    let error = block("name: A\ntags: x\n").parse::<Card>().unwrap_err();
    assert_eq!((error.line, error.column), (3, 7), "{error}");
}

/// The words of an error are data as well: one line, and short.
#[test]
fn errors_are_one_line() {
    let key = format!("\"a\\nb\\e[31m\u{202e}{}\"", "k".repeat(500));
    let error = block(&format!("{key}: 1\n{key}: 2\n")).fields().unwrap_err();
    assert!(error.message.chars().count() <= crate::shown::FIELD, "{error}");
    assert!(!error.message.contains(char::is_control) && !error.message.contains('\u{202e}'), "{error}");
}

/// A block is no way to take memory or time: its size, its depth and what its anchors grow to are bounded.
#[test]
fn bounds() {
    let nine = |of: &str| [of; 9].join(",");
    let mut bomb = format!("a: &a [{}]\n", nine("x"));
    for (name, of) in [("b", "*a"), ("c", "*b"), ("d", "*c"), ("e", "*d")] {
        bomb.push_str(&format!("{name}: &{name} [{}]\n", nine(of)));
    }
    let deep_flow = format!("a: {}{}", "[".repeat(5000), "]".repeat(5000));
    let deep_block: String = (0..200).map(|depth| format!("{}k:\n", " ".repeat(depth))).collect();
    let long = format!("a: {}\n", "x".repeat(MAX_BLOCK));
    let many: String = (0..5000).map(|key| format!("{key}:\n")).collect();
    for text in [&bomb, &deep_flow, &deep_block, &long, &many] {
        assert!(block(text).fields().is_err(), "{}", &text[..40]);
    }
    // What people do use works.
    let text = format!("a: &a [x, y]\nb: *a\nlong: {}\n", "x".repeat(MAX_BLOCK / 2));
    assert_eq!(block(&text).fields().unwrap()[1].1, json!(["x", "y"]));
}

proptest! {
    /// INST-09: nothing is lost: fences, block and body make up the text again.
    #[test]
    fn parts_join_again(text in "(\u{feff})?(---[ \t]{0,2}\r?\n)?([a-c:\\- é\u{feff}\r\n]{0,12}(---|\\.\\.\\.)?\r?\n?){0,6}") {
        let whole = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let document = split(&text);
        match document.frontmatter {
            None => {
                prop_assert_eq!(document.body, whole);
                prop_assert_eq!(document.body_line, 1);
            }
            Some(block) => {
                let head = &whole[..whole.len() - document.body.len()];
                let (opening, rest) = head.split_at(head.find('\n').unwrap() + 1);
                let closing = rest.strip_prefix(block.text()).unwrap();
                prop_assert_eq!(opening.trim_end(), "---");
                prop_assert_eq!(closing.trim_end(), "---");
                prop_assert!(closing.matches('\n').count() <= 1);
                let lines = head.matches('\n').count() + usize::from(!head.ends_with('\n'));
                prop_assert_eq!(document.body_line, lines + 1);
                prop_assert!(!document.unclosed);
            }
        }
    }

    /// Whatever stands in a block, it is read or refused with a place in the file.
    #[test]
    fn whatever_a_block_holds(text in "[-a-c:&*<>|\\[\\]{}!%@#'\"\\\\ \t\r\n~.0-9é\u{0}\u{2028}]{0,80}") {
        if let Err(error) = block(&text).fields() {
            prop_assert!(error.line <= text.lines().count() + 2 && error.column >= 1, "{error}");
            prop_assert!(!error.message.contains(char::is_control));
        }
    }
}
