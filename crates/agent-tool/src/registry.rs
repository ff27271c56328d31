//! The tools that exist, by canonical name.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use agent_protocol::{ErrorPayload, Object, ToolClass, ToolDefinition, ToolDescriptor, ToolOrigin};
use agent_redact::KnownSecrets;

use crate::port::Tool;
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
    descriptor: Arc<ToolDescriptor>,
    binding: B,
    /// Compiled when the first call comes, as most tools of a run are never called.
    rules: OnceLock<Result<ArgumentRules, ErrorPayload>>,
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

    /// Adds a tool. Its origin decides which names it may have (TOL-1), and whether its schema must keep to the subset that every
    /// provider takes (TOL-2, TOL-7): tools of MCP servers come with any schema, and whether a provider takes it is checked
    /// elsewhere (MCP-6).
    ///
    /// # Errors
    /// If the name is taken, unusable or not for this origin, or the schema outside the subset.
    pub fn register(&mut self, mut tool: ToolDescriptor, binding: B) -> Result<(), RegisterError> {
        let name = tool.definition.name.clone();
        if let Some(reason) = name_fault(&name, &tool.origin) {
            return Err(RegisterError::Name { name, reason });
        }
        if self.tools.contains_key(&name) {
            return Err(RegisterError::Duplicate { name });
        }
        let any_schema = matches!(tool.origin, ToolOrigin::Mcp { .. });
        if !any_schema && let Err(source) = check_subset(&tool.definition.input_schema) {
            return Err(RegisterError::Schema { name, source });
        }
        tool.class = scheduling(&tool.definition, tool.class);
        let registered = Registered { descriptor: Arc::new(tool), binding, rules: OnceLock::new() };
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

impl Registry<Arc<dyn Tool>> {
    /// Adds a tool from somewhere. The origin is the caller's word, and never the tool's.
    ///
    /// # Errors
    /// As [`Self::register`].
    pub fn add(&mut self, origin: ToolOrigin, tool: Arc<dyn Tool>) -> Result<(), RegisterError> {
        self.register(describe(origin, tool.as_ref()), tool)
    }
}

/// What a tool says of itself, together with where it comes from.
#[must_use]
pub fn describe(origin: ToolOrigin, tool: &dyn Tool) -> ToolDescriptor {
    ToolDescriptor {
        definition: tool.definition().clone(),
        origin,
        class: tool.class(),
        roles: tool.roles(),
        requires: tool.requires(),
    }
}

impl<B> Registered<B> {
    /// What is known of the tool.
    #[must_use]
    pub fn descriptor(&self) -> &Arc<ToolDescriptor> {
        &self.descriptor
    }

    /// What the tool says of itself, in the contract's form.
    #[must_use]
    pub fn definition(&self) -> &ToolDefinition {
        &self.descriptor.definition
    }

    /// How its calls are scheduled.
    #[must_use]
    pub fn class(&self) -> ToolClass {
        self.descriptor.class
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
    /// `validation_error` that names each place and what is expected there (RUN-16). What it repeats is without known secrets.
    pub fn check_arguments(&self, arguments: Object, secrets: &KnownSecrets) -> Result<Object, ErrorPayload> {
        let rules = self.rules.get_or_init(|| ArgumentRules::compile(self.definition()));
        rules.as_ref().map_err(Clone::clone)?.check(self.definition(), arguments, secrets)
    }
}

/// What may change the world never runs beside other calls, and a denial of it stops what comes after it, whatever class it
/// claims (RUN-11, RUN-13).
fn scheduling(definition: &ToolDefinition, claimed: ToolClass) -> ToolClass {
    if definition.may_change() && claimed == ToolClass::Readonly { ToolClass::Write } else { claimed }
}

fn name_fault(name: &str, origin: &ToolOrigin) -> Option<&'static str> {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if name.is_empty() {
        Some("it is empty")
    } else if name.len() > Registry::<()>::MAX_NAME {
        Some("it is longer than 256 bytes")
    } else if !name.chars().all(known) {
        Some("only A-Z a-z 0-9 . _ and - are allowed")
    } else if !origin.may_use_name(name) {
        Some(match origin {
            ToolOrigin::Core => "core's own tools are called agent. or internal. and a name",
            ToolOrigin::Builtin | ToolOrigin::Program => {
                "agent., internal. and mcp. are for core's own tools and those of MCP servers"
            }
            ToolOrigin::Mcp { .. } => "tools of an MCP server are called mcp., the server's name, a dot and a name",
        })
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
