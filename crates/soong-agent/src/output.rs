//! Where words go: answers to stdout, everything else to stderr (CLI-2).

use std::io::{self, IsTerminal, Write};

use agent_core::{escape_for_terminal, shorten};
use rustix::termios::tcgetwinsize;

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
    pub(crate) style: Style,
    /// The answer stands in the middle of a line of the terminal that notes share.
    mid_line: bool,
    /// Stdout takes no more; the run goes on without it.
    stdout_gone: bool,
    /// Something that belongs on stdout could not be written, though somebody may be waiting for it.
    lost: bool,
    /// What was held back because the next delta may belong to it.
    held: String,
}

impl Output {
    pub(crate) fn standard() -> Self {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let live = stderr.is_terminal() && !plain;
        Self {
            answer_on_terminal: stdout.is_terminal(),
            style: Style { colour: live, live },
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            mid_line: false,
            stdout_gone: false,
            lost: false,
            held: String::new(),
        }
    }

    #[cfg(test)]
    pub(crate) fn to(stdout: impl Write + 'static, stderr: impl Write + 'static, answer_on_terminal: bool) -> Self {
        Self {
            stdout: Box::new(stdout),
            stderr: Box::new(stderr),
            answer_on_terminal,
            style: Style { colour: false, live: false },
            mid_line: false,
            stdout_gone: false,
            lost: false,
            held: String::new(),
        }
    }

    /// Text of the answer: on a terminal a piece, elsewhere all of it. On a terminal escapes lose their power; into a file it
    /// goes as it is, but for escapes.
    pub(crate) fn answer(&mut self, text: &str) {
        if !self.answer_on_terminal {
            return self.write_stdout(&without_controls(text));
        }
        // A character that joins its neighbours is only ordinary together with them, so the end is held back.
        let mut whole = std::mem::take(&mut self.held);
        whole.push_str(text);
        let end = whole.rfind(|c: char| c.is_ascii()).map_or(0, |at| at + 1);
        if whole.len() - end <= 256 {
            self.held = whole.split_off(end);
        }
        let shown = escape_for_terminal(&whole).into_owned();
        self.show_answer(&shown);
    }

    fn show_answer(&mut self, shown: &str) {
        if !shown.is_empty() {
            self.mid_line = !shown.ends_with('\n');
            self.write_stdout(shown);
        }
    }

    /// The answer, or a part of it, is complete.
    pub(crate) fn end_answer(&mut self) {
        let held = std::mem::take(&mut self.held);
        let shown = escape_for_terminal(&held).into_owned();
        self.show_answer(&shown);
        if self.answer_on_terminal && self.mid_line {
            self.write_stdout("\n");
            self.mid_line = false;
        }
    }

    /// A line for people.
    pub(crate) fn note(&mut self, line: &str) {
        self.break_line();
        self.write_stderr(&format!("{}\n", escape_for_terminal(line)));
    }

    /// A line whose beginning is coloured where colours are.
    pub(crate) fn marked(&mut self, mark: &str, colour: Colour, line: &str) {
        self.break_line();
        let mark = if self.style.colour { format!("{}{mark}\x1b[0m", colour.code()) } else { mark.to_owned() };
        self.write_stderr(&format!("{mark} {}\n", escape_for_terminal(line)));
    }

    /// What went wrong.
    pub(crate) fn error(&mut self, message: &str) {
        self.marked("error:", Colour::Red, message);
    }

    /// Text that asks for an answer on the same line.
    pub(crate) fn ask(&mut self, text: &str) {
        self.write_stderr(text);
    }

    /// Draws over the current line of a live terminal.
    pub(crate) fn status(&mut self, line: &str) {
        if self.style.live && !self.mid_line {
            // A line that wraps cannot be drawn over.
            let line = escape_for_terminal(line);
            self.write_stderr(&format!("\r\x1b[2K{}", shorten(&line, columns().saturating_sub(1))));
        }
    }

    /// Something that is already safe to print, such as a page of text of our own.
    pub(crate) fn page(&mut self, text: &str) {
        self.write_stdout(text);
    }

    /// Whether everything that belongs on stdout is there, as far as anybody reads it.
    pub(crate) fn is_complete(&self) -> bool {
        !self.lost
    }

    fn break_line(&mut self) {
        if std::mem::take(&mut self.mid_line) {
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

/// Colours of marks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Colour {
    Red,
    Green,
    Yellow,
    Dim,
}

impl Colour {
    fn code(self) -> &'static str {
        match self {
            Self::Red => "\x1b[31m",
            Self::Green => "\x1b[32m",
            Self::Yellow => "\x1b[33m",
            Self::Dim => "\x1b[2m",
        }
    }
}

/// How wide the terminal is; one that does not say is taken for an ordinary one.
fn columns() -> usize {
    let said = tcgetwinsize(io::stderr()).map(|size| usize::from(size.ws_col)).unwrap_or(0);
    if said == 0 { 80 } else { said }
}

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
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Sink {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    /// CLI-2, CLI-01: escapes in the answer lose their power, on a terminal and in a file.
    #[test]
    fn escapes_are_neutralised() {
        for on_terminal in [true, false] {
            let (stdout, stderr) = (Sink::default(), Sink::default());
            let mut output = Output::to(stdout.clone(), stderr.clone(), on_terminal);
            output.answer("\u{1b}[2J\u{1b}]0;x\u{7}ALL OK\u{9b}\rYES\n");
            output.end_answer();
            output.note("\u{1b}[31mred");
            for text in [stdout.text(), stderr.text()] {
                assert!(!text.contains(['\u{1b}', '\u{7}', '\u{9b}', '\r']), "{text:?}");
            }
            assert!(stdout.text().contains("ALL OK"));
        }
    }

    /// CLI-2: a file holds exactly the answer.
    #[test]
    fn a_file_gets_exactly_the_answer() {
        let (stdout, stderr) = (Sink::default(), Sink::default());
        let mut output = Output::to(stdout.clone(), stderr.clone(), false);
        let answer = "Grüße 👩‍👩‍👧 \r\n\tdone";
        output.answer(answer);
        output.end_answer();
        assert_eq!(stdout.text(), answer);
        assert_eq!(stderr.text(), "");
    }

    #[test]
    fn emoji_survive_being_cut_between_deltas() {
        let (stdout, stderr) = (Sink::default(), Sink::default());
        let mut output = Output::to(stdout.clone(), stderr, true);
        for c in "ok 👩‍👩‍👧 fine".chars() {
            output.answer(&c.to_string());
        }
        output.end_answer();
        assert_eq!(stdout.text(), "ok 👩‍👩‍👧 fine\n");
    }

    /// CLI-4: a closed stdout ends quietly.
    #[test]
    fn a_closed_stdout_is_quiet() {
        struct Gone;
        impl Write for Gone {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let stderr = Sink::default();
        let mut output = Output::to(Gone, stderr.clone(), false);
        output.answer("a");
        output.answer("b");
        assert_eq!(stderr.text(), "");
    }
}
