//! Agent definitions, and what they may name: tools, and the model profiles of the configuration (AGD-3, CFG-4).

use std::path::Path;
use std::sync::Arc;

use agent_config::{Config, ModelConfig};
use agent_policy::Named;
use agent_protocol::{ModelProfile, contract_tool};
use agent_runtime::Definitions;
use agent_tool::{Registry, Tool};
use serde_json::Value;

use crate::error::BuildError;

/// Where the user's are, in home.
const FOLDER: &str = "agents";

/// The packaged definitions and the user's files, all of which must be usable (AGD-5); among them are those that children have by default
/// (AGT-6). Where there is no folder of files, that costs one
/// question to the system.
pub(crate) fn definitions(
    home: &Path,
    config: &Config,
    tools: &Registry<Arc<dyn Tool>>,
) -> Result<Definitions, BuildError> {
    let definitions = Definitions::packaged()?;
    let is_tool = |name: &str| tools.get(name).is_some() || contract_tool(name).is_some();
    let model_profile = |profile: &ModelProfile| check_profile(config, profile);
    definitions.add_files(&home.join(FOLDER), &Named { is_tool: &is_tool, model_profile: &model_profile })?;
    let agents = &config.agents;
    for (key, id) in [
        ("agents.default_sub_agent_definition", &agents.default_sub_agent_definition),
        ("agents.default_fork_agent_definition", &agents.default_fork_agent_definition),
    ] {
        definitions.find(id).map_err(|why| BuildError::DefaultDefinition { key, why: why.message })?;
    }
    Ok(definitions)
}

/// Whether a definition may have that profile; else what is wrong, to be read behind the field's name.
pub(crate) fn check_profile(config: &Config, profile: &ModelProfile) -> Result<(), String> {
    model(config, profile).map(drop)
}

/// The variables that hold the keys of profiles which definitions bring along (CFG-3).
pub(crate) fn key_variables(config: &Config, definitions: &Definitions) -> Vec<String> {
    definitions.read(|registry| {
        let profiles = registry.iter().filter_map(|definition| definition.model_profile.as_ref());
        let models = profiles.filter_map(|profile| model(config, profile).ok());
        models.filter_map(|model| model.key_variable().map(str::to_owned)).collect()
    })
}

fn model(config: &Config, profile: &ModelProfile) -> Result<ModelConfig, String> {
    let profile = match profile {
        ModelProfile::Named(name) => agent_config::ModelProfile::Named(name.clone()),
        ModelProfile::Inline(keys) => {
            agent_config::ModelProfile::from_json(&Value::Object(keys.clone()), "the profile")
                .map_err(|error| format!("is wrong: {error}"))?
        }
    };
    config.model_for(Some(&profile)).map_err(|error| format!("is wrong: {error}"))
}
