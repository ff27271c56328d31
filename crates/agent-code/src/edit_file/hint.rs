//! What was probably meant by a text that is not in a file. Never applied, only told.

use std::time::{Duration, Instant};

/// Looking takes no longer than this.
const MAX_TIME: Duration = Duration::from_millis(50);
/// Bigger texts are not looked through. Bytes.
const MAX_TEXT: usize = 4 * 1024 * 1024;
/// Longer lines are not compared: comparing is quadratic. Bytes.
const MAX_LINE: usize = 400;
/// How alike two lines must be to be worth telling.
const ALIKE: f64 = 0.6;
/// How much text is quoted, in characters.
const MAX_QUOTE: usize = 300;

/// Where the text has something like `old`, in words.
pub(crate) fn nearest(text: &[u8], old: &str) -> Option<String> {
    if text.len() > MAX_TEXT || old.len() > MAX_TEXT {
        return None;
    }
    let deadline = Instant::now() + MAX_TIME;
    let text = String::from_utf8_lossy(text);
    if old.contains('\u{fffd}') && matches!(text, std::borrow::Cow::Owned(_)) {
        return Some(
            "the file holds bytes that are not UTF-8, which are shown as U+FFFD and cannot be named; leave them out"
                .to_owned(),
        );
    }
    let lines: Vec<&str> = text.lines().collect();
    but_for_blanks(&lines, old, deadline).or_else(|| most_alike(&lines, old, deadline))
}

/// The same words with other blanks between them.
fn but_for_blanks(lines: &[&str], old: &str, deadline: Instant) -> Option<String> {
    let wanted: Vec<String> = old.trim().lines().map(plain).collect();
    let (first, rest) = wanted.split_first()?;
    if first.is_empty() {
        return None;
    }
    for (start, window) in lines.windows(wanted.len()).enumerate() {
        if start % 256 == 0 && Instant::now() >= deadline {
            return None;
        }
        let is_it = match rest.split_last() {
            None => plain(window[0]).contains(first.as_str()),
            Some((last, middle)) => {
                plain(window[0]).ends_with(first.as_str())
                    && middle.iter().zip(&window[1..]).all(|(wanted, line)| plain(line) == *wanted)
                    && plain(window[window.len() - 1]).starts_with(last.as_str())
            }
        };
        if is_it {
            let place = place(start, wanted.len());
            return Some(format!("{place} differs from it only in whitespace: {}", quote(&window.join("\n"))));
        }
    }
    None
}

/// The line that is most like the longest one of `old`.
fn most_alike(lines: &[&str], old: &str, deadline: Instant) -> Option<String> {
    let wanted = old.lines().map(str::trim).max_by_key(|line| line.len())?;
    if wanted.is_empty() || wanted.len() > MAX_LINE {
        return None;
    }
    let mut best: Option<(f64, usize)> = None;
    for (index, line) in lines.iter().map(|line| line.trim()).enumerate() {
        if index % 16 == 0 && Instant::now() >= deadline {
            break;
        }
        // Lines of very different lengths cannot be alike.
        let (short, long) = (line.len().min(wanted.len()), line.len().max(wanted.len()));
        if short * 2 < long {
            continue;
        }
        let likeness = strsim::normalized_levenshtein(wanted, line);
        if likeness >= ALIKE && best.is_none_or(|(best, _)| likeness > best) {
            best = Some((likeness, index));
        }
    }
    let (_, index) = best?;
    Some(format!("the nearest text is in {}: {}", place(index, 1), quote(lines[index])))
}

/// One blank between words, none around them.
fn plain(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn place(start: usize, count: usize) -> String {
    if count == 1 { format!("line {}", start + 1) } else { format!("lines {}-{}", start + 1, start + count) }
}

/// In quotes, with tabs and look-alikes made visible.
fn quote(text: &str) -> String {
    quote_up_to(text, MAX_QUOTE)
}

/// The same for at most so many characters.
pub(crate) fn quote_up_to(text: &str, most: usize) -> String {
    let cut: String = text.chars().take(most).collect();
    let more = if cut.len() < text.len() { " …" } else { "" };
    let visible: String = cut.chars().map(|c| if c.is_ascii() { c.to_string() } else { visible(c) }).collect();
    format!("{:?}{more}", visible)
}

fn visible(c: char) -> String {
    if c.is_alphanumeric() { c.to_string() } else { format!("<U+{:04X}>", u32::from(c)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, old: &str, expected: &str) {
        assert_eq!(nearest(text.as_bytes(), old).unwrap_or_default(), expected);
    }

    /// READ-09: what was shown in the place of other bytes cannot be found, and that is said.
    #[test]
    fn replacement_characters_are_told() {
        let hint = nearest(b"caf\xe9 x\n", "caf\u{fffd}").unwrap();
        assert!(hint.contains("not UTF-8") && hint.contains("leave them out"), "{hint}");
        check("a\u{fffd}b", "x\u{fffd}y", "");
    }

    #[test]
    fn blanks_are_told() {
        check("all:\n\tcc x.c\n", "    cc x.c", r#"line 2 differs from it only in whitespace: "\tcc x.c""#);
        check(
            "if a {\n\tb();\n}\n",
            "if a {\n    b();\n}",
            r#"lines 1-3 differs from it only in whitespace: "if a {\n\tb();\n}""#,
        );
    }

    #[test]
    fn like_lines_are_told() {
        check(
            "let x = compute(1);\nreturn x;\n",
            "let x = compte(2);",
            r#"the nearest text is in line 1: "let x = compute(1);""#,
        );
        check("say “hi”\n", "say \"hi\"", r#"the nearest text is in line 1: "say <U+201C>hi<U+201D>""#);
        check("abc\n", "something else", "");
        check("", "x", "");
    }
}
