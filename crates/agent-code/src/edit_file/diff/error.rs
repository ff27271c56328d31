//! Why a diff does not apply, in words that say what to write instead.

use std::fmt;

use agent_redact::KnownSecrets;

use crate::edit_file::hint::quote_up_to;

/// How a hunk begins.
const FORM: &str = "@@ -start,count +start,count @@";
/// How much of a header or a name is quoted, in characters.
const MAX_NAME: usize = 160;

/// Why a diff does not apply. Lines of the diff count from 1.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DiffError {
    #[error("line {line} of the diff, {text}, {problem}")]
    Syntax { line: usize, text: String, problem: &'static str },
    #[error("the diff has no hunk, so it changes nothing; a hunk begins with {FORM}")]
    NoHunk,
    #[error("the diff {what}, which is not supported: a diff can only change the text of the file at path")]
    Unsupported { what: &'static str },
    #[error("line {line} of the diff names another file ({found}); a call changes one file, the one at path")]
    OtherFile { line: usize, found: String },
    #[error("line {line} of the diff begins a second file header; put all hunks of the file below one")]
    SecondHeader { line: usize },
    #[error("the diff is of a new file (from /dev/null), but the file exists; give a diff of what is in it")]
    Exists,
    #[error("the file does not exist; a diff that creates it has added lines (+) only")]
    Missing,
    #[error("all hunks together change nothing")]
    Pointless,
    #[error("hunk {number} ({header}) {problem}")]
    Hunk { number: usize, header: String, problem: HunkError },
}

impl DiffError {
    pub(super) fn syntax(line: usize, text: &str, problem: &'static str) -> Self {
        Self::Syntax { line, text: text.to_owned(), problem }
    }

    pub(super) fn other_file(line: usize, found: &str) -> Self {
        Self::OtherFile { line, found: found.to_owned() }
    }

    pub(super) fn hunk(number: usize, header: &str, problem: HunkError) -> Self {
        Self::Hunk { number, header: header.to_owned(), problem }
    }

    /// With what it names of the diff in quotes, without secrets, and cut.
    pub(super) fn quoted(mut self, secrets: &KnownSecrets) -> Self {
        match &mut self {
            Self::Syntax { text, .. } | Self::OtherFile { found: text, .. } | Self::Hunk { header: text, .. } => {
                *text = quote_up_to(&secrets.redact(text).text, MAX_NAME);
            }
            _ => {}
        }
        self
    }
}

/// What is wrong with a hunk. Lines of the file count from 1.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HunkError {
    #[error("has no usable header; write {FORM}, or a bare @@ if the old lines occur only once")]
    Header,
    #[error(
        "has fewer lines than its header says ({} of {} old, {} of {} new), so it may have been cut off; give all lines, \
         or, if that is all, the header {}",
        .found.old, .stated.old, .found.new, .stated.new, right_header(.start, .found)
    )]
    Short { stated: Lengths, found: Lengths, start: (usize, usize) },
    #[error(
        "has more lines than its header says ({} instead of {} old, {} instead of {} new), and what is beyond may be no part of \
         it; leave that out, or write the header {}",
        .found.old, .stated.old, .found.new, .stated.new, right_header(.start, .found)
    )]
    Long { stated: Lengths, found: Lengths, start: (usize, usize) },
    #[error("changes nothing: it needs lines that begin with - or + and differ")]
    Unchanged,
    #[error("has a \"\\ No newline at end of file\" line that does not follow the last line of the file")]
    Marker,
    #[error("was not found: {why}")]
    NotFound { why: String },
    #[error(
        "fits {count} places, at lines {}, and its line number does not decide between them; add unchanged lines around it",
        Listed(lines)
    )]
    Ambiguous { count: String, lines: Vec<usize> },
    #[error(
        "fits at line {line}, which is before or within the hunk above it; order hunks by line, join those that overlap"
    )]
    Order { line: usize },
    #[error("only adds lines and its line numbers are not certain; add an unchanged line next to them")]
    Nowhere,
}

/// How many lines a hunk has on its two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lengths {
    pub(crate) old: usize,
    pub(crate) new: usize,
}

fn right_header(start: &(usize, usize), found: &Lengths) -> String {
    format!("@@ -{},{} +{},{} @@", start.0, found.old, start.1, found.new)
}

struct Listed<'a>(&'a [usize]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, line) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{line}")?;
        }
        Ok(())
    }
}
