//! Runs sessions: performs what the run machine of `agent-engine` decides, and feeds the outcomes back.
//!
//! The crate owns what a decision may not know: tokio, the clock, open streams, prepared calls, the lease on a session,
//! the question to a person. It is deliberately *not* a place for decisions about a run (they are the machine's), for wire
//! formats (`agent-llm`), for SQL (`agent-store`) or for permission rules (`agent-policy`).
//!
//! Read in this order: [`Runtime`] (one per process and project), [`RunHandle`] (one per run), [`EventStream`] (what a
//! user watches), [`RuntimeSettings`] and [`Ports`] (what it is made of).

mod agent;
mod agent_end;
mod artifacts;
mod blocks;
mod broker;
mod calls;
mod caught;
mod child_streams;
mod child_task;
mod children;
mod compaction;
mod context;
mod cut_run;
mod definitions;
mod deltas;
mod dispatch;
mod driver;
mod error;
mod failed_run;
mod file_stamp;
mod handle;
mod held_tasks;
mod ids;
mod launch;
mod live;
mod machine;
mod memory;
mod model_call;
mod model_server;
mod models;
mod owned;
mod project;
mod queue;
mod raw;
mod redact;
mod request_gate;
mod resume;
mod run_clock;
mod run_context;
mod run_spec;
mod run_state;
mod runtime;
mod seen_files;
mod services;
mod session;
mod session_files;
mod sessions;
mod settings;
mod some_of;
mod sources;
mod spending;
mod storing;
mod task_settings;
mod tasks;
mod tools;
mod worker_pools;
mod workers;

pub use blocks::blocks;
pub use broker::{CallbackError, PermissionCallback};
pub use child_streams::ChildEventsError;
pub use definitions::{AgentFilesError, Definitions, PackagedDefinitionError, RefusedAgentFile};
pub use error::RuntimeError;
pub use handle::{CancelResult, RunHandle};
pub use live::{EventStream, StreamTaken};
pub use memory::{Memory, MemoryModel, MemorySettings};
pub use model_server::ModelServer;
pub use models::{ModelProfiles, RunModel};
pub use project::project_name;
pub use raw::RawExchanges;
pub use redact::SharedSecrets;
pub use request_gate::RequestGate;
pub use run_state::{RunResult, Unanswered};
pub use runtime::{Background, Runtime, StartOptions, UserMessage};
pub use settings::{ChildSettings, ContextPlaces, Ports, RuntimeSettings, WorkerPoolSettings, WorkerSettings};
pub use sources::{check_budgets, unavailable_to_children};
pub use task_settings::{BoardSettings, EventIds, TaskSettings};
pub use tools::{CoreToolSettings, core_tools};
pub use worker_pools::{WorkerPoolError, check_worker_pools};
