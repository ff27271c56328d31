//! Argument lists for prompts: bounded, and readable where their quoting is not.

use super::{
    bidi::{is_rtl, reorders},
    bounded::{MIN, NOTE, WORD, note, shown_as_read, shown_word},
    fit::{fitting_end, fitting_start},
    quote::{Quoting, needs_quotes},
};

/// How a line of ours begins, in a word that would imitate it.
const OURS: &str = "\nargv[";

/// A place in an argument list: a word, and a byte in it.
type Place = (usize, usize);

/// An argument list as [`quote_argv`](super::quote_argv) writes it, in at most `max_bytes` (at least 256).
///
/// A longer one loses its middle, between two words: `tar c a b [… 812 characters in 90 words not shown …] y z`. Where a
/// word is so long that little would be left it is cut within; both parts are then quoted by themselves, and the note
/// touches them. Bare words hold no `[`, and quoted ones no `[…`, so that nobody else writes such a note.
///
/// The lines of a word, of a script for `sh -c`, are lines here as well, within its quotes, and not `\n`: so they are read.
///
/// Letters that had to be written as numbers to keep the order are unreadable; lines below show these words as they are
/// read: `argv[2] reads: …`.
#[must_use]
pub fn shown_command(argv: &[String], max_bytes: usize) -> String {
    let max_bytes = max_bytes.max(MIN);
    let quoting = Quoting::of(argv);
    // Lines of ours may follow only where no word has any.
    let in_lines = !quoting.ordered && !argv.iter().any(|word| word.contains(OURS));
    let shown = framed(argv, max_bytes, if in_lines { quoting.with_lines() } else { quoting });
    // Our own note has a number in it.
    if !quoting.ordered && reorders(&shown) {
        return framed(argv, max_bytes, Quoting { ordered: true, ..quoting });
    }
    shown
}

/// A name in a sentence of ours, as [`quote_name`](super::quote_name) writes it, bounded.
#[must_use]
pub fn shown_name(name: &str) -> String {
    if !needs_quotes(name) {
        return shown_word(name);
    }
    let word = [name.to_owned()];
    line(&word, WORD, Quoting::of(&word))
}

fn framed(argv: &[String], max_bytes: usize, quoting: Quoting) -> String {
    let readings = if quoting.ordered { readings(argv, max_bytes / 3) } else { String::new() };
    let mut shown = line(argv, max_bytes - readings.len(), quoting);
    shown.push_str(&readings);
    shown
}

/// As many words as fit, one a line.
fn readings(argv: &[String], room: usize) -> String {
    let mut lines = String::new();
    for (at, word) in argv.iter().enumerate().filter(|(_, word)| word.contains(is_rtl)) {
        let line = format!("\nargv[{at}] reads: {}", shown_as_read(word));
        if lines.len() + line.len() > room {
            break;
        }
        lines.push_str(&line);
    }
    lines
}

fn line(argv: &[String], max_bytes: usize, quoting: Quoting) -> String {
    let end = (argv.len(), 0);
    // No word is shown shorter than it is, so most of what is too long need not be quoted first.
    if argv.iter().map(|word| word.len() + 1).sum::<usize>() <= max_bytes + 1 {
        let whole = between(argv, (0, 0), end, quoting);
        if whole.len() <= max_bytes {
            return whole;
        }
    }
    let each = max_bytes.saturating_sub(NOTE) / 2;
    let head = head(argv, each, quoting);
    let tail = tail(argv, head, each, quoting);
    let mut line = between(argv, (0, 0), head, quoting);
    // A blank on either side says that the cut is between two words.
    line.push_str(if head.1 == 0 { " " } else { "" });
    line.push_str(&missing(argv, head, tail));
    line.push_str(if tail.1 == 0 { " " } else { "" });
    line.push_str(&between(argv, tail, end, quoting));
    line
}

/// Where the beginning ends that fits.
fn head(argv: &[String], each: usize, quoting: Quoting) -> Place {
    let mut used = 0;
    for (at, word) in argv.iter().enumerate() {
        let room = each.saturating_sub(used + 1);
        let length = |part: &str| quoting.word(part, at == 0).len();
        if word.len() > room || length(word) > room {
            let cut = if used < each / 2 { fitting_start(word, room, length) } else { 0 };
            return (at, cut);
        }
        used += length(word) + 1;
    }
    (argv.len(), 0)
}

/// Where the end starts that fits, not before the place where the beginning ended.
fn tail(argv: &[String], head: Place, each: usize, quoting: Quoting) -> Place {
    let mut used = 0;
    for at in (head.0..argv.len()).rev() {
        let from = if at == head.0 { head.1 } else { 0 };
        let word = &argv[at][from..];
        let room = each.saturating_sub(used + 1);
        let length = |part: &str| quoting.word(part, false).len();
        if word.len() > room || length(word) > room {
            let cut = if used < each / 2 { fitting_end(word, room, length) } else { word.len() };
            return if cut == word.len() { (at + 1, 0) } else { (at, from + cut) };
        }
        used += length(word) + 1;
    }
    head
}

/// The words between two places, quoted.
fn between(argv: &[String], from: Place, to: Place, quoting: Quoting) -> String {
    let words: Vec<String> = parts(argv, from, to).map(|(at, part)| quoting.word(part, at == 0)).collect();
    words.join(" ")
}

fn missing(argv: &[String], from: Place, to: Place) -> String {
    let (mut characters, mut words) = (0, 0);
    for (_, part) in parts(argv, from, to) {
        characters += part.chars().count();
        words += 1;
    }
    note(characters, words, "words")
}

/// The words between two places, the first and the last perhaps only in part.
fn parts(argv: &[String], from: Place, to: Place) -> impl Iterator<Item = (usize, &str)> {
    let words = argv.iter().enumerate().skip(from.0).take_while(move |(at, _)| (*at, 0) < to);
    words.map(move |(at, word)| {
        let start = if at == from.0 { from.1 } else { 0 };
        let end = if at == to.0 { to.1 } else { word.len() };
        (at, &word[start..end])
    })
}

#[cfg(test)]
mod tests;
