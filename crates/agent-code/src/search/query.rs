//! What is searched for.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::fail;
use agent_protocol::ErrorPayload;

/// Compiled patterns bigger than this are refused. Bytes.
const MAX_COMPILED: usize = 10 * 1024 * 1024;
/// Longer queries are refused: nobody means them.
const MAX_QUERY: usize = 64 * 1024;

/// A query, ready to match lines.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) matcher: RegexMatcher,
    /// Why the query was taken as plain text, if it was.
    pub(crate) note: Option<String>,
}

impl Query {
    /// A regular expression; plain text where it is not a valid one.
    pub(crate) fn parse(text: &str) -> Result<Self, ErrorPayload> {
        if text.is_empty() || text.len() > MAX_QUERY {
            return Err(fail::invalid(format!("the query must have 1 to {MAX_QUERY} bytes")));
        }
        match builder().build(text) {
            Ok(matcher) => Ok(Self { matcher, note: None }),
            Err(error) => {
                let error = error.to_string();
                let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
                let note = format!("not a valid regular expression ({reason}), so searched as plain text");
                Ok(Self { note: Some(note), ..Self::literal(text)? })
            }
        }
    }

    /// The query as plain text.
    pub(crate) fn literal(text: &str) -> Result<Self, ErrorPayload> {
        let matcher = builder().fixed_strings(true).build(text).map_err(|error| {
            fail::invalid(format!("the query cannot be searched for: {error}; lines hold no line ends"))
        })?;
        Ok(Self { matcher, note: None })
    }

    /// Whether plain text would mean something else.
    pub(crate) fn is_more_than_text(text: &str) -> bool {
        text.chars().any(|c| r"\.+*?()|[]{}^$".contains(c))
    }
}

fn builder() -> RegexMatcherBuilder {
    let mut builder = RegexMatcherBuilder::new();
    // `^` and `$` mean lines, whichever way they end, and no pattern crosses a line end.
    builder.multi_line(true).crlf(true).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED);
    builder
}
