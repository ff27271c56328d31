//! What a request is made of, besides the conversation: system blocks, tools, budgets — and their hashes (STO-13).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent_engine::{BudgetError, Budgets, TokenCounter, ToolSet, fixed_parts};
use agent_library::AssetId;
use agent_policy::PathRules;
use agent_protocol::{Object, PromptBlock, SystemPrompt, ToolDefinition, ToolList};
use agent_store::{ContentHash, Write};
use agent_tool::{Registry, Tool};
use serde_json::json;

use crate::RuntimeSettings;
use crate::calls::Tools;
use crate::context::{ContextPlaces, Offer, SystemParts, fixed_blocks};
use crate::redact::Redactor;

/// Packaged texts as system blocks.
#[must_use]
pub fn blocks(ids: impl IntoIterator<Item = AssetId>) -> SystemPrompt {
    let blocks: Vec<_> = ids.into_iter().map(packaged).collect();
    blocks.into()
}

pub(crate) fn packaged(id: AssetId) -> PromptBlock {
    let asset = id.load();
    block(asset.id.as_str(), asset.source(), asset.text)
}

pub(crate) fn block(id: &str, source: String, text: &str) -> PromptBlock {
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
pub(crate) fn tool_set(tools: &Registry<Arc<dyn Tool>>, settings: &RuntimeSettings, offer: Offer) -> ToolSet {
    let scope = settings.tool_scope();
    let is_in = |tool: &ToolDefinition| scope.withholds(tool).is_none() && offer.holds(&tool.name);
    let effective: Vec<_> = tools.iter().filter(|tool| is_in(tool.definition())).collect();
    let classes: HashMap<_, _> = effective.iter().map(|tool| (tool.definition().name.clone(), tool.class())).collect();
    let list: Vec<_> = effective.into_iter().map(|tool| tool.definition().clone()).collect();
    ToolSet { list: Arc::new(list.into()), classes: Arc::new(classes) }
}

/// How the context window is shared out with these tools, before anything is opened. What only some runs have (catalogs, tools
/// for skills and memories) comes on top.
///
/// # Errors
/// When the fixed part leaves too little of the window (CFG-8).
pub fn check_budgets(settings: &RuntimeSettings, tools: &Registry<Arc<dyn Tool>>) -> Result<Budgets, BudgetError> {
    let system = fixed_blocks(settings, false);
    let tools = tool_set(tools, settings, Offer::default());
    Budgets::derive(&settings.budgets, &fixed_parts(&system, &tools.list))
}

/// The tools and static blocks of runs, made once for each offer, so that their wire form is made once.
pub(crate) struct FixedPart {
    settings: Arc<RuntimeSettings>,
    tools: Tools,
    redactor: Redactor,
    rules: Arc<PathRules>,
    made: Mutex<HashMap<Offer, (ToolSet, Arc<SystemPrompt>)>>,
}

impl FixedPart {
    pub(crate) fn new(settings: Arc<RuntimeSettings>, tools: Tools, redactor: Redactor, rules: Arc<PathRules>) -> Self {
        Self { settings, tools, redactor, rules, made: Mutex::default() }
    }

    pub(crate) fn places(&self) -> &ContextPlaces {
        &self.settings.places
    }

    pub(crate) fn rules(&self) -> &Arc<PathRules> {
        &self.rules
    }

    /// The tools have changed.
    pub(crate) fn forget(&self) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// What the system part of a run with this offer is made of; without it where it leaves too little of the window.
    pub(crate) fn parts(&self, offer: Offer) -> SystemParts {
        let parts = self.made(offer);
        let fits = Budgets::derive(&self.settings.budgets, &fixed_parts(&parts.fixed, &parts.tools.list)).is_ok();
        if fits || offer == Offer::default() { parts } else { self.made(Offer::default()) }
    }

    fn made(&self, offer: Offer) -> SystemParts {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let (tools, fixed) = made.entry(offer).or_insert_with(|| {
            let registry = self.tools.read().unwrap_or_else(PoisonError::into_inner);
            let fixed = fixed_blocks(&self.settings, offer.memories);
            (tool_set(&registry, &self.settings, offer), Arc::new(fixed))
        });
        SystemParts {
            settings: Arc::clone(&self.settings),
            tools: tools.clone(),
            fixed: Arc::clone(fixed),
            redactor: self.redactor.clone(),
        }
    }

    /// Whether a run can be started at all.
    ///
    /// # Errors
    /// When the fixed part leaves too little of the window (CFG-8).
    pub(crate) fn check(&self) -> Result<(), BudgetError> {
        let parts = self.parts(Offer::default());
        Budgets::derive(&self.settings.budgets, &fixed_parts(&parts.fixed, &parts.tools.list)).map(drop)
    }
}

pub(crate) fn fingerprint(system: &SystemPrompt, tools: &ToolList) -> (Object, Vec<Write>) {
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
            if !block.metadata.is_empty() {
                named["facts"] = block.metadata.clone().into();
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

    /// STO-13: every block and the tool list have a hash, and their bytes are kept under it.
    #[test]
    fn everything_fixed_has_a_hash() {
        let prompt = blocks([AssetId::SystemCore, AssetId::SystemTodo]);
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
