//! Lines that are drawn over while something goes on.

use std::fmt::Write as _;

use agent_core::text::{escape_for_terminal, shorten};

/// What is drawn, so that it can be drawn over.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    /// Lines below the first.
    below: usize,
}

impl Drawn {
    /// Draws over what is there: what goes on and for how long, and lines about it. The cursor stays in the last of them.
    pub(super) fn over(&mut self, what: &str, seconds: u64, lines: &[String], columns: usize) -> String {
        let room = columns.saturating_sub(1);
        let mut text = self.to_first().to_owned();
        let seconds = format!(" {seconds} s");
        // However long it is, for how long it has been going on is seen.
        let what = escape_for_terminal(what);
        text.push_str(&shorten(&what, room.saturating_sub(seconds.len())));
        text.push_str(&shorten(&seconds, room));
        for line in lines {
            // Writing to a string cannot fail.
            let _ = write!(text, "\r\n\x1b[2K{}", shorten(&escape_for_terminal(line), room));
        }
        self.below = lines.len();
        text
    }

    /// Draws nothing over what is there.
    pub(super) fn wiped(&mut self) -> String {
        let text = self.to_first();
        self.below = 0;
        text
    }

    /// To the beginning of the first line, with nothing there and below.
    fn to_first(&self) -> String {
        match self.below {
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
        assert_eq!(text, "\r\x1b[2K- a 3 s\r\n\x1b[2K  | one\r\n\x1b[2K  | two two two tw…");
        assert_eq!(drawn.over("- b", 4, &[], 20), "\r\x1b[2A\x1b[J- b 4 s");
        assert_eq!(drawn.wiped(), "\r\x1b[2K");
    }
}
