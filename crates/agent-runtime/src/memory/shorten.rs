//! Texts that are too long for what is to be asked.

use agent_engine::TokenCounter;

/// Stands for what is left out.
const GAP: &str = "\n[…]\n";

/// Beginning and end of a text, the same share of each, so that all of it takes at most about `tokens`.
pub(super) fn shorten(text: &str, tokens: u64) -> String {
    if TokenCounter.text(text) <= tokens {
        return text.to_owned();
    }
    let mut bytes = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX).min(text.len());
    loop {
        let head = &text[..text.floor_char_boundary(bytes / 2)];
        let tail = &text[text.ceil_char_boundary(text.len() - bytes / 2)..];
        let short = format!("{}{GAP}{}", head.trim_end(), tail.trim_start());
        // Wide characters cost more than a quarter token a byte: try again with less.
        if bytes == 0 || TokenCounter.text(&short) <= tokens {
            return short;
        }
        bytes = bytes * 3 / 4;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_stay() {
        assert_eq!(shorten("short", 100), "short");
        for text in ["ab ".repeat(5000), "你好".repeat(3000), "🛡é".repeat(3000)] {
            for tokens in [10, 100, 1000] {
                let short = shorten(&text, tokens);
                assert!(TokenCounter.text(&short) <= tokens, "{tokens}");
                assert!(short.contains("[…]") && text.starts_with(short.chars().next().unwrap()), "{tokens}");
            }
        }
        assert_eq!(shorten("0123456789", 0), GAP);
    }
}
