//! Texts that look the same and are not (FND-27).

use unicode_normalization::UnicodeNormalization;
use unicode_script::{Script, UnicodeScript};

/// Longer texts are not compared by their looks, but by their first characters only.
const MAX_LOOKED_AT: usize = 64 * 1024;

/// What a text looks like: texts that look the same have the same (UTS 39).
#[must_use]
pub fn skeleton(text: &str) -> String {
    drawn(text).collect()
}

fn drawn(text: &str) -> impl Iterator<Item = char> + '_ {
    unicode_security::skeleton(text)
}

/// Whether two different texts look the same: other forms of the same letters, or letters of other scripts that are drawn alike.
/// Two texts of ASCII are read by their letters.
#[must_use]
pub fn looks_the_same(one: &str, other: &str) -> bool {
    one != other && !(one.is_ascii() && other.is_ascii()) && drawn(one).eq(drawn(other))
}

/// Whether two different texts are other forms of the same characters (NFC).
#[must_use]
pub fn is_same_text(one: &str, other: &str) -> bool {
    one != other && one.nfc().eq(other.nfc())
}

/// The first characters in which two texts that look the same differ, by their numbers: `U+00E9` and `U+0065 U+0301`.
#[must_use]
pub fn differing_characters(one: &str, other: &str) -> Option<(String, String)> {
    let at = one
        .chars()
        .zip(other.chars())
        .take_while(|(one, other)| one == other)
        .map(|(c, _)| c.len_utf8())
        .sum::<usize>();
    let (one, other) = (&one[at..], &other[at..]);
    // As far as both look the same again: one character may be as much as a letter and its accents.
    let first = |text: &str| {
        let mut letters = text.char_indices().skip(1);
        let end = letters.find(|(_, c)| !super::class::is_mark(*c)).map_or(text.len(), |(end, _)| end);
        let numbers: Vec<String> = text[..end].chars().map(|c| format!("U+{:04X}", u32::from(c))).collect();
        if numbers.is_empty() { "nothing".to_owned() } else { numbers.join(" ") }
    };
    (!one.is_empty() || !other.is_empty()).then(|| (first(one), first(other)))
}

/// A letter that can be taken for one of ASCII, as a sentence says it: ``has `а` (U+0430, Cyrillic), which looks like `a` ``. In a
/// word that also has letters of ASCII, and in the name of a host that looks as if it had no others.
#[must_use]
pub fn false_letter(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let end = text.floor_char_boundary(MAX_LOOKED_AT);
    let text = &text[..end];
    words(text)
        .find_map(in_word)
        .or_else(|| hosts(text).flat_map(words).filter(|word| looks_like_ascii(word)).find_map(first_in))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
}

/// What stands where the hosts of URLs do.
fn hosts(text: &str) -> impl Iterator<Item = &str> {
    text.split("://").skip(1).filter_map(|rest| rest.split(|c: char| c == '/' || c.is_whitespace()).next())
}

/// Whether none of its letters looks like anything else than ASCII.
fn looks_like_ascii(word: &str) -> bool {
    !word.is_ascii() && word.chars().all(|c| c.is_ascii_digit() || ascii_like(c).is_some())
}

fn in_word(word: &str) -> Option<String> {
    if word.is_ascii() || !word.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    first_in(word)
}

fn first_in(word: &str) -> Option<String> {
    let (letter, like) = word.chars().find_map(|c| Some((c, ascii_like(c)?)))?;
    let (number, script) = (u32::from(letter), letter.script().full_name());
    Some(format!("has `{letter}` (U+{number:04X}, {script}), which looks like `{like}`"))
}

/// The letter of ASCII that one of another script is drawn like. Letters of Latin belong to words of Latin: `ı`, `ø`.
fn ascii_like(c: char) -> Option<String> {
    if c.is_ascii() || c.script() == Script::Latin && c.nfkc().eq([c]) {
        return None;
    }
    let text = c.to_string();
    let drawn = skeleton(&text);
    (drawn != text && drawn.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(drawn)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::properties;

    /// FND-27: a letter of another script in a word of ASCII is named; words of other scripts, and of Latin, are words.
    #[test]
    fn false_letters_are_named() {
        let said = false_letter("\u{430}pple.com").unwrap();
        assert_eq!(said, "has `\u{430}` (U+0430, Cyrillic), which looks like `a`");
        for text in [
            "g\u{43e}\u{43e}gle.com",
            "/w/src/\u{441}onfig.rs",
            "curl https://ex\u{430}mple.org/x",
            "p\u{3bf}st",
            "\u{ff41}pple",
            "https://\u{430}\u{440}\u{440}\u{4cf}\u{435}.com",
            "git clone ssh://git@\u{441}\u{43e}\u{440}\u{430}.org/x",
        ] {
            assert!(false_letter(text).is_some(), "{text}");
        }
        for text in [
            "apple.com",
            "отчет_v2.txt",
            "résumé.pdf",
            "ışık.txt",
            "Größe",
            "日本語README.md",
            "проект/src/main.rs",
            "5µm",
            "Δx",
            "Исправил bug в parser.rs",
            "naïve",
            "ελληνικά-notes",
            "сора",
            "https://почта.рф/сора",
        ] {
            assert_eq!(false_letter(text), None, "{text}");
        }
    }

    /// FND-27: what looks the same is known, and where it differs.
    #[test]
    fn looks_are_compared() {
        assert!(looks_the_same("r\u{e9}sum\u{e9}", "re\u{301}sume\u{301}") && is_same_text("\u{e9}", "e\u{301}"));
        assert!(looks_the_same("c\u{43e}nfig", "config") && !is_same_text("c\u{43e}nfig", "config"));
        assert!(!looks_the_same("a", "a") && !looks_the_same("Il", "lI") && !looks_the_same("é", "e"));
        let differ = |one, other| differing_characters(one, other).unwrap();
        assert_eq!(differ("r\u{e9}s", "re\u{301}s"), ("U+00E9".to_owned(), "U+0065 U+0301".to_owned()));
        assert_eq!(differ("a\u{a0}b", "a b"), ("U+00A0".to_owned(), "U+0020".to_owned()));
        assert_eq!(differ("a", "ab"), ("nothing".to_owned(), "U+0062".to_owned()));
        assert_eq!(differing_characters("a", "a"), None);
    }

    proptest! {
        #![proptest_config(properties())]

        /// FND-27: any word of ASCII with one letter replaced by its double of another script is marked.
        #[test]
        fn any_double_is_marked(word in "[b-z]{1,8}", at: prop::sample::Index, double in 0usize..8) {
            let doubles = ['\u{430}', '\u{435}', '\u{43e}', '\u{440}', '\u{441}', '\u{445}', '\u{455}', '\u{3bf}'];
            let at = at.index(word.len() + 1);
            let text = format!("{}{}{}", &word[..at], doubles[double], &word[at..]);
            prop_assert!(false_letter(&text).is_some(), "{}", text);
            let url = format!("https://{}.com/x", text);
            prop_assert!(false_letter(&url).is_some());
            prop_assert_eq!(false_letter(&word), None);
        }
    }
}
