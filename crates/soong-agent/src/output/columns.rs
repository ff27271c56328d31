//! Lines of columns that no terminal wraps.

use super::{Colour, Look, Width};

/// Between two columns.
pub(crate) const GAP: usize = 2;

/// What is cut to less than this says nothing.
const LEAST: usize = 4;
/// Stands for what is not shown at all.
const ELLIPSIS: &str = "…";

/// A line for a terminal that grows column by column, as far as there is room.
pub(crate) struct Columns {
    text: String,
    room: usize,
    width: Width,
    look: Look,
}

impl Columns {
    pub(crate) fn new(width: Width, look: Look) -> Self {
        Self { text: String::new(), room: width.usable(), width, look }
    }

    /// How many columns are left.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// What is longer than its column is cut; the first column never is, since half an id is good for nothing. The text is
    /// escaped and has no line break in it.
    pub(crate) fn add(&mut self, text: &str, columns: usize, colour: Option<Colour>) {
        let is_first = self.text.is_empty();
        let most = if is_first { columns } else { columns.min(self.room) };
        let all = self.width.of_all(text);
        // Of so little nothing is shown but that there is something.
        if most < LEAST.min(all) && !is_first {
            if most >= self.width.of_all(ELLIPSIS) {
                self.text.push_str(ELLIPSIS);
            }
            self.room = 0;
            return;
        }
        let shown = self.width.head(text, most);
        let used = self.width.of_all(&shown);
        match colour.filter(|_| !shown.is_empty()) {
            Some(colour) => self.text.push_str(&self.look.paint(&shown, colour)),
            None => self.text.push_str(&shown),
        }
        let blanks = columns.saturating_sub(used) + GAP;
        self.text.push_str(&" ".repeat(blanks));
        self.room = self.room.saturating_sub(used + blanks);
    }

    /// The line, with its end.
    pub(crate) fn line(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text.push('\n');
        self.text
    }
}

/// How wide a column is whose texts these are.
pub(crate) fn widest<'t>(texts: impl Iterator<Item = &'t str>, width: Width) -> usize {
    texts.map(|text| width.of_all(text)).max().unwrap_or(0)
}
