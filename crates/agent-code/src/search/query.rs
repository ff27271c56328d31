//! What is searched for.

use std::sync::Arc;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use memchr::memmem::Finder;

use crate::fail;
use agent_protocol::ErrorPayload;

/// Compiled patterns bigger than this are refused. Bytes.
const MAX_COMPILED: usize = 10 * 1024 * 1024;
/// Longer queries are refused: nobody means them.
const MAX_QUERY: usize = 64 * 1024;
/// What means something in a regular expression.
const META: &str = r"\.+*?()|[]{}^$";

/// A query, ready to match lines.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    /// Finds the lines that match, and those that hold the text itself.
    pub(crate) matcher: RegexMatcher,
    /// Tells the two apart, where the query means something else as plain text.
    pub(crate) readings: Option<Arc<Readings>>,
    /// Why the query was taken as plain text, if it was.
    pub(crate) note: Option<String>,
}

/// The two readings of a query: `arr[i]` may be the text, or a pattern that finds `arri`.
#[derive(Debug)]
pub(crate) struct Readings {
    pub(crate) pattern: RegexMatcher,
    pub(crate) text: Finder<'static>,
}

impl Query {
    /// A regular expression; plain text where it is not a valid one.
    pub(crate) fn parse(text: &str) -> Result<Self, ErrorPayload> {
        if text.is_empty() || text.len() > MAX_QUERY {
            return Err(fail::invalid(format!("the query must have 1 to {MAX_QUERY} bytes")));
        }
        match builder().build(text) {
            Ok(pattern) => Ok(Self::with_readings(pattern, text)),
            Err(error) => {
                let error = error.to_string();
                let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                let note = format!("not a valid regular expression ({reason}), so searched as plain text");
                Ok(Self { note: Some(note), ..Self::literal(text)? })
            }
        }
    }

    /// Both readings where there are two and the lines of both can be found at once.
    fn with_readings(pattern: RegexMatcher, text: &str) -> Self {
        let plain = |matcher| Self { matcher, readings: None, note: None };
        if !text.contains(|c| META.contains(c)) {
            return plain(pattern);
        }
        match builder().build_many(&[text, &escaped(text)]) {
            Ok(matcher) => {
                let text = Finder::new(text.as_bytes()).into_owned();
                Self { readings: Some(Arc::new(Readings { pattern, text })), ..plain(matcher) }
            }
            Err(_) => plain(pattern),
        }
    }

    /// The query as plain text.
    fn literal(text: &str) -> Result<Self, ErrorPayload> {
        let matcher = builder().fixed_strings(true).build(text).map_err(|error| {
            fail::invalid(format!("the query cannot be searched for: {error}; lines hold no line ends"))
        })?;
        Ok(Self { matcher, readings: None, note: None })
    }
}

/// Whether a query is likelier a piece of code than a pattern: it has brackets, and nothing that only patterns have.
pub(crate) fn looks_like_code(text: &str) -> bool {
    text.contains(['(', ')', '[', ']', '{', '}']) && !text.contains(['\\', '|', '^', '$', '*', '+'])
}

/// The pattern that matches the text.
pub(crate) fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if META.contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

fn builder() -> RegexMatcherBuilder {
    let mut builder = RegexMatcherBuilder::new();
    // `^` and `$` mean lines, whichever way they end, and no pattern crosses a line end.
    builder.multi_line(true).crlf(true).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED);
    builder
}
