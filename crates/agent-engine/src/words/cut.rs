//! Cutting what the user said so that the rules in it stay.

use std::ops::Range;

use super::ends::{CUT, shortened};
use super::wishes::{first_wish, wishes_in};
use crate::tokens::TokenCounter;

/// Head and tail of what takes more than `room` tokens, and of what lies between them the sentences that sound like a wish, as far as
/// half of the room goes. `None`: it fits.
pub(super) fn around_wishes(text: &str, room: u64) -> Option<String> {
    let ends = shortened(text, room)?;
    let mut wishes = wishes(text);
    // The clearest first; of equal ones the first.
    wishes.sort_by_key(|(_, clear)| std::cmp::Reverse(*clear));
    let mut kept: Vec<Range<usize>> = Vec::new();
    let mut left = room / 2;
    for (sentence, _) in wishes {
        let per_cut = TokenCounter.text(CUT);
        let Some(most) = left.checked_sub(per_cut).filter(|most| *most > 0) else { break };
        let part = if TokenCounter.text(&text[sentence.clone()]) <= most {
            sentence
        } else if kept.is_empty() {
            window(text, sentence, most)
        } else {
            continue;
        };
        left -= TokenCounter.text(&text[part.clone()]) + per_cut;
        kept.push(part);
    }
    if kept.is_empty() {
        return Some(ends);
    }
    // What the wishes leave is for the ends.
    let mut bytes = usize::try_from(room.saturating_mul(4)).unwrap_or(usize::MAX).min(text.len());
    loop {
        let mut parts = kept.clone();
        parts.push(0..text.floor_char_boundary(bytes * 2 / 3));
        parts.push(text.ceil_char_boundary(text.len() - bytes / 3)..text.len());
        let short = joined(text, parts);
        if TokenCounter.text(&short) <= room {
            return Some(short);
        }
        if bytes == 0 {
            // Too little room for a rule and what marks the cut.
            return Some(ends);
        }
        bytes = bytes * 3 / 4;
    }
}

/// The sentences that sound like a wish, and how clearly they do.
fn wishes(text: &str) -> Vec<(Range<usize>, usize)> {
    let found = sentences(text).into_iter().map(|at| (wishes_in(&text[at.clone()]), at));
    found.filter(|(clear, _)| *clear > 0).map(|(clear, at)| (at, clear)).collect()
}

/// A full stop ends a sentence before a blank only: `prod.yml` is a word.
fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends = match c {
            '\n' | '\u{3002}' | '\u{ff01}' | '\u{ff1f}' | '\u{ff1b}' => true,
            '.' | '!' | '?' | ';' => chars.peek().is_none_or(|(_, next)| next.is_whitespace()),
            _ => false,
        };
        if ends {
            let end = at + c.len_utf8();
            found.push(trimmed(text, start..end));
            start = end;
        }
    }
    found.push(trimmed(text, start..text.len()));
    found.retain(|at| !at.is_empty());
    found
}

fn trimmed(text: &str, at: Range<usize>) -> Range<usize> {
    let part = &text[at.clone()];
    let start = at.start + (part.len() - part.trim_start().len());
    start..(start + part.trim().len())
}

/// What of a sentence that is too long stands around its wish: a little before it, most behind.
fn window(text: &str, sentence: Range<usize>, most: u64) -> Range<usize> {
    let part = &text[sentence.clone()];
    let wish = sentence.start + first_wish(part).unwrap_or(0);
    let mut bytes = usize::try_from(most.saturating_mul(4)).unwrap_or(usize::MAX).min(part.len());
    loop {
        let start = text.ceil_char_boundary(wish.saturating_sub(bytes / 4).max(sentence.start));
        let end = text.floor_char_boundary(start.saturating_add(bytes).min(sentence.end)).max(start);
        if bytes == 0 || TokenCounter.text(&text[start..end]) <= most {
            return start..end;
        }
        bytes = bytes * 3 / 4;
    }
}

/// The parts in their order, with a mark where something is missing.
fn joined(text: &str, mut parts: Vec<Range<usize>>) -> String {
    parts.retain(|part| !part.is_empty());
    parts.sort_by_key(|part| part.start);
    let mut short = String::new();
    let mut end = 0;
    for part in parts {
        if part.end <= end {
            continue;
        }
        let start = part.start.max(end);
        // Blanks alone are no loss.
        let between = &text[end..start];
        short.push_str(if between.trim().is_empty() { between } else { CUT });
        short.push_str(&text[start..part.end]);
        end = part.end;
    }
    if !text[end..].trim().is_empty() {
        short.push_str(CUT);
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::wishes::is_wish;

    /// A rule in the middle of a long message stays, in whole sentences, wherever it stands and whatever it is written in.
    #[test]
    fn a_rule_in_the_middle_stays() {
        for rule in [
            "Don\u{2019}t touch prod.yml.",
            "Ask me before you run the migrations!",
            "vendor/ is off limits",
            "\u{4e0d}\u{8981}\u{6539} prod.yml\u{3002}",
            "AVOID new dependencies.",
        ] {
            for filler in
                ["Here is what the log says about it. ", "line of a log\n", "\u{5b57}\u{5b57}\u{3002}", "xyz "]
            {
                for (before, after) in [(400, 400), (1_000, 30), (30, 1_000), (0, 900), (900, 0)] {
                    let text = format!("Goal. {}\n{rule}\n{}The end", filler.repeat(before), filler.repeat(after));
                    for room in [60, 200, 700] {
                        let Some(short) = around_wishes(&text, room) else { continue };
                        assert!(short.contains(rule), "{rule} {filler:?} {before} {after} {room}: {short}");
                        assert!(short.starts_with("Goal") && short.ends_with("end"), "{short}");
                        assert!(TokenCounter.text(&short) <= room, "{short}");
                        assert!(is_wish(&short));
                        // Cut again, it is still there.
                        assert!(around_wishes(&short, room / 2 + 10).is_none_or(|short| short.contains(rule)));
                    }
                }
            }
        }
    }

    /// Of a sentence without an end the part around the rule stays, and of many the clearest.
    #[test]
    fn long_sentences_and_many() {
        let text = format!("{} never touch prod.yml {}", "word ".repeat(900), "word ".repeat(900));
        let short = around_wishes(&text, 100).unwrap();
        assert!(short.contains("never touch prod.yml") && TokenCounter.text(&short) <= 100, "{short}");
        let log = "the file was not found\n".repeat(400);
        let text = format!("{log}You must ask me before you touch prod.yml, always.\n{log}");
        let short = around_wishes(&text, 120).unwrap();
        assert!(short.contains("You must ask me before you touch prod.yml, always."), "{short}");
    }
}
