//! The rows of a page: what each is about stands at its beginning.

use agent_core::event::Timestamp;
use agent_core::id::RunId;
use agent_core::runtime::RunMode;
use agent_core::text::escape_for_terminal;

use crate::lines::in_line;
use crate::moment;
use crate::output::{Colour, Look};

/// Rows as they come about.
pub(super) struct Rows {
    look: Look,
    /// How wide the column of marks is.
    marks: usize,
    text: String,
}

impl Rows {
    pub(super) fn new(look: Look, marks: usize) -> Self {
        Self { look, marks, text: String::new() }
    }

    /// What has come since the last time.
    pub(super) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// A blank row.
    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// The heading of a run, with a blank row above: what an internal one is for, or how the user's works.
    pub(super) fn run(
        &mut self,
        number: Option<u64>,
        run_id: &RunId,
        began: &Timestamp,
        (purpose, mode): (Option<&str>, Option<RunMode>),
    ) {
        let number = number.map(|number| format!("{number}  ")).unwrap_or_default();
        let what = match purpose {
            Some("compact") => "  (summarises earlier turns)".to_owned(),
            Some(other) => format!("  ({})", in_line(other)),
            None if mode == Some(RunMode::Orchestrator) => "  (orchestrator)".to_owned(),
            None => String::new(),
        };
        self.blank();
        // An id is never broken, however narrow the terminal.
        let is_narrow = self.look.width.is_some_and(|width| width.usable() < "run ".len() + run_id.as_str().len());
        self.dim(
            "run ",
            if is_narrow { "  " } else { "    " },
            &format!("{number}{run_id}  {}{what}", moment::minute(began)),
        );
    }

    /// A row with the time, as far as there is one, and a word that says what it is about.
    pub(super) fn row(&mut self, since_start: Option<u64>, mark: &str, colour: Option<Colour>, line: &str) {
        let time = since_start.map(moment::into).unwrap_or_default();
        let first = format!("{time:>5}  {mark:width$} ", width = self.marks);
        let rest = " ".repeat(first.len());
        self.push(&first, &rest, &escape_for_terminal(line), |look, row| match colour {
            Some(colour) => row.replacen(mark, &look.paint(mark, colour), 1),
            None => row.to_owned(),
        });
    }

    /// A row below that of a call, set in.
    pub(super) fn child(&mut self, mark: &str, colour: Colour, line: &str) {
        let first = format!("{:>width$}{mark:6} ", "", width = 7 + self.marks + 1);
        // Where a terminal is so narrow that little would be left beside it, it begins where rows of calls do.
        let is_narrow = self.look.width.is_some_and(|width| width.usable() < 2 * first.len());
        let first = if is_narrow { format!("{:>7}{mark:6} ", "") } else { first };
        let rest = " ".repeat(first.len());
        self.push(&first, &rest, &escape_for_terminal(line), |look, row| match mark {
            "" => row.to_owned(),
            mark => row.replacen(mark, &look.paint(mark, colour), 1),
        });
    }

    /// A row that is there for completeness.
    pub(super) fn dim(&mut self, first: &str, rest: &str, line: &str) {
        self.push(first, rest, line, |look, row| look.paint(row, Colour::Dim));
    }

    /// A line, broken where rows end: `first` before its first row, `rest` before the others. The line is escaped.
    pub(super) fn push(&mut self, first: &str, rest: &str, line: &str, paint: impl Fn(Look, &str) -> String) {
        let rows = self.look.rows(first, rest, line);
        for (at, row) in rows.iter().enumerate() {
            self.text.push_str(&if at == 0 { paint(self.look, row) } else { row.clone() });
            self.text.push('\n');
        }
    }
}
