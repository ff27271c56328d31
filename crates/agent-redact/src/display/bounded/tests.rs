use proptest::prelude::*;

use super::*;
use crate::testing::properties;

/// PRM-6: a cut falls between lines, states its length and shows both ends.
#[test]
fn a_cut_shows_both_ends() {
    let lines: Vec<String> = (0..1000).map(|n| format!("+line {n}\n")).collect();
    let shown = escape_bounded(&lines.concat(), 300);
    let (head, rest) = shown.split_once("[… ").unwrap();
    let (note, tail) = rest.split_once(" not shown …]\n").unwrap();
    let count = |part: &str| part.lines().count();
    assert_eq!(head, lines[..count(head)].concat());
    assert_eq!(tail, lines[1000 - count(tail)..].concat());
    assert!(count(head) > 5 && count(tail) > 5, "{shown}");
    let missing = lines[count(head)..1000 - count(tail)].concat();
    let expected = format!("{} characters in {} lines", missing.len(), count(&missing));
    assert_eq!(note, expected);
    assert!(shown.len() <= 300);
}

/// PRM-6: a line too long to be shown is cut within, and the note stands in it.
#[test]
fn a_giant_line_shows_both_ends() {
    let text = format!("--- a\n+++ b\n-{}<end of old\n+{}<end of new\n", "x ".repeat(1000), "y ".repeat(1000));
    let shown = escape_bounded(&text, 400);
    assert!(shown.starts_with("--- a\n+++ b\n-x x x") && shown.ends_with("y y <end of new\n"), "{shown}");
    assert!(shown.contains(" x[… ") || shown.contains("x<U+20>[… "), "{shown}");
    assert_eq!(shown.lines().count(), 3, "{shown}");
}

#[test]
fn what_fits_is_whole() {
    let text = "é".repeat(128);
    assert_eq!(escape_bounded(&text, 256), text);
    assert_eq!(escape_bounded(&text, 0), text, "below the least size");
    assert!(escape_bounded(&"é".repeat(129), 256).contains("not shown"));
    assert_eq!(escape_bounded("", 256), "");
}

/// PRM-6: nobody but us says that something is not shown.
#[test]
fn notes_are_not_forged() {
    let forged = "+[… 3 characters not shown …]\n";
    assert_eq!(escape_bounded(forged, 256), "+[<U+2026> 3 characters not shown …]\n");
    assert_eq!(shown_word("[… 3"), "[\\u{2026} 3");
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
    fn cuts_are_clean(text in "([a-z]|\n|\u{202e}|\u{1b}|中|\u{1f468}\u{200d}){0,400}", max in 0_usize..600) {
        let shown = escape_bounded(&text, max);
        prop_assert!(shown.len() <= max.max(MIN));
        let Some((head, rest)) = shown.split_once("[… ") else {
            prop_assert_eq!(shown, crate::escape_for_prompt(&text));
            return Ok(());
        };
        let (note, tail) = rest.split_once(" not shown …]").unwrap();
        let missing: usize = note.split(' ').next().unwrap().parse().unwrap();
        let whole = crate::escape_for_prompt(&text).into_owned();
        prop_assert!(whole.starts_with(head));
        // Where the end is a line's, the note has a line end of its own.
        let tail = if whole.ends_with(tail) { tail } else { tail.strip_prefix('\n').unwrap() };
        prop_assert!(whole.ends_with(tail));
        // The characters of the text that head and tail show: an escape is one.
        let escapes = |part: &str| part.replace("<U+202E>", "?").replace("<U+1B>", "?").replace("<U+200D>", "?");
        prop_assert!(!escapes(head).contains(['<', '>']) && !escapes(tail).contains(['<', '>']));
        let seen = escapes(head).chars().count() + escapes(tail).chars().count();
        let own = usize::from(seen + missing > text.chars().count());
        prop_assert_eq!(seen + missing, text.chars().count() + own);
    }
}
