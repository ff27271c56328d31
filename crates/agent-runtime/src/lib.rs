//! Runs sessions: performs what the run machine of `agent-engine` decides, and feeds the outcomes back.
//!
//! The crate owns what a decision may not know: tokio, the clock, open streams, prepared calls, the lease on a session,
//! the question to a person. It is deliberately *not* a place for decisions about a run (they are the machine's), for wire
//! formats (`agent-llm`), for SQL (`agent-store`) or for permission rules (`agent-policy`).
//!
//! Read in this order: [`Runtime`] (one per process and project), [`RunHandle`] (one per run), [`EventStream`] (what a
//! user watches), [`RuntimeSettings`] and [`Ports`] (what it is made of).

mod archive;
mod artifacts;
mod broker;
mod calls;
mod caught;
mod context;
mod driver;
mod error;
mod handle;
mod launch;
mod line;
mod live;
mod memory;
mod model_call;
mod raw;
mod redact;
mod runtime;
mod session;
mod sessions;
mod settings;
mod sources;
mod tools;
mod upkeep;
mod versions;

pub use agent_engine::{BranchError, RebuildError};
pub use agent_store::{
    AgentRow as AgentInfo, ArtifactRow as ArtifactInfo, DeletedArtifacts, DeletedSession, FileFailure, Owner,
    ReplayCursor, ReplayPage, RunRow as RunInfo, SessionFilter, SessionRow as SessionInfo, SessionStatus,
    SessionSummary,
};
pub use archive::{
    Archive, ArtifactCleanup, BlockReport, CleanupCandidate, CleanupFailure, CleanupReason, CleanupResult,
    CompactionBegun, CompactionOutcome, CompactionReport, ContextEnd, ContextEntry, ContextReport, ContextRun,
    EpochContext, Estimates, Missing, PinnedNode, Replay, ReplayResult, RequestContext, RequestOutcome, RequestReport,
    RunInspection, SessionHit, SessionListing, Standing, TurnInspection, TurnReply, TurnReport, WindowShares,
};
pub use broker::{CallbackError, PermissionCallback};
pub use context::ContextPlaces;
pub use error::RuntimeError;
pub use handle::{CancelResult, RunHandle, RunResult};
pub use live::{EventStream, StreamTaken};
pub use memory::{Memory, MemoryModel, MemorySettings};
pub use raw::RawExchanges;
pub use runtime::{Background, Runtime, StartOptions, UserMessage};
pub use sessions::project_name;
pub use settings::{Ports, RuntimeSettings};
pub use sources::{blocks, check_budgets};
pub use tools::{CoreToolSettings, core_tools};
