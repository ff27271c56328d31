//! How pages and marks may look.

use super::rows::{Width, wrapped};

/// More blanks before a line are not repeated before its next rows.
const MOST_SET_IN: usize = 12;

/// How text on stdout may look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look {
    /// Where rows end; nowhere if no terminal shows them.
    pub(crate) width: Option<Width>,
    /// Colours may be used.
    pub(crate) colour: bool,
}

impl Look {
    /// A line as rows, as they may be printed; see [`wrapped`].
    pub(crate) fn rows(self, first: &str, rest: &str, line: &str) -> Vec<String> {
        match self.width {
            Some(width) => wrapped(first, rest, line, width),
            None => vec![format!("{first}{line}")],
        }
    }

    /// A page of lines as it may be printed: what does not fit goes on below its line. The page is escaped.
    pub(crate) fn page(self, page: &str) -> String {
        let rows = page.lines().flat_map(|line| {
            let indent = line.len() - line.trim_start_matches([' ', '-', '|']).len();
            let (first, rest) = line.split_at(indent.min(MOST_SET_IN));
            self.rows(first, &" ".repeat(first.len()), rest)
        });
        rows.map(|row| row + "\n").collect()
    }

    /// A word in its colour, where colours are.
    pub(crate) fn paint(self, word: &str, colour: Colour) -> String {
        if self.colour { format!("{}{word}\x1b[0m", colour.code()) } else { word.to_owned() }
    }
}

/// Colours of marks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Colour {
    Red,
    Green,
    Yellow,
    Dim,
}

impl Colour {
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Red => "\x1b[31m",
            Self::Green => "\x1b[32m",
            Self::Yellow => "\x1b[33m",
            Self::Dim => "\x1b[2m",
        }
    }
}
