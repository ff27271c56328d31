//! Where output is cut: in whole characters.

/// How many bytes at the end begin a character of UTF-8 without completing it: at most three.
#[must_use]
pub fn incomplete_end(bytes: &[u8]) -> usize {
    let last = &bytes[bytes.len().saturating_sub(3)..];
    let begins_one = |length: &usize| {
        let end = &last[last.len() - length..];
        !is_continuation(end[0]) && std::str::from_utf8(end).is_err_and(|error| error.error_len().is_none())
    };
    (1..=last.len()).find(begins_one).unwrap_or(0)
}

/// How many bytes at the beginning end a character of UTF-8 that began before them: at most three.
#[must_use]
pub fn incomplete_start(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| is_continuation(**byte)).count()
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wherever a text is cut, what is left of the character at the cut is known on both sides.
    #[test]
    fn a_cut_character_is_known_on_both_sides() {
        let text = "a\u{e9}\u{20ac}\u{1f980}z".as_bytes();
        for cut in 0..=text.len() {
            let (head, tail) = text.split_at(cut);
            let (head, tail) = (&head[..head.len() - incomplete_end(head)], &tail[incomplete_start(tail)..]);
            assert!(std::str::from_utf8(head).is_ok() && std::str::from_utf8(tail).is_ok(), "{cut}");
            assert!(text.len() - head.len() - tail.len() <= 4, "{cut}");
        }
        for no_text in [&b"\xff"[..], b"a\xff", b"\xe0\x80", b"\xc0", b""] {
            assert_eq!(incomplete_end(no_text), 0, "{no_text:?}");
        }
    }
}
