//! Why a runtime could not be built.

use std::path::PathBuf;

use agent_protocol::{ErrorCode, ErrorPayload};

/// Why a runtime could not be built. Nothing was left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Neither given nor to be derived.
    #[error("there is no home folder: set SOONG_AGENT_HOME, or HOME")]
    NoHome,
    /// The current folder was removed, or may not be read.
    #[error("the current folder cannot be found: name the project folder with --path")]
    NoCurrentDir,
    /// The project folder cannot be used.
    #[error("the project folder {} cannot be used: name an existing folder with --path", .path.display())]
    Project {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// The configuration is missing, unreadable or wrong.
    #[error(transparent)]
    Config(#[from] agent_config::ConfigError),
    /// A profile or path in it cannot be used.
    #[error("{file}: {message}", file = .file.display())]
    ConfigValue {
        /// The configuration file.
        file: PathBuf,
        /// Which key, and why.
        message: String,
    },
    /// A model profile of the configuration names no model.
    #[error(transparent)]
    Profile(#[from] agent_config::ProfileError),
    /// The provider cannot be used with these settings.
    #[error(transparent)]
    Provider(#[from] agent_llm::ProviderError),
    /// The sensitive paths of the configuration cannot be used.
    #[error("tools.sensitive_paths or a folder of the configuration cannot be used")]
    Paths(#[from] agent_policy::RulesError),
    /// The secrets named by the configuration cannot be watched for.
    #[error(transparent)]
    Secrets(#[from] agent_redact::SecretsError),
    /// The rules for what looks like a secret cannot be compiled.
    #[error(transparent)]
    Patterns(#[from] agent_redact::PatternsError),
    /// A tool cannot be registered.
    #[error(transparent)]
    Tool(#[from] agent_tool::RegisterError),
    /// The context window is too small for what must be in it.
    #[error("{file}: {source}", file = .file.display())]
    Budget {
        /// The configuration file.
        file: PathBuf,
        /// What fills the window.
        source: agent_engine::BudgetError,
    },
    /// There is nothing to look back at.
    #[error("nothing is stored at {} yet: a run makes the database", .path.display())]
    NothingStored {
        /// Where the database would be.
        path: PathBuf,
    },
    /// The session store cannot be opened.
    #[error(transparent)]
    Store(#[from] agent_store::StoreError),
}

impl BuildError {
    /// The contract's code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoHome
            | Self::Config(_)
            | Self::ConfigValue { .. }
            | Self::Profile(_)
            | Self::Paths(_)
            | Self::Secrets(_)
            | Self::Patterns(_)
            | Self::Budget { .. } => ErrorCode::ConfigError,
            Self::NoCurrentDir | Self::Project { .. } | Self::Tool(_) | Self::NothingStored { .. } => {
                ErrorCode::ValidationError
            }
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
