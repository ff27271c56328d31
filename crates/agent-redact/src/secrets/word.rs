//! Values that are no secrets, though they stand where a key should.

/// What people write where a server wants any key: words that say that there is none, names of servers, and parts of both.
const PLACEHOLDERS: [&str; 50] = [
    "a",
    "any",
    "anything",
    "anthropic",
    "api",
    "apikey",
    "cpp",
    "dummy",
    "empty",
    "example",
    "fake",
    "false",
    "here",
    "ignore",
    "ignored",
    "is",
    "key",
    "koboldcpp",
    "litellm",
    "llama",
    "llamacpp",
    "lm",
    "lmstudio",
    "local",
    "localai",
    "localhost",
    "my",
    "necessary",
    "needed",
    "nil",
    "no",
    "nokey",
    "none",
    "not",
    "null",
    "ollama",
    "openai",
    "placeholder",
    "required",
    "server",
    "sglang",
    "sk",
    "studio",
    "test",
    "tgi",
    "token",
    "unused",
    "used",
    "vllm",
    "your",
];

/// A longer run of one letter is nobody's way to say nothing. Bytes.
const LONGEST_RUN: usize = 40;
/// A longer value that is all letters may be a key. Bytes.
const LONGEST_WORD: usize = 20;

/// Whether a value is made of nothing but such words: `ollama`, `not-needed`, `sk-no-key-required`, `xxxxxxxx`. Nobody's key is, and
/// to replace it would change every text that has the word.
pub(super) fn is_placeholder(value: &str) -> bool {
    let mut words = value.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).peekable();
    let is_known = |word: &str| {
        let word = word.to_ascii_lowercase();
        (word.len() <= LONGEST_RUN && word.bytes().all(|byte| byte == b'x')) || PLACEHOLDERS.contains(&word.as_str())
    };
    value.is_ascii() && words.peek().is_some() && words.all(is_known)
}

/// Whether a value may well be a word of a language: short, and letters only, in one case but for the first.
pub(super) fn is_ordinary(value: &str) -> bool {
    let rest = value.get(1..).unwrap_or_default();
    let in_one_case =
        rest.bytes().all(|byte| byte.is_ascii_lowercase()) || value.bytes().all(|byte| byte.is_ascii_uppercase());
    value.len() <= LONGEST_WORD && value.bytes().all(|byte| byte.is_ascii_alphabetic()) && in_one_case
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// STO-10: what stands for "no key" is none, in any case and however it is joined.
    #[test]
    fn placeholders_are_no_secrets() {
        for value in [
            "ollama",
            "Ollama",
            "OLLAMA",
            "none",
            "null",
            "test",
            "EMPTY",
            "dummy",
            "dummy-key",
            "not-needed",
            "not_needed",
            "no key",
            "sk-no-key-required",
            "your-api-key-here",
            "<your api key>",
            "lm-studio",
            "lmstudio",
            "xxxxxxxx",
            "sk-xxxx",
            "local",
        ] {
            assert!(is_placeholder(value), "{value}");
        }
        for value in [
            "",
            "-",
            "sk-1",
            "test1",
            "ollama2",
            "password",
            "hunter",
            "secret",
            "banana",
            "sk-Zq7Jm2Xw9Lp4",
            "nonesuch",
            "\u{e9}mpty",
        ] {
            assert!(!is_placeholder(value), "{value}");
        }
    }

    #[test]
    fn words_are_short_and_of_letters() {
        for value in ["banana", "Password", "BANANA", "secret"] {
            assert!(is_ordinary(value), "{value}");
        }
        for value in ["banana1", "ba-nana", "baNana", "abcdefghijklmnopqrstu", "b\u{e4}nana"] {
            assert!(!is_ordinary(value), "{value}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1024) })]

        /// STO-10: nothing that a machine may have made for a key is taken for a placeholder or for a word.
        #[test]
        fn keys_stay_secrets(prefix in "(sk-|key_|gsk_|AIza|test-)?", key in "[A-Za-z0-9]{24,64}") {
            prop_assume!(key.bytes().any(|byte| byte.is_ascii_digit()));
            let value = format!("{prefix}{key}");
            prop_assert!(!is_placeholder(&value) && !is_ordinary(&value), "{}", value);
        }
    }
}
