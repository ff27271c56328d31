//! Where words go: answers to stdout, everything else to stderr (CLI-2).

mod answer;
mod columns;
mod layout;
mod look;
mod rows;
mod screen;
mod status;

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use agent_core::text::escape_for_terminal;
use rustix::fs::fstat;
use rustix::termios::{Winsize, tcgetwinsize};

pub(crate) use columns::{Columns, GAP, widest};
pub(crate) use look::{Colour, Look};
pub(crate) use rows::{Width, wrapped};

use answer::Streamed;
use layout::{SET_IN, below, command_rows, wrapped_below};
use status::Drawn;

/// How stderr may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    /// Colours may be used.
    pub(crate) colour: bool,
    /// The line may be drawn over.
    pub(crate) live: bool,
}

/// Both streams, and what is known about them.
pub(crate) struct Output {
    stdout: Box<dyn Write>,
    stderr: Box<dyn Write>,
    /// Text streams to a person.
    pub(crate) answer_on_terminal: bool,
    /// Pages may be coloured.
    page_colour: bool,
    pub(crate) style: Style,
    /// Rows on stderr end where a terminal's do.
    notes_on_terminal: bool,
    /// The locale is one whose terminals draw ambiguous characters wide.
    ambiguous_is_wide: bool,
    /// What is no terminal takes both streams: `2>&1`.
    both_in_one: bool,
    /// The answer stands in the middle of a line of what notes go to as well.
    mid_line: bool,
    /// The answer in a file or pipe does not end with a line end yet.
    unended: bool,
    /// Stdout takes no more; the run goes on without it.
    stdout_gone: bool,
    /// Something that belongs on stdout could not be written, though somebody may be waiting for it.
    lost: bool,
    /// The answer on a terminal, as far as it has come.
    streamed: Streamed,
    /// What is drawn over next.
    drawn: Drawn,
    /// Pages are drawn over each other.
    on_screen: bool,
}

impl Output {
    pub(crate) fn standard() -> Self {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let live = stderr.is_terminal() && !plain;
        Self {
            answer_on_terminal: stdout.is_terminal(),
            page_colour: stdout.is_terminal() && !plain,
            style: Style { colour: live, live },
            notes_on_terminal: stderr.is_terminal(),
            ambiguous_is_wide: is_east_asian(),
            both_in_one: !stdout.is_terminal() && is_same(&stdout, &stderr),
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            mid_line: false,
            unended: false,
            stdout_gone: false,
            lost: false,
            streamed: Streamed::default(),
            drawn: Drawn::default(),
            on_screen: false,
        }
    }

    #[cfg(test)]
    pub(crate) fn to(stdout: impl Write + 'static, stderr: impl Write + 'static, answer_on_terminal: bool) -> Self {
        Self {
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            answer_on_terminal,
            page_colour: false,
            style: Style { colour: false, live: false },
            notes_on_terminal: false,
            ambiguous_is_wide: false,
            both_in_one: false,
            mid_line: false,
            unended: false,
            stdout_gone: false,
            lost: false,
            streamed: Streamed::default(),
            drawn: Drawn::default(),
            on_screen: false,
        }
    }

    /// Text of the answer: on a terminal a piece, elsewhere all of it. On a terminal escapes lose their power, and words that do
    /// not fit go on the next row; into a file it goes as it is, but for escapes.
    pub(crate) fn answer(&mut self, text: &str) {
        if !self.answer_on_terminal {
            if !text.is_empty() {
                self.unended = !text.ends_with('\n');
                self.mid_line = self.both_in_one && self.unended;
            }
            let mut rest = text;
            while !rest.is_empty() {
                let mut end = rest.ceil_char_boundary(PIECE);
                // A carriage return stays with what it may belong to.
                while end < rest.len() && rest[..end].ends_with('\r') {
                    end = rest.ceil_char_boundary(end + 1);
                }
                self.write_stdout(&without_controls(&rest[..end]));
                rest = &rest[end..];
            }
            return;
        }
        let width = self.width_of_stdout();
        let shown = self.streamed.push(text, width);
        self.show_answer(&shown);
    }

    fn show_answer(&mut self, shown: &str) {
        if !shown.is_empty() {
            self.mid_line = !shown.ends_with('\n');
            self.write_stdout(shown);
        }
    }

    /// What the model says is complete for now.
    pub(crate) fn end_answer(&mut self) {
        let width = self.width_of_stdout();
        let shown = self.streamed.finish(width);
        self.show_answer(&shown);
        if self.answer_on_terminal && self.mid_line {
            self.write_stdout("\n");
            self.mid_line = false;
        }
    }

    /// Nothing more comes: what holds the answer ends with a line end, as a text file does (DEC-26).
    pub(crate) fn close_answer(&mut self) {
        if std::mem::take(&mut self.unended) {
            self.mid_line = false;
            self.write_stdout("\n");
        }
    }

    /// A line for people.
    pub(crate) fn note(&mut self, line: &str) {
        let rows = self.laid_out("", line);
        self.rows(&rows);
    }

    /// A line whose beginning is coloured where colours are. On a terminal what does not fit goes on below the line, not below the
    /// mark, where words of others in it could look like a line of ours.
    pub(crate) fn marked(&mut self, mark: &str, colour: Colour, line: &str) {
        let rows = self.laid_out(&format!("{mark} "), line);
        self.marked_rows(mark, colour, &rows);
    }

    /// Text of the model among our notes, with a border: it could be written so as to look like a note or a question.
    pub(crate) fn quoted(&mut self, text: &str) {
        self.bordered("> ", text);
    }

    /// Lines of others, each behind a border.
    pub(crate) fn bordered(&mut self, border: &str, text: &str) {
        for line in escape_for_terminal(text).split('\n') {
            let rows = match self.notes_on_terminal {
                true => wrapped(border, border, line, self.width()),
                false => vec![format!("{border}{line}")],
            };
            self.rows(&rows);
        }
    }

    /// The rows of a line behind what it begins with; further lines of it are set in.
    fn laid_out(&self, first: &str, line: &str) -> Vec<String> {
        let line = escape_for_terminal(line);
        if !self.notes_on_terminal {
            return vec![format!("{first}{}", below(&line))];
        }
        let width = self.width();
        let rest = " ".repeat(first.len().max(SET_IN.len()));
        let mut lines = line.split('\n');
        // Columns go on below each other also where nothing stands before the line.
        let head = lines.next().unwrap_or_default();
        let mut rows = wrapped_below(first, &rest, head, width);
        for line in lines {
            rows.extend(match line.strip_prefix(SET_IN) {
                Some(command) => command_rows(SET_IN, command, width),
                None => wrapped(SET_IN, SET_IN, line, width),
            });
        }
        rows
    }

    /// Rows that are ready to be printed, the first of which begins with the mark.
    pub(crate) fn marked_rows(&mut self, mark: &str, colour: Colour, rows: &[String]) {
        let Some((first, others)) = rows.split_first() else { return };
        match first.strip_prefix(mark).filter(|_| self.style.colour) {
            Some(line) => self.rows(&[format!("{}{mark}\x1b[0m{line}", colour.code())]),
            None => self.rows(std::slice::from_ref(first)),
        }
        self.rows(others);
    }

    /// Rows that are ready to be printed: escaped, and none wider than the terminal.
    pub(crate) fn rows(&mut self, rows: &[String]) {
        self.break_line();
        let text: String = rows.iter().flat_map(|row| [row, "\n"]).collect();
        self.write_stderr(&text);
    }

    /// How wide rows may be for the person who reads them. Where stderr is no terminal somebody may still sit at its
    /// other end (`2>&1 | tee log`, a remote shell), so there is always an end to a row.
    pub(crate) fn width(&self) -> Width {
        Width::new(columns(), self.ambiguous_is_wide)
    }

    /// What went wrong.
    pub(crate) fn error(&mut self, message: &str) {
        self.marked("error:", Colour::Red, message);
    }

    /// Text that asks for an answer on the same line.
    pub(crate) fn ask(&mut self, text: &str) {
        self.write_stderr(text);
    }

    /// An id, which is never broken.
    pub(crate) fn id(&mut self, what: &str, id: &str) {
        let rows = match self.notes_on_terminal {
            true => wrapped(what, SET_IN, id, self.width()),
            false => vec![format!("{what}{id}")],
        };
        self.rows(&rows);
    }

    /// Something to type, behind what it begins with, so that it can be copied: where it does not fit on a row it goes on as a
    /// shell reads it.
    pub(crate) fn command(&mut self, what: &str, command: &str) {
        let command = escape_for_terminal(command);
        let whole = format!("{what} {command}");
        if !self.notes_on_terminal || self.width().of_all(&whole) <= self.width().usable() {
            return self.rows(&[whole]);
        }
        let mut rows = vec![what.to_owned()];
        rows.extend(command_rows(SET_IN, &command, self.width()));
        self.rows(&rows);
    }

    /// Draws over the last lines of a live terminal that were drawn so; the first has the seconds at its end. Of each what does not
    /// fit is left out, since a line that wraps cannot be drawn over.
    pub(crate) fn status(&mut self, what: &str, seconds: u64, lines: &[String]) {
        if self.style.live && !self.mid_line {
            let text = self.drawn.over(what, seconds, lines, columns());
            self.write_stderr(&text);
        }
    }

    /// Wipes those away.
    pub(crate) fn wipe_status(&mut self) {
        if self.style.live && !self.mid_line {
            let text = self.drawn.wiped(columns());
            self.write_stderr(&text);
        }
    }

    /// Something that is already safe to print, such as a page of text of our own.
    pub(crate) fn page(&mut self, text: &str) {
        self.write_stdout(text);
    }

    /// How pages are to look.
    pub(crate) fn page_look(&self) -> Look {
        Look { width: self.answer_on_terminal.then(|| self.width_of_stdout()), colour: self.page_colour }
    }

    fn width_of_stdout(&self) -> Width {
        Width::new(columns_of(&[tcgetwinsize(io::stdout())]), self.ambiguous_is_wide)
    }

    /// How many rows the terminal has that shows stderr.
    pub(crate) fn rows_of_stderr(&self) -> usize {
        let rows = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_row));
        if rows > 0 { rows } else { 24 }
    }

    /// Begins to draw on a screen of its own, where stdout is a terminal that can; what was on it comes back in the end.
    pub(crate) fn begin_screen(&mut self) -> bool {
        if self.page_colour {
            self.write_stdout(screen::BEGIN);
        }
        self.on_screen = self.page_colour;
        self.on_screen
    }

    /// Draws a page over the one before; of rows that do not fit the last says how many there are. The page is safe to print.
    pub(crate) fn screen(&mut self, page: &str) {
        let (_, rows) = self.screen_size();
        self.write_stdout(&screen::drawn(page, rows));
    }

    pub(crate) fn end_screen(&mut self) {
        if std::mem::take(&mut self.on_screen) {
            self.write_stdout(screen::END);
        }
    }

    /// How many columns and rows the terminal has that shows stdout.
    pub(crate) fn screen_size(&self) -> (usize, usize) {
        let said = tcgetwinsize(io::stdout());
        let rows = said.as_ref().map_or(0, |size| usize::from(size.ws_row));
        (columns_of(&[said]), if rows > 0 { rows } else { 24 })
    }

    /// Whether stdout takes nothing any more, so that the rest of a page is for nobody.
    pub(crate) fn is_gone(&self) -> bool {
        self.stdout_gone
    }

    /// Whether everything that belongs on stdout is there, as far as anybody reads it.
    pub(crate) fn is_complete(&self) -> bool {
        !self.lost
    }

    fn break_line(&mut self) {
        if std::mem::take(&mut self.mid_line) {
            self.unended = false;
            self.write_stderr("\n");
        }
    }

    fn write_stdout(&mut self, text: &str) {
        if self.stdout_gone {
            return;
        }
        let written = self.stdout.write_all(text.as_bytes()).and_then(|()| self.stdout.flush());
        if let Err(error) = written {
            self.stdout_gone = true;
            // A reader that has had enough is no fault (CLI-4); a full disk is.
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.lost = true;
                self.error(&format!("stdout cannot be written: {error}"));
            }
        }
    }

    fn write_stderr(&mut self, text: &str) {
        // If even stderr is gone there is nobody left to tell.
        let _ = self.stderr.write_all(text.as_bytes()).and_then(|()| self.stderr.flush());
    }
}

/// How wide the terminal is that shows stderr, or where stderr leads elsewhere the one a person sits at; one that does not
/// say, and none, is taken for an ordinary one.
fn columns() -> usize {
    columns_of(&[tcgetwinsize(io::stderr()), tcgetwinsize(io::stdin()), tcgetwinsize(io::stdout())])
}

fn columns_of(said: &[rustix::io::Result<Winsize>]) -> usize {
    let known = said.iter().flatten().map(|size| usize::from(size.ws_col)).find(|columns| *columns > 0);
    known.unwrap_or(80)
}

/// Whether both are the same file or pipe.
fn is_same(one: impl AsFd, other: impl AsFd) -> bool {
    let (Ok(one), Ok(other)) = (fstat(one), fstat(other)) else { return false };
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Whether the locale is Chinese, Japanese or Korean.
fn is_east_asian() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
    ["zh", "ja", "ko"].iter().any(|language| locale.starts_with(language))
}

/// So much of an answer is made ready for a file at once, in bytes.
const PIECE: usize = 1 << 16;

/// Text for a file: exact, but for control characters that would act on the terminal it is shown on later. A carriage
/// return is one of them, unless it is half of a line end.
fn without_controls(text: &str) -> String {
    let mut rest = text.chars().peekable();
    let mut shown = String::with_capacity(text.len());
    while let Some(c) = rest.next() {
        let harmless = !c.is_control() || matches!(c, '\n' | '\t') || (c == '\r' && rest.peek() == Some(&'\n'));
        shown.push(if harmless { c } else { char::REPLACEMENT_CHARACTER });
    }
    shown
}

#[cfg(test)]
mod tests;
