//! The whole of `config.toml`.

use std::collections::BTreeMap;

use crate::schema::{Doc, Field, Row, section};
use crate::sections::{
    AgentsConfig, CompactConfig, ContextConfig, HooksConfig, MemoryConfig, ModelConfig, ModelOverlay,
    PermissionsConfig, PlanConfig, RuntimeConfig, TaskConfig, ToolsConfig,
};
use crate::texts::ID;

section! {
    /// A whole configuration, every value within its bounds when it comes from [`parse`](fn@crate::parse).
    ///
    /// `Default` is what the packaged `config_default.toml` says. A file that leaves a key out means the same, but for three
    /// things that are never implicit: see [`Config::implied`].
    pub struct Config {
        /// What bounds a run as a whole.
        runtime: RuntimeConfig = RuntimeConfig::default();
        /// Which model is asked, where and how.
        model: ModelConfig = ModelConfig::default();
        /// Named sets of `[model]` keys, laid over `[model]` where a `model_profile` names them.
        model_overrides: BTreeMap<String, ModelOverlay> = ModelOverlay::packaged(), ID;
        /// What a request is made of.
        context: ContextConfig = ContextConfig::default();
        /// How older turns are summarised.
        compact: CompactConfig = CompactConfig::default();
        /// What is remembered over sessions.
        memory: MemoryConfig = MemoryConfig::default();
        /// Child agents and workers.
        agents: AgentsConfig = AgentsConfig::default();
        /// Plans as Markdown files.
        plan: PlanConfig = PlanConfig::default();
        /// The journals of tasks.
        task: TaskConfig = TaskConfig::default();
        /// What is asked and what is not.
        permissions: PermissionsConfig = PermissionsConfig::default();
        /// The commands of `hooks.json`.
        hooks: HooksConfig = HooksConfig::default();
        /// Limits and boundaries of tools.
        tools: ToolsConfig = ToolsConfig::default();
    }
}

impl Config {
    /// What keys mean that a file leaves out: the defaults, but no worker pools (an Orchestrator has none unless they are
    /// written down, WRK-1), no model overrides, and no profile for compaction (CFG-9).
    #[must_use]
    pub fn implied() -> Self {
        let mut config = Self::default();
        config.model_overrides.clear();
        config.compact.model_profile = None;
        config.agents.worker_pools.clear();
        config
    }

    /// `tools.artifact_threshold_tokens`, or the quarter of the window that stands for it when it is not set.
    #[must_use]
    pub fn artifact_threshold_tokens(&self) -> u64 {
        self.tools.artifact_threshold_tokens.unwrap_or(self.model.context_window / 4)
    }
}

/// Every key there is, with the values `config` has for them.
pub(crate) fn rows(config: &Config) -> Vec<Row> {
    let mut rows = Vec::new();
    let doc = Doc { meaning: "", required: false };
    config.rows("", doc, (), &mut rows);
    rows
}
