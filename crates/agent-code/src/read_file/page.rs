//! The lines a call asked for, as its result.

use std::io::{self, Read};

use agent_protocol::{FromUtf16, TextEncoding, path_from_shown};
use agent_redact::{KnownSecrets, quote_argv};
use memchr::memchr;
use serde::Serialize;

use super::lines::{Line, LineEnd, Lines, Skipped};

/// Longer lines are cut. Bytes.
const MAX_LINE: usize = 4096;
/// What stands for bytes that are no text is so long.
const SHOWN_INVALID: usize = char::REPLACEMENT_CHARACTER.len_utf8();
/// A NUL among this many first bytes means that the file is no text.
const LOOKED_AT: usize = 8 * 1024;

/// Which lines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) start_line: u64,
    pub(crate) max_lines: u64,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Page {
    content: String,
    truncated: bool,
    next_start_line: Option<u64>,
    truncated_lines: Vec<u64>,
    /// The first line that was cut, its length in bytes, and how many of them are shown.
    first_cut: Option<(u64, u64, usize)>,
    binary: bool,
    lossy: bool,
    encoding: Option<&'static str>,
    /// Whether there was a byte order mark: a file of nothing else has no text, but is not empty.
    marked: bool,
    notes: Vec<String>,
}

/// The result, in the contract's words.
#[derive(Serialize)]
pub(crate) struct Shown {
    path: String,
    content: String,
    truncated: bool,
    next_start_line: Option<u64>,
    truncated_lines: Vec<u64>,
    binary: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lossy: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// What is said of a file in an encoding that is not read.
const UTF_32: &str =
    "the file is UTF-32, which is not read or edited: convert it to UTF-8 first, such as by iconv -f UTF-32 -t UTF-8";

impl Page {
    /// Reads no more of the source than the page needs.
    pub(crate) fn read(mut source: impl Read, wanted: Wanted, secrets: &KnownSecrets) -> io::Result<Self> {
        let mut start = Vec::new();
        source.by_ref().take(LOOKED_AT as u64).read_to_end(&mut start)?;
        let encoding = TextEncoding::of(&start);
        let marked = !encoding.mark().is_empty();
        let mut page = Self { encoding: encoding.name(), marked, ..Self::default() };
        if encoding == TextEncoding::Utf32 {
            page.binary = true;
            page.notes.push(UTF_32.to_owned());
            return Ok(page);
        }
        if page.encoding.is_none() && memchr(0, &start).is_some() {
            page.binary = true;
            return Ok(page);
        }
        let rest = start.split_off(encoding.mark().len());
        let text = io::Cursor::new(rest).chain(source);
        if page.encoding.is_some() {
            page.fill(&mut Lines::new(FromUtf16::new(text, encoding)), wanted, secrets)?;
        } else {
            page.fill(&mut Lines::new(text), wanted, secrets)?;
        }
        Ok(page)
    }

    fn fill(&mut self, lines: &mut Lines<impl Read>, wanted: Wanted, secrets: &KnownSecrets) -> io::Result<()> {
        match lines.skip(wanted.start_line - 1)? {
            Skipped::All if lines.at_end()? => self.past_the_end(wanted, wanted.start_line - 1),
            Skipped::All => return self.take(lines, wanted, secrets),
            Skipped::Ended { lines } => self.past_the_end(wanted, lines),
            Skipped::TooLong { line } => self.given_up(line),
        }
        Ok(())
    }

    fn take(&mut self, lines: &mut Lines<impl Read>, wanted: Wanted, secrets: &KnownSecrets) -> io::Result<()> {
        // Enough to see a secret that lies across the cut.
        let keep = MAX_LINE + secrets.longest();
        for number in wanted.start_line..wanted.start_line.saturating_add(wanted.max_lines) {
            let Some(line) = lines.next(keep)? else { return Ok(()) };
            if memchr(0, &line.bytes).is_some() {
                *self = Self { binary: true, ..Self::default() };
                return Ok(());
            }
            self.push(number, &line, secrets);
            if line.end == LineEnd::TooFar {
                self.given_up(number);
                return Ok(());
            }
        }
        if !lines.at_end()? {
            self.truncated = true;
            self.next_start_line = wanted.start_line.checked_add(wanted.max_lines);
        }
        Ok(())
    }

    fn push(&mut self, number: u64, line: &Line, secrets: &KnownSecrets) {
        // A line that was cut before this one has not got its line end yet.
        if self.truncated_lines.last().is_some_and(|last| last + 1 == number) {
            self.content.push('\n');
        }
        // A secret is shown whole or not at all: a part of one would not be recognised any more.
        let end = secrets.cut_before(&line.bytes, fitting(&line.bytes, line.length));
        let bytes = &line.bytes[..end];
        let text = String::from_utf8_lossy(bytes);
        self.lossy |= text.as_ref().as_bytes() != bytes;
        self.content.push_str(&text);
        if line.length > end as u64 {
            self.truncated = true;
            self.truncated_lines.push(number);
            self.first_cut = self.first_cut.or(Some((number, line.length, end)));
        } else if line.end == LineEnd::Newline {
            self.content.push('\n');
        }
    }

    fn past_the_end(&mut self, wanted: Wanted, lines: u64) {
        self.notes.push(match lines {
            0 if self.marked => "the file has no text, only a byte order mark".to_owned(),
            0 => "the file is empty".to_owned(),
            1 => format!("the file has 1 line; there is no line {}", wanted.start_line),
            _ => format!("the file has {lines} lines; there is no line {}", wanted.start_line),
        });
    }

    fn given_up(&mut self, line: u64) {
        self.truncated = true;
        self.next_start_line = None;
        self.notes.push(format!("line {line} is longer than 64 MiB; its end was not looked for any further"));
    }

    /// The result. `size` is that of the file.
    /// One line for people.
    pub(crate) fn summary(&self) -> String {
        if self.binary {
            return "binary".to_owned();
        }
        let lines = crate::tool::counted(self.content.lines().count(), "line");
        if self.truncated { format!("{lines}, more follow") } else { lines }
    }

    pub(crate) fn shown(mut self, path: String, size: u64) -> Shown {
        if self.binary {
            self.notes.push(format!("a binary file of {size} bytes; its content is not shown"));
        }
        if let Some((line, length, shown)) = self.first_cut {
            // A command takes a name as it is, and none with bytes that are no text.
            let more = path_from_shown(&path).to_str().map_or_else(String::new, |path| {
                let rest = format!("sed -n {line}p {} | cut -b {}-", quote_argv(&[path.to_owned()]), shown + 1);
                format!(", code.run_command {} shows more", serde_json::json!(["sh", "-c", rest]))
            });
            self.notes.push(format!("line {line} has {length} bytes and was cut; code.search finds text in it{more}"));
        }
        if self.lossy {
            self.notes.push("not valid UTF-8: \u{FFFD} stands for bytes that cannot be shown".to_owned());
        }
        let note = (!self.notes.is_empty()).then(|| self.notes.join("; "));
        let Self { content, truncated, next_start_line, truncated_lines, binary, lossy, encoding, .. } = self;
        Shown { path, content, truncated, next_start_line, truncated_lines, binary, encoding, lossy, note }
    }
}

/// How many of a line's first bytes are shown: whole characters that take no more than [`MAX_LINE`] bytes as they are shown.
/// `length` is that of the whole line.
fn fitting(bytes: &[u8], length: u64) -> usize {
    let (mut taken, mut room) = (0, MAX_LINE);
    for chunk in bytes.utf8_chunks() {
        let (valid, invalid) = (chunk.valid(), chunk.invalid());
        let fits = valid.floor_char_boundary(room);
        (taken, room) = (taken + fits, room - fits);
        // A character that only the end of what was kept goes through is no invalid one.
        let is_cut = taken + invalid.len() == bytes.len() && length > bytes.len() as u64;
        if fits < valid.len() || invalid.is_empty() || is_cut || room < SHOWN_INVALID {
            break;
        }
        (taken, room) = (taken + invalid.len(), room - SHOWN_INVALID);
    }
    taken
}
