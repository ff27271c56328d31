//! Runs sessions: performs what the run machine of `agent-engine` decides, and feeds the outcomes back.
//!
//! The crate owns what a decision may not know: tokio, the clock, open streams, prepared calls, the lease on a session,
//! the question to a person. It is deliberately *not* a place for decisions about a run (they are the machine's), for wire
//! formats (`agent-llm`), for SQL (`agent-store`) or for permission rules (`agent-policy`).
//!
//! Read in this order: [`Runtime`] (one per process and project), [`RunHandle`] (one per run), [`EventStream`] (what a
//! user watches), [`RuntimeSettings`] and [`Ports`] (what it is made of).

mod artifacts;
mod broker;
mod calls;
mod caught;
mod driver;
mod error;
mod handle;
mod live;
mod model_call;
mod redact;
mod runtime;
mod session;
mod settings;
mod sources;
mod versions;

pub use broker::{CallbackError, PermissionCallback};
pub use error::RuntimeError;
pub use handle::{CancelResult, RunHandle, RunResult};
pub use live::{EventStream, StreamTaken};
pub use runtime::{Runtime, StartOptions, UserMessage};
pub use settings::{Ports, RuntimeSettings};
pub use sources::{check_budgets, system_prompt};
