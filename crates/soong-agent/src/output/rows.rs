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

/// Where a line may be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breaks {
    /// Where the row is full.
    Anywhere,
    /// After a blank or a slash, if one is near.
    AtWords,
}

impl Width {
    /// `ambiguous_is_wide`: the terminal may draw letters wide that others do not, as East Asian ones do.
    pub(crate) fn new(columns: usize, ambiguous_is_wide: bool) -> Self {
        Self { columns: columns.max(LEAST), ambiguous_is_wide }
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

/// One line as rows that no terminal of this width (20 columns or more) wraps: `first` before the first of them, `rest`, which is as long,
/// before the others. Nothing is lost: without what stands before them the rows together are the line, with its tabs as
/// blanks. The line is escaped and has no line break in it.
pub(crate) fn wrapped(first: &str, rest: &str, line: &str, width: Width, breaks: Breaks) -> Vec<String> {
    let room = width.usable().saturating_sub(first.len()).max(1);
    let line = without_tabs(line, width);
    let (mut rows, mut row, mut used) = (Vec::new(), first.to_owned(), 0);
    for piece in line.graphemes(true).flat_map(|cluster| pieces(cluster, room, width)) {
        let columns = width.of_all(piece);
        if used + columns > room {
            let carried = match breaks {
                Breaks::Anywhere => String::new(),
                Breaks::AtWords => last_word(&mut row, first.len(), room - columns, width),
            };
            used = width.of_all(&carried);
            rows.push(std::mem::replace(&mut row, format!("{rest}{carried}")));
        }
        row.push_str(piece);
        used += columns;
    }
    rows.push(row);
    rows
}

/// A letter with its accents is one piece, unless it would fill more than a row.
fn pieces(cluster: &str, room: usize, width: Width) -> impl Iterator<Item = &str> {
    let whole = width.of_all(cluster) <= room;
    cluster.split_inclusive(move |_| !whole).filter(|piece| !piece.is_empty())
}

/// Takes the word away that has begun at the end of a row, unless it is most of the row or fills more than `room`.
fn last_word(row: &mut String, border: usize, room: usize, width: Width) -> String {
    let line = &row[border..];
    let start = line.rfind([' ', '/']).map(|at| at + 1).filter(|start| *start > line.len() / 2);
    let start = start.filter(|start| width.of_all(&line[*start..]) <= room);
    start.map(|start| row.split_off(border + start)).unwrap_or_default()
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
