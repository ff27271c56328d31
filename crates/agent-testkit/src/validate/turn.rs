//! A message, as far as order and pairing go.

use serde_json::{Map, Value};

/// A message, as far as order and pairing go.
#[derive(Debug)]
pub(super) enum Turn<'a> {
    System,
    User,
    Assistant(Vec<CallRef<'a>>),
    Result(ResultRef<'a>),
    /// A role no server knows.
    Unknown,
}

/// A tool call in an assistant message.
#[derive(Debug)]
pub(super) struct CallRef<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) name: &'a str,
}

/// A tool message: `name` only where the protocol carries one.
#[derive(Debug)]
pub(super) struct ResultRef<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) name: Option<&'a str>,
}

pub(super) fn message(i: usize) -> String {
    format!("messages[{i}]")
}

/// The request's messages; what is no array has none, which the check of their order reports.
pub(super) fn messages(body: &Map<String, Value>) -> &[Value] {
    body.get("messages").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
