//! What users may set for Ollama.

use agent_protocol::Object;
use serde_json::Value;

use super::KEY;
use crate::ProviderError;
use crate::options::{Options, nearest};
use crate::reply::InlineThinking;

pub(super) const KNOWN: [&str; 4] = ["keep_alive", "think", "inline_thinking", "options"];

/// Options the runner knows. Ollama only logs what it does not know, so a slip would go unseen.
const RUNNER: [&str; 18] = [
    "draft_num_predict",
    "frequency_penalty",
    "main_gpu",
    "min_p",
    "num_batch",
    "num_gpu",
    "num_keep",
    "num_thread",
    "presence_penalty",
    "repeat_last_n",
    "repeat_penalty",
    "seed",
    "stop",
    "top_k",
    "top_p",
    "typical_p",
    "use_mlock",
    "use_mmap",
];

/// Options the model's own settings speak for.
const OWNED: [(&str, &str); 3] =
    [("num_ctx", "context_window"), ("num_predict", "max_output_tokens"), ("temperature", "temperature")];

/// Checked options.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct OllamaOptions {
    /// Sent as it is.
    pub(crate) keep_alive: Option<Value>,
    /// Sent as it is; absent leaves it to the server, which lets models think that can.
    pub(crate) think: Option<Value>,
    pub(crate) inline_thinking: InlineThinking,
    /// Added to what the settings give.
    pub(crate) runner: Object,
}

impl OllamaOptions {
    pub(crate) fn read(values: &Object) -> Result<Self, ProviderError> {
        let options = Options { provider: KEY, values };
        options.only(&KNOWN)?;
        let keep_alive =
            options.read("keep_alive", "must be a number of seconds or a text such as \"10m\"", |value| {
                (value.is_number() || value.as_str().is_some_and(|text| !text.is_empty())).then(|| value.clone())
            })?;
        let think =
            options.read("think", "must be true, false, \"low\", \"medium\", \"high\" or \"max\"", |value| {
                let word = value.as_str().is_some_and(|word| ["low", "medium", "high", "max"].contains(&word));
                (value.is_boolean() || word).then(|| value.clone())
            })?;
        let runner = options.object("options")?.cloned().unwrap_or_default();
        for (key, value) in &runner {
            check_runner_option(options, key, value)?;
        }
        Ok(Self { keep_alive, think, inline_thinking: options.inline_thinking()?, runner })
    }
}

/// Ollama refuses a value of the wrong type with every request, as a fault of its own.
fn check_runner_option(options: Options<'_>, key: &str, value: &Value) -> Result<(), ProviderError> {
    if let Some((_, setting)) = OWNED.iter().find(|(owned, _)| *owned == key) {
        return Err(options.invalid(&format!("options.{key}"), &format!("is set by model.{setting}")));
    }
    if RUNNER.contains(&key) {
        let (fits, kind) = match key {
            "stop" => (value.as_array().is_some_and(|list| list.iter().all(Value::is_string)), "a list of texts"),
            "use_mlock" | "use_mmap" => (value.is_boolean(), "true or false"),
            "seed" | "top_k" | "main_gpu" | "repeat_last_n" => (value.is_i64(), "a whole number"),
            _ if key.starts_with("num_") || key.ends_with("_predict") => (value.is_i64(), "a whole number"),
            _ => (value.is_number(), "a number"),
        };
        let wrong = || options.invalid(&format!("options.{key}"), &format!("must be {kind}"));
        return if fits { Ok(()) } else { Err(wrong()) };
    }
    Err(ProviderError::UnknownOption {
        provider: KEY,
        option: format!("options.{key}"),
        nearest: nearest(key, &RUNNER).map(|name| format!("options.{name}")),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn refused(options: Value, message: &str) {
        let error = OllamaOptions::read(options.as_object().unwrap()).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(error.payload().code, agent_protocol::ErrorCode::ConfigError);
    }

    /// CFG-5: unknown keys are errors that name the nearest.
    #[test]
    fn options_are_checked() {
        refused(json!({"keepalive": 1}), "ollama has no option \"keepalive\"; did you mean \"keep_alive\"?");
        refused(
            json!({"options": {"top-p": 1}}),
            "ollama has no option \"options.top-p\"; did you mean \"options.top_p\"?",
        );
        refused(
            json!({"options": {"num_ctx": 1}}),
            "the ollama option \"options.num_ctx\" is set by model.context_window",
        );
        for (key, value, kind) in [
            ("seed", json!("7"), "a whole number"),
            ("num_batch", json!(0.5), "a whole number"),
            ("top_p", json!("x"), "a number"),
            ("stop", json!("x"), "a list of texts"),
            ("use_mmap", json!(1), "true or false"),
        ] {
            refused(json!({"options": {key: value}}), &format!("the ollama option \"options.{key}\" must be {kind}"));
        }
        refused(json!({"options": 1}), "the ollama option \"options\" must be a table");
        refused(
            json!({"think": "deep"}),
            "the ollama option \"think\" must be true, false, \"low\", \"medium\", \"high\" or \"max\"",
        );
        refused(
            json!({"keep_alive": true}),
            "the ollama option \"keep_alive\" must be a number of seconds or a text such as \"10m\"",
        );
        let good = json!({"keep_alive": -1, "think": "high", "options": {"seed": 7, "stop": ["x"]}});
        let read = OllamaOptions::read(good.as_object().unwrap()).unwrap();
        assert_eq!((read.keep_alive, read.think, read.runner.len()), (Some(json!(-1)), Some(json!("high")), 2));
    }
}
