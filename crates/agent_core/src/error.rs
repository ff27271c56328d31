//! What can go wrong, and its codes.
//!
//! [`BuildError`] is for opening, [`RuntimeError`] for what an open runtime or archive refuses; what goes wrong in a run is an
//! [`ErrorPayload`] in its events and its result. Messages speak of the library; a program that has commands and options of
//! its own adds what to do in their words.

use std::path::PathBuf;

pub use agent_archive::{ArchiveError, Missing};
pub use agent_config::{
    ConfigError, ConfigProblems, Distrust, Position, Problem, ProblemKind, ProfileError, UserFileError,
};
pub use agent_engine::{BranchError, BudgetError, RebuildError};
pub use agent_library::agents::AgentFileProblem;
pub use agent_library::memory::MemoryError;
pub use agent_llm::{ConnectionFault, ProviderCause, ProviderError};
pub use agent_policy::{DefinitionError, RulesError};
pub use agent_protocol::{ErrorCode, ErrorPayload, ErrorType};
pub use agent_redact::{PatternsError, SecretsError};
pub use agent_runtime::{AgentFilesError, PackagedDefinitionError, RefusedAgentFile, RuntimeError, WorkerPoolError};
pub use agent_store::{Cause, Limit, StoreError};
pub use agent_tool::RegisterError;

/// Why a runtime could not be built. Nothing was left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Neither given nor to be derived.
    #[error("there is no home folder: set SOONG_AGENT_HOME, or HOME")]
    NoHome,
    /// The current folder was removed, or may not be read.
    #[error("the current folder cannot be found; name the project folder")]
    NoCurrentDir,
    /// The project folder cannot be used.
    #[error("the project folder {} cannot be used: {source}; name an existing folder", .path.display())]
    Project {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The configuration is missing, unreadable or wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is a file of hooks, and this version does not run any (HOK-1).
    #[error(
        "{} {}. This version does not run hooks, and a run without them would lack its guards, so none starts: move the file \
         away, or set hooks.enabled = false to run without hooks",
        .path.display(),
        if .source.is_some() { "cannot be looked for" } else { "exists" }
    )]
    Hooks {
        /// The file.
        path: PathBuf,
        /// Why it cannot be told whether there is one.
        #[source]
        source: Option<std::io::Error>,
    },
    /// A model profile of the configuration names no model.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The provider cannot be used with these settings.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The sensitive paths of the configuration cannot be used.
    #[error("tools.sensitive_paths or a folder of the configuration cannot be used")]
    Paths(#[from] RulesError),
    /// The secrets named by the configuration cannot be watched for.
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    /// The rules for what looks like a secret cannot be compiled.
    #[error(transparent)]
    Patterns(#[from] PatternsError),
    /// A tool cannot be registered.
    #[error(transparent)]
    Tool(#[from] RegisterError),
    /// A packaged agent definition cannot be used.
    #[error(transparent)]
    Definition(#[from] PackagedDefinitionError),
    /// Files of the user's that are to be agent definitions cannot be used (AGD-5).
    #[error(transparent)]
    AgentFiles(#[from] AgentFilesError),
    /// The configuration names a definition that children have by default, and there is none of that id (AGT-6).
    #[error("{key}: {why}")]
    DefaultDefinition {
        /// The key.
        key: &'static str,
        /// What is wrong with what it names.
        why: String,
    },
    /// The context window is too small for what must be in it.
    #[error("{origin}: {source}")]
    Budget {
        /// The configuration's file, or what else it came from.
        origin: String,
        /// What fills the window.
        source: BudgetError,
    },
    /// There is nothing to look back at.
    #[error("nothing is stored at {} yet: a run makes the database", .path.display())]
    NothingStored {
        /// Where the database would be.
        path: PathBuf,
    },
    /// The session store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BuildError {
    /// The contract's code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoHome
            | Self::Config(_)
            | Self::Hooks { .. }
            | Self::Profile(_)
            | Self::Paths(_)
            | Self::Secrets(_)
            | Self::Patterns(_)
            | Self::DefaultDefinition { .. }
            | Self::Budget { .. } => ErrorCode::ConfigError,
            Self::NoCurrentDir | Self::Project { .. } | Self::Tool(_) | Self::NothingStored { .. } => {
                ErrorCode::ValidationError
            }
            Self::Definition(_) => ErrorCode::InternalError,
            Self::AgentFiles(error) => error.code(),
            Self::Provider(error) => error.payload().code,
            Self::Store(error) => error.code(),
        }
    }

    /// The contract's payload: the message with its causes.
    #[must_use]
    pub fn payload(&self) -> ErrorPayload {
        match self {
            Self::Provider(error) => error.payload(),
            Self::Store(error) => error.payload(),
            other => ErrorPayload::new(other.code(), with_causes(other)),
        }
    }
}

/// An error's message and those of its causes, as one sentence; a cause that the message already holds is not repeated.
#[must_use]
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = inner.source();
    }
    text
}
