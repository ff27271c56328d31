//! Model profiles: named or inline tables laid over `[model]` (CFG-4).

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::config::Config;
use crate::nearest::nearest;
use crate::problem::ConfigProblems;
use crate::rules;
use crate::schema::{Field, Report};
use crate::sections::ModelConfig;
use crate::texts::NAME;
use crate::tree::{Node, Value, from_json};

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

/// Why a profile gives no model.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// No such table.
    #[error("there is no [model_overrides.{name}]{}", hint(.nearest.as_deref()))]
    Unknown {
        /// The name asked for.
        name: String,
        /// The known name nearest to it.
        nearest: Option<String>,
    },
    /// The keys are wrong, or go wrong together with those of `[model]`.
    #[error(transparent)]
    Invalid(#[from] ConfigProblems),
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or(String::new(), |name| format!("; the nearest known name is `{name}`"))
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

impl ModelProfile {
    /// Reads a profile given outside of the file, as an agent definition's: a name, or a table of `[model]`'s keys.
    /// `origin` names where it came from, for the message.
    ///
    /// # Errors
    /// All problems of its keys.
    pub fn from_json(value: &Json, origin: &str) -> Result<Self, ConfigProblems> {
        let mut report = Report::new("");
        let mut profile = Self::blank();
        profile.absorb(&from_json(value), "model_profile", (), &mut report);
        crate::config::finish(report, origin)?;
        Ok(profile)
    }
}

impl Config {
    /// The model of a role: `[model]` with the role's profile laid over it, or `[model]` itself without one (CFG-9).
    ///
    /// # Errors
    /// When the profile names no table, or its keys together with those of `[model]` break a rule, as sending a key to
    /// another host.
    pub fn model_for(&self, profile: Option<&ModelProfile>) -> Result<ModelConfig, ProfileError> {
        let (overlay, at) = match profile {
            None => return Ok(self.model.clone()),
            Some(ModelProfile::Inline(overlay)) => (overlay, "model_profile".to_owned()),
            Some(ModelProfile::Named(name)) => {
                (self.named_overlay(name)?, crate::schema::join("model_overrides", name))
            }
        };
        let mut report = Report::new("");
        rules::overlay(&self.model, overlay, &at, &mut report);
        report.into_problems("the model profile")?;
        Ok(overlay.over(&self.model))
    }

    fn named_overlay(&self, name: &str) -> Result<&ModelOverlay, ProfileError> {
        self.model_overrides.get(name).ok_or_else(|| ProfileError::Unknown {
            name: name.to_owned(),
            nearest: nearest(name, self.model_overrides.keys().map(String::as_str)).map(str::to_owned),
        })
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
