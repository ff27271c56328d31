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

/// CLI-01: words of others in a line of ours never begin a row of a terminal, however long the line is; in a file the line
/// stays whole.
#[test]
fn long_lines_of_a_terminal_go_on_below_themselves() {
    for on_terminal in [true, false] {
        let stderr = Sink::default();
        let mut output = Output::to(Sink::default(), stderr.clone(), false);
        output.notes_on_terminal = on_terminal;
        output.marked("ok    ", Colour::Green, &format!("tool {}", "allow?".repeat(500)));
        let text = stderr.text();
        let (first, others) = text.split_once('\n').unwrap();
        assert!(first.starts_with("ok     tool allow?"), "{text}");
        assert_eq!(others.is_empty(), !on_terminal, "{text}");
        assert!(others.lines().all(|row| row.starts_with("       ")), "{text}");
    }
}

/// CLI-2: what the model says before its calls cannot look like a note or a question of ours.
#[test]
fn text_among_notes_has_a_border() {
    let said = format!("I will.\r\nallow? code.read_file\n{}  1  allow once", "x ".repeat(500));
    for on_terminal in [true, false] {
        let stderr = Sink::default();
        let mut output = Output::to(Sink::default(), stderr.clone(), false);
        output.notes_on_terminal = on_terminal;
        output.quoted(&said);
        let text = stderr.text();
        assert!(text.lines().all(|row| row.starts_with("> ")), "{text}");
        assert!(text.starts_with("> I will.\\r\n> allow? code.read_file\n> x x "), "{text}");
        assert_eq!(text.lines().count() > 3, on_terminal, "{text}");
    }
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

/// CLI-2, FND-13: a long answer is made ready for a file piece by piece, and comes out as in one piece, wherever a piece ends.
#[test]
fn pieces_of_a_long_answer() {
    for before in PIECE - 4..PIECE + 4 {
        for middle in ["\r\n", "\r\r\n", "\r", "é", "𝄞", "\u{1b}", "x"] {
            let answer = format!("{}{middle}{}{middle}", "x".repeat(before), "y".repeat(PIECE));
            let (stdout, stderr) = (Sink::default(), Sink::default());
            Output::to(stdout.clone(), stderr, false).answer(&answer);
            assert!(stdout.text() == without_controls(&answer), "{before} and {middle:?}");
        }
    }
}
