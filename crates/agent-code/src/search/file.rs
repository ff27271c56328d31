//! Searching one file.

use std::io::{self, Read};

use agent_exec::incomplete_start;
use agent_redact::KnownSecrets;
use grep_matcher::{LineTerminator, Matcher};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder, Sink, SinkMatch};
use serde::Serialize;

use super::{
    query::{Query, Readings},
    stop::{Stop, Stopped},
};

/// Longer lines are not searched in a file of many. Bytes.
pub(crate) const MAX_LINE: usize = 16 * 1024 * 1024;
/// Longer lines are not searched in a file that was named. Bytes.
pub(crate) const MAX_NAMED_LINE: usize = 64 * 1024 * 1024;
/// How much of a line is shown around what was found. Bytes.
const MAX_TEXT: usize = 300;
/// How much of that comes before it. Bytes.
const BEFORE: usize = 100;

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Hit {
    pub(crate) path: String,
    /// From 1.
    pub(crate) line: u64,
    /// Of the first match, in characters from 1.
    pub(crate) column: usize,
    pub(crate) text: String,
    /// Bytes of the text that are none are shown as U+FFFD.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) lossy: bool,
    #[serde(skip)]
    pub(crate) reading: Reading,
}

/// As what a line holds the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// As plain text, and not as a regular expression.
    Text,
    /// As either.
    Both,
    /// As a regular expression; or there is only one reading.
    Pattern,
}

impl Reading {
    /// Whether the text itself is there: such lines come first.
    pub(crate) fn is_text(self) -> bool {
        self != Self::Pattern
    }
}

/// What became of a file.
#[derive(Debug)]
pub(crate) enum Outcome {
    Searched {
        hits: Vec<Hit>,
        /// Not behind a line that is too long.
        is_whole: bool,
    },
    Binary,
    /// It has hits, and another name that is sensitive.
    SecondName,
    TooBig,
    Unreadable,
    Stopped,
}

/// A searcher of many files, one after the other.
pub(crate) struct FileSearch {
    searcher: Searcher,
    query: Query,
    secrets: KnownSecrets,
    most: usize,
}

impl FileSearch {
    /// Finds up to `most` lines of each reading in each file, in lines of up to `max_line` bytes.
    /// Secrets are shown whole, for others to recognise.
    pub(crate) fn new(query: &Query, secrets: &KnownSecrets, most: usize, max_line: usize) -> Self {
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .line_terminator(LineTerminator::crlf())
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(max_line))
            .memory_map(MmapChoice::never())
            .build();
        Self { searcher, query: query.clone(), secrets: secrets.clone(), most }
    }

    /// Files bigger than `max` bytes are not searched, whatever the system says of their size.
    pub(crate) fn search(&mut self, file: impl Read, max: u64, shown: &str, stop: &Stop) -> Outcome {
        let mut found = Found::new(&self.query, &self.secrets, self.most, shown);
        let source = Stoppable { source: file, left: max, stop };
        let searched = self.searcher.search_reader(&self.query.matcher, source, &mut found);
        match searched {
            Ok(()) if found.binary => Outcome::Binary,
            Ok(()) => Outcome::Searched { hits: found.hits(), is_whole: true },
            Err(error) if error.raw_os_error().is_some() => Outcome::Unreadable,
            Err(error) if error.get_ref().is_some_and(|inner| inner.is::<Stopped>()) => Outcome::Stopped,
            // Ours to go on.
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Outcome::TooBig,
            // What is left is the searcher's own refusal to buffer a line.
            Err(_) => Outcome::Searched { hits: found.hits(), is_whole: false },
        }
    }
}

/// A source that ends with an error when the search is over.
struct Stoppable<'a, R> {
    source: R,
    /// So many bytes are still read.
    left: u64,
    stop: &'a Stop,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.now() {
            return Err(io::Error::other(Stopped));
        }
        let read = self.source.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(read)
    }
}

struct Found<'a> {
    matcher: &'a RegexMatcher,
    readings: Option<&'a Readings>,
    secrets: &'a KnownSecrets,
    most: usize,
    path: &'a str,
    /// Lines that hold the text itself, and the others.
    texts: Vec<Hit>,
    others: Vec<Hit>,
    binary: bool,
}

impl<'a> Found<'a> {
    fn new(query: &'a Query, secrets: &'a KnownSecrets, most: usize, path: &'a str) -> Self {
        let (matcher, readings) = (&query.matcher, query.readings.as_deref());
        Self { matcher, readings, secrets, most, path, texts: Vec::new(), others: Vec::new(), binary: false }
    }

    fn hits(self) -> Vec<Hit> {
        self.texts.into_iter().chain(self.others).collect()
    }

    /// As what a line holds the query, and where.
    fn reading(&self, line: &[u8]) -> io::Result<(Reading, usize)> {
        if let Some(readings) = self.readings
            && let Some(at) = readings.text.find(line)
        {
            let is_both = readings.pattern.is_match(line)?;
            return Ok((if is_both { Reading::Both } else { Reading::Text }, at));
        }
        Ok((Reading::Pattern, self.matcher.find(line)?.map_or(0, |place| place.start())))
    }
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let line = found.bytes();
        let (reading, at) = self.reading(line)?;
        let hits = if reading.is_text() { &mut self.texts } else { &mut self.others };
        if hits.len() < self.most {
            let (text, lossy) = excerpt(line, at, self.secrets);
            hits.push(Hit {
                path: self.path.to_owned(),
                line: found.line_number().unwrap_or(0),
                column: String::from_utf8_lossy(&line[..at]).chars().count() + 1,
                text,
                lossy,
                reading,
            });
        }
        // Where there are two readings, enough of the second do not end it: one of the first may follow.
        let enough = if self.readings.is_some() { self.texts.len() } else { self.others.len() };
        Ok(enough < self.most)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.binary = true;
        Ok(false)
    }
}

/// A line, or the part of it around `at` (SRCH-12); and whether bytes of it cannot be shown. The part holds secrets whole or
/// not at all: a piece of one would not be recognised any more.
fn excerpt(line: &[u8], at: usize, secrets: &KnownSecrets) -> (String, bool) {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let shown = |text: &[u8]| (String::from_utf8_lossy(text).into_owned(), std::str::from_utf8(text).is_err());
    if line.len() <= MAX_TEXT {
        return shown(line);
    }
    // As much as there is on either side, in whole characters.
    let start = at.saturating_sub(BEFORE).min(line.len() - MAX_TEXT);
    let skipped = incomplete_start(&line[start..]);
    let end = secrets.cut_after(line, start + MAX_TEXT);
    let start = secrets.cut_before(line, start + skipped);
    let window = &line[start..end];
    let window = match std::str::from_utf8(window) {
        Err(error) if error.error_len().is_none() => &window[..error.valid_up_to()],
        _ => window,
    };
    let before = if start > 0 { "…" } else { "" };
    let after = if end < line.len() { "…" } else { "" };
    let (text, lossy) = shown(window);
    (format!("{before}{text}{after}"), lossy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, at: usize, expected: &str) {
        assert_eq!(excerpt(line.as_bytes(), at, &KnownSecrets::none()), (expected.to_owned(), false));
    }

    /// SRCH-12: of a long line the part around the match is shown, in whole characters.
    #[test]
    fn long_lines_show_the_match() {
        check("short\r\n", 0, "short");
        check(&format!("{}x", "é".repeat(150)), 300, &format!("…{}x", "é".repeat(149)));
        let long = format!("{}key=1{}", "a".repeat(2500), "b".repeat(2500));
        let (shown, _) = excerpt(long.as_bytes(), 2500, &KnownSecrets::none());
        assert!(shown.contains("key=1") && shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert_eq!(shown.chars().count(), MAX_TEXT + 2);
        assert!(excerpt(long.as_bytes(), 0, &KnownSecrets::none()).0.starts_with("aaa"));
    }
}
