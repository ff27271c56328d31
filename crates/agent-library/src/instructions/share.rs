//! Several bodies in one room (INST-04): who comes first, who is cut, and how that is said.

use super::body::InstructionBody;
use super::level::Level;
use crate::catalog::largest;
use crate::source::border;

/// A cut moves back to the end of a line if that is at most so far away. Bytes.
const NEAR: usize = 400;

/// A file that was loaded.
#[derive(Debug, Clone, Copy)]
pub struct Loaded<'a> {
    /// Its path as the model would name it ([`super::InstructionEntry::shown`]).
    pub shown: &'a str,
    /// Whose it is.
    pub level: Level,
    /// Folders between it and its root.
    pub depth: usize,
    /// What it says.
    pub body: &'a InstructionBody,
}

/// What of a body found room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// The body, its beginning with a note of the cut, or only a note; empty where not even that had room.
    pub text: String,
    /// What is missing.
    pub cut: Option<Cut>,
}

/// What of a body is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Bytes of the body that are in the text.
    pub kept: usize,
    /// Bytes of the file behind them, frontmatter apart.
    pub left_out: u64,
    /// The line of the file to read on from.
    pub next_line: usize,
}

/// Fits bodies into `room` together, as `count` counts it. The answer has their order.
///
/// The project's files come first, the deepest before the others, then the user's; so the file that is nearest to the work
/// is whole if it can be. So that none starves, each of the others is held a small place meanwhile, a quarter of the
/// room for all of them. What does not fit is cut between characters, between lines where one ends near, and says so.
#[must_use]
pub fn share_room(files: &[Loaded<'_>], room: u64, count: &dyn Fn(&str) -> u64) -> Vec<Fitted> {
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|index| (files[*index].level == Level::User, std::cmp::Reverse(files[*index].depth)));
    let small = room / 4 / u64::try_from(files.len()).unwrap_or(u64::MAX).max(1);
    let held: Vec<u64> = files.iter().map(|file| count(&file.whole()).min(small)).collect();
    let mut later: u64 = held.iter().sum();
    let mut left = room;
    let mut fitted = vec![Fitted { text: String::new(), cut: None }; files.len()];
    for index in order {
        later -= held[index];
        let one = files[index].fit(left.saturating_sub(later), count);
        left = left.saturating_sub(count(&one.text));
        fitted[index] = one;
    }
    fitted
}

impl Loaded<'_> {
    /// As much as there is.
    fn whole(&self) -> String {
        if self.body.cut { self.beginning(self.body.text.len()) } else { self.body.text.clone() }
    }

    fn fit(&self, room: u64, count: &dyn Fn(&str) -> u64) -> Fitted {
        let whole = self.whole();
        if count(&whole) <= room {
            let cut = self.body.cut.then(|| self.cut_at(self.body.text.len()));
            return Fitted { text: whole, cut };
        }
        let fits = |end: usize| count(&self.beginning(end)) <= room;
        let longest = largest(self.body.text.len(), |end| {
            let end = border(&self.body.text, end);
            fits(end).then_some(end)
        });
        let kept = longest.map(|end| Some(self.at_line_end(end)).filter(|end| fits(*end)).unwrap_or(end));
        let text = kept.map_or_else(String::new, |end| self.beginning(end));
        Fitted { text, cut: Some(self.cut_at(kept.unwrap_or(0))) }
    }

    /// The end of the last line before `end`, if it is near.
    fn at_line_end(&self, end: usize) -> usize {
        let line = self.body.text[..end].rfind('\n').map_or(0, |at| at + 1);
        if line > 0 && end - line <= NEAR { line } else { end }
    }

    /// The text up to `end` and a note of what is missing; the note alone if that is everything.
    fn beginning(&self, end: usize) -> String {
        let Cut { left_out, next_line, .. } = self.cut_at(end);
        let kept = &self.body.text[..end];
        let between = if kept.is_empty() || kept.ends_with('\n') { "" } else { "\n" };
        let what = if kept.is_empty() { "No room" } else { "Cut here" };
        format!(
            "{kept}{between}[{what}: {left_out} bytes are left out. Read on with code.read_file, path `{}`, start_line {next_line}.]",
            self.shown
        )
    }

    fn cut_at(&self, end: usize) -> Cut {
        let kept = &self.body.text[..end];
        let next_line = self.body.first_line + kept.matches('\n').count();
        let behind = (self.body.text.len() - end) as u64;
        Cut { kept: end, left_out: behind + self.body.unread, next_line }
    }
}

#[cfg(test)]
mod tests;
