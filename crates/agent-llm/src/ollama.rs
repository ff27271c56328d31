//! Ollama's own API: `POST /api/chat`, one JSON object a line.
//!
//! Options under `model.provider_options.ollama`:
//!
//! | option | value |
//! |---|---|
//! | `keep_alive` | how long the model stays loaded: seconds, or a text such as `"10m"`; negative is for ever |
//! | `think` | `true`, `false`, `"low"`, `"medium"`, `"high"` or `"max"`; left to the server if absent |
//! | `inline_thinking` | `true` (default) takes `<think>…</think>` at the beginning of a reply for reasoning, `false` for text; `"unopened"`: the template has opened it already |
//! | `options` | a table of runner options: `seed`, `top_p`, `top_k`, `min_p`, `stop`, … |
//!
//! `num_ctx`, `num_predict` and `temperature` come from the model's own settings and are refused among the options. Thinking
//! counts against `num_predict`. Of a tool's schema the server keeps types, names, descriptions, enums and what is required; the
//! rest of what our tools' schemas may hold is advice, and arguments are checked against all of it.
//!
//! Ollama sends nothing while a call is being written, so silence inside a reply may last as long as silence before it.

mod decode;
mod key;
mod library;
mod options;
mod request;

use std::sync::Arc;

use agent_protocol::ModelRequest;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};

use crate::adapter::HttpAdapter;
use crate::dialect::{Ask, Decoder, Dialect, bearer};
use crate::http::Endpoint;
use crate::names::NameTable;
use crate::reply::{InlineThinking, ReplyBuilder};
use crate::secret::Secret;
use crate::{ProviderAdapter, ProviderError, ProviderSettings};
pub(crate) use key::KEY;
use options::OllamaOptions;

/// The options there are.
#[cfg(test)]
pub(crate) const OPTIONS: &[&str] = &options::KNOWN;
const START_HINT: &str = "Start Ollama with `ollama serve`, or correct base_url.";

/// Builds the adapter.
pub(crate) fn adapter(settings: ProviderSettings) -> Result<Arc<dyn ProviderAdapter>, ProviderError> {
    let endpoint = Endpoint::new(KEY, &settings)?;
    if endpoint.path().ends_with("/v1") {
        return Err(ProviderError::InvalidBaseUrl {
            provider: KEY.to_owned(),
            reason:
                "it ends in /v1, which is Ollama's imitation of OpenAI; leave that out, or set the provider to openai"
                    .to_owned(),
        });
    }
    let dialect = Arc::new(Ollama::new(&settings)?);
    Ok(Arc::new(HttpAdapter::new(dialect, endpoint, settings, START_HINT)?))
}

/// The dialect.
pub(crate) struct Ollama {
    settings: ProviderSettings,
    options: OllamaOptions,
}

impl Ollama {
    pub(crate) fn new(settings: &ProviderSettings) -> Result<Self, ProviderError> {
        let options = OllamaOptions::read(&settings.provider_options)?;
        Ok(Self { settings: settings.clone(), options })
    }

    /// The request was encoded with these options: they are known to be good.
    fn inline_thinking(&self, request: &ModelRequest) -> InlineThinking {
        if request.provider_options.is_empty() {
            return self.options.inline_thinking;
        }
        let both = crate::options::overlay(&self.settings.provider_options, &request.provider_options);
        OllamaOptions::read(&both).map(|options| options.inline_thinking).unwrap_or_default()
    }
}

impl Dialect for Ollama {
    fn key(&self) -> &'static str {
        KEY
    }

    fn path(&self) -> &'static str {
        "api/chat"
    }

    fn models_path(&self) -> &'static str {
        "api/tags"
    }

    fn headers(&self, _request: &ModelRequest, key: Option<&Secret>) -> Result<HeaderMap, ProviderError> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/x-ndjson"));
        if let Some(key) = key {
            bearer(KEY, key, &mut headers)?;
        }
        Ok(headers)
    }

    fn encode(&self, request: &ModelRequest, names: &NameTable) -> Result<Bytes, ProviderError> {
        if request.provider_options.is_empty() {
            return request::encode(request, names, &self.options, self.settings.context_window);
        }
        let both = crate::options::overlay(&self.settings.provider_options, &request.provider_options);
        request::encode(request, names, &OllamaOptions::read(&both)?, self.settings.context_window)
    }

    fn buffers_calls(&self) -> bool {
        true
    }

    fn decoder(&self, reply: ReplyBuilder) -> Box<dyn Decoder> {
        let thinking = self.inline_thinking(reply.request());
        let reply = reply.with_inline_thinking(thinking);
        Box::new(decode::OllamaDecoder::new(reply, self.settings.context_window, self.settings.limits.event_bytes))
    }

    fn explain<'a>(&'a self, error: ProviderError, ask: Ask<'a>) -> BoxFuture<'a, ProviderError> {
        library::explain(error, ask).boxed()
    }
}

#[cfg(test)]
pub(crate) mod tests;
