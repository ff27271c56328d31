//! The agent definitions that come with core (AGD-1).

use agent_library::AssetId;
use agent_library::frontmatter::FrontmatterError;
use agent_policy::{DefinitionError, DefinitionRegistry, Named};
use agent_protocol::{AgentDefinition, DefinitionSource, Object};
use serde::Deserialize;

/// The packaged definitions that a list shows; the agent that summarises is none of them.
const PACKAGED: [AssetId; 3] = [AssetId::DefaultSubAgent, AssetId::DefaultForkAgent, AssetId::DefaultWorkerAgent];

/// What stands at the head of a definition's text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    id: String,
    name: String,
    description: String,
}

/// Why a packaged definition is unusable.
#[derive(Debug, thiserror::Error)]
#[error("the packaged agent definition {} cannot be used", .asset.as_str())]
pub struct PackagedDefinitionError {
    asset: AssetId,
    #[source]
    source: Fault,
}

#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Head(#[from] FrontmatterError),
    #[error(transparent)]
    Definition(#[from] DefinitionError),
}

/// A registry with the packaged definitions.
///
/// # Errors
/// If one of them is not as a definition has to be.
pub(super) fn packaged_definitions() -> Result<DefinitionRegistry, PackagedDefinitionError> {
    let mut registry = DefinitionRegistry::new();
    // They name nothing.
    let named = Named { is_tool: &|_| false, model_profile: &|_| Ok(()) };
    for asset in PACKAGED {
        packaged(asset)
            .map_err(Fault::from)
            .and_then(|definition| Ok(registry.register(definition, &named)?))
            .map_err(|source| PackagedDefinitionError { asset, source })?;
    }
    Ok(registry)
}

fn packaged(id: AssetId) -> Result<AgentDefinition, FrontmatterError> {
    let asset = id.load();
    let head: Head = asset.frontmatter.ok_or_else(FrontmatterError::missing)?.parse()?;
    let source = asset.source();
    Ok(AgentDefinition {
        agent_definition_id: head.id,
        name: head.name,
        description: head.description,
        body: asset.text.to_owned(),
        model_profile: None,
        suggested_tools: Vec::new(),
        tags: Vec::new(),
        overrides: None,
        source: DefinitionSource::Builtin,
        // Which text and which version of it, as everywhere a packaged text is used (AST-1).
        metadata: Object::from_iter([("asset".to_owned(), source.into())]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AGD-1: the packaged definitions are there under their ids, and the one that summarises is not among them.
    #[test]
    fn the_packaged_definitions() {
        let registry = packaged_definitions().unwrap();
        let ids: Vec<_> = registry.iter().map(|one| one.agent_definition_id.as_str()).collect();
        assert_eq!(ids, ["default_fork_agent", "default_sub_agent", "default_worker_agent"]);
        for definition in registry.iter() {
            assert_eq!(definition.source, DefinitionSource::Builtin);
            assert!(definition.body.starts_with("# ") && !definition.description.is_empty());
            assert_eq!(definition.metadata["asset"], format!("agent.{}@2", definition.agent_definition_id));
        }
    }
}
