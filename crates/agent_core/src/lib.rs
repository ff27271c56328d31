//! An embeddable agent core: a message and a project folder go in, a streamed, permission-guarded and replayable run
//! comes out.
//!
//! [`AgentRuntime`] opens everything once; [`AgentRuntime::start`] runs one message and gives a [`RunHandle`], whose
//! [`EventStream`] shows what happens. Before anything is changed, the [`PermissionCallback`] is asked.
//!
//! ```no_run
//! use agent_core::{AgentRuntime, EventType, StartOptions};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! // Reads ~/.soong-agent/config.toml. Without a permission callback everything that would ask is denied.
//! let runtime = AgentRuntime::builder().project_dir("my-project").build().await?;
//! let run = runtime.start("What does this project do?", StartOptions::default()).await?;
//! let mut events = run.events(false)?;
//! while let Some(event) = events.next().await? {
//!     if event.event_type == EventType::MessageDelta {
//!         print!("{}", event.payload["text"].as_str().unwrap_or_default());
//!     }
//! }
//! let result = run.wait().await;
//! println!("\n{}", result.status.as_str());
//! runtime.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! What was stored can be listed, searched, replayed, inspected and cleared away: by the runtime's own methods, or by an
//! [`Archive`] that [`ArchiveBuilder`] opens without a model server.
//!
//! What it is deliberately not: a chat program (see the `soong-agent` command), a wrapper of a provider's types, or a
//! database library; none of those shows through.

mod adapters;
mod archive;
mod builder;
mod edges;
mod error;
mod inspect;
mod memory;
mod overrides;
mod runtime;
mod settings;

pub use agent_config::{ConfigError, ConfigProblems, Notice};
pub use agent_engine::Budgets;
pub use agent_library::memory::{
    MemoryCategory, MemoryEntry, MemoryError, MemoryId, MemoryListing, MemoryProblem, Moment,
};
pub use agent_llm::{
    KeySource, ModelStream, ProviderAdapter, ProviderError, ProviderFactory, ProviderRegistry, ProviderSettings,
};
pub use agent_policy::Withheld;
pub use agent_protocol::{
    AgentDefinition, AgentId, AgentRole, ArtifactId, ArtifactRef, ContentBlock, DecisionKind, DefinitionSource,
    EndReason, ErrorCode, ErrorPayload, ErrorType, EventId, EventType, IdError, JsonBlock, Level, ModelEvent,
    ModelFault, ModelMessage, ModelProfile, ModelRequest, Node, NodeId, NodeType, Object, Permission,
    PermissionDecision, PermissionRequest, PermissionRequestId, PromptBlock, Reply, Role, RunId, RunMode, RunStatus,
    RuntimeEvent, SessionId, StopKind, StopReason, SystemBlock, SystemPrompt, TextBlock, Timestamp, ToolCall,
    ToolCallId, ToolChoice, ToolClass, ToolDefinition, ToolList, ToolResult, ToolResultBlock, Usage, WireMemo,
};
pub use agent_redact::{escape_for_terminal, quote_argv, shorten};
pub use agent_runtime::{
    AgentInfo, Archive, ArtifactCleanup, ArtifactInfo, Background, BlockReport, BranchError, CallbackError,
    CancelResult, CleanupCandidate, CleanupFailure, CleanupReason, CleanupResult, CompactionBegun, CompactionOutcome,
    CompactionReport, ContextEnd, ContextEntry, ContextReport, ContextRun, DeletedArtifacts, DeletedSession,
    EpochContext, Estimates, EventStream, FileFailure, Missing, Owner, PermissionCallback, PinnedNode, RebuildError,
    Replay, ReplayCursor, ReplayPage, ReplayResult, RequestContext, RequestOutcome, RequestReport, RunHandle, RunInfo,
    RunInspection, RunResult, RuntimeError, SessionFilter, SessionHit, SessionInfo, SessionListing, SessionStatus,
    SessionSummary, Standing, StartOptions, StreamTaken, TurnInspection, TurnReply, TurnReport, UserMessage,
    WindowShares, project_name,
};
pub use agent_store::StoreError;
pub use agent_tool::{
    CallContext, ContextNode, FnTool, LoadedContext, NothingLoaded, Prepared, PreparedCall, RegisterError, Tool,
    ToolOutput, reference as tool_reference,
};
pub use archive::ArchiveBuilder;
pub use builder::AgentRuntimeBuilder;
pub use error::{BuildError, with_causes};
pub use inspect::{ConfigReport, ToolStatus, config_path, config_template, inspect_config, inspect_tools};
pub use memory::{Memories, MemoriesBuilder};
pub use runtime::AgentRuntime;
