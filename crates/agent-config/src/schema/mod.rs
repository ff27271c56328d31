//! The one description of every key, and the walk that holds a file against it.
//!
//! A section is declared once, with [`section!`](crate::schema::section!): its keys, their types, defaults, bounds and doc
//! comments. From that come the struct, its `Default`, the walker that reads it and reports *every* problem, and the rows
//! of the reference. serde is not used here on purpose: it stops at the first problem, and its derive would be a second
//! description to keep equal to this one.

mod collections;
mod field;
mod key;
mod report;
mod rule;
mod scalars;
mod section;
mod words;

pub(crate) use field::{Doc, Field, Row};
pub(crate) use key::join;
pub use report::MAX_PROBLEMS;
pub(crate) use report::Report;
pub(crate) use rule::{Refusal, Switch, Text, bytes, count, millis, number, one_of, real, tokens};
pub(crate) use section::section;
pub(crate) use words::words;

#[cfg(test)]
mod tests;
