//! What a key can hold, and what the reference says about it.

use super::report::Report;
use crate::tree::{Node, Value};

/// A value that a key can hold.
pub(crate) trait Field: Sized {
    /// What more than its type is asked of the value; the default asks nothing.
    type Rule: Default + Copy;

    /// Where reading starts when there is no default: a required key, an element of a list.
    fn blank() -> Self;

    /// Takes over what `node` says. What is wrong goes to the report and leaves `self` as it was. Tables are laid over
    /// `self` key by key; everything else, lists too, replaces it.
    fn absorb(&mut self, node: &Node, at: &str, rule: Self::Rule, report: &mut Report);

    /// The value as the tree would hold it; `None` when it is not set.
    fn value(&self) -> Option<Value>;

    /// What a reader may write, in words: `a whole number of tokens`.
    fn kind(rule: Self::Rule) -> String;

    /// Adds what the reference says about this key and those below it.
    fn rows(&self, at: &str, doc: Doc, rule: Self::Rule, rows: &mut Vec<Row>) {
        rows.push(Row { key: at.to_owned(), kind: Self::kind(rule), default: self.value(), doc, table: false });
    }
}

/// What a declaration says about a key besides its type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Doc {
    pub(crate) meaning: &'static str,
    pub(crate) required: bool,
}

/// One key of the reference.
#[derive(Debug)]
pub(crate) struct Row {
    /// Full key; `NAME` stands for a name the user chooses, `[]` for each element of a list.
    pub(crate) key: String,
    pub(crate) kind: String,
    pub(crate) default: Option<Value>,
    pub(crate) doc: Doc,
    /// True for tables whose keys follow as rows of their own.
    pub(crate) table: bool,
}
