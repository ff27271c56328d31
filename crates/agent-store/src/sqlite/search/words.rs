//! What is searched for.

use super::text::spaced;

/// Different words that count. Each costs a walk along its row ids.
const MAX_WORDS: usize = 32;
/// Bytes of all words that count.
const MAX_BYTES: usize = 4 * 1024;

/// Words that must all occur, each as an expression of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Query {
    words: Vec<String>,
}

impl Query {
    /// Words are separated by blanks; those without a letter or digit are passed over. `None` if no word is left.
    pub(in super::super) fn new(words: &str) -> Option<Self> {
        let mut expressions: Vec<String> = Vec::new();
        let mut bytes = 0;
        for word in words.split(|c: char| c.is_whitespace() || c.is_control()) {
            bytes += word.len();
            if bytes > MAX_BYTES || expressions.len() == MAX_WORDS {
                break;
            }
            expressions.extend(expression(word).filter(|new| !expressions.contains(new)));
        }
        (!expressions.is_empty()).then_some(Self { words: expressions })
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// An expression for any of the words.
    pub(super) fn any(&self) -> String {
        self.words.join(" OR ")
    }
}

/// A phrase in quotes, inside of which nothing has a meaning. Only a star at the end does.
fn expression(word: &str) -> Option<String> {
    let (word, star) = match word.strip_suffix('*') {
        Some(stem) => (stem, "*"),
        None => (word, ""),
    };
    // The index splits at everything else.
    word.chars().any(char::is_alphanumeric).then(|| format!("\"{}\"{star}", spaced(word).replace('"', "\"\"").trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DEC-77: words are data, whatever they look like.
    #[test]
    fn words_become_phrases() {
        for (words, expected) in [
            ("login error", "\"login\" OR \"error\""),
            ("migrat*", "\"migrat\"*"),
            ("a*b", "\"a*b\""),
            ("a**", "\"a*\"*"),
            ("AND", "\"AND\""),
            ("NEAR(x y)", "\"NEAR(x\" OR \"y)\""),
            ("-x text:y ^z {a}:b", "\"-x\" OR \"text:y\" OR \"^z\" OR \"{a}:b\""),
            ("say\"so", "\"say\"\"so\""),
            ("\"", ""),
            ("* - ** \u{1F600} \"\"", ""),
            ("", ""),
            ("a\0b\nc", "\"a\" OR \"b\" OR \"c\""),
            ("x x X", "\"x\" OR \"X\""),
            ("中文*", "\"中  文\"*"),
        ] {
            assert_eq!(Query::new(words).map(|query| query.any()).unwrap_or_default(), expected, "{words:?}");
        }
    }

    #[test]
    fn a_query_is_bounded() {
        let many: String = (0..1_000).map(|n| format!("w{n} ")).collect();
        assert_eq!(Query::new(&many).unwrap().words().count(), MAX_WORDS);
        assert_eq!(Query::new(&format!("a {}", "b".repeat(MAX_BYTES))).unwrap().words().count(), 1);
    }
}
