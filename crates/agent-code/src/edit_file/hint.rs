//! What was probably meant by a text that is not in a file. Never applied, only told.

use std::{
    collections::HashSet,
    time::{Duration, Instant},
};

use agent_redact::{KnownSecrets, differing_characters, skeleton};

/// Looking takes no longer than this. What is found within it is the same on a slow machine, so tests have all the time they need.
const MAX_TIME: Duration = if cfg!(test) { Duration::from_secs(60) } else { Duration::from_millis(50) };
/// Bigger texts are not looked through. Bytes.
const MAX_TEXT: usize = 4 * 1024 * 1024;
/// Longer lines are not compared: comparing is quadratic. Bytes.
const MAX_LINE: usize = 400;
/// How alike two lines must be to be worth telling.
const ALIKE: f64 = 0.6;
/// How much text is quoted, in characters.
const MAX_QUOTE: usize = 200;

/// Something like a text that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Near {
    /// The line it begins in, from 0, where there is one.
    pub(crate) line: Option<usize>,
    /// What it is, in words; nothing where it only shares words.
    pub(crate) words: Option<String>,
}

/// Where the text has something like `old`, in words that hold no secret.
pub(crate) fn nearest(text: &[u8], old: &str, secrets: &KnownSecrets) -> Option<String> {
    find(text, old, secrets)?.words
}

/// Where the text has something like `old`.
pub(crate) fn find(text: &[u8], old: &str, secrets: &KnownSecrets) -> Option<Near> {
    if text.len() > MAX_TEXT || old.len() > MAX_TEXT {
        return None;
    }
    let deadline = Instant::now() + MAX_TIME;
    // What is quoted is cut, so the secrets go first.
    let shown = secrets.redact_lines(text);
    let (text, shown) = (String::from_utf8_lossy(text), String::from_utf8_lossy(&shown));
    if old.contains('\u{fffd}') && matches!(text, std::borrow::Cow::Owned(_)) {
        let words =
            "the file holds bytes that are not UTF-8, which are shown as U+FFFD and cannot be named; leave them out";
        let line = text.lines().position(|line| line.contains('\u{fffd}'));
        return Some(Near { line, words: Some(words.to_owned()) });
    }
    // A CR is seen: it may be what differs.
    let lines: Vec<&str> = text.split('\n').collect();
    let shown: Vec<&str> = shown.split('\n').collect();
    let found = but_for_lone_cr(&text, old)
        .or_else(|| but_for_blanks(&lines, &shown, old, deadline))
        .or_else(|| but_for_looks(&lines, &shown, old, deadline));
    let found = found.or_else(|| most_alike(&lines, &shown, old, deadline));
    let near = found.map(|(line, words)| Near { line: Some(line), words: Some(words) });
    near.or_else(|| Some(Near { line: Some(most_shared(&lines, old, deadline)?), words: None }))
}

/// The same lines, of a text whose lines end in CR alone.
fn but_for_lone_cr(text: &str, old: &str) -> Option<(usize, String)> {
    let is_lone = |(at, _): &(usize, &str)| !text[at + 1..].starts_with('\n');
    if !old.contains('\n') || !text.match_indices('\r').any(|found| is_lone(&found)) {
        return None;
    }
    let with_lf = |text: &str| text.replace("\r\n", "\n").replace('\r', "\n");
    let at = with_lf(text).find(&with_lf(old))?;
    let line = text[..text.floor_char_boundary(at)].matches('\n').count();
    Some((line, "the text is there, but its lines end in \\r alone; write \\r for \\n in old and new".to_owned()))
}

/// The same words with other blanks between them.
fn but_for_blanks(lines: &[&str], shown: &[&str], old: &str, deadline: Instant) -> Option<(usize, String)> {
    let (start, count) = same_lines(lines, old, deadline, plain)?;
    let (place, found) = (place(start, count), shown[start..start + count].join("\n"));
    Some((start, format!("{place} differs from it only in whitespace: {}", quote(&found))))
}

/// What looks the same and is written in other characters.
fn but_for_looks(lines: &[&str], shown: &[&str], old: &str, deadline: Instant) -> Option<(usize, String)> {
    let (start, count) = same_lines(lines, old, deadline, |line| plain(&skeleton(line)))?;
    let found = lines[start..start + count].join("\n");
    let pairs = found.lines().zip(old.trim().lines()).map(|(its, yours)| (its.trim(), yours.trim()));
    let pair = pairs.into_iter().find(|(its, yours)| !its.contains(yours))?;
    let (its, yours) = pair;
    // A line of which `old` is a part only begins elsewhere.
    let its = if count == 1 { from_where_it_differs(its, yours) } else { its };
    let (its, yours) = differing_characters(its, yours)?;
    let place = place(start, count);
    Some((
        start,
        format!(
            "{place} looks the same, but has {its} where old has {yours}: {}",
            quote(&shown[start..start + count].join("\n"))
        ),
    ))
}

/// The rest of a line from where a text that looks like a part of it begins.
fn from_where_it_differs<'l>(line: &'l str, part: &str) -> &'l str {
    if line.len() > 4 * MAX_LINE {
        return line;
    }
    let wanted = skeleton(part);
    let mut starts = line.char_indices().map(|(at, _)| &line[at..]);
    starts.rfind(|rest| skeleton(rest).starts_with(&wanted)).unwrap_or(line)
}

/// Where lines are the same as those of `old` in this form; how many they are.
fn same_lines(lines: &[&str], old: &str, deadline: Instant, form: impl Fn(&str) -> String) -> Option<(usize, usize)> {
    let wanted: Vec<String> = old.trim().lines().map(&form).collect();
    let (first, rest) = wanted.split_first()?;
    if first.is_empty() {
        return None;
    }
    for (start, window) in lines.windows(wanted.len()).enumerate() {
        if start % 256 == 0 && Instant::now() >= deadline {
            return None;
        }
        let is_it = match rest.split_last() {
            None => form(window[0]).contains(first.as_str()),
            Some((last, middle)) => {
                form(window[0]).ends_with(first.as_str())
                    && middle.iter().zip(&window[1..]).all(|(wanted, line)| form(line) == *wanted)
                    && form(window[window.len() - 1]).starts_with(last.as_str())
            }
        };
        if is_it {
            return Some((start, wanted.len()));
        }
    }
    None
}

/// The line that is most like the longest one of `old`.
fn most_alike(lines: &[&str], shown: &[&str], old: &str, deadline: Instant) -> Option<(usize, String)> {
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
    Some((index, format!("the nearest text is in {}: {}", place(index, 1), quote(shown[index]))))
}

/// The first of the lines that have most words of `old`.
fn most_shared(lines: &[&str], old: &str, deadline: Instant) -> Option<usize> {
    let words = |text: &str| -> HashSet<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| word.len() > 2)
            .map(str::to_lowercase)
            .collect()
    };
    let wanted = words(old);
    let mut best = (0, None);
    for (index, line) in lines.iter().enumerate() {
        if index % 256 == 0 && Instant::now() >= deadline {
            break;
        }
        let shared = words(line).intersection(&wanted).count();
        if shared > best.0 {
            best = (shared, Some(index));
        }
    }
    best.1
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

/// The same for at most so many characters. Secrets must be out of it: the cut may go through one.
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
        assert_eq!(nearest(text.as_bytes(), old, &KnownSecrets::none()).unwrap_or_default(), expected);
    }

    /// READ-09: what was shown in the place of other bytes cannot be found, and that is said.
    #[test]
    fn replacement_characters_are_told() {
        let hint = nearest(b"caf\xe9 x\n", "caf\u{fffd}", &KnownSecrets::none()).unwrap();
        assert!(hint.contains("not UTF-8") && hint.contains("leave them out"), "{hint}");
        check("a\u{fffd}b", "x\u{fffd}y", "");
    }

    /// FND-26: what cannot be seen is named: a CR, a blank that is none, another form of a letter, a letter of another script.
    #[test]
    fn what_is_not_seen_is_told() {
        for (text, old, told) in [
            ("one\r\ntwo\n", "one\ntwo", r#""one\r\ntwo""#),
            ("a\rb\r", "a\nb", r"write \r"),
            ("x\u{a0}= 1\n", "x = 1", "<U+00A0>"),
            ("let r\u{e9}sum\u{e9} = 1;\n", "re\u{301}sume\u{301} = 1", "has U+00E9 where old has U+0065 U+0301"),
            ("re\u{301}sume\u{301}\n", "r\u{e9}sum\u{e9}", "has U+0065 U+0301 where old has U+00E9"),
            ("let \u{441}onfig = 1;\n", "config = 1", "has U+0441 where old has U+0063"),
        ] {
            let hint = nearest(text.as_bytes(), old, &KnownSecrets::none()).unwrap_or_default();
            assert!(hint.contains(told), "{text:?} {old:?}: {hint}");
        }
    }

    /// FND-32: where nothing is alike, the line that shares most words is where to look.
    #[test]
    fn words_lead_to_a_line() {
        let text = "fn a() {}\nfn parse_header(input: &str) {\n}\n";
        let near = find(
            text.as_bytes(),
            "pub async fn parse_header() -> Result<Header, ParseError> { todo }",
            &KnownSecrets::none(),
        )
        .unwrap();
        assert_eq!(near, Near { line: Some(1), words: None });
        assert_eq!(find(b"abc\n", "something else", &KnownSecrets::none()), None);
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
        check(
            "say “hi”\n",
            "say \"hi\"",
            r#"line 1 looks the same, but has U+201C where old has U+0022: "say <U+201C>hi<U+201D>""#,
        );
        check("abc\n", "something else", "");
        check("", "x", "");
    }
}
