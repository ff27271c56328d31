//! What is particular to Chat Completions.

use serde_json::{Map, Value};

use super::findings::Findings;
use super::turn::{CallRef, ResultRef, Turn, message, messages};

pub(super) const FIELDS: &[&str] = &[
    "audio",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
];

const MAX_ID: usize = 40;
const MAX_TOOLS: usize = 128;
const MAX_STOPS: usize = 4;

pub(super) fn check<'a>(body: &'a Map<String, Value>, findings: &mut Findings) -> Vec<Turn<'a>> {
    if body.get("stream") != Some(&Value::Bool(true)) {
        findings.add("stream", "is not true: streaming is the only path");
    }
    if body.contains_key("max_tokens") && body.contains_key("max_completion_tokens") {
        findings.add("max_tokens", "and max_completion_tokens exclude each other");
    }
    for field in ["tool_choice", "parallel_tool_calls"] {
        if body.contains_key(field) && !body.contains_key("tools") {
            findings.add(field, "is only allowed when tools are given");
        }
    }
    if body.get("tools").and_then(Value::as_array).is_some_and(|tools| tools.len() > MAX_TOOLS) {
        findings.add("tools", format!("are more than {MAX_TOOLS}"));
    }
    if body.get("stop").and_then(Value::as_array).is_some_and(|stops| stops.len() > MAX_STOPS) {
        findings.add("stop", format!("are more than {MAX_STOPS}"));
    }
    if body.get("temperature").is_some_and(|t| !t.as_f64().is_some_and(|t| (0.0..=2.0).contains(&t))) {
        findings.add("temperature", "is no number from 0 to 2");
    }
    messages(body).iter().enumerate().map(|(i, value)| turn(i, value, findings)).collect()
}

fn turn<'a>(i: usize, value: &'a Value, findings: &mut Findings) -> Turn<'a> {
    let at = message(i);
    let role = value["role"].as_str().unwrap_or_default();
    let extra: &[&str] = match role {
        "assistant" => &["tool_calls", "refusal", "reasoning", "reasoning_content"],
        "tool" => &["tool_call_id"],
        _ => &[],
    };
    findings.only(&at, value, &[&["role", "content", "name"], extra].concat());
    let calls = calls(&at, value, findings);
    check_content(&at, &value["content"], !calls.is_empty(), findings);
    match role {
        "system" | "developer" => Turn::System,
        "user" => Turn::User,
        "assistant" => Turn::Assistant(calls),
        "tool" => {
            let result = ResultRef { id: value["tool_call_id"].as_str(), name: None };
            if result.id.is_none() {
                findings.add(&at, "has no tool_call_id");
            }
            Turn::Result(result)
        }
        _ => Turn::Unknown,
    }
}

/// Text, or a list of typed parts; nothing at all only beside calls.
fn check_content(at: &str, content: &Value, has_calls: bool, findings: &mut Findings) {
    let part = |part: &Value| part["type"].is_string() && (part["type"] != "text" || part["text"].is_string());
    match content {
        Value::String(_) => {}
        Value::Null if has_calls => {}
        Value::Null => findings.add(at, "content is null without tool calls"),
        Value::Array(parts) if !parts.is_empty() && parts.iter().all(part) => {}
        _ => findings.add(at, "content is neither text nor a list of parts"),
    }
}

fn calls<'a>(at: &str, value: &'a Value, findings: &mut Findings) -> Vec<CallRef<'a>> {
    match value.get("tool_calls") {
        None => Vec::new(),
        Some(Value::Array(calls)) if !calls.is_empty() => calls.iter().map(|value| call(at, value, findings)).collect(),
        Some(_) => {
            findings.add(at, "tool_calls is empty or no array: leave it out instead");
            Vec::new()
        }
    }
}

fn call<'a>(at: &str, value: &'a Value, findings: &mut Findings) -> CallRef<'a> {
    findings.only(at, value, &["id", "type", "function", "extra_content"]);
    findings.only(at, &value["function"], &["name", "arguments"]);
    findings.tool_name(at, &value["function"]["name"]);
    if value["type"] != "function" {
        findings.add(at, "a call's type is not `function`");
    }
    let id = value["id"].as_str();
    if !id.is_some_and(|id| (1..=MAX_ID).contains(&id.len())) {
        findings.add(at, format!("a call's id {} is no text of 1 to {MAX_ID} bytes", value["id"]));
    }
    let arguments = value["function"]["arguments"].as_str().map(serde_json::from_str::<Value>);
    if !matches!(arguments, Some(Ok(Value::Object(_)))) {
        findings.add(at, "a call's arguments are no text that holds a JSON object");
    }
    CallRef { id, name: value["function"]["name"].as_str().unwrap_or_default() }
}
