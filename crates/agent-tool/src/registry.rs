//! The tools that exist, by canonical name.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use agent_protocol::{ErrorPayload, Object, Permission, ToolClass, ToolDefinition};

use crate::schema::{ArgumentRules, SubsetViolation, check_subset};

/// Tools by canonical name, each with whatever its owner binds to it: the registry never calls anything. A clone holds the same
/// tools, and what is registered later in one of the two is not in the other.
#[derive(Debug)]
pub struct Registry<B> {
    tools: BTreeMap<String, Arc<Registered<B>>>,
}

impl<B> Clone for Registry<B> {
    fn clone(&self) -> Self {
        Self { tools: self.tools.clone() }
    }
}

/// A registered tool.
#[derive(Debug)]
pub struct Registered<B> {
    definition: ToolDefinition,
    class: ToolClass,
    binding: B,
    /// Compiled when the first call comes, as most tools of a run are never called.
    rules: OnceLock<Result<ArgumentRules, ErrorPayload>>,
}

/// Which input schemas are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaRule {
    /// Only the subset every provider takes (TOL-2, TOL-7).
    Subset,
    /// Any JSON Schema: tools of other people (MCP-6). Whether a provider takes it is checked elsewhere.
    Any,
}

/// Why a tool was not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The name is taken. Tools are never replaced silently (TOL-1).
    #[error("a tool named `{name}` is already registered")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// The name has no form that providers and users can handle.
    #[error("`{name}` is no tool name: {reason}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The input schema uses what not every provider takes.
    #[error("the input schema of `{name}` is outside the supported subset")]
    Schema {
        /// The tool.
        name: String,
        /// Where and why.
        source: SubsetViolation,
    },
}

impl<B> Default for Registry<B> {
    fn default() -> Self {
        Self { tools: BTreeMap::new() }
    }
}

impl<B> Registry<B> {
    /// Room for the longest names; providers that take fewer characters shorten them themselves.
    pub const MAX_NAME: usize = 256;

    /// No tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool whose schema keeps to the subset.
    ///
    /// # Errors
    /// If the name is taken or unusable, or the schema outside the subset.
    pub fn register(&mut self, definition: ToolDefinition, class: ToolClass, binding: B) -> Result<(), RegisterError> {
        self.register_under(SchemaRule::Subset, definition, class, binding)
    }

    /// Adds a tool under the given rule.
    ///
    /// # Errors
    /// If the name is taken or unusable, or the schema against the rule.
    pub fn register_under(
        &mut self,
        rule: SchemaRule,
        definition: ToolDefinition,
        class: ToolClass,
        binding: B,
    ) -> Result<(), RegisterError> {
        let name = definition.name.clone();
        if let Some(reason) = name_fault(&name) {
            return Err(RegisterError::Name { name, reason });
        }
        if self.tools.contains_key(&name) {
            return Err(RegisterError::Duplicate { name });
        }
        if rule == SchemaRule::Subset
            && let Err(source) = check_subset(&definition.input_schema)
        {
            return Err(RegisterError::Schema { name, source });
        }
        let class = scheduling(&definition, class);
        let registered = Registered { definition, class, binding, rules: OnceLock::new() };
        self.tools.insert(name, Arc::new(registered));
        Ok(())
    }

    /// The tool of that canonical name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Registered<B>> {
        self.tools.get(name).map(Arc::as_ref)
    }

    /// All tools, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Registered<B>> {
        self.tools.values().map(Arc::as_ref)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }
}

impl<B> Registered<B> {
    /// What the tool says of itself.
    #[must_use]
    pub fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    /// How its calls are scheduled.
    #[must_use]
    pub fn class(&self) -> ToolClass {
        self.class
    }

    /// What its owner bound to it.
    #[must_use]
    pub fn binding(&self) -> &B {
        &self.binding
    }

    /// Checks arguments against the input schema and gives them back as the handler gets them: optional ones that are
    /// null are absent (TOL-7), and whole numbers are integers however they were spelled.
    ///
    /// # Errors
    /// `validation_error` that names each place and what is expected there (RUN-16).
    pub fn check_arguments(&self, arguments: Object) -> Result<Object, ErrorPayload> {
        let rules = self.rules.get_or_init(|| ArgumentRules::compile(&self.definition));
        rules.as_ref().map_err(Clone::clone)?.check(&self.definition, arguments)
    }
}

/// What may change the world never runs beside other calls, and a denial of it stops what comes after it, whatever class it
/// claims (RUN-11, RUN-13).
fn scheduling(definition: &ToolDefinition, claimed: ToolClass) -> ToolClass {
    let may_change = definition.permission == Permission::Write || definition.has_tag(ToolDefinition::DANGEROUS);
    if may_change && claimed == ToolClass::Readonly { ToolClass::Write } else { claimed }
}

fn name_fault(name: &str) -> Option<&'static str> {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() {
        Some("it is empty")
    } else if name.len() > Registry::<()>::MAX_NAME {
        Some("it is longer than 256 bytes")
    } else if !name.chars().all(known) {
        Some("only A-Z a-z 0-9 . _ and - are allowed")
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
