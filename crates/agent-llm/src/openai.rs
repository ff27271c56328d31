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
//! | `inline_thinking` | `true` (default) takes `<think>…</think>` at the beginning of a reply for reasoning, `false` for text; `"unopened"`: the template has opened it already |
//! | `call_ids` | `"any"` (default) or `"nine"`: nine letters and digits, as Mistral wants it |
//! | `empty_content` | what stands beside calls where there is no text: `"null"` (default), `"empty"` or `"absent"` |
//! | `schema` | `"full"` (default) or `"plain"`: without `additionalProperties`, `default`, `$schema` and `title`, for Gemini |
//! | `merge_user_messages` | `true` joins neighbouring user messages, for templates that insist on alternating roles |
//! | `key_header` | `"authorization"` (default) or `"api-key"`, as Azure wants it |
//! | `headers` | a table of further headers, such as `HTTP-Referer`; none that carry secrets |
//! | `extra_body` | a table of further fields of the request: `seed`, `top_p`, … |
//!
//! Where a server's refusal says so, the adapter itself leaves out `stream_options` or `temperature`, changes
//! `max_tokens_field`, `system_role`, `echo_reasoning`, `call_ids`, `empty_content` or `schema`, merges user messages, or gives
//! calls of another server a stand-in for Gemini's signature; once each. It tells so with a retry event and remembers it. What
//! the user asked for by name (`reasoning_effort`, `extra_body`) is never left out: its refusal is the user's to read.

mod address;
mod chunk;
mod decode;
mod ending;
mod key;
mod learned;
mod options;
mod request;
mod schema;
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
pub(crate) use key::KEY;
use learned::{Learned, Lesson};
use options::{EmptyContent, KeyHeader, OpenAiOptions};

/// The options there are.
#[cfg(test)]
pub(crate) const OPTIONS: &[&str] = &options::KNOWN;
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
    host: Arc<str>,
    /// OpenAI itself and Azure know the new name of the output limit; most others only the old one.
    is_openai: bool,
    /// The address names a host and nothing below it, where few servers have this protocol.
    is_bare: bool,
    learned: Learned,
}

/// Where Azure's servers are.
const AZURE: [&str; 3] = [".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"];

impl OpenAi {
    pub(crate) fn new(settings: &ProviderSettings, host: &str) -> Result<Self, ProviderError> {
        let options = OpenAiOptions::read(&settings.provider_options)?;
        let is_openai = host == "api.openai.com" || AZURE.iter().any(|azure| host.ends_with(azure));
        let address = settings.base_url.split(['?', '#']).next().unwrap_or_default().trim();
        let path = address.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
        let is_bare = path.is_none_or(|(_, path)| path.trim_matches('/').is_empty());
        Ok(Self {
            settings: settings.clone(),
            options,
            host: host.into(),
            is_openai,
            is_bare,
            learned: Learned::default(),
        })
    }

    /// The options of the settings, with those of the request on top.
    fn options(&self, request: &ModelRequest) -> Result<Cow<'_, OpenAiOptions>, ProviderError> {
        if request.provider_options.is_empty() {
            return Ok(Cow::Borrowed(&self.options));
        }
        let both = crate::options::overlay(&self.settings.provider_options, &request.provider_options);
        Ok(Cow::Owned(OpenAiOptions::read(&both)?))
    }

    fn shape<'a>(&'a self, options: &'a OpenAiOptions) -> request::Shape<'a> {
        let completion_tokens = options.completion_tokens.unwrap_or(self.is_openai);
        let learned = |lesson| self.learned.has(lesson);
        request::Shape {
            options,
            completion_tokens: completion_tokens != learned(Lesson::OtherLimitField),
            stream_options: options.stream_options && !learned(Lesson::NoStreamOptions),
            temperature: !learned(Lesson::NoTemperature),
            merge_users: options.merge_user_messages || learned(Lesson::MergeUsers),
            plain_schemas: options.plain_schemas || learned(Lesson::PlainSchemas),
            messages: request::MessageShape {
                developer_role: options.developer_role && !learned(Lesson::SystemRole),
                echo_reasoning: (options.echo_reasoning || learned(Lesson::EchoReasoning))
                    && !learned(Lesson::NoReasoning),
                nine_ids: options.nine_ids || learned(Lesson::NineIds),
                empty_content: match options.empty_content {
                    _ if learned(Lesson::AbsentContent) => EmptyContent::Absent,
                    _ if learned(Lesson::EmptyContent) => EmptyContent::Empty,
                    option => option,
                },
                stand_in_signatures: learned(Lesson::StandInSignatures),
                host: &self.host,
            },
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

    fn models_path(&self) -> &'static str {
        "models"
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
        // The request was encoded with these options: they are known to be good.
        let thinking = self.options(reply.request()).map(|options| options.inline_thinking).unwrap_or_default();
        let reply = reply.with_inline_thinking(thinking).with_origin(&self.host);
        Box::new(decode::OpenAiDecoder::new(reply, self.settings.context_window, self.settings.limits))
    }

    fn learn(&self, refusal: &Refusal) -> Option<&'static str> {
        self.learned.learn(refusal)
    }

    fn doubts_address(&self, refusal: &Refusal) -> bool {
        self.is_bare && address::is_doubtful(refusal)
    }

    fn explain<'a>(&'a self, error: ProviderError, ask: Ask<'a>) -> BoxFuture<'a, ProviderError> {
        async move {
            let error = crate::models::explain(error, ask, self.models_path()).await;
            if self.is_bare { address::explain(error, ask).await } else { error }
        }
        .boxed()
    }
}

#[cfg(test)]
pub(crate) mod tests;
