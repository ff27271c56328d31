//! Values with parts: optional values, lists, tables with names of the user's own.

use std::collections::BTreeMap;

use super::rule::Text;
use super::{Doc, Field, Report, Row, join};
use crate::tree::{Node, Value};

impl<T: Field> Field for Option<T> {
    type Rule = T::Rule;

    fn blank() -> Self {
        None
    }

    fn absorb(&mut self, node: &Node, at: &str, rule: T::Rule, report: &mut Report) {
        let mut value = T::blank();
        value.absorb(node, at, rule, report);
        *self = Some(value);
    }

    fn value(&self) -> Option<Value> {
        self.as_ref().and_then(Field::value)
    }

    fn kind(rule: T::Rule) -> String {
        T::kind(rule)
    }

    fn rows(&self, at: &str, doc: Doc, rule: T::Rule, rows: &mut Vec<Row>) {
        let first = rows.len();
        self.as_ref().unwrap_or(&T::blank()).rows(at, doc, rule, rows);
        // A blank's value is no default.
        if self.is_none()
            && let Some(row) = rows.get_mut(first)
        {
            row.default = None;
        }
    }
}

impl<T: Field> Field for Vec<T> {
    type Rule = T::Rule;

    fn blank() -> Self {
        Vec::new()
    }

    fn absorb(&mut self, node: &Node, at: &str, rule: T::Rule, report: &mut Report) {
        let Value::List(items) = &node.value else {
            return report.wrong_value(node, at, Self::kind(rule));
        };
        self.clear();
        for (index, item) in items.iter().enumerate() {
            let here = report.enter_item(at, index, item);
            let mut value = T::blank();
            value.absorb(item, &here, rule, report);
            self.push(value);
        }
    }

    fn value(&self) -> Option<Value> {
        Some(Value::list(self.iter().filter_map(Field::value)))
    }

    fn kind(rule: T::Rule) -> String {
        format!("a list, each {}", T::kind(rule))
    }

    fn rows(&self, at: &str, doc: Doc, rule: T::Rule, rows: &mut Vec<Row>) {
        rows.push(Row { key: at.to_owned(), kind: Self::kind(rule), default: self.value(), doc, table: false });
        let element = Doc { meaning: "", required: false };
        element_rows::<T>(&format!("{at}[]"), element, rule, rows);
    }
}

/// A table whose keys are names: the rule is about the names.
impl<T: Field> Field for BTreeMap<String, T> {
    type Rule = Text;

    fn blank() -> Self {
        BTreeMap::new()
    }

    fn absorb(&mut self, node: &Node, at: &str, rule: Text, report: &mut Report) {
        let Some(entries) = report.entries(node, at) else {
            return;
        };
        for entry in entries {
            let here = report.enter(at, entry);
            if let Err(refusal) = (rule.check)(&entry.key) {
                report.wrong_name(&here, entry, rule.noun, refusal.found(&entry.key).as_deref());
            }
            let mut value = T::blank();
            value.absorb(&entry.node, &here, T::Rule::default(), report);
            self.insert(entry.key.clone(), value);
        }
    }

    fn value(&self) -> Option<Value> {
        let entries = self.iter().filter_map(|(name, value)| Some((name.clone(), value.value()?)));
        Some(Value::table(entries))
    }

    fn kind(rule: Text) -> String {
        format!("a table of named entries; NAME is {}", rule.noun)
    }

    fn rows(&self, at: &str, doc: Doc, rule: Text, rows: &mut Vec<Row>) {
        rows.push(Row { key: at.to_owned(), kind: Self::kind(rule), default: self.value(), doc, table: false });
        let element = Doc { meaning: "", required: false };
        element_rows::<T>(&join(at, "NAME"), element, T::Rule::default(), rows);
    }
}

/// The rows of an element's keys; an element without keys of its own is told by its list.
fn element_rows<T: Field>(at: &str, doc: Doc, rule: T::Rule, rows: &mut Vec<Row>) {
    let first = rows.len();
    T::blank().rows(at, doc, rule, rows);
    if rows.len() == first + 1 {
        rows.truncate(first);
    }
}
