//! What a failed edit tells for the next call (FND-32).

use proptest::prelude::*;

use super::*;

/// As many as 400 tokens of text have, and few that have less.
const MAX_MESSAGE: usize = 1600;

#[track_caller]
fn fails(tree: &Tree, arguments: Value, told: &[&str]) {
    let error = tree.err(EditFile, arguments.clone());
    for words in told {
        assert!(error.message.contains(words), "{words:?} is not told of {arguments}: {error}");
    }
    assert!(error.message.len() <= MAX_MESSAGE, "{} bytes: {error}", error.message.len());
}

/// FND-32: the lines of a short file, with their numbers, whatever the edit was.
#[test]
fn a_short_file_is_told() {
    let tree = Tree::new("fail-short");
    tree.file("f.txt", "one\ntwo\ntwo\n\nfour\nsix\n");
    let lines = ["1| one\n2| two\n3| two\n4| \n5| four\n6| six"];
    let edits = |old: &str, new: &str| json!({"path": "f.txt", "edits": [{"old": old, "new": new}]});
    fails(&tree, edits("nothing like it", "x"), &lines);
    fails(&tree, edits("two", "x"), &[lines[0], "in lines 2, 3"]);
    fails(&tree, edits("", "seven\n"), &[lines[0], r#"{"path":"f.txt","edits":[{"old":"six","new":"six\nseven\n"}]}"#]);
    fails(&tree, edits("one", "one"), &lines);
    fails(&tree, json!({"path": "f.txt", "unified_diff": "@@ -1 +1 @@\n-zero\n+x\n"}), &lines);
    fails(&tree, json!({"path": "f.txt", "unified_diff": "@@\n-two\n+x\n"}), &lines);
    fails(&tree, json!({"path": "f.txt"}), &["edits or unified_diff", r#""path":"f.txt""#]);
    fails(
        &tree,
        json!({"path": "new", "edits": [{"old": "a", "new": "b"}], "create_if_missing": true}),
        &[r#""old":"""#],
    );
    tree.file("empty", "");
    fails(&tree, json!({"path": "empty", "edits": [{"old": "a", "new": "b"}]}), &["The file is empty"]);
}

/// FND-32: of a long file what is around the most likely place.
#[test]
fn a_region_of_a_long_file_is_told() {
    let tree = Tree::new("fail-long");
    let text: String =
        (1..=900).map(|n| if n == 500 { "fn parse_header() {\n".into() } else { format!("    line {n};\n") }).collect();
    tree.file("f.rs", &text);
    let edits = |old: &str| json!({"path": "f.rs", "edits": [{"old": old, "new": "x"}]});
    for old in ["fn parse_headers() {", "pub async fn parse_header() -> Result<Header, ParseError> { body }"] {
        fails(&tree, edits(old), &["The file has 900 lines", "\n499|     line 499;\n500| fn parse_header() {\n501| "]);
    }
    let error = tree.err(EditFile, edits("    line"));
    assert!(error.message.contains("more than") || error.message.contains("899 times"), "{error}");
    assert!(error.message.contains("\n1|     line 1;") && error.message.len() <= MAX_MESSAGE, "{error}");
}

/// FND-32: nothing of a file whose reading would ask.
#[test]
fn what_would_ask_is_not_told() {
    let tree = Tree::new("fail-sensitive");
    tree.file(".env", "TOKEN=abcdef\n");
    let mut asks = tree.settings();
    asks.reading_is_free = false;
    tree.file("plain", "TOKEN=abcdef\n");
    for (settings, path) in [(tree.settings(), ".env"), (asks, "plain")] {
        for arguments in [
            json!({"path": path, "edits": [{"old": "TOKEN=abcdeg", "new": "x"}]}),
            json!({"path": path, "edits": [{"old": "", "new": "x"}]}),
            json!({"path": path, "unified_diff": "@@ -1 +1 @@\n-TOKEN=abcdeg\n+x\n"}),
        ] {
            let tool = crate::tool::Blocking::new(EditFile(crate::workspace::Workspace::new(settings.clone())));
            let output = block_on(async {
                let prepared =
                    agent_tool::Tool::prepare(&tool, crate::testing::object(arguments), tree.context.clone()).await;
                let prepared = prepared.unwrap();
                assert!(!prepared.facts.preview.contains("abcdef"), "{}", prepared.facts.preview);
                prepared.call.run().await
            });
            let error = output.error.unwrap();
            assert!(!error.message.contains("abcdef"), "{error}");
        }
    }
}

proptest! {
    #![proptest_config(crate::testing::cases(64))]

    /// FND-32: whatever file and edit meet, what is told fits, and a short file is told whole.
    #[test]
    fn what_is_told_fits(text in "([a-z é]{0,60}\n){0,60}", old in "[a-z \n]{1,200}") {
        let tree = Tree::new("fail-any");
        tree.file("f", &text);
        let output = block_on(tree.call(EditFile, json!({"path": "f", "edits": [{"old": old, "new": "x"}]})));
        if let Some(error) = output.error {
            prop_assert!(error.message.len() <= MAX_MESSAGE, "{} bytes: {}", error.message.len(), error);
            if text.len() < 400 && text.lines().count() > 0 {
                let last = format!("{}| {}", text.lines().count(), text.lines().last().unwrap());
                prop_assert!(error.message.ends_with(&last), "{}", error);
            }
        }
    }
}
