//! From the user's files to definitions.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use agent_library::agents::{AgentFile, AgentFileProblem, AgentFiles};
use agent_library::shown;
use agent_policy::{DefinitionError, DefinitionRegistry, Named};
use agent_protocol::{AgentDefinition, DefinitionSource, ErrorCode, ModelProfile, Object};
use serde_json::Value;

/// So many files are named at most; the others are counted.
const SHOWN: usize = 20;

/// Files that are to be agent definitions and cannot be used (AGD-5). There is at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFilesError {
    refused: Vec<RefusedAgentFile>,
}

/// One such file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedAgentFile {
    /// The contract's code.
    pub code: ErrorCode,
    /// Which file, and what is wrong with it.
    pub problem: AgentFileProblem,
}

impl AgentFilesError {
    /// All of them, by the order of their names.
    #[must_use]
    pub fn refused(&self) -> &[RefusedAgentFile] {
        &self.refused
    }

    /// The code of the first one.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.refused.first().map_or(ErrorCode::InvalidAgentDefinition, |first| first.code)
    }
}

impl fmt::Display for AgentFilesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "agent definitions cannot be used, and no run starts without them; correct these files, or move them away:",
        )?;
        for refused in self.refused.iter().take(SHOWN) {
            write!(f, "\n  {}", refused.problem)?;
        }
        match self.refused.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

impl std::error::Error for AgentFilesError {}

/// Registers what a folder holds. All files are looked at, so that one start tells all that is wrong.
pub(super) fn add(registry: &mut DefinitionRegistry, folder: &Path, named: &Named<'_>) -> Result<(), AgentFilesError> {
    let AgentFiles { files, problems } = AgentFiles::read(folder);
    let mut refused: Vec<_> = problems
        .into_iter()
        .map(|problem| RefusedAgentFile { code: ErrorCode::InvalidAgentDefinition, problem })
        .collect();
    let mut taken: HashMap<String, PathBuf> = HashMap::new();
    for file in files {
        let (id, path) = (file.id.clone(), file.path.clone());
        match definition(file).and_then(|definition| Ok(registry.register(definition, named)?)) {
            Ok(()) => {
                taken.insert(id, path);
            }
            Err(fault) => refused.push(fault.of(&path, taken.get(&id))),
        }
    }
    refused.sort_by(|one, other| one.problem.path.cmp(&other.problem.path));
    if refused.is_empty() { Ok(()) } else { Err(AgentFilesError { refused }) }
}

/// Why a file that could be read gives no definition.
#[derive(Debug)]
enum Fault {
    Profile,
    Refused(DefinitionError),
}

impl From<DefinitionError> for Fault {
    fn from(error: DefinitionError) -> Self {
        Self::Refused(error)
    }
}

impl Fault {
    /// As it is told; `other` is the file that has the id already.
    fn of(&self, path: &Path, other: Option<&PathBuf>) -> RefusedAgentFile {
        let (code, message) = match self {
            Self::Profile => {
                let message =
                    "model_profile must be the name of a [model_overrides.NAME], or a table of keys of [model]";
                (ErrorCode::InvalidAgentDefinition, message.to_owned())
            }
            Self::Refused(error) => (error.code(), error.to_string()),
        };
        let message = match other {
            Some(other) => format!("{message} (it is the one of {})", shown::path(other)),
            None => message,
        };
        RefusedAgentFile { code, problem: AgentFileProblem::of(path, message) }
    }
}

fn definition(file: AgentFile) -> Result<AgentDefinition, Fault> {
    let model_profile = match file.model_profile {
        None => None,
        Some(Value::String(name)) => Some(ModelProfile::Named(name)),
        Some(Value::Object(profile)) => Some(ModelProfile::Inline(profile)),
        Some(_) => return Err(Fault::Profile),
    };
    let metadata = [("path", file.path.to_string_lossy().into()), ("hash", file.hash.into())];
    Ok(AgentDefinition {
        agent_definition_id: file.id,
        name: file.name,
        description: file.description,
        body: file.body,
        model_profile,
        suggested_tools: file.suggested_tools,
        tags: file.tags,
        overrides: file.overrides,
        source: DefinitionSource::User,
        metadata: Object::from_iter(metadata.map(|(key, value): (&str, Value)| (key.to_owned(), value))),
    })
}
