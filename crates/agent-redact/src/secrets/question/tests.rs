use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::testing::properties;

fn secrets() -> KnownSecrets {
    KnownSecrets::new([
        ("KEY", "sk-a/b+c\"d"),
        ("KEY2", "other-value"),
        ("A B", "first-one"),
        ("A.B", "x"),
        ("A_B", "second-one"),
    ])
    .unwrap()
}

/// FND-01: only what the redactor writes for a value of this session is a placeholder.
#[test]
fn placeholders_are_of_known_values() {
    let secrets = secrets();
    for text in ["[secret KEY]", "key = [secret KEY]\n", "a[secret A_B]b", "[[secret KEY2]]"] {
        assert!(secrets.placeholder_in(text).is_some(), "{text}");
    }
    // Unknown names, a value too short to be looked for, other spellings.
    for text in ["[secret FOO]", "[secret A.B]", "[secret KEY3]", "secret KEY", "[secret key]", "[secret ]", ""] {
        assert_eq!(secrets.placeholder_in(text), None, "{text}");
    }
    assert_eq!(KnownSecrets::new([("", ""); 0]).unwrap().placeholder_in("[secret KEY]"), None);
}

/// FND-01: wherever in the arguments it stands.
#[test]
fn placeholders_are_found_at_any_depth() {
    let secrets = secrets();
    let held = [
        json!({"content": "k=[secret KEY]"}),
        json!({"edits": [{"old": "x"}, {"old": "a", "new": "[secret KEY2]"}]}),
        json!({"argv": ["sh", "-c", "echo '[secret KEY]' > f"]}),
        json!({"deep": {"[secret KEY]": null}}),
    ];
    for arguments in held {
        assert!(secrets.placeholder_within(arguments.as_object().unwrap()).is_some(), "{arguments}");
    }
    let free = json!({"content": "[secret FOO]", "edits": [1, null, {"old": "secret KEY"}]});
    assert_eq!(secrets.placeholder_within(free.as_object().unwrap()), None);
}

#[track_caller]
fn shows(text: &str, expected: &str) {
    assert_eq!(secrets().for_question(text), expected);
}

/// FND-01, PRM-6: a value, its other forms, and the words of a placeholder look different.
#[test]
fn a_question_tells_values_from_words() {
    shows("k = sk-a/b+c\"d", "k = [secret KEY]");
    shows("k = [secret KEY]", "k = [secret KEY as text]");
    shows("k = [secret KEY as text]", "k = [secret KEY as text as text]");
    shows("[secret FOO] [x]", "[secret FOO] [x]");
    shows("first-one second-one", "[secret A_B] [secret A_B, form 2]");
    let encoded = secrets().for_question("sk-a%2Fb%2Bc%22d").into_owned();
    assert!(encoded.starts_with("[secret KEY, form "), "{encoded}");
    assert_eq!(secrets().for_question(&encoded), encoded.replace(']', " as text]"));
}

/// Pieces of which confusing texts are made.
const PIECES: [&str; 18] = [
    "sk-a/b+c\"d",
    "sk-a%2Fb%2Bc%22d",
    "sk-a%2fb%2bc%22d",
    "sk-a/b+c\\\"d",
    "other-value",
    "first-one",
    "second-one",
    "[secret KEY]",
    "[secret KEY",
    "[secret KEY2",
    "[secret A_B",
    ", form 2",
    ", form ",
    "12",
    " as text",
    "]",
    "[",
    "x",
];

proptest! {
    #![proptest_config(properties())]

    /// FND-01, PRM-6: no two texts are shown as the same, whatever values and placeholders they are put together from.
    #[test]
    fn no_two_texts_are_shown_as_one(texts in prop::collection::vec(prop::collection::vec(0..PIECES.len(), 0..6), 2..40)) {
        let secrets = secrets();
        let mut shown: HashMap<String, String> = HashMap::new();
        for pieces in texts {
            let text: String = pieces.iter().map(|piece| PIECES[*piece]).collect();
            let as_shown = secrets.for_question(&text).into_owned();
            prop_assert!(!secrets.redact(&as_shown).hit, "{}", as_shown);
            let before = shown.insert(as_shown, text.clone());
            prop_assert!(before.as_ref().is_none_or(|before| *before == text), "{:?} and {:?}", before, text);
        }
    }

    /// FND-01: what is shown can be read back in one way only, so texts that are near to each other differ as well.
    #[test]
    fn neighbours_differ(pieces in prop::collection::vec(0..PIECES.len(), 1..6), at: prop::sample::Index, other in 0..PIECES.len()) {
        let secrets = secrets();
        let at = at.index(pieces.len());
        let text = |pieces: &[usize]| pieces.iter().map(|piece| PIECES[*piece]).collect::<String>();
        let one = text(&pieces);
        let mut pieces = pieces;
        pieces[at] = other;
        let two = text(&pieces);
        prop_assert_eq!(one == two, secrets.for_question(&one) == secrets.for_question(&two), "{:?} {:?}", one, two);
    }
}
