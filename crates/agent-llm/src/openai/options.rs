//! What users may set for OpenAI's protocol.

use agent_protocol::Object;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::KEY;
use crate::ProviderError;
use crate::options::Options;
use crate::reply::InlineThinking;

pub(super) const KNOWN: [&str; 14] = [
    "reasoning_effort",
    "max_tokens_field",
    "stream_options",
    "parallel_tool_calls",
    "system_role",
    "echo_reasoning",
    "inline_thinking",
    "call_ids",
    "empty_content",
    "schema",
    "merge_user_messages",
    "key_header",
    "headers",
    "extra_body",
];

/// Fields of the request that are the adapter's own.
const OWNED_FIELDS: [&str; 12] = [
    "model",
    "messages",
    "n",
    "tools",
    "tool_choice",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "reasoning_effort",
    "parallel_tool_calls",
];

/// Where the key goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `Authorization: Bearer …`.
    #[default]
    Bearer,
    /// `api-key: …`.
    ApiKey,
}

/// How an assistant's message without text is written beside its calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum EmptyContent {
    /// `null`, as OpenAI has it.
    #[default]
    Null,
    /// An empty text.
    Empty,
    /// Not at all.
    Absent,
}

/// Checked options.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OpenAiOptions {
    pub(crate) reasoning_effort: Option<String>,
    /// Whether the output limit is called `max_completion_tokens`; none: it depends on the host.
    pub(crate) completion_tokens: Option<bool>,
    pub(crate) stream_options: bool,
    pub(crate) parallel_tool_calls: Option<bool>,
    pub(crate) developer_role: bool,
    pub(crate) echo_reasoning: bool,
    pub(crate) inline_thinking: InlineThinking,
    /// Ids of calls are written with nine letters and digits.
    pub(crate) nine_ids: bool,
    pub(crate) empty_content: EmptyContent,
    /// Schemas are written without advice that some servers refuse.
    pub(crate) plain_schemas: bool,
    pub(crate) merge_user_messages: bool,
    pub(crate) key_header: KeyHeader,
    pub(crate) headers: HeaderMap,
    pub(crate) extra_body: Object,
}

impl OpenAiOptions {
    pub(crate) fn read(values: &Object) -> Result<Self, ProviderError> {
        let options = Options { provider: KEY, values };
        options.only(&KNOWN)?;
        let limit_field = options.word("max_tokens_field", &["max_tokens", "max_completion_tokens"])?;
        let role = options.word("system_role", &["system", "developer"])?;
        let key_header = options.word("key_header", &["authorization", "api-key"])?;
        let empty = options.word("empty_content", &["null", "empty", "absent"])?;
        let effort = options.read("reasoning_effort", "must be a text", Value::as_str)?;
        Ok(Self {
            reasoning_effort: effort.map(str::to_owned),
            completion_tokens: limit_field.map(|field| field == "max_completion_tokens"),
            stream_options: options.boolean("stream_options")?.unwrap_or(true),
            parallel_tool_calls: options.boolean("parallel_tool_calls")?,
            developer_role: role == Some("developer"),
            echo_reasoning: options.boolean("echo_reasoning")?.unwrap_or(false),
            inline_thinking: options.inline_thinking()?,
            nine_ids: options.word("call_ids", &["any", "nine"])? == Some("nine"),
            empty_content: match empty {
                Some("empty") => EmptyContent::Empty,
                Some("absent") => EmptyContent::Absent,
                _ => EmptyContent::Null,
            },
            plain_schemas: options.word("schema", &["full", "plain"])? == Some("plain"),
            merge_user_messages: options.boolean("merge_user_messages")?.unwrap_or(false),
            key_header: if key_header == Some("api-key") { KeyHeader::ApiKey } else { KeyHeader::Bearer },
            headers: options.headers()?,
            extra_body: options.extra_body(&OWNED_FIELDS)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn refused(options: Value, message: &str) {
        let error = OpenAiOptions::read(options.as_object().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(error.payload().code, agent_protocol::ErrorCode::ConfigError);
    }

    /// CFG-5: unknown keys are errors that name the nearest. CFG-3: no key is written down.
    #[test]
    fn options_are_checked() {
        refused(
            json!({"reasoning_efort": "low"}),
            "openai has no option \"reasoning_efort\"; did you mean \"reasoning_effort\"?",
        );
        refused(
            json!({"max_tokens_field": "x"}),
            "the openai option \"max_tokens_field\" must be one of max_tokens, max_completion_tokens",
        );
        refused(json!({"stream_options": 1}), "the openai option \"stream_options\" must be true or false");
        refused(
            json!({"headers": {"Authorization": "Bearer x"}}),
            "the openai option \"headers.Authorization\" carries a key; name the variable that holds it in model.api_key_env",
        );
        refused(
            json!({"headers": {"a b": "x"}}),
            "the openai option \"headers.a b\" must be a header's name and its text",
        );
        refused(
            json!({"inline_thinking": "yes"}),
            "the openai option \"inline_thinking\" must be true, false or \"unopened\"",
        );
        refused(
            json!({"extra_body": {"n": 2}}),
            "the openai option \"extra_body.n\" is set by a setting or an option of its own",
        );
        refused(
            json!({"extra_body": {"messages": []}}),
            "the openai option \"extra_body.messages\" is set by a setting or an option of its own",
        );
    }

    #[test]
    fn options_are_read() {
        let values = json!({
            "reasoning_effort": "low", "max_tokens_field": "max_completion_tokens", "stream_options": false,
            "inline_thinking": "unopened", "call_ids": "nine", "empty_content": "absent", "schema": "plain",
            "system_role": "developer", "key_header": "api-key", "headers": {"X-Title": "t"}, "extra_body": {"seed": 1},
        });
        let options = OpenAiOptions::read(values.as_object().unwrap()).unwrap();
        assert_eq!(options.completion_tokens, Some(true));
        assert!(!options.stream_options && options.developer_role && options.key_header == KeyHeader::ApiKey);
        assert_eq!(options.headers["x-title"], "t");
        assert_eq!(
            (options.inline_thinking, options.nine_ids, options.empty_content, options.plain_schemas),
            (InlineThinking::Unopened, true, EmptyContent::Absent, true)
        );
        let default = OpenAiOptions::read(&Object::new()).unwrap();
        assert!(default.stream_options && default.completion_tokens.is_none());
    }
}
