//! What users may set for Anthropic's protocol.

use agent_protocol::Object;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value;

use super::KEY;
use super::thinking::{LEAST_BUDGET, Thinking};
use crate::ProviderError;
use crate::options::Options;

pub(super) const KNOWN: [&str; 10] = [
    "thinking",
    "thinking_display",
    "effort",
    "cache",
    "parallel_tool_calls",
    "stop_sequences",
    "betas",
    "key_header",
    "headers",
    "extra_body",
];

/// Fields of the request that are the adapter's own.
const OWNED_FIELDS: [&str; 12] = [
    "model",
    "max_tokens",
    "stream",
    "thinking",
    "output_config",
    "temperature",
    "stop_sequences",
    "cache_control",
    "tools",
    "tool_choice",
    "system",
    "messages",
];

/// Where the key goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `x-api-key: …`.
    #[default]
    ApiKey,
    /// `Authorization: Bearer …`.
    Bearer,
}

/// Whether and for how long the server is asked to keep what it has read of a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Cache {
    /// Five minutes, the API's own default.
    #[default]
    Short,
    /// An hour.
    Long,
    /// Not at all.
    Off,
}

impl Cache {
    /// The field that marks a block; to be written as its last one.
    pub(super) fn mark(self) -> &'static str {
        match self {
            Self::Short => r#","cache_control":{"type":"ephemeral"}"#,
            Self::Long => r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#,
            Self::Off => "",
        }
    }
}

/// Checked options.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct AnthropicOptions {
    /// What was asked for; none leaves it to the server.
    pub(crate) thinking: Option<Thinking>,
    pub(crate) thinking_display: Option<&'static str>,
    pub(crate) effort: Option<&'static str>,
    pub(crate) cache: Cache,
    pub(crate) parallel_tool_calls: Option<bool>,
    pub(crate) stop_sequences: Vec<String>,
    pub(crate) betas: Option<HeaderValue>,
    pub(crate) key_header: KeyHeader,
    pub(crate) headers: HeaderMap,
    pub(crate) extra_body: Object,
}

impl AnthropicOptions {
    pub(crate) fn read(values: &Object) -> Result<Self, ProviderError> {
        let options = Options { provider: KEY, values };
        options.only(&KNOWN)?;
        let thinking =
            options.read("thinking", "must be \"adaptive\", \"off\" or a budget of at least 1024 tokens", |value| {
                match value {
                    Value::String(word) if word == "adaptive" => Some(Thinking::Adaptive),
                    Value::String(word) if word == "off" => Some(Thinking::Off),
                    other => other.as_u64().filter(|budget| *budget >= LEAST_BUDGET).map(Thinking::Budget),
                }
            })?;
        let cache = match options.word("cache", &["auto", "5m", "1h", "off"])? {
            Some("1h") => Cache::Long,
            Some("off") => Cache::Off,
            _ => Cache::Short,
        };
        let key_header = options.word("key_header", &["x-api-key", "authorization"])?;
        let headers = options.headers()?;
        if headers.contains_key("anthropic-beta") {
            return Err(options.invalid("headers.anthropic-beta", "is written from the option betas"));
        }
        Ok(Self {
            thinking,
            thinking_display: options.word("thinking_display", &["summarized", "omitted"])?,
            effort: options.word("effort", &["low", "medium", "high", "xhigh", "max"])?,
            cache,
            parallel_tool_calls: options.boolean("parallel_tool_calls")?,
            stop_sequences: options.texts("stop_sequences")?,
            betas: betas(options)?,
            key_header: if key_header == Some("authorization") { KeyHeader::Bearer } else { KeyHeader::ApiKey },
            headers,
            extra_body: options.extra_body(&OWNED_FIELDS)?,
        })
    }
}

fn betas(options: Options<'_>) -> Result<Option<HeaderValue>, ProviderError> {
    let betas = options.texts("betas")?;
    if betas.is_empty() {
        return Ok(None);
    }
    let value = HeaderValue::from_str(&betas.join(","));
    value.map(Some).map_err(|_| options.invalid("betas", "must be a list of names that a header can carry"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn refused(options: Value, message: &str) {
        let error = AnthropicOptions::read(options.as_object().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(error.payload().code, agent_protocol::ErrorCode::ConfigError);
    }

    /// CFG-5: unknown keys are errors that name the nearest. CFG-3: no key is written down.
    #[test]
    fn options_are_checked() {
        refused(json!({"thinkng": 1}), "anthropic has no option \"thinkng\"; did you mean \"thinking\"?");
        let thinking =
            "the anthropic option \"thinking\" must be \"adaptive\", \"off\" or a budget of at least 1024 tokens";
        for value in [json!(1023), json!(true), json!("on"), json!(-1), json!(2000.5)] {
            refused(json!({ "thinking": value }), thinking);
        }
        refused(
            json!({"effort": "huge"}),
            "the anthropic option \"effort\" must be one of low, medium, high, xhigh, max",
        );
        refused(json!({"cache": true}), "the anthropic option \"cache\" must be one of auto, 5m, 1h, off");
        refused(
            json!({"headers": {"X-Api-Key": "sk-1"}}),
            "the anthropic option \"headers.X-Api-Key\" carries a key; name the variable that holds it in model.api_key_env",
        );
        refused(
            json!({"headers": {"Anthropic-Beta": "x"}}),
            "the anthropic option \"headers.anthropic-beta\" is written from the option betas",
        );
        refused(
            json!({"extra_body": {"max_tokens": 1}}),
            "the anthropic option \"extra_body.max_tokens\" is set by a setting or an option of its own",
        );
        for value in [json!("x"), json!([1]), json!([" "])] {
            refused(
                json!({ "stop_sequences": value }),
                "the anthropic option \"stop_sequences\" must be a list of texts that are not blank",
            );
        }
        refused(
            json!({"betas": ["a\nb"]}),
            "the anthropic option \"betas\" must be a list of names that a header can carry",
        );
    }

    #[test]
    fn options_are_read() {
        let values = json!({
            "thinking": 2048, "thinking_display": "omitted", "effort": "max", "cache": "1h", "key_header": "authorization",
            "betas": ["a", "b"], "stop_sequences": ["END"], "headers": {"X-Title": "t"}, "extra_body": {"top_k": 1},
            "parallel_tool_calls": false,
        });
        let options = AnthropicOptions::read(values.as_object().unwrap()).unwrap();
        assert_eq!((options.thinking, options.cache), (Some(Thinking::Budget(2048)), Cache::Long));
        assert_eq!((options.thinking_display, options.effort), (Some("omitted"), Some("max")));
        assert_eq!((options.key_header, options.betas.unwrap().to_str().unwrap()), (KeyHeader::Bearer, "a,b"));
        assert_eq!((options.stop_sequences, options.parallel_tool_calls), (vec!["END".to_owned()], Some(false)));
        assert_eq!(AnthropicOptions::read(&Object::new()).unwrap(), AnthropicOptions::default());
    }
}
