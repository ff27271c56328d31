//! Anthropic's Messages API, and servers that imitate it: `POST {base_url}/v1/messages`, server-sent events. A base URL that
//! ends in `/v1` is taken for what it means.
//!
//! Options under `model.provider_options.anthropic`:
//!
//! | option | value |
//! |---|---|
//! | `thinking` | `"adaptive"`, `"off"`, or a budget in tokens (at least 1024); left to the server if absent |
//! | `thinking_display` | `"summarized"` or `"omitted"`; left to the server if absent |
//! | `effort` | `"low"`, `"medium"`, `"high"`, `"xhigh"` or `"max"`, as far as the model knows them |
//! | `cache` | `"auto"` (default) marks what stays for five minutes, `"1h"` for an hour, `"off"` marks nothing |
//! | `parallel_tool_calls` | `false` asks for one call at a time |
//! | `stop_sequences` | a list of texts that end the reply |
//! | `betas` | a list for the header `anthropic-beta` |
//! | `key_header` | `"x-api-key"` (default) or `"authorization"`, for gateways that want a bearer token |
//! | `headers` | a table of further headers; none that carry secrets |
//! | `extra_body` | a table of further fields of the request: `top_p`, `top_k`, `metadata`, … |
//!
//! `max_tokens` comes from `model.max_output_tokens` and counts thinking, too; so a budget is cut to three quarters of it, and
//! where less than the API's least is left there is no thinking. A temperature above 1 is sent as 1, and none is sent beside
//! thinking or to models that take none. A model that has given up budgets is asked to think adaptively. A call that is forced,
//! and a tool loop that another model began, go without thinking: the API refuses both with it.
//!
//! The cache marks (PRV-13) stand on the last tool, the last system block and the last two messages of the user that are history.
//! The latter move on with each request; they are written into the request, never into a message's kept bytes, so that all else
//! of a request begins with the bytes of the one before (PRV-15).

mod blocks;
mod decode;
mod event;
mod family;
mod key;
mod learned;
mod message;
mod options;
mod request;
mod schema;
mod thinking;
mod turns;
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
use crate::names::NameTable;
use crate::reply::ReplyBuilder;
use crate::secret::Secret;
use crate::{ProviderAdapter, ProviderError, ProviderSettings, Refusal};
use family::Family;
pub(crate) use key::KEY;
use learned::Learned;
use options::{AnthropicOptions, KeyHeader};

/// The options there are.
#[cfg(test)]
pub(crate) const OPTIONS: &[&str] = &options::KNOWN;
const START_HINT: &str = "Start the model server, or correct base_url.";
/// The API's version, as of which this adapter is written. A header among the options takes its place.
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// Builds the adapter.
pub(crate) fn adapter(settings: ProviderSettings) -> Result<Arc<dyn ProviderAdapter>, ProviderError> {
    let endpoint = Endpoint::new(KEY, &settings)?;
    if endpoint.path().ends_with("/messages") {
        return Err(ProviderError::InvalidBaseUrl {
            provider: KEY.to_owned(),
            reason: "it ends in /messages, which is added to it; leave that out".to_owned(),
        });
    }
    let dialect = Arc::new(Anthropic::new(&settings, endpoint.path())?);
    Ok(Arc::new(HttpAdapter::new(dialect, endpoint, settings, START_HINT)?))
}

/// The dialect.
pub(crate) struct Anthropic {
    settings: ProviderSettings,
    options: AnthropicOptions,
    /// The base URL already names the API's version.
    versioned: bool,
    learned: Learned,
}

impl Anthropic {
    pub(crate) fn new(settings: &ProviderSettings, base_path: &str) -> Result<Self, ProviderError> {
        let options = AnthropicOptions::read(&settings.provider_options)?;
        let versioned = base_path.ends_with("/v1");
        Ok(Self { settings: settings.clone(), options, versioned, learned: Learned::default() })
    }

    /// The options of the settings, with those of the request on top.
    fn options(&self, request: &ModelRequest) -> Result<Cow<'_, AnthropicOptions>, ProviderError> {
        if request.provider_options.is_empty() {
            return Ok(Cow::Borrowed(&self.options));
        }
        let both = crate::options::overlay(&self.settings.provider_options, &request.provider_options);
        Ok(Cow::Owned(AnthropicOptions::read(&both)?))
    }

    fn shape<'a>(&self, request: &ModelRequest, options: &'a AnthropicOptions) -> request::Shape<'a> {
        let family = Family::of(&request.model);
        request::Shape {
            options,
            budgets: family.budgets && !self.learned.no_budgets(),
            temperature: family.sampling && !self.learned.no_temperature(),
        }
    }
}

impl Dialect for Anthropic {
    fn key(&self) -> &'static str {
        KEY
    }

    fn path(&self) -> &'static str {
        if self.versioned { "messages" } else { "v1/messages" }
    }

    fn models_path(&self) -> &'static str {
        if self.versioned { "models" } else { "v1/models" }
    }

    fn headers(&self, request: &ModelRequest, key: Option<&Secret>) -> Result<HeaderMap, ProviderError> {
        let options = self.options(request)?;
        let mut headers = options.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.entry("anthropic-version").or_insert(VERSION);
        if let Some(betas) = &options.betas {
            headers.insert("anthropic-beta", betas.clone());
        }
        match (key, options.key_header) {
            (None, _) => {}
            (Some(key), KeyHeader::Bearer) => bearer(KEY, key, &mut headers)?,
            (Some(key), KeyHeader::ApiKey) => {
                headers.insert(HeaderName::from_static("x-api-key"), secret_header(KEY, key.expose())?);
            }
        }
        Ok(headers)
    }

    fn encode(&self, request: &ModelRequest, names: &NameTable) -> Result<Bytes, ProviderError> {
        request::encode(request, names, &self.shape(request, &*self.options(request)?))
    }

    fn decoder(&self, reply: ReplyBuilder) -> Box<dyn Decoder> {
        Box::new(decode::AnthropicDecoder::new(reply, self.settings.context_window, self.settings.limits))
    }

    fn learn(&self, refusal: &Refusal) -> Option<&'static str> {
        self.learned.learn(refusal)
    }

    fn explain<'a>(&'a self, error: ProviderError, ask: Ask<'a>) -> BoxFuture<'a, ProviderError> {
        crate::models::explain(error, ask, self.models_path()).boxed()
    }
}

#[cfg(test)]
pub(crate) mod tests;
