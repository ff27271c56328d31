//! The provider port, and the adapters that speak Ollama's native API, OpenAI's Chat Completions and Anthropic's Messages.
//!
//! An adapter turns a neutral [`ModelRequest`] into one HTTP request and the answer's bytes into [`ModelEvent`]s. What is
//! particular about a provider — its names, limits, error texts, ways to end a stream — ends here: callers see canonical
//! tool names, arguments that are objects, and errors with codes of the contract.
//!
//! It is deliberately *not* a place for decisions about a run: it knows no tools beyond their definitions, no sessions, no
//! context budget. It asks again only while nothing of a reply has arrived (PRV-8); everything later is the loop's matter.
//! It reads no environment and no file of its own; keys and proxies come in through [`ProviderSettings`]. The one part
//! that looks around is the TLS verifier, which loads the system's certificates at the first `https` request.
//!
//! Read in this order: [`ProviderAdapter`] (the port), [`ProviderSettings`] (what an adapter is built from),
//! [`ProviderRegistry`] (which adapters there are), [`ProviderError`] (how they fail).
//!
//! ```no_run
//! use agent_llm::{ProviderRegistry, ProviderSettings};
//! use agent_protocol::{ModelEvent, ModelRequest};
//! use futures::StreamExt;
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn ask(request: ModelRequest) -> Result<(), agent_llm::ProviderError> {
//! let settings = ProviderSettings::new("http://127.0.0.1:11434");
//! let ollama = ProviderRegistry::with_builtin().build("ollama", settings)?;
//! let mut events = ollama.stream(request, CancellationToken::new());
//! while let Some(event) = events.next().await {
//!     match event {
//!         ModelEvent::TextDelta { text } => drop(text),
//!         ModelEvent::Completed(reply) => drop(reply.text()),
//!         ModelEvent::Failed { error, .. } => drop(error),
//!         _ => {}
//!     }
//! }
//! ollama.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! [`ModelRequest`]: agent_protocol::ModelRequest
//! [`ModelEvent`]: agent_protocol::ModelEvent

mod adapter;
mod anthropic;
mod conversation;
mod dialect;
mod digest;
mod error;
mod event_body;
mod fault;
mod framing;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod http;
mod json;
mod key;
mod models;
mod names;
mod ollama;
mod openai;
mod options;
mod port;
#[cfg(test)]
mod providers_page_tests;
#[cfg(test)]
mod quirk_table;
mod raw;
mod redact;
mod registry;
mod reply;
mod retry;
mod secret;
mod settings;
#[cfg(test)]
mod shared_id_tests;
mod span;
#[cfg(test)]
mod testing;
mod wire_form;

pub use error::{BrokenStream, ConnectionFault, ProviderCause, ProviderError, Waiting};
pub use fault::{Refusal, RefusalKind};
pub use key::KeySource;
pub use port::{ModelStream, ProviderAdapter};
pub use raw::{RawExchange, RawSink};
pub use registry::{ProviderFactory, ProviderRegistry, SharedProviders};
pub use settings::{LimitSettings, ProviderSettings, ProxySettings, RetrySettings};
