//! What a provider's protocol must say of itself. Everything else — connecting, waiting, asking again, telling — is the
//! [conversation](crate::conversation)'s, once for all protocols.

use std::sync::Arc;

use agent_protocol::{ModelEvent, ModelRequest, Reply, ToolList};
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};

use crate::fault::ServerWords;
use crate::http::{Call, Wire};
use crate::names::NameTable;
use crate::reply::ReplyBuilder;
use crate::secret::Secret;
use crate::{BrokenStream, ProviderError, Refusal};

/// One provider's protocol.
pub(crate) trait Dialect: Send + Sync {
    /// The registry key.
    fn key(&self) -> &'static str;

    /// Where to post, below the base URL.
    fn path(&self) -> &'static str;

    /// Where the models are listed, below the base URL.
    fn models_path(&self) -> &'static str;

    /// The wire names of a request's tools.
    fn names(&self, tools: &ToolList) -> NameTable {
        NameTable::new(tools.tools.iter().map(|tool| tool.name.as_str()))
    }

    /// Headers of a request's calls: what is accepted, and the key.
    fn headers(&self, request: &ModelRequest, key: Option<&Secret>) -> Result<HeaderMap, ProviderError>;

    /// The body of a request.
    fn encode(&self, request: &ModelRequest, names: &NameTable) -> Result<Bytes, ProviderError>;

    /// Whether the server sends nothing at all while it collects a call, so that silence inside a reply means as little as
    /// silence before it.
    fn buffers_calls(&self) -> bool {
        false
    }

    /// A decoder for one answer.
    fn decoder(&self, reply: ReplyBuilder) -> Box<dyn Decoder>;

    /// Learns from a refusal, and says what. If the request, encoded anew, differs from the one that was refused, it is sent at
    /// once; so a lesson must change a request only finitely often.
    fn learn(&self, _refusal: &Refusal) -> Option<&'static str> {
        None
    }

    /// Whether a refusal is such that base_url may be wrong, so that the server is asked before the request is sent again.
    fn doubts_address(&self, _refusal: &Refusal) -> bool {
        false
    }

    /// Adds what the user needs to know to an error, if asking the server about it helps.
    fn explain<'a>(&'a self, error: ProviderError, _ask: Ask<'a>) -> BoxFuture<'a, ProviderError> {
        std::future::ready(error).boxed()
    }
}

/// Reads the body of an answer.
pub(crate) trait Decoder: Send {
    /// Takes the next bytes. What they say goes to `out`, also when a fault follows it.
    fn feed(&mut self, bytes: &[u8], out: &mut Vec<ModelEvent>) -> Result<Flow, StreamFault>;

    /// The body has ended, or the server was silent after its end mark.
    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), StreamFault>;

    /// How long to wait for more.
    fn state(&self) -> StreamState;

    /// Whether anything of the reply has come; after that the adapter does not ask again.
    fn has_content(&self) -> bool;

    /// The whole reply, or why what came is none.
    fn finish(self: Box<Self>, out: &mut Vec<ModelEvent>) -> Result<Reply, Box<Unfinished>>;

    /// What had come when the stream failed.
    fn partial(self: Box<Self>) -> Option<Reply>;
}

/// A stream that ended and is no reply.
#[derive(Debug)]
pub(crate) struct Unfinished {
    pub(crate) fault: StreamFault,
    /// What had come of it.
    pub(crate) partial: Option<Reply>,
}

/// Whether more is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    More,
    /// The protocol's end mark has come.
    Done,
}

/// How far a reply has come, as far as patience depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamState {
    /// Nothing of the reply has come.
    Waiting,
    /// Some of it has.
    Content,
    /// It may have ended, but servers say so of replies that go on: only a long silence ends it.
    MaybeFinished,
    /// All of it has come; the server may add usage or just hold the connection.
    Finished,
}

/// Why a stream failed, in no provider's words.
#[derive(Debug, PartialEq)]
pub(crate) enum StreamFault {
    Broken(BrokenStream),
    /// The server says so itself.
    Said(Box<ServerWords>),
    /// A prompt that fills the window, and no answer, or no whole one.
    PromptFillsWindow {
        prompt: u64,
        window: u64,
    },
}

impl From<BrokenStream> for StreamFault {
    fn from(broken: BrokenStream) -> Self {
        Self::Broken(broken)
    }
}

impl From<crate::framing::TooLong> for StreamFault {
    fn from(too_long: crate::framing::TooLong) -> Self {
        Self::Broken(BrokenStream::EventTooLong { limit: too_long.limit })
    }
}

/// How much of a broken piece an error shows, in characters.
const SAMPLE_CHARS: usize = 120;

/// A piece of a stream that is not the JSON it should be.
pub(crate) fn malformed(piece: &str, error: &serde_json::Error) -> StreamFault {
    let sample = piece.chars().take(SAMPLE_CHARS).collect();
    BrokenStream::Malformed { reason: error.to_string(), sample, redacted: false }.into()
}

/// A way to ask the server more about a failure.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub(crate) wire: &'a dyn Wire,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) model: &'a str,
}

impl Ask<'_> {
    /// The body of a successful answer, if there is one, in time and not too long.
    pub(crate) async fn body(&self, call: Call, limit: usize) -> Option<Vec<u8>> {
        use futures::StreamExt;

        let mut answer = self.wire.send(call).await.ok().filter(|answer| (200..300).contains(&answer.status))?;
        let mut body = Vec::new();
        while let Some(chunk) = answer.body.next().await {
            body.extend_from_slice(&chunk.ok()?);
            if body.len() > limit {
                return None;
            }
        }
        Some(body)
    }
}

/// `Authorization: Bearer …`, marked so that no log shows it.
pub(crate) fn bearer(provider: &str, key: &Secret, headers: &mut HeaderMap) -> Result<(), ProviderError> {
    headers.insert(AUTHORIZATION, secret_header(provider, &format!("Bearer {}", key.expose()))?);
    Ok(())
}

/// A header value that is a secret.
pub(crate) fn secret_header(provider: &str, value: &str) -> Result<HeaderValue, ProviderError> {
    let mut value =
        HeaderValue::from_str(value).map_err(|_| ProviderError::InvalidKey { provider: provider.to_owned() })?;
    value.set_sensitive(true);
    Ok(value)
}

/// The protocols are used behind pointers only.
pub(crate) type SharedDialect = Arc<dyn Dialect>;
