//! Development only: folders for tests to write in, and a model server that answers from a script.
//!
//! The server is a real HTTP server on a loopback port that speaks Ollama's, OpenAI's and Anthropic's protocols, so that tests and
//! benches run the same client code as users do, down to the socket. A script is written once and served in whatever
//! protocol a request comes in. Every request is recorded and checked against what real servers insist on.
//!
//! It is deliberately no model (it understands nothing), no adapter, and no user of this workspace's other crates: each of
//! them may depend on it in its tests. Where a test's world is broken it panics, as assertions do.
//!
//! Reading order: [`scratch()`] and [`TestHome`] (where a test may write), [`Reply`] (what a model says), [`ScriptedServer`].
//!
//! ```
//! use agent_testkit::{Call, Protocol, Reply, ScriptedServer};
//! use serde_json::json;
//!
//! let server = ScriptedServer::start_blocking();
//! server.script([
//!     Reply::text("Let me look.").calls([Call::new("code.read_file", json!({"path": "a.txt"}))]),
//!     Reply::text("It says hello."),
//! ]);
//! let base_url = server.base_url(Protocol::Ollama);
//! // … run the code under test against `base_url`, then look at `server.requests()`.
//! # assert!(base_url.starts_with("http://127.0.0.1:"));
//! ```

mod body;
mod call;
mod current_test;
mod flush;
mod gate;
mod home;
mod limit;
mod model;
mod names;
mod prefix;
mod privileges;
mod protocol;
mod record;
mod reply;
mod say;
mod scratch;
mod script_file;
mod server;
mod validate;
mod view;
mod wire;

pub use call::Call;
pub use current_test::{going_on, not_tried};
pub use gate::Gate;
pub use home::{MODEL, TestHome};
pub use model::Model;
pub use prefix::{prefix_violations, prefix_violations_ignoring};
pub use privileges::without_privileges;
pub use protocol::Protocol;
pub use record::{Delivery, Probe, RecordedRequest};
pub use reply::{Reply, Stop};
pub use scratch::scratch;
pub use script_file::{ScriptError, ScriptFile};
pub use server::{ScriptedServer, ServerBuilder};
pub use validate::validate_request;
