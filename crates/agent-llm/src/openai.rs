//! OpenAI's Chat Completions, and every server that imitates it: `POST {base_url}/chat/completions`, server-sent events.
//!
//! Options under `model.provider_options.openai`:
//!
//! | option | value |
//! |---|---|
//! | `reasoning_effort` | passed on: `"none"` … `"max"`, as far as the model knows them |
//! | `max_tokens_field` | `"max_tokens"` or `"max_completion_tokens"`; the latter is the default for OpenAI and Azure only |
//! | `stream_options` | `false` leaves out the wish for usage, for servers that refuse it |
//! | `parallel_tool_calls` | `true` or `false`; left to the server if absent |
//! | `system_role` | `"system"` (default) or `"developer"` |
//! | `echo_reasoning` | `true` sends earlier reasoning back as `reasoning_content`, as DeepSeek wants it |
//! | `merge_user_messages` | `true` joins neighbouring user messages, for templates that insist on alternating roles |
//! | `key_header` | `"authorization"` (default) or `"api-key"`, as Azure wants it |
//! | `headers` | a table of further headers, such as `HTTP-Referer`; none that carry secrets |
//! | `extra_body` | a table of further fields of the request: `seed`, `top_p`, … |
//!
//! Where a server's refusal says so, the adapter itself leaves out `stream_options` or `temperature`, changes
//! `max_tokens_field` or merges user messages, once each, and remembers it.

mod chunk;
mod decode;
mod learned;
mod options;
mod request;
mod usage;

use std::borrow::Cow;
use std::sync::Arc;

use agent_protocol::ModelRequest;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::adapter::HttpAdapter;
use crate::dialect::{Ask, Decoder, Dialect, bearer, secret_header};
use crate::http::Endpoint;
use crate::key::Secret;
use crate::names::NameTable;
use crate::reply::ReplyBuilder;
use crate::{ProviderAdapter, ProviderError, ProviderSettings, Refusal};
use learned::Learned;
use options::{KeyHeader, OpenAiOptions};

/// The registry key.
pub(crate) const KEY: &str = "openai";
const START_HINT: &str = "Start the model server, or correct base_url.";

/// Builds the adapter.
pub(crate) fn adapter(settings: ProviderSettings) -> Result<Arc<dyn ProviderAdapter>, ProviderError> {
    let endpoint = Endpoint::new(KEY, &settings)?;
    let dialect = Arc::new(OpenAi::new(&settings, endpoint.host())?);
    Ok(Arc::new(HttpAdapter::new(dialect, endpoint, settings, START_HINT)?))
}

/// The dialect.
pub(crate) struct OpenAi {
    settings: ProviderSettings,
    options: OpenAiOptions,
    /// OpenAI itself and Azure know the new name of the output limit; most others only the old one.
    is_openai: bool,
    learned: Learned,
}

impl OpenAi {
    pub(crate) fn new(settings: &ProviderSettings, host: &str) -> Result<Self, ProviderError> {
        let options = OpenAiOptions::read(&settings.provider_options)?;
        let is_openai = host == "api.openai.com" || host.ends_with(".openai.azure.com");
        Ok(Self { settings: settings.clone(), options, is_openai, learned: Learned::default() })
    }

    /// The options of the settings, with those of the request on top.
    fn options(&self, request: &ModelRequest) -> Result<Cow<'_, OpenAiOptions>, ProviderError> {
        if request.provider_options.is_empty() {
            return Ok(Cow::Borrowed(&self.options));
        }
        let both = crate::options::overlay(&self.settings.provider_options, &request.provider_options);
        Ok(Cow::Owned(OpenAiOptions::read(&both)?))
    }

    fn shape<'a>(&self, options: &'a OpenAiOptions) -> request::Shape<'a> {
        let completion_tokens = options.completion_tokens.unwrap_or(self.is_openai);
        request::Shape {
            options,
            completion_tokens: completion_tokens != self.learned.other_limit_field(),
            stream_options: options.stream_options && !self.learned.no_stream_options(),
            temperature: !self.learned.no_temperature(),
            merge_users: options.merge_user_messages || self.learned.merge_users(),
        }
    }
}

impl Dialect for OpenAi {
    fn key(&self) -> &'static str {
        KEY
    }

    fn path(&self) -> &'static str {
        "chat/completions"
    }

    fn headers(&self, request: &ModelRequest, key: Option<&Secret>) -> Result<HeaderMap, ProviderError> {
        let options = self.options(request)?;
        let mut headers = options.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        match (key, options.key_header) {
            (None, _) => {}
            (Some(key), KeyHeader::Bearer) => bearer(KEY, key, &mut headers)?,
            (Some(key), KeyHeader::ApiKey) => {
                headers.insert(HeaderName::from_static("api-key"), secret_header(KEY, key.expose())?);
            }
        }
        Ok(headers)
    }

    fn encode(&self, request: &ModelRequest, names: &NameTable) -> Result<Bytes, ProviderError> {
        request::encode(request, names, &self.shape(&*self.options(request)?))
    }

    fn decoder(&self, reply: ReplyBuilder) -> Box<dyn Decoder> {
        Box::new(decode::OpenAiDecoder::new(reply, self.settings.context_window, self.settings.limits))
    }

    fn learn(&self, refusal: &Refusal) {
        self.learned.learn(refusal);
    }

    fn explain<'a>(&'a self, error: ProviderError, ask: Ask<'a>) -> BoxFuture<'a, ProviderError> {
        crate::models::explain(error, ask, "models").boxed()
    }
}

#[cfg(test)]
mod tests;
