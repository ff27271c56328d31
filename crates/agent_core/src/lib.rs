//! An embeddable agent core: a message and a project folder go in, a streamed, permission-guarded and replayable run
//! comes out.
//!
//! [`AgentRuntime`] opens everything once; [`AgentRuntime::start`] runs one message and gives a [`RunHandle`], whose
//! [`EventStream`](event::EventStream) shows what happens. Before anything is changed, the
//! [`PermissionCallback`](permission::PermissionCallback) is asked.
//!
//! ```no_run
//! use agent_core::event::MessageDelta;
//! use agent_core::{AgentRuntime, EventType, StartOptions};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! // Reads ~/.soong-agent/config.toml. Without a permission callback everything that would ask is denied.
//! let runtime = AgentRuntime::builder().project_dir("my-project").build().await?;
//! let run = runtime.start("What does this project do?", StartOptions::default()).await?;
//! let mut events = run.events(false)?;
//! while let Some(event) = events.next().await? {
//!     if event.event_type == EventType::MessageDelta {
//!         print!("{}", event.read::<MessageDelta>()?.text);
//!     }
//! }
//! let result = run.wait().await;
//! println!("\n{}", result.status.as_str());
//! runtime.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! What practically every program needs is here; the rest is in modules by what it is about. What was stored can be listed,
//! searched, replayed, inspected and cleared away: by the runtime's own methods, or by an [`Archive`](archive::Archive) that
//! [`archive::open`] opens without a model server.
//!
//! What it is deliberately not: a chat program (see the `soong-agent` command), a wrapper of a provider's types, or a
//! database library; none of those shows through.

pub mod archive;
pub mod config;
pub mod error;
pub mod event;
pub mod id;
pub mod memory;
pub mod message;
pub mod model;
pub mod permission;
pub mod runtime;
pub mod session;
pub mod task;
pub mod text;
pub mod tool;

mod adapters;
mod definitions;
mod environment;
mod location;
mod overrides;
mod profiles;
mod registry;
mod settings;
mod task_logs;

pub use event::{EventType, RuntimeEvent};
pub use permission::{PermissionDecision, PermissionRequest};
pub use runtime::{AgentRuntime, RunHandle, StartOptions, UserMessage};
pub use session::AgentDefinition;
pub use tool::{ToolDefinition, ToolResult};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
