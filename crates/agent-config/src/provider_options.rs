//! Options for one provider's adapter, passed on unread.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::schema::{Field, Report};
use crate::texts::ID;
use crate::tree::{Entry, Node, Value};

/// `[model.provider_options.NAME]`: for each provider a table that its adapter checks and nobody else reads.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProviderOptions {
    by_provider: BTreeMap<String, Map<String, Json>>,
}

impl ProviderOptions {
    /// The options written for `provider`, if any.
    #[must_use]
    pub fn of(&self, provider: &str) -> Option<&Map<String, Json>> {
        self.by_provider.get(provider)
    }

    /// The providers that options were written for, sorted.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.by_provider.keys().map(String::as_str)
    }
}

impl Field for ProviderOptions {
    type Rule = ();

    fn blank() -> Self {
        Self::default()
    }

    fn absorb(&mut self, node: &Node, at: &str, (): (), report: &mut Report) {
        for entry in report.entries(node, at).unwrap_or_default() {
            let here = report.enter(at, entry);
            if (ID.check)(&entry.key).is_err() {
                report.wrong_name(&here, entry, "a provider's key such as \"ollama\"", None);
            }
            if let Some(options) = report.entries(&entry.node, &here) {
                let known = self.by_provider.entry(entry.key.clone()).or_default();
                lay_over(known, options, &here, report);
            }
        }
    }

    fn value(&self) -> Option<Value> {
        let table = |options: &Map<String, Json>| crate::tree::from_json(&Json::Object(options.clone())).value;
        let providers = self.by_provider.iter().map(|(name, options)| (name.clone(), table(options)));
        (!self.by_provider.is_empty()).then(|| Value::table(providers))
    }

    fn kind((): ()) -> String {
        "a table with one table for each provider, such as [model.provider_options.ollama]".to_owned()
    }
}

/// Tables merge key by key, everything else replaces, as everywhere in the file.
fn lay_over(known: &mut Map<String, Json>, options: &[Entry], at: &str, report: &mut Report) {
    for entry in options {
        let here = report.enter(at, entry);
        if let (Some(Json::Object(inner)), Value::Table(entries)) = (known.get_mut(&entry.key), &entry.node.value) {
            lay_over(inner, entries, &here, report);
        } else if let Some(value) = to_json(&entry.node, &here, report) {
            known.insert(entry.key.clone(), value);
        }
    }
}

/// JSON is what adapters speak; what it cannot say is a problem.
fn to_json(node: &Node, at: &str, report: &mut Report) -> Option<Json> {
    let json = match &node.value {
        Value::Text(text) => Some(Json::String(text.clone())),
        Value::Switch(on) => Some(Json::Bool(*on)),
        Value::Whole(number) => i64::try_from(*number).ok().map(Json::from),
        Value::Real(number) => serde_json::Number::from_f64(*number).map(Json::Number),
        Value::Date(_) => None,
        Value::List(items) => return list_to_json(items, at, report),
        Value::Table(entries) => {
            let mut table = Map::new();
            lay_over(&mut table, entries, at, report);
            return Some(Json::Object(table));
        }
    };
    if json.is_none() {
        report.wrong_value(
            node,
            at,
            "a value that JSON can hold (no dates, no infinities, at most 64 bits)".to_owned(),
        );
    }
    json
}

fn list_to_json(items: &[Node], at: &str, report: &mut Report) -> Option<Json> {
    let mut list = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let here = report.enter_item(at, index, item);
        list.push(to_json(item, &here, report)?);
    }
    Some(Json::Array(list))
}
