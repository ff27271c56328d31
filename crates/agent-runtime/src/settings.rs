//! What a runtime is made of.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_engine::{BudgetConfig, Compacting, Limits, ModelSettings};
use agent_library::instructions::InstructionPlaces;
use agent_policy::{PathRules, PolicySettings, ToolScope};
use agent_protocol::AgentRole;
use agent_redact::SecretPatterns;
use agent_store::{ArtifactWriter, SessionArchive, SessionStore};
use agent_tool::{Registry, Tool};

use crate::broker::PermissionCallback;
use crate::definitions::Definitions;
use crate::memory::Memory;
use crate::models::{ModelProfiles, RunModel};
use crate::raw::RawExchanges;
use crate::redact::SharedSecrets;
use crate::task_settings::TaskSettings;

/// Where the user's and the project's files are.
#[derive(Debug, Clone, Default)]
pub struct ContextPlaces {
    /// Instruction files of the user and of the project.
    pub instructions: InstructionPlaces,
    /// The folder of the user's skills.
    pub skills_dir: PathBuf,
}

/// Plain values a runtime works with.
#[derive(Debug, Clone)]
pub struct RuntimeSettings {
    /// The project folder, resolved; also what a session is bound to (COD-10).
    pub project: PathBuf,
    /// Which model, and how it is asked.
    pub model: ModelSettings,
    /// How the context window is meant to be shared out.
    pub budgets: BudgetConfig,
    /// Where instruction files and skills are.
    pub places: ContextPlaces,
    /// When and how older turns are summarised.
    pub compacting: Compacting,
    /// Where runs stop by themselves.
    pub limits: Limits,
    /// How long a cancelled run waits for what it stopped (RUN-17).
    pub cancel_timeout: Duration,
    /// What holds for child agents.
    pub children: ChildSettings,
    /// The workers that an Orchestrator may use, in the order in which they are asked.
    pub worker_pools: Vec<WorkerPoolSettings>,
    /// Where Tasks are kept.
    pub tasks: Arc<TaskSettings>,
    /// Tools that nobody gets, by canonical name.
    pub disabled_tools: HashSet<String>,
    /// What of `[permissions]` decisions depend on.
    pub policy: PolicySettings,
    /// How long the permission callback may take to answer; absent: as long as it takes.
    pub permission_timeout: Option<Duration>,
    /// A tool's result bigger than this goes to an artifact, in bytes.
    pub result_bytes: usize,
    /// What the model is told about where it works: project folder, platform.
    pub environment: String,
    /// The user's date now. The model is told it with each message that begins a run.
    pub today: fn() -> String,
}

/// Who child agents are, and their limits (AGT-4, AGT-6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildSettings {
    /// The definition of a sub-agent that names none.
    pub sub_definition: String,
    /// The same of a fork.
    pub fork_definition: String,
    /// Most of one run that live at the same time.
    pub per_run: usize,
    /// Most of one session.
    pub per_session: usize,
    /// How long one may run when its call gives no time.
    pub timeout: Duration,
    /// How long a cancelled one may take to end.
    pub cancel_timeout: Duration,
}

/// A list of workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerPoolSettings {
    /// Its name; unique.
    pub pool_id: String,
    /// Its workers, in order.
    pub workers: Vec<WorkerSettings>,
}

/// A long-lived worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerSettings {
    /// Its id, unique in the pool and the same after every restart (CFG-6).
    pub worker_id: String,
    /// The agent definition it is made from.
    pub agent_definition_id: String,
    /// The tools it may use, by canonical name; absent: those that workers have by default (WRK-8).
    pub allowed_tools: Option<Vec<String>>,
}

impl RuntimeSettings {
    /// What an agent of this role gets of the registered tools, where it was started with no list of its own (TOL-4, AGT-8).
    #[must_use]
    pub fn tool_scope(&self, role: AgentRole) -> ToolScope<'_> {
        ToolScope { role, disabled: &self.disabled_tools, policy: &self.policy, requested: None }
    }
}

/// What a runtime works through.
pub struct Ports {
    /// Where sessions are stored.
    pub store: Arc<dyn SessionStore>,
    /// The same place, for looking back and clearing away.
    pub archive: Arc<dyn SessionArchive>,
    /// Where the files of artifacts are made.
    pub artifacts: ArtifactWriter,
    /// The model of the session's own agent, and of all who have none of their own.
    pub model: RunModel,
    /// The models of agent definitions.
    pub profiles: Arc<dyn ModelProfiles>,
    /// What is remembered over sessions; nothing if that is switched off.
    pub memory: Option<Memory>,
    /// The tools there are.
    pub tools: Registry<Arc<dyn Tool>>,
    /// The agent definitions there are.
    pub definitions: Definitions,
    /// What is known about paths.
    pub rules: Arc<PathRules>,
    /// Secret values that must not be stored or shown.
    pub secrets: SharedSecrets,
    /// What else looks like a secret: it is stored and not shown.
    pub patterns: SecretPatterns,
    /// Where the provider puts what travels; absent unless somebody debugs (PRV-14).
    pub raw: Option<RawExchanges>,
    /// Who is asked; nobody: what would ask is denied (PRM-5).
    pub permission: Option<Arc<dyn PermissionCallback>>,
}
