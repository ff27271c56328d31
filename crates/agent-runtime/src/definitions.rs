//! The agent definitions of a runtime: packaged, the user's, and those of the embedding program (AGD-1).

mod files;
mod packaged;

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use agent_engine::near_names;
use agent_policy::{DefinitionError, DefinitionRegistry, Named};
use agent_protocol::{AgentDefinition, AgentDefinitionInfo, ErrorCode, ErrorPayload, UnavailableReason};
use agent_redact::shown_word;

use crate::some_of::some_of;

pub use files::{AgentFilesError, RefusedAgentFile};
pub use packaged::PackagedDefinitionError;

/// So many definitions are named where one is missing.
pub(crate) const NAMED: usize = 12;

/// The agent definitions there are; more may be registered at any time. A clone is the same registry.
#[derive(Debug, Clone)]
pub struct Definitions(Arc<RwLock<DefinitionRegistry>>);

impl Definitions {
    /// The packaged ones.
    ///
    /// # Errors
    /// If one of them is not as a definition has to be.
    pub fn packaged() -> Result<Self, PackagedDefinitionError> {
        Ok(Self(Arc::new(RwLock::new(packaged::packaged_definitions()?))))
    }

    /// Adds those that the user wrote down in a folder. Blocks.
    ///
    /// # Errors
    /// All files that cannot be used (AGD-5). The registry may hold some of the others then, and is of no use.
    pub fn add_files(&self, folder: &Path, named: &Named<'_>) -> Result<(), AgentFilesError> {
        let mut registry = self.0.write().unwrap_or_else(PoisonError::into_inner);
        files::add(&mut registry, folder, named)
    }

    /// Adds one.
    ///
    /// # Errors
    /// As [`DefinitionRegistry::register`]. Then nothing has changed.
    pub fn register(&self, definition: AgentDefinition, named: &Named<'_>) -> Result<(), DefinitionError> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).register(definition, named)
    }

    /// What a list shows of them, by id (AGD-6).
    #[must_use]
    pub fn list(&self, unavailable: &dyn Fn(&str) -> Option<UnavailableReason>) -> Vec<AgentDefinitionInfo> {
        self.read(|registry| registry.list(unavailable))
    }

    /// The one of that id.
    ///
    /// # Errors
    /// `validation_error` with the ids that were probably meant, or else with some of those there are.
    pub fn find(&self, id: &str) -> Result<Arc<AgentDefinition>, ErrorPayload> {
        self.read(|registry| {
            if let Some(definition) = registry.get(id) {
                return Ok(Arc::new(definition.clone()));
            }
            let known = || registry.iter().map(|one| one.agent_definition_id.as_str());
            let near = near_names(id, known());
            let hint = match near.as_slice() {
                [] => format!("there are {}", some_of(known(), NAMED)),
                near => format!("did you mean {}?", near.join(" or ")),
            };
            let message = format!("there is no agent definition `{}`; {hint}", shown_word(id));
            Err(ErrorPayload::new(ErrorCode::ValidationError, message).detail("near", near))
        })
    }

    /// Looks at all of them as they are at one moment.
    pub fn read<T>(&self, look: impl FnOnce(&DefinitionRegistry) -> T) -> T {
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}
