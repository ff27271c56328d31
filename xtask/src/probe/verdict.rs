//! What comes of a check.

use agent_redact::{escape_for_terminal, shorten};

/// How much of a server's or a model's text is quoted, in columns.
const QUOTE: usize = 100;

/// What was seen, or why that was not it.
pub(crate) type Verdict = Result<String, Miss>;

/// Why a check did not pass, told apart by who is at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Miss {
    /// The server or our adapter.
    Failed(String),
    /// Nobody: server or protocol have no such thing, or it does not show.
    NotSupported(String),
    /// The model: all that can be seen of server and adapter is right.
    ModelDidNot(String),
}

/// [`Miss::Failed`], for `?`.
pub(crate) fn failed<T>(why: impl Into<String>) -> Result<T, Miss> {
    Err(Miss::Failed(why.into()))
}

/// [`Miss::NotSupported`], for `?`.
pub(crate) fn not_supported<T>(why: impl Into<String>) -> Result<T, Miss> {
    Err(Miss::NotSupported(why.into()))
}

/// [`Miss::ModelDidNot`], for `?`.
pub(crate) fn model_did_not<T>(what: impl Into<String>) -> Result<T, Miss> {
    Err(Miss::ModelDidNot(what.into()))
}

/// Foreign text in a sentence of ours: between quotes, short, harmless, and in a single line.
pub(crate) fn quote(text: &str) -> String {
    format!("\"{}\"", shorten(&one_line(text.trim()), QUOTE))
}

/// Text without power over a terminal, in a single line. Doing it twice changes nothing more.
pub(crate) fn one_line(text: &str) -> String {
    escape_for_terminal(text).replace('\n', "\\n").replace('\t', "\\t")
}
