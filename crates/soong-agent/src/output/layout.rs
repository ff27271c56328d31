//! How lines of ours are laid out in rows.

use super::rows::{Width, wrapped};

/// Further lines and rows of a note are set in so far.
pub(super) const SET_IN: &str = "  ";
/// A line whose rows go on below it.
pub(super) fn wrapped_below(first: &str, rest: &str, line: &str, width: Width) -> Vec<String> {
    if first.len() == rest.len() {
        return wrapped(first, rest, line, width);
    }
    // What is longer than nothing before the first row is no part of the line.
    let mut rows = wrapped(rest, rest, line, width);
    if let Some(row) = rows.first_mut() {
        *row = format!("{first}{}", row.strip_prefix(rest).unwrap_or(row));
    }
    rows
}

/// A command as rows that a shell reads as one line.
pub(super) fn command_rows(indent: &str, command: &str, width: Width) -> Vec<String> {
    const GOES_ON: &str = " \\";
    let rows = wrapped(indent, indent, command, width);
    if rows.len() < 2 {
        return rows;
    }
    let narrower = width.narrower(GOES_ON.len());
    // An id is copied as a whole.
    let longest = command.split(' ').map(|word| width.of_all(word)).max().unwrap_or(0);
    let indent = if longest > narrower.usable().saturating_sub(indent.len()) { "" } else { indent };
    let mut rows = wrapped(indent, indent, command, narrower);
    let last = rows.len() - 1;
    // Behind a blank a word ends. A word that is longer than a row goes on at the border, as it must.
    for row in &mut rows[..last] {
        let ends = row.ends_with(' ');
        row.truncate(row.trim_end().len());
        row.push_str(if ends { GOES_ON } else { "\\" });
    }
    rows
}

/// Further lines of a note are set in: a name with a line break in it does not begin a line of ours.
pub(super) fn below(text: &str) -> String {
    text.replace('\n', "\n  ")
}
