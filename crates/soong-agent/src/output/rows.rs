//! Lines of others in rows of ours.
//!
//! A terminal that wraps a line goes on at its left border, where the beginning of a line decides whose it is. So whatever
//! a model, a file or a tool has written is wrapped here, and every row of it begins with a border.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthChar;

/// The least width that what is said here holds for, columns. On a narrower terminal rows are this long all the same and
/// the terminal wraps them, so that text of others can begin at its left border.
const LEAST: usize = 20;
/// A tab becomes blanks up to the next multiple of this.
const TAB: usize = 4;
/// In what somebody decides about, this stands before each tab and nowhere else.
const TAB_SIGN: char = '→';
/// Stands where a part of a line is not shown.
const ELLIPSIS: char = '…';

/// How wide rows may be, and characters may turn out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Width {
    columns: usize,
    ambiguous_is_wide: bool,
}

impl Width {
    /// `ambiguous_is_wide`: the terminal may draw letters wide that others do not, as East Asian ones do.
    pub(crate) fn new(columns: usize, ambiguous_is_wide: bool) -> Self {
        Self { columns: columns.max(LEAST), ambiguous_is_wide }
    }

    /// The same with fewer columns.
    pub(crate) fn narrower(self, by: usize) -> Self {
        Self::new(self.columns.saturating_sub(by), self.ambiguous_is_wide)
    }

    /// How many columns a row fills. The last one stays empty: terminals do not agree on what happens behind it.
    pub(crate) fn usable(self) -> usize {
        self.columns - 1
    }

    /// The most columns that a terminal may use. They do not agree on symbols, emoji and accents, and a row that turns
    /// out too long is worse than one that turns out short.
    fn of(self, c: char) -> usize {
        if c.is_ascii() {
            return 1;
        }
        let known = c.is_alphanumeric() && !self.ambiguous_is_wide;
        c.width().unwrap_or(1).max(if known { 1 } else { 2 })
    }

    /// How wide the sign of a tab most likely is.
    fn of_sign(self) -> usize {
        if self.ambiguous_is_wide { 2 } else { 1 }
    }

    /// The most columns that a terminal may use for a line.
    pub(crate) fn of_all(self, text: &str) -> usize {
        text.chars().map(|c| self.of(c)).sum()
    }

    /// The beginning of a line, with an ellipsis where the rest does not fit.
    pub(crate) fn head(self, line: &str, columns: usize) -> Cow<'_, str> {
        if self.of_all(line) <= columns {
            return Cow::Borrowed(line);
        }
        let end = self.fitting(line.grapheme_indices(true).map(|(at, cluster)| (at + cluster.len(), cluster)), columns);
        Cow::Owned(format!("{}{ELLIPSIS}", &line[..end.unwrap_or(0)]))
    }

    /// The end of a line, with an ellipsis where the rest does not fit.
    pub(crate) fn tail(self, line: &str, columns: usize) -> Cow<'_, str> {
        if self.of_all(line) <= columns {
            return Cow::Borrowed(line);
        }
        let start = self.fitting(line.grapheme_indices(true).rev(), columns);
        Cow::Owned(format!("{ELLIPSIS}{}", &line[start.unwrap_or(line.len())..]))
    }

    /// The end of a path, from the beginning of one of its parts on where one fits whole.
    pub(crate) fn path_tail(self, path: &str, columns: usize) -> Cow<'_, str> {
        let tail = self.tail(path, columns);
        let Some(end) = tail.strip_prefix(ELLIPSIS).filter(|end| path.len() > end.len()) else { return tail };
        match end.find('/').filter(|at| at + 1 < end.len()) {
            Some(at @ 1..) => Cow::Owned(format!("{ELLIPSIS}{}", &end[at..])),
            _ => tail,
        }
    }

    /// The border behind the last cluster that fits beside an ellipsis.
    fn fitting<'t>(self, clusters: impl Iterator<Item = (usize, &'t str)>, columns: usize) -> Option<usize> {
        let mut left = columns.saturating_sub(self.of(ELLIPSIS));
        let fits = |(border, cluster): (usize, &str)| {
            left = left.checked_sub(self.of_all(cluster))?;
            Some(border)
        };
        clusters.map_while(fits).last()
    }
}

/// One line as rows that no terminal of this width (20 columns or more) wraps: `first` before the first of them, `rest`, which is not longer,
/// before the others. Nothing is lost: without what stands before them the rows together are the line, with its tabs as
/// blanks. A word is broken only where it is longer than a row. The line is escaped and has no line break in it.
pub(crate) fn wrapped(first: &str, rest: &str, line: &str, width: Width) -> Vec<String> {
    let room = |border: &str| width.usable().saturating_sub(border.len()).max(1);
    let mut rows =
        Rows { room: room(first), most: room(rest), width, rest, done: Vec::new(), row: first.to_owned(), used: 0 };
    let line = without_tabs(line, width);
    let mut left = line.as_str();
    while !left.is_empty() {
        let end = left.find(' ').unwrap_or(left.len());
        let (word, after) = left.split_at(end);
        let blanks = after.len() - after.trim_start_matches(' ').len();
        rows.word(word, blanks > 0);
        rows.blanks(blanks);
        left = &after[blanks..];
    }
    rows.done.push(rows.row);
    rows.done
}

/// Rows as they come about.
struct Rows<'a> {
    /// How many columns this row has behind its border.
    room: usize,
    /// And those after the first.
    most: usize,
    width: Width,
    rest: &'a str,
    done: Vec<String>,
    row: String,
    used: usize,
}

impl Rows<'_> {
    fn next_row(&mut self) {
        self.done.push(std::mem::replace(&mut self.row, self.rest.to_owned()));
        (self.used, self.room) = (0, self.most);
    }

    fn push(&mut self, text: &str, columns: usize) {
        self.row.push_str(text);
        self.used += columns;
    }

    /// A word, on the next row if there is not enough room for it, and for a blank behind it, on this one.
    fn word(&mut self, word: &str, blank_follows: bool) {
        let columns = self.width.of_all(word);
        let wanted = if blank_follows { (columns + 1).min(self.most) } else { columns };
        if self.used + wanted > self.room && columns <= self.most && (self.used > 0 || self.room < self.most) {
            self.next_row();
        }
        if self.used + columns <= self.room {
            return self.push(word, columns);
        }
        let mut left = word;
        while self.width.of_all(left) > self.room - self.used {
            let fits = self.fitting(left);
            // Where not much is left of a row, a word had better begin on the next one.
            let late = self.used > self.room / 2 && !is_wide(left);
            let end = break_in(&left[..fits]).unwrap_or(if late { 0 } else { fits });
            let (head, tail) = left.split_at(end);
            let columns = self.width.of_all(head);
            self.push(head, columns);
            self.next_row();
            left = tail;
        }
        let columns = self.width.of_all(left);
        self.push(left, columns);
    }

    fn blanks(&mut self, count: usize) {
        for _ in 0..count {
            if self.used == self.room {
                self.next_row();
            }
            self.push(" ", 1);
        }
    }

    /// How much of a word fits on this row, whole characters as people see them; on an empty row at least a part of one.
    fn fitting(&self, word: &str) -> usize {
        let mut left = self.room - self.used;
        let mut end = 0;
        for cluster in word.graphemes(true).flat_map(|cluster| pieces(cluster, self.room, self.width)) {
            let columns = self.width.of_all(cluster);
            if columns > left {
                break;
            }
            left -= columns;
            end += cluster.len();
        }
        match end {
            // Wider than a row by itself.
            0 if self.used == 0 => word.chars().next().map_or(word.len(), char::len_utf8),
            end => end,
        }
    }
}

/// A letter with its accents is one piece, unless it would fill more than a row.
fn pieces(cluster: &str, room: usize, width: Width) -> impl Iterator<Item = &str> {
    let whole = width.of_all(cluster) <= room;
    cluster.split_inclusive(move |_| !whole).filter(|piece| !piece.is_empty())
}

/// Where a word that is longer than a row had best be broken: behind a slash, or else behind what parts words otherwise.
fn break_in(beginning: &str) -> Option<usize> {
    let behind = |signs: &[char]| beginning.rfind(signs).map(|at| at + 1).filter(|at| *at > 1);
    behind(&['/']).or_else(|| behind(&['-', ',', ';', '&', '=']))
}

/// Whether a word is of letters that may be parted anywhere, such as Chinese ones.
fn is_wide(word: &str) -> bool {
    word.chars().next().is_some_and(|c| c.width() == Some(2))
}

/// Blanks in place of tabs. The sign before a tab takes the place of its first blank, so that columns are as without it.
fn without_tabs(line: &str, width: Width) -> String {
    let mut blank = String::with_capacity(line.len());
    let (mut column, mut signed) = (0, false);
    for c in line.chars() {
        if c != '\t' {
            blank.push(c);
            column += if c == TAB_SIGN { width.of_sign() } else { width.of(c) };
            signed = c == TAB_SIGN;
            continue;
        }
        let on_stop = signed && column % TAB == 0;
        let columns = if on_stop { 0 } else { TAB - column % TAB };
        blank.push_str(&" ".repeat(columns));
        (column, signed) = (column + columns, false);
    }
    blank
}

#[cfg(test)]
mod tests;
