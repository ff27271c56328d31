//! A text in one line.

/// Stands where a line was cut.
const CUT: char = '…';

/// The words of a text in one line of at most so many characters, with `…` as the last where more was there. What must not be shown is
/// taken out before, so that nothing of it is cut in half.
#[must_use]
pub fn in_one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some((end, _)) = line.char_indices().nth(most) {
            line.truncate(end);
            line.pop();
            line.push(CUT);
            break;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::in_one_line;

    /// STO-9: a line has the text's words, and no more characters than it may.
    #[test]
    fn a_line_has_the_words() {
        for (text, most, line) in [
            ("", 5, ""),
            (" \n\t ", 5, ""),
            (" one\n two\tthree ", 20, "one two three"),
            ("12345", 5, "12345"),
            ("123456", 5, "1234…"),
            ("1234 6", 5, "1234…"),
            ("日本語の長い行", 3, "日本…"),
        ] {
            assert_eq!(in_one_line(text, most), line, "{text:?}");
        }
    }
}
