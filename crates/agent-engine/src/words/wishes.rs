//! What sounds like a wish, a rule or a correction.

/// Words that make a message a wish, a rule or a correction. A guess that only ranks: what it misses comes after the others.
const WISHES: &[&str] = &[
    "must",
    "never",
    "always",
    "don't",
    "dont",
    "do not",
    "not ",
    "only",
    "instead",
    "make sure",
    "ask me",
    "before you",
    "off limits",
    "off-limits",
    "hands off",
    "avoid",
    "only ever",
    "cannot",
    "can't",
    "forbid",
    "remember",
    "from now on",
    "should",
    "no longer",
    "wrong",
    "stop",
    "keep",
    "without",
    "important",
    "prefer",
    "please use",
    "rule",
    "require",
    "nicht",
    "immer",
    "niemals",
    "kein",
    "muss",
    "bitte",
    "nunca",
    "siempre",
    "jamais",
    "toujours",
    "不要",
    "别",
    "必须",
    "总是",
    "永远",
    "只能",
    "不能",
    "不许",
    "禁止",
    "记住",
    "以后",
    "应该",
    "务必",
    "改成",
    "不对",
    "错了",
];

/// Whether a message sounds like a wish, a rule or a correction: of what the user said, that is kept first.
#[must_use]
pub fn is_wish(text: &str) -> bool {
    let folded = folded(text);
    WISHES.iter().any(|word| folded.contains(word))
}

/// How many of the words that make it one are in it.
pub(super) fn wishes_in(text: &str) -> usize {
    let folded = folded(text);
    WISHES.iter().filter(|word| folded.contains(*word)).count()
}

/// Where the first of them begins.
pub(super) fn first_wish(text: &str) -> Option<usize> {
    let whole = folded(text);
    let mut left = WISHES.iter().filter_map(|word| whole.find(word)).min()?;
    // Folding may change how many bytes a character takes.
    text.char_indices().find_map(|(at, c)| {
        let bytes: usize = folded_char(c).map(char::len_utf8).sum();
        if left < bytes {
            return Some(at);
        }
        left -= bytes;
        None
    })
}

/// In small letters, and with the apostrophe of keyboards.
fn folded(text: &str) -> String {
    text.chars().flat_map(folded_char).collect()
}

fn folded_char(c: char) -> impl Iterator<Item = char> {
    let c = if matches!(c, '\u{2018}' | '\u{2019}' | '\u{2bc}' | '\u{ff07}') { '\'' } else { c };
    c.to_lowercase()
}

/// Tells apart what was found by [`is_wish`] before its words changed.
pub const WISH_WORDS: u32 = fingerprint(WISHES);

/// FNV-1a, of the words and where they end.
const fn fingerprint(words: &[&str]) -> u32 {
    let (mut hash, mut at) = (0x811c_9dc5_u32, 0);
    while at < words.len() {
        let (bytes, mut byte) = (words[at].as_bytes(), 0);
        while byte <= bytes.len() {
            let next = if byte < bytes.len() { bytes[byte] } else { 0 };
            hash = (hash ^ next as u32).wrapping_mul(0x0100_0193);
            byte += 1;
        }
        at += 1;
    }
    hash
}
