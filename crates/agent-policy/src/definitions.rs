//! Which agent definitions there are, and which may take another's place.

mod check;
mod error;
mod named;

use std::collections::BTreeMap;

use agent_protocol::{AgentDefinition, AgentDefinitionInfo, DefinitionSource, SuggestedTool, UnavailableReason};

use check::check;
pub use error::DefinitionError;
pub use named::Named;

/// Definitions that core uses itself: no list shows them and nobody overrides them (AGD-1).
const INTERNAL: [&str; 1] = ["default_compact_agent"];

/// The agent definitions of a runtime, by id (AGD-1, AGD-2).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DefinitionRegistry {
    by_id: BTreeMap<String, AgentDefinition>,
}

impl DefinitionRegistry {
    /// No definitions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a definition, or puts it in the place of the one it overrides.
    ///
    /// # Errors
    /// A field that is not as it has to be (AGD-3, AGD-7), an id that is taken, an override of what does not exist or may not
    /// be replaced (AGD-2).
    pub fn register(&mut self, definition: AgentDefinition, named: &Named<'_>) -> Result<(), DefinitionError> {
        check(&definition, named)?;
        match &definition.overrides {
            Some(overrides) => self.may_override(&definition, overrides)?,
            None => self.is_new(&definition)?,
        }
        self.by_id.insert(definition.agent_definition_id.clone(), definition);
        Ok(())
    }

    /// The definition of that id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&AgentDefinition> {
        self.by_id.get(id)
    }

    /// All definitions, by id.
    pub fn iter(&self) -> impl Iterator<Item = &AgentDefinition> {
        self.by_id.values()
    }

    /// What a list shows of them, by id (AGD-6). `unavailable` says why an agent cannot have a tool; nothing if it can.
    #[must_use]
    pub fn list(&self, unavailable: &dyn Fn(&str) -> Option<UnavailableReason>) -> Vec<AgentDefinitionInfo> {
        let tool = |name: &String| {
            let unavailable_reason = unavailable(name);
            SuggestedTool { name: name.clone(), available: unavailable_reason.is_none(), unavailable_reason }
        };
        let info = |definition: &AgentDefinition| AgentDefinitionInfo {
            agent_definition_id: definition.agent_definition_id.clone(),
            name: definition.name.clone(),
            description: definition.description.clone(),
            source: definition.source,
            tags: definition.tags.clone(),
            suggested_tools: definition.suggested_tools.iter().map(tool).collect(),
        };
        self.iter().map(info).collect()
    }

    fn is_new(&self, definition: &AgentDefinition) -> Result<(), DefinitionError> {
        let id = &definition.agent_definition_id;
        let duplicate = |existing, hint| DefinitionError::Duplicate { id: id.clone(), existing, hint };
        if INTERNAL.contains(&id.as_str()) {
            return Err(duplicate(DefinitionSource::Builtin, ", which core uses itself: choose another id".to_owned()));
        }
        let Some(existing) = self.by_id.get(id) else { return Ok(()) };
        let hint = if outranks(definition.source, existing.source) {
            format!("; to replace it, set overrides to \"{}:{id}\"", existing.source.as_str())
        } else {
            ": choose another id".to_owned()
        };
        Err(duplicate(existing.source, hint))
    }

    /// An override names a definition that is there, under its own id, from a source it outranks.
    fn may_override(&self, definition: &AgentDefinition, overrides: &str) -> Result<(), DefinitionError> {
        let id = &definition.agent_definition_id;
        let refused =
            |reason: String| Err(DefinitionError::Override { id: id.clone(), overrides: overrides.to_owned(), reason });
        let named = overrides.split_once(':');
        let Some((source, named)) = named.and_then(|(source, id)| Some((DefinitionSource::from_stored(source)?, id)))
        else {
            return refused("it must be <source>:<id>, with builtin, user or code as the source".to_owned());
        };
        if named != id {
            return refused(format!("a definition keeps the id of the one it replaces; set its id to `{named}`"));
        }
        if INTERNAL.contains(&named) {
            return refused("core uses it itself".to_owned());
        }
        match self.by_id.get(named) {
            None => refused("there is no such definition".to_owned()),
            Some(existing) if existing.source != source => {
                refused(format!("the definition with this id is \"{}:{id}\"", existing.source.as_str()))
            }
            Some(_) if !outranks(definition.source, source) => {
                refused(format!("a definition of source {} cannot replace it", definition.source.as_str()))
            }
            Some(_) => Ok(()),
        }
    }
}

/// Whether definitions of a source may replace those of another: the user's replace the packaged ones, code's replace both,
/// and nothing replaces its like.
fn outranks(source: DefinitionSource, other: DefinitionSource) -> bool {
    fn rank(source: DefinitionSource) -> u8 {
        match source {
            DefinitionSource::Builtin => 0,
            DefinitionSource::User => 1,
            DefinitionSource::Code => 2,
        }
    }
    rank(source) > rank(other)
}

#[cfg(test)]
mod tests;
