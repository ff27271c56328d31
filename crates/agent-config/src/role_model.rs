//! The model of a role: `[model]`, or a profile laid over it (CFG-9).

use serde_json::Value as Json;

use crate::config::Config;
use crate::nearest::nearest;
use crate::parse::finish;
use crate::problem::ConfigProblems;
use crate::rules;
use crate::schema::{Field, Report, join};
use crate::sections::{ModelConfig, ModelOverlay, ModelProfile};
use crate::tree::from_json;

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
        finish(report, origin)?;
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
            Some(ModelProfile::Named(name)) => (self.named_overlay(name)?, join("model_overrides", name)),
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
