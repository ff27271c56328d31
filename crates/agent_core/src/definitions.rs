//! Agent definitions, and what they may name: tools, and models (AGD-3, CFG-4).

use std::path::Path;
use std::sync::Arc;

use agent_config::AgentsConfig;
use agent_policy::Named;
use agent_protocol::{ModelProfile, contract_tool};
use agent_runtime::Definitions;
use agent_tool::{Registry, Tool};

use crate::error::BuildError;
use crate::profiles::Profiles;

/// Where the user's are, in home.
const FOLDER: &str = "agents";

/// The packaged definitions and the user's files, all of which must be usable (AGD-5); among them are those that children have by default
/// (AGT-6). Where there is no folder of files, that costs one question to the
/// system.
pub(crate) fn definitions(
    (home, agents): (&Path, &AgentsConfig),
    profiles: &Profiles,
    tools: &Registry<Arc<dyn Tool>>,
) -> Result<Definitions, BuildError> {
    let definitions = Definitions::packaged()?;
    let is_tool = |name: &str| tools.get(name).is_some() || contract_tool(name).is_some();
    let model_profile = |profile: &ModelProfile| profiles.check(profile);
    definitions.add_files(&home.join(FOLDER), &Named { is_tool: &is_tool, model_profile: &model_profile })?;
    for (key, id) in [
        ("agents.default_sub_agent_definition", &agents.default_sub_agent_definition),
        ("agents.default_fork_agent_definition", &agents.default_fork_agent_definition),
    ] {
        definitions.find(id).map_err(|why| BuildError::DefaultDefinition { key, why: why.message })?;
    }
    Ok(definitions)
}
