//! The YAML block at the head of a Markdown file, between two `---` lines.

use serde::Deserialize;
use serde_json::{Map, Value};

mod error;
mod yaml;

pub use error::FrontmatterError;
use yaml::FIRST_LINE;
pub use yaml::MAX_BLOCK;

/// A Markdown file in two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'a> {
    /// What stands between the fences; none where the first line is no fence, or no other one follows.
    pub frontmatter: Option<Block<'a>>,
    /// The first line is a fence and nothing closes it: all of it is body then. Whoever needs frontmatter says so
    /// ([`FrontmatterError::unclosed`]); for instructions it is text like any other.
    pub unclosed: bool,
    /// Everything behind the closing fence, byte for byte, or the whole text without its byte order mark.
    pub body: &'a str,
    /// The line of the file in which the body begins, from 1.
    pub body_line: usize,
}

/// The text between two fences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block<'a> {
    text: &'a str,
}

/// Parts a text into frontmatter and body.
///
/// A byte order mark before it is dropped. Only a `---` line at its very beginning opens a block, and the next such line
/// closes it: `...` does not, and a ruler further down is part of the body. Lines end with LF or CRLF; blanks behind the
/// dashes do not count.
#[must_use]
pub fn split(text: &str) -> Document<'_> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let whole = |unclosed| Document { frontmatter: None, unclosed, body: text, body_line: 1 };
    let mut lines = text.split_inclusive('\n');
    let Some(opening) = lines.next().filter(|line| is_fence(line)) else { return whole(false) };
    let start = opening.len();
    let mut end = start;
    for (inside, line) in lines.enumerate() {
        if is_fence(line) {
            let frontmatter = Some(Block { text: &text[start..end] });
            let body = &text[end + line.len()..];
            return Document { frontmatter, unclosed: false, body, body_line: inside + FIRST_LINE + 1 };
        }
        end += line.len();
    }
    whole(true)
}

/// A line of three dashes.
fn is_fence(line: &str) -> bool {
    let line = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
    line.trim_end_matches([' ', '\t']) == "---"
}

impl<'a> Block<'a> {
    /// What stands between the fences, with its last line end.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Reads the block as a `T`. Unknown keys are `T`'s affair; a key that occurs twice is an error, and so is what
    /// grows when it is read (a few anchors are allowed, a bomb is not) or is nested deeply. `yes` and `no` are words.
    ///
    /// # Errors
    /// With the place in the file: what is no YAML, no `T`, or more than [`MAX_BLOCK`].
    pub fn parse<T: Deserialize<'a>>(&self) -> Result<T, FrontmatterError> {
        if self.text.len() > MAX_BLOCK {
            let message = format!("the frontmatter has {} bytes; at most {MAX_BLOCK} are read", self.text.len());
            return Err(FrontmatterError { line: 1, column: 1, message });
        }
        yaml::read(self.text)
    }

    /// All keys and their values, in the order of the file. A block without any is empty.
    ///
    /// # Errors
    /// As [`Block::parse`].
    pub fn fields(&self) -> Result<Vec<(String, Value)>, FrontmatterError> {
        let fields: Option<Map<String, Value>> = self.parse()?;
        Ok(fields.unwrap_or_default().into_iter().collect())
    }

    /// An error at the line of a key, or at the head of the file.
    pub(crate) fn error_at(&self, key: &str, message: String) -> FrontmatterError {
        let begins = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
        // The first line is the fence.
        let line = self.text.lines().position(begins).map_or(1, |index| index + FIRST_LINE);
        FrontmatterError { line, column: 1, message }
    }
}

/// Whether a key looks like a known one that was misspelt (INST-11).
pub(crate) fn is_near_key(key: &str, known: &str) -> bool {
    let allowed = if known.len() > 8 { 2 } else { 1 };
    key.len() <= 2 * known.len() && strsim::osa_distance(&key.to_lowercase(), known) <= allowed
}

#[cfg(test)]
mod tests;
