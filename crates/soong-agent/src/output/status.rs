//! Lines that are drawn over while something goes on.

use std::fmt::Write as _;

use agent_core::text::{escape_for_terminal, shorten};
use unicode_width::UnicodeWidthStr;

/// What is drawn, so that it can be drawn over.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    /// How wide each line is, the first one first.
    widths: Vec<usize>,
}

impl Drawn {
    /// Draws over what is there: what goes on and for how long, and lines about it. The cursor stays in the last of them.
    pub(super) fn over(&mut self, what: &str, seconds: u64, lines: &[String], columns: usize) -> String {
        let room = columns.saturating_sub(1);
        let mut text = self.to_first(columns);
        self.widths.clear();
        let seconds = format!(" {seconds} s");
        // However long it is, for how long it has been going on is seen.
        let what = escape_for_terminal(what);
        let first = shorten(&what, room.saturating_sub(seconds.len())).into_owned() + &shorten(&seconds, room);
        self.widths.push(first.width());
        text.push_str(&first);
        for line in lines {
            let line = escape_for_terminal(line);
            let line = shorten(&line, room);
            self.widths.push(line.width());
            // Writing to a string cannot fail.
            let _ = write!(text, "\r\n\x1b[2K{line}");
        }
        text
    }

    /// Draws nothing over what is there.
    pub(super) fn wiped(&mut self, columns: usize) -> String {
        let text = self.to_first(columns);
        self.widths.clear();
        text
    }

    /// To the beginning of the first line, with nothing there and below. A terminal that has become narrower meanwhile has broken lines into
    /// several rows.
    fn to_first(&self, columns: usize) -> String {
        let rows: usize = self.widths.iter().map(|width| width.div_ceil(columns.max(1)).max(1)).sum();
        match rows.saturating_sub(1) {
            0 => "\r\x1b[2K".to_owned(),
            below => format!("\r\x1b[{below}A\x1b[J"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FND-73: a long command does not push the seconds off. FND-64: lines below are drawn over with it.
    #[test]
    fn what_is_drawn() {
        let mut drawn = Drawn::default();
        let long = "- code.run_command sh -c 'make all the things'";
        assert_eq!(drawn.over(long, 12, &[], 30), "\r\x1b[2K- code.run_command sh -… 12 s");
        let lines = ["  | one".to_owned(), format!("  | {}", "two ".repeat(20))];
        let text = drawn.over("- a", 3, &lines, 20);
        // What was drawn takes two rows in so few columns.
        assert_eq!(text, "\r\x1b[1A\x1b[J- a 3 s\r\n\x1b[2K  | one\r\n\x1b[2K  | two two two tw…");
        assert_eq!(drawn.over("- b", 4, &[], 20), "\r\x1b[2A\x1b[J- b 4 s");
        assert_eq!(drawn.wiped(20), "\r\x1b[2K");
    }

    /// CLI-2: lines that a narrower terminal has broken into rows are drawn over whole; a wider one has joined none that we broke.
    #[test]
    fn a_terminal_that_was_resized() {
        let mut drawn = Drawn::default();
        let lines = ["x".repeat(30), "y".to_owned()];
        drawn.over("- what is going on here", 3, &lines, 60);
        // 27 columns are two rows now, 30 as well.
        assert!(drawn.over("- b", 4, &lines, 20).starts_with("\r\x1b[4A\x1b[J- b 4 s"));
        assert!(drawn.over("- b", 5, &[], 60).starts_with("\r\x1b[2A\x1b[J- b 5 s"));
        assert_eq!(drawn.wiped(60), "\r\x1b[2K");
    }
}
