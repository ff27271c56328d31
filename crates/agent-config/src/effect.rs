//! What a configuration says in vain, because the feature is not built yet.

use std::collections::BTreeMap;
use std::fmt;

use crate::config::Config;
use crate::schema::{Field, join};
use crate::tree::Value;

/// A part of the configuration that changes nothing a model can do yet. Building the feature deletes its row in [`NOT_BUILT`].
#[derive(Debug)]
pub(crate) struct NotBuilt {
    /// The key, or the table.
    pub(crate) key: &'static str,
    /// What it would be for.
    pub(crate) feature: &'static str,
    /// The key that switches the feature on, when it has one.
    pub(crate) switch: Option<&'static str>,
}

/// One row for each part. A key is covered by the first row that names it or a table around it.
pub(crate) const NOT_BUILT: &[NotBuilt] = &[
    // The limits of children are read already, for the tools of programs; no packaged tool starts a child. Worker pools are checked
    // for runs in orchestrator mode.
    part("agents.max_children_per_run", CHILDREN, None),
    part("agents.max_concurrent_children_per_session", CHILDREN, None),
    part("agents.default_sub_agent_definition", CHILDREN, None),
    part("agents.default_fork_agent_definition", CHILDREN, None),
    part("agents.default_child_timeout_ms", CHILDREN, None),
    part("agents.child_cancel_timeout_ms", CHILDREN, None),
    part("hooks", "hooks", Some("hooks.enabled")),
    part("tools.declarative_enabled", "declarative tools", Some("tools.declarative_enabled")),
    part("tools.mcp", "MCP servers", None),
];

const CHILDREN: &str = "child agents";

const fn part(key: &'static str, feature: &'static str, switch: Option<&'static str>) -> NotBuilt {
    NotBuilt { key, feature, switch }
}

/// Something to tell the user that is no error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Keys were set to something of the user's own, for a feature that is not built.
    NoEffect {
        /// The full keys, in the order of the alphabet.
        keys: Vec<String>,
        /// What they are for.
        feature: &'static str,
    },
    /// These are switched on and not built; all of them in one notice.
    NotBuiltYet {
        /// The features, in the order of the file.
        features: Vec<&'static str>,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEffect { keys, feature } => {
                let verb = if keys.len() == 1 { "has" } else { "have" };
                write!(f, "{} {verb} no effect: this version does not have {feature} yet", keys.join(", "))
            }
            Self::NotBuiltYet { features } => {
                write!(f, "switched on, but not in this version yet: {}", features.join(", "))
            }
        }
    }
}

impl Config {
    /// What this configuration asks for and does not get, because this version does not have the feature: one notice for
    /// each feature with values of the user's own, and one for all that are merely switched on. Values as in the packaged
    /// file are nobody's own.
    #[must_use]
    pub fn not_in_effect(&self) -> Vec<Notice> {
        notices(self, NOT_BUILT)
    }
}

fn notices(config: &Config, parts: &[NotBuilt]) -> Vec<Notice> {
    let own = leaves(config);
    let packaged = leaves(&Config::default());
    let implied = leaves(&Config::implied());
    let off =
        |key: &str| parts.iter().any(|part| part.switch == Some(key)) && own.get(key) == Some(&Value::Switch(false));
    let mut changed: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for (key, value) in &own {
        let as_shipped = packaged.get(key) == Some(value) || implied.get(key) == Some(value);
        // To switch off what is not there does have its effect.
        if as_shipped || off(key) {
            continue;
        }
        if let Some(part) = parts.iter().find(|part| covers(part.key, key)) {
            changed.entry(part.feature).or_default().push(key.clone());
        }
    }
    let on = |part: &&NotBuilt| part.switch.is_some_and(|switch| own.get(switch) == Some(&Value::Switch(true)));
    let features: Vec<_> = parts.iter().filter(on).map(|part| part.feature).collect();
    let idle = (!features.is_empty()).then_some(Notice::NotBuiltYet { features });
    let no_effect = |(feature, keys)| Notice::NoEffect { keys, feature };
    changed.into_iter().map(no_effect).chain(idle).collect()
}

fn covers(part: &str, key: &str) -> bool {
    key.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Every value that is no table, by its full key. Lists count as one value.
fn leaves(config: &Config) -> BTreeMap<String, Value> {
    let mut leaves = BTreeMap::new();
    if let Some(value) = config.value() {
        gather(value, "", &mut leaves);
    }
    leaves
}

fn gather(value: Value, at: &str, leaves: &mut BTreeMap<String, Value>) {
    match value {
        Value::Table(entries) => {
            for entry in entries {
                let here = join(at, &entry.key);
                gather(entry.node.value, &here, leaves);
            }
        }
        other => {
            leaves.insert(at.to_owned(), other);
        }
    }
}

#[cfg(test)]
#[path = "effect_tests.rs"]
mod tests;
