//! Model profiles: named or inline tables laid over `[model]` (CFG-4).

use std::collections::BTreeMap;

use super::model::ModelConfig;
use crate::schema::{Field, Report};
use crate::texts::NAME;
use crate::tree::{Node, Value};

/// Some keys of `[model]` that take the place of its own, checked for name, type and range.
///
/// It is kept as the tree it was read from: the keys, with all their rules, are those of [`ModelConfig`], and laying it
/// over one is reading it once more.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelOverlay {
    keys: Node,
}

/// What `model_profile` may hold.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelProfile {
    /// The name of a `[model_overrides.NAME]` table.
    Named(String),
    /// The keys themselves.
    Inline(ModelOverlay),
}

impl Default for ModelOverlay {
    /// Changes nothing.
    fn default() -> Self {
        Self { keys: Node { span: None, value: Value::table([]) } }
    }
}

impl ModelOverlay {
    /// The one of the packaged file: short, steady summaries.
    pub(crate) fn packaged() -> BTreeMap<String, Self> {
        let keys = [("max_output_tokens", Value::Whole(2048)), ("temperature", Value::Real(0.0))];
        let keys = Value::table(keys.map(|(key, value)| (key.to_owned(), value)));
        let compact = Self { keys: Node { span: None, value: keys } };
        BTreeMap::from([("compact".to_owned(), compact)])
    }

    /// `base` with these keys in place of its own. Tables (`retry`, `provider_options`) are laid over key by key, except
    /// `price`, which is one thing: prices of two models do not mix.
    #[must_use]
    pub fn over(&self, base: &ModelConfig) -> ModelConfig {
        let mut model = base.clone();
        // The keys were checked when the overlay was made: there is nothing left to report.
        model.absorb(&self.keys, "", (), &mut Report::new(""));
        model
    }

    /// True if it holds this key of `[model]`.
    pub(crate) fn holds(&self, key: &str) -> bool {
        matches!(&self.keys.value, Value::Table(entries) if entries.iter().any(|entry| entry.key == key))
    }
}

impl Field for ModelOverlay {
    type Rule = ();

    fn blank() -> Self {
        Self::default()
    }

    fn absorb(&mut self, node: &Node, at: &str, (): (), report: &mut Report) {
        ModelConfig::default().absorb(node, at, (), report);
        self.keys = node.clone();
    }

    fn value(&self) -> Option<Value> {
        Some(self.keys.value.clone())
    }

    fn kind((): ()) -> String {
        "a table of any keys of [model]".to_owned()
    }
}

impl Field for ModelProfile {
    type Rule = ();

    fn blank() -> Self {
        Self::Inline(ModelOverlay::default())
    }

    fn absorb(&mut self, node: &Node, at: &str, (): (), report: &mut Report) {
        match &node.value {
            Value::Table(_) => {
                let mut overlay = ModelOverlay::default();
                overlay.absorb(node, at, (), report);
                *self = Self::Inline(overlay);
            }
            Value::Text(name) if (NAME.check)(name).is_ok() => *self = Self::Named(name.clone()),
            _ => report.wrong_value(node, at, Self::kind(())),
        }
    }

    fn value(&self) -> Option<Value> {
        match self {
            Self::Named(name) => Some(Value::Text(name.clone())),
            Self::Inline(overlay) => overlay.value(),
        }
    }

    fn kind((): ()) -> String {
        "the name of a [model_overrides.NAME], or a table of any keys of [model]".to_owned()
    }
}
