//! The sections of `config.toml`, each key declared once.

mod access;
mod agents;
mod context;
mod model;
mod profile;
mod runtime;
mod tools;

pub use access::{HooksConfig, NetworkPolicyConfig, PermissionsConfig, RememberScope, UnattendedWrites, Verdict};
pub use agents::{AgentsConfig, PlanConfig, TaskConfig, WorkerEntry, WorkerPool, derived_worker_id};
pub use context::{CompactConfig, ContextConfig, MemoryCategory, MemoryConfig};
pub use model::{ModelConfig, Price, RetryConfig};
pub use profile::{ModelOverlay, ModelProfile};
pub use runtime::RuntimeConfig;
pub use tools::{McpToolsConfig, ToolNetworkConfig, ToolOverride, ToolPermission, ToolsConfig};
