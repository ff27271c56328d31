//! Any diff on any file: `code.edit_file` applies it as it says or refuses it, and never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// Pieces of diffs, so that the fuzzer does not have to find the syntax by itself.
#[derive(Debug, arbitrary::Arbitrary)]
struct Case<'a> {
    original: &'a [u8],
    pieces: Vec<Piece<'a>>,
    lines: Vec<u8>,
}

#[derive(Debug, arbitrary::Arbitrary)]
enum Piece<'a> {
    Header { old_start: u8, old_count: u8, new_start: u8, new_count: u8 },
    BareHeader,
    Files { other: bool },
    Context(u8),
    Remove(u8),
    Add(&'a str),
    NoNewline,
    Raw(&'a str),
}

fuzz_target!(|case: Case<'_>| {
    let original: Vec<u8> = if case.lines.is_empty() {
        case.original.to_vec()
    } else {
        // A file of few different lines, as repeated text is what makes places ambiguous.
        case.lines.iter().flat_map(|line| line_text(*line)).collect()
    };
    let mut diff = String::new();
    for piece in case.pieces {
        match piece {
            Piece::Header { old_start, old_count, new_start, new_count } => {
                diff.push_str(&format!("@@ -{old_start},{old_count} +{new_start},{new_count} @@\n"));
            }
            Piece::BareHeader => diff.push_str("@@\n"),
            Piece::Files { other } => {
                let name = if other { "g" } else { "f" };
                diff.push_str(&format!("--- a/{name}\n+++ b/{name}\n"));
            }
            Piece::Context(line) => push_line(&mut diff, ' ', line),
            Piece::Remove(line) => push_line(&mut diff, '-', line),
            Piece::Add(text) => diff.push_str(&format!("+{text}\n")),
            Piece::NoNewline => diff.push_str("\\ No newline at end of file\n"),
            Piece::Raw(text) => diff.push_str(text),
        }
    }
    agent_code::fuzzing::apply_diff(&original, "f", &diff);
});

fn line_text(line: u8) -> Vec<u8> {
    let text = [b"a".as_slice(), b"b", b"", b"\tx = 1;", b"\xc3\xa9"][usize::from(line % 5)];
    let end = [b"\n".as_slice(), b"\n", b"\r\n", b""][usize::from(line / 64)];
    [text, end].concat()
}

fn push_line(diff: &mut String, mark: char, line: u8) {
    diff.push(mark);
    diff.push_str(&String::from_utf8_lossy(&line_text(line)));
    if !diff.ends_with('\n') {
        diff.push('\n');
    }
}
