//! The parsed file as a tree that remembers where everything stood.
//!
//! The schema walks this tree and not the parser's own, so that profiles given as JSON take the same road as the file,
//! and so that the TOML crate is known here and nowhere else.

use std::fmt;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// Byte range in the source text. Values that came as JSON have none.
pub(crate) type Span = Option<Range<usize>>;

/// A value and where it stands. Two nodes are equal when their values are, wherever they stand.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) span: Span,
    pub(crate) value: Value,
}

/// One `key = value` of a table.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Span,
    pub(crate) node: Node,
}

/// What TOML and JSON can say, in one shape. Tables are sorted by key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Whole(i128),
    Real(f64),
    Switch(bool),
    Date(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key && self.node == other.node
    }
}

/// One place where the text is not TOML.
#[derive(Debug)]
pub(crate) struct SyntaxError {
    pub(crate) offset: usize,
    pub(crate) wrong: String,
    pub(crate) expected: Option<String>,
}

/// Parses a document. With syntax errors the tree holds what could be made out around them.
pub(crate) fn parse(text: &str) -> (Node, Vec<SyntaxError>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let root = Node { span: None, value: from_toml_table(table.get_ref()) };
    (root, errors.iter().map(|error| syntax(error, text)).collect())
}

fn syntax(error: &toml::de::Error, text: &str) -> SyntaxError {
    // The parser's messages read "what is wrong, expected what would be right".
    let (wrong, expected) = match error.message().split_once(", expected ") {
        Some((wrong, expected)) => (wrong, Some(expected.to_owned())),
        None => (error.message(), None),
    };
    SyntaxError { offset: error.span().map_or(text.len(), |span| span.start), wrong: wrong.to_owned(), expected }
}

// The parser refuses nesting deeper than 80 levels, dotted keys included; that bounds this recursion.
fn from_toml(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => Value::Whole(whole(number.as_str(), number.radix())),
        DeValue::Float(number) => Value::Real(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(on) => Value::Switch(*on),
        DeValue::Datetime(date) => Value::Date(date.to_string()),
        DeValue::Array(items) => Value::List(
            items.iter().map(|item| Node { span: Some(item.span()), value: from_toml(item.get_ref()) }).collect(),
        ),
        DeValue::Table(table) => from_toml_table(table),
    }
}

fn from_toml_table(table: &DeTable<'_>) -> Value {
    let entries = table.iter().map(|(key, value)| Entry {
        key: key.get_ref().to_string(),
        key_span: Some(key.span()),
        node: Node { span: Some(value.span()), value: from_toml(value.get_ref()) },
    });
    sorted(entries.collect())
}

/// A literal too long for 128 bits is beyond every bound we have, so the nearest end stands for it.
fn whole(digits: &str, radix: u32) -> i128 {
    i128::from_str_radix(digits, radix).unwrap_or(if digits.starts_with('-') { i128::MIN } else { i128::MAX })
}

/// The same tree from JSON. `null` members are left out: they say "not set".
pub(crate) fn from_json(value: &serde_json::Value) -> Node {
    // serde_json refuses nesting deeper than 128 levels when it parses; deeper trees can only be built by hand.
    use serde_json::Value as Json;
    let value = match value {
        Json::Null => Value::Text("null".to_owned()),
        Json::Bool(on) => Value::Switch(*on),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(n), _) => Value::Whole(n.into()),
            (None, Some(n)) => Value::Whole(n.into()),
            (None, None) => Value::Real(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(items.iter().map(from_json).collect()),
        Json::Object(members) => {
            let entries = members.iter().filter(|(_, member)| !member.is_null());
            sorted(
                entries
                    .map(|(key, member)| Entry { key: key.clone(), key_span: None, node: from_json(member) })
                    .collect(),
            )
        }
    };
    Node { span: None, value }
}

fn sorted(mut entries: Vec<Entry>) -> Value {
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    Value::Table(entries)
}

impl Value {
    /// A table made in code.
    pub(crate) fn table(entries: impl IntoIterator<Item = (String, Value)>) -> Value {
        let entry = |(key, value)| Entry { key, key_span: None, node: Node { span: None, value } };
        sorted(entries.into_iter().map(entry).collect())
    }

    /// A list made in code.
    pub(crate) fn list(items: impl IntoIterator<Item = Value>) -> Value {
        let item = |value| Node { span: None, value };
        Value::List(items.into_iter().map(item).collect())
    }

    /// The value as a reader should see it in a message: one line, escaped, short.
    pub(crate) fn describe(&self) -> String {
        match self {
            Value::Text(text) => format!("the string {}", quoted(text)),
            Value::Whole(number) => format!("the number {number}"),
            Value::Real(number) => format!("the number {number:?}"),
            Value::Switch(on) => on.to_string(),
            Value::Date(date) => format!("the date {date}"),
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        }
    }

    fn to_toml(&self) -> toml::Value {
        match self {
            Value::Text(text) | Value::Date(text) => toml::Value::String(text.clone()),
            Value::Whole(number) => toml::Value::Integer(i64::try_from(*number).unwrap_or(i64::MAX)),
            Value::Real(number) => toml::Value::Float(*number),
            Value::Switch(on) => toml::Value::Boolean(*on),
            Value::List(items) => toml::Value::Array(items.iter().map(|item| item.value.to_toml()).collect()),
            Value::Table(entries) => toml::Value::Table(
                entries.iter().map(|entry| (entry.key.clone(), entry.node.value.to_toml())).collect(),
            ),
        }
    }
}

/// The value as it would be written in the file.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_toml())
    }
}

/// Longest piece of a user's own text that a message repeats, in characters.
const SHOWN: usize = 60;

/// `text` in quotes, control and invisible characters escaped, cut after [`SHOWN`] characters.
pub(crate) fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
