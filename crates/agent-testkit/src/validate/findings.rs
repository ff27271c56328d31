//! Collects violations.

use std::fmt::Display;

use serde_json::{Map, Value};

/// The violations found so far.
#[derive(Debug, Default)]
pub(super) struct Findings(pub(super) Vec<String>);

impl Findings {
    pub(super) fn add(&mut self, at: impl Display, what: impl Display) {
        self.0.push(format!("{at}: {what}"));
    }

    /// Names the fields of `value` that are not in `known`; what is no object has none.
    pub(super) fn only(&mut self, at: &str, value: &Value, known: &[&str]) {
        for field in value.as_object().into_iter().flat_map(Map::keys) {
            if !known.contains(&field.as_str()) {
                self.add(at, format!("unknown field `{field}`"));
            }
        }
    }

    /// `^[a-zA-Z0-9_-]{1,64}$`, the strictest pattern that all of our providers' servers share.
    pub(super) fn tool_name(&mut self, at: &str, name: &Value) {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !name.as_str().is_some_and(|name| (1..=64).contains(&name.len()) && name.chars().all(legal)) {
            self.add(at, format!("the name {name} does not match ^[a-zA-Z0-9_-]{{1,64}}$"));
        }
    }
}
