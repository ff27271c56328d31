//! What is particular to Ollama's native chat.

use serde_json::{Map, Value};

use super::findings::Findings;
use super::turn::{CallRef, ResultRef, Turn, message, messages};

pub(super) const FIELDS: &[&str] = &[
    "format",
    "keep_alive",
    "logprobs",
    "messages",
    "model",
    "options",
    "shift",
    "stream",
    "think",
    "tools",
    "top_logprobs",
    "truncate",
];

pub(super) fn check<'a>(body: &'a Map<String, Value>, findings: &mut Findings) -> Vec<Turn<'a>> {
    if body.get("stream").is_some_and(|stream| stream != true) {
        findings.add("stream", "is not true: streaming is the only path");
    }
    if let Some(options) = body.get("options") {
        check_options(options, findings);
    }
    if let Some(think) = body.get("think") {
        let level = think.as_str().is_some_and(|level| ["low", "medium", "high", "max"].contains(&level));
        if !think.is_boolean() && !level {
            findings.add("think", "is neither a boolean nor a level");
        }
    }
    messages(body).iter().enumerate().map(|(i, value)| turn(i, value, findings)).collect()
}

/// A wrong type fails the request; unknown options are ignored by the server, and so here.
fn check_options(options: &Value, findings: &mut Findings) {
    let Some(options) = options.as_object() else {
        findings.add("options", "is no object");
        return;
    };
    for (name, value) in options {
        let (legal, kind) = match name.as_str() {
            "num_ctx" => (value.as_u64().is_some_and(|n| n > 0), "a positive integer"),
            "num_predict" | "seed" | "top_k" => (value.is_i64() || value.is_u64(), "an integer"),
            "temperature" | "top_p" | "min_p" | "repeat_penalty" => (value.is_number(), "a number"),
            "stop" => (value.as_array().is_some_and(|stops| stops.iter().all(Value::is_string)), "a list of texts"),
            _ => continue,
        };
        if !legal {
            findings.add("options", format!("option \"{name}\" must be {kind}"));
        }
    }
}

fn turn<'a>(i: usize, value: &'a Value, findings: &mut Findings) -> Turn<'a> {
    let at = message(i);
    let role = value["role"].as_str().unwrap_or_default();
    let extra: &[&str] = match role {
        "user" => &["images"],
        "assistant" => &["thinking", "tool_calls"],
        "tool" => &["tool_name", "tool_call_id"],
        _ => &[],
    };
    findings.only(&at, value, &[&["role", "content"], extra].concat());
    let calls = value["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    match &value["content"] {
        Value::String(_) => {}
        Value::Null if !calls.is_empty() || value["thinking"].is_string() => {}
        _ => findings.add(&at, "content is no text"),
    }
    match role {
        "system" => Turn::System,
        "user" => Turn::User,
        "assistant" => Turn::Assistant(calls.iter().map(|value| call(&at, value, findings)).collect()),
        "tool" => {
            let result = ResultRef { id: value["tool_call_id"].as_str(), name: value["tool_name"].as_str() };
            if result.name.is_none() {
                findings.add(&at, "has no tool_name: some templates render nothing else");
            }
            Turn::Result(result)
        }
        _ => Turn::Unknown,
    }
}

fn call<'a>(at: &str, value: &'a Value, findings: &mut Findings) -> CallRef<'a> {
    findings.only(at, value, &["id", "type", "function"]);
    findings.only(at, &value["function"], &["index", "name", "arguments"]);
    findings.tool_name(at, &value["function"]["name"]);
    if !value["function"]["arguments"].is_object() {
        findings.add(at, "a call's arguments are no object");
    }
    CallRef { id: value["id"].as_str(), name: value["function"]["name"].as_str().unwrap_or_default() }
}
