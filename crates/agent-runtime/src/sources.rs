//! What a request is made of, besides the conversation: system blocks, tools, budgets — and their hashes (STO-13).

use std::collections::HashMap;
use std::sync::Arc;

use agent_engine::{BudgetError, Budgets, Sources, TokenCounter, ToolSet, fixed_parts};
use agent_library::AssetId;
use agent_protocol::{Object, PromptBlock, SystemPrompt, ToolList};
use agent_store::{ContentHash, Write};
use agent_tools::{Registry, Tool};
use serde_json::json;

use crate::RuntimeSettings;

/// Packaged texts as system blocks.
#[must_use]
pub fn blocks(ids: impl IntoIterator<Item = AssetId>) -> SystemPrompt {
    let blocks: Vec<_> = ids.into_iter().map(packaged).collect();
    blocks.into()
}

fn packaged(id: AssetId) -> PromptBlock {
    let asset = id.load();
    block(asset.id.as_str(), asset.source(), asset.text)
}

/// The static system blocks of a normal run: packaged texts in their order, then where the agent works.
#[must_use]
pub fn system_prompt(environment: &str) -> SystemPrompt {
    let texts = [AssetId::SystemCore, AssetId::SystemToolProtocol, AssetId::SystemTodo, AssetId::SystemPermissions];
    let mut blocks: Vec<_> = texts.into_iter().map(packaged).collect();
    blocks.push(block("runtime.environment", "runtime".to_owned(), environment));
    for (priority, block) in blocks.iter_mut().enumerate() {
        block.priority = i32::try_from(priority).unwrap_or(i32::MAX);
    }
    blocks.into()
}

fn block(id: &str, source: String, text: &str) -> PromptBlock {
    PromptBlock {
        block_id: id.to_owned(),
        source,
        content: text.to_owned(),
        priority: 0,
        dynamic: false,
        token_count: TokenCounter.text(text),
        metadata: Object::new(),
    }
}

/// The effective tool set of the main agent, in the order of names (TOL-4).
pub(crate) fn tool_set(tools: &Registry<Arc<dyn Tool>>, settings: &RuntimeSettings) -> ToolSet {
    let scope = settings.tool_scope();
    let effective: Vec<_> = tools.iter().filter(|tool| scope.withholds(tool.definition()).is_none()).collect();
    let classes: HashMap<_, _> = effective.iter().map(|tool| (tool.definition().name.clone(), tool.class())).collect();
    let list: Vec<_> = effective.into_iter().map(|tool| tool.definition().clone()).collect();
    ToolSet { list: Arc::new(list.into()), classes: Arc::new(classes) }
}

/// How the context window is shared out with these tools, before anything is opened.
///
/// # Errors
/// When the fixed part leaves too little of the window (CFG-8).
pub fn check_budgets(settings: &RuntimeSettings, tools: &Registry<Arc<dyn Tool>>) -> Result<Budgets, BudgetError> {
    let system = system_prompt(&settings.environment);
    let tools = tool_set(tools, settings);
    Budgets::derive(&settings.budgets, &fixed_parts(&system, &tools.list))
}

/// The sources of a run, and the bytes behind their hashes, to be stored once per session.
pub(crate) struct RunSources {
    pub(crate) sources: Sources,
    pub(crate) blobs: Vec<Write>,
}

/// Puts the sources of a run together.
///
/// # Errors
/// When the fixed part leaves too little of the window (CFG-8).
pub(crate) fn run_sources(
    settings: &RuntimeSettings,
    system: &Arc<SystemPrompt>,
    tools: &ToolSet,
) -> Result<RunSources, BudgetError> {
    let budgets = Budgets::derive(&settings.budgets, &fixed_parts(system, &tools.list))?;
    let (fingerprint, blobs) = fingerprint(system, &tools.list);
    Ok(RunSources {
        sources: Sources {
            system: Arc::clone(system),
            tools: tools.clone(),
            budgets,
            model: settings.model.clone(),
            tail: Vec::new(),
            in_system: Arc::default(),
            compacting: settings.compacting.clone(),
            fingerprint,
        },
        blobs,
    })
}

fn fingerprint(system: &SystemPrompt, tools: &ToolList) -> (Object, Vec<Write>) {
    let mut blobs = Vec::new();
    let mut keep = |bytes: &[u8]| {
        let hash = ContentHash::of(bytes);
        blobs.push(Write::Blob { hash: hash.clone(), bytes: bytes.into() });
        hash.as_str().to_owned()
    };
    let blocks: Vec<_> = system
        .blocks
        .iter()
        .map(|block| {
            let mut named = json!({ "block_id": block.block_id, "source": block.source, "tokens": block.token_count,
                    "hash": keep(block.content.as_bytes()) });
            if block.dynamic {
                named["dynamic"] = true.into();
            }
            named
        })
        .collect();
    // Definitions are plain JSON; that they cannot be written down is impossible.
    let list = serde_json::to_vec(tools).unwrap_or_default();
    let tools = json!({ "count": tools.tools.len(), "hash": keep(&list) });
    (Object::from_iter([("system_blocks".to_owned(), blocks.into()), ("tools".to_owned(), tools)]), blobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CTX-2, AST-4: the static blocks in their order; blocks of features that are not there are absent.
    #[test]
    fn static_blocks_in_order() {
        let prompt = system_prompt("Project folder: /p");
        let ids: Vec<_> = prompt.blocks.iter().map(|block| block.block_id.as_str()).collect();
        assert_eq!(
            ids,
            ["system.core", "system.tool_protocol", "system.todo", "system.permissions", "runtime.environment"]
        );
        assert!(prompt.blocks.iter().all(|block| !block.dynamic && block.token_count > 0));
    }

    /// STO-13: every block and the tool list have a hash, and their bytes are kept under it.
    #[test]
    fn everything_fixed_has_a_hash() {
        let prompt = system_prompt("here");
        let (fingerprint, blobs) = fingerprint(&prompt, &ToolList::default());
        assert_eq!(blobs.len(), prompt.blocks.len() + 1);
        let named = fingerprint["system_blocks"].as_array().unwrap();
        for (block, blob) in named.iter().zip(&blobs) {
            let Write::Blob { hash, bytes } = blob else { panic!() };
            assert_eq!(block["hash"], hash.as_str());
            assert_eq!(ContentHash::of(bytes), *hash);
        }
    }
}
