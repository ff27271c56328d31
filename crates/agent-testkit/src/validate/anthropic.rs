//! What Anthropic's Messages API insists on.
//!
//! Roles take turns, calls are answered in the very next message before anything else, no text is blank, thoughts carry the
//! signature they came with, and at most four blocks are marked for the cache.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::findings::Findings;
use super::turn::{message, messages};
use crate::view::blocks;

pub(super) const FIELDS: &[&str] = &[
    "cache_control",
    "container",
    "context_management",
    "inference_geo",
    "max_tokens",
    "mcp_servers",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

const MAX_MARKS: usize = 4;
const LEAST_BUDGET: u64 = 1024;

pub(super) fn check(body: &Map<String, Value>, findings: &mut Findings) {
    if body.get("stream") != Some(&Value::Bool(true)) {
        findings.add("stream", "is not true: streaming is the only path");
    }
    let limit = body.get("max_tokens").and_then(Value::as_u64).filter(|limit| *limit > 0);
    if limit.is_none() {
        findings.add("max_tokens", "is no positive integer");
    }
    check_sampling(body, limit.unwrap_or(u64::MAX), findings);
    check_system(body.get("system"), findings);
    let thinks = body.get("thinking").is_some_and(|thinking| thinking["type"] == "enabled");
    check_messages(messages(body), thinks, findings);
    check_tools(body, findings);
    if marks(&Value::Object(body.clone())) > MAX_MARKS {
        findings.add("body", format!("more than {MAX_MARKS} blocks with cache_control"));
    }
}

fn check_sampling(body: &Map<String, Value>, limit: u64, findings: &mut Findings) {
    let temperature = body.get("temperature");
    if temperature.is_some_and(|t| !t.as_f64().is_some_and(|t| (0.0..=1.0).contains(&t))) {
        findings.add("temperature", "is no number from 0 to 1");
    }
    let Some(thinking) = body.get("thinking") else { return };
    match thinking["type"].as_str() {
        Some("disabled") => return,
        Some("adaptive") => {}
        Some("enabled") => {
            let budget = thinking["budget_tokens"].as_u64();
            if !budget.is_some_and(|budget| (LEAST_BUDGET..limit).contains(&budget)) {
                findings.add("thinking", format!("budget_tokens is not from {LEAST_BUDGET} to less than max_tokens"));
            }
        }
        _ => findings.add("thinking", "has no legal type"),
    }
    if temperature.is_some_and(|t| t.as_f64() != Some(1.0)) {
        findings.add("temperature", "may only be 1 when thinking is enabled");
    }
    if body.get("tool_choice").is_some_and(|choice| choice["type"] == "any" || choice["type"] == "tool") {
        findings.add("tool_choice", "may not force tool use when thinking is enabled");
    }
}

fn check_system(system: Option<&Value>, findings: &mut Findings) {
    match system {
        None | Some(Value::String(_)) => {}
        Some(Value::Array(list)) => {
            for (i, block) in list.iter().enumerate() {
                let at = format!("system[{i}]");
                findings.only(&at, block, &["type", "text", "cache_control", "citations"]);
                if block["type"] != "text" {
                    findings.add(&at, "is no text block");
                }
                check_text(&at, block, findings);
            }
        }
        Some(_) => findings.add("system", "is neither text nor a list of blocks"),
    }
}

/// Calls of the last assistant message, until they are answered.
type Open<'a> = Vec<(usize, &'a str)>;

fn check_messages(messages: &[Value], thinks: bool, findings: &mut Findings) {
    if messages.is_empty() {
        return findings.add("messages", "is empty or no array");
    }
    let (mut open, mut ids, mut last) = (Open::new(), HashSet::new(), "assistant");
    for (i, value) in messages.iter().enumerate() {
        let at = message(i);
        findings.only(&at, value, &["role", "content"]);
        let role = value["role"].as_str().unwrap_or_default();
        match role {
            "user" | "assistant" if role == last => findings.add(&at, "roles must alternate, beginning with user"),
            "user" => check_user(i, value, &mut open, findings),
            "assistant" => {
                open = check_assistant(i, value, findings);
                for (_, id) in &open {
                    if !ids.insert(*id) {
                        findings.add(&at, format!("`tool_use` ids must be unique: {id}"));
                    }
                }
            }
            _ => findings.add(&at, "has no legal role"),
        }
        last = role;
    }
    report_open(&mut open, findings);
    if last == "assistant" {
        findings.add("messages", "the conversation must end with a user message");
    }
    if thinks {
        check_thinking_turn(messages, findings);
    }
}

fn check_user<'a>(i: usize, value: &'a Value, open: &mut Open<'a>, findings: &mut Findings) {
    let at = message(i);
    let mut only_results = true;
    for block in content(&at, value, findings) {
        match block["type"].as_str().unwrap_or_default() {
            "tool_result" => check_result(&at, block, only_results, open, findings),
            "text" => {
                findings.only(&at, block, &["type", "text", "cache_control", "citations"]);
                check_text(&at, block, findings);
                only_results = false;
            }
            "image" | "document" | "search_result" => only_results = false,
            other => findings.add(&at, format!("a user's block may not be `{other}`")),
        }
    }
    report_open(open, findings);
}

fn check_result(at: &str, block: &Value, is_first: bool, open: &mut Open<'_>, findings: &mut Findings) {
    findings.only(at, block, &["type", "tool_use_id", "content", "is_error", "cache_control"]);
    let id = block["tool_use_id"].as_str().unwrap_or_default();
    match open.iter().position(|(_, call)| *call == id) {
        Some(place) => drop(open.remove(place)),
        None => findings.add(at, format!("unexpected `tool_use_id` found in `tool_result` blocks: {id}")),
    }
    if !is_first {
        findings.add(at, "`tool_result` blocks must come before all others");
    }
    if block["is_error"] == true && block["content"].as_str().is_none_or(str::is_empty) && !block["content"].is_array()
    {
        findings.add(at, "a `tool_result` with is_error must say something");
    }
    for part in block["content"].as_array().into_iter().flatten() {
        check_text(at, part, findings);
    }
}

fn report_open(open: &mut Open<'_>, findings: &mut Findings) {
    for (i, id) in open.drain(..) {
        let what = format!("`tool_use` ids were found without `tool_result` blocks immediately after: {id}");
        findings.add(message(i), what);
    }
}

/// The calls of the message.
fn check_assistant<'a>(i: usize, value: &'a Value, findings: &mut Findings) -> Open<'a> {
    let at = message(i);
    let mut calls = Open::new();
    let list = content(&at, value, findings);
    for block in list {
        match block["type"].as_str().unwrap_or_default() {
            "text" => {
                findings.only(&at, block, &["type", "text", "cache_control", "citations"]);
                check_text(&at, block, findings);
            }
            "tool_use" => calls.push((i, check_call(&at, block, findings))),
            "thinking" => {
                findings.only(&at, block, &["type", "thinking", "signature"]);
                if !block["thinking"].is_string() || block["signature"].as_str().is_none_or(str::is_empty) {
                    findings.add(&at, "thinking.signature: Field required");
                }
            }
            "redacted_thinking" => {
                findings.only(&at, block, &["type", "data"]);
                if block["data"].as_str().is_none_or(str::is_empty) {
                    findings.add(&at, "redacted_thinking.data: Field required");
                }
            }
            "" | "tool_result" | "image" | "document" => {
                findings.add(&at, format!("an assistant's block may not be {}", block["type"]));
            }
            // A server's own tools and whatever else came from it.
            _ => {}
        }
    }
    if list.last().is_some_and(is_thought) {
        findings.add(&at, "the final block in an assistant message cannot be `thinking`");
    }
    calls
}

fn check_call<'a>(at: &str, block: &'a Value, findings: &mut Findings) -> &'a str {
    findings.only(at, block, &["type", "id", "name", "input", "cache_control"]);
    findings.tool_name(at, &block["name"]);
    if !block["input"].is_object() {
        findings.add(at, "a call's input is no object");
    }
    let id = block["id"].as_str().unwrap_or_default();
    let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if id.is_empty() || !id.bytes().all(legal) {
        findings.add(at, format!("a call's id {} does not match ^[a-zA-Z0-9_-]+$", block["id"]));
    }
    id
}

/// With a budget for thinking, the turn whose calls are being answered begins with a thought.
fn check_thinking_turn(list: &[Value], findings: &mut Findings) {
    let is_question = |value: &Value| {
        value["role"] == "user" && !blocks(&value["content"]).iter().any(|block| block["type"] == "tool_result")
    };
    let begin = list.iter().rposition(is_question).map_or(0, |at| at + 1);
    let first = list.iter().enumerate().skip(begin).find(|(_, value)| value["role"] == "assistant");
    if let Some((i, value)) = first {
        let list = blocks(&value["content"]);
        if list.iter().any(|block| block["type"] == "tool_use") && !list.first().is_some_and(is_thought) {
            findings.add(message(i), "Expected `thinking` or `redacted_thinking`, but found another block");
        }
    }
}

fn is_thought(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

/// The blocks of a message; a text is as good as one block, and checked here.
fn content<'a>(at: &str, value: &'a Value, findings: &mut Findings) -> &'a [Value] {
    match &value["content"] {
        Value::String(text) if text.trim().is_empty() => findings.add(at, "text content must be non-empty"),
        Value::String(_) => {}
        Value::Array(list) if list.is_empty() => findings.add(at, "all messages must have non-empty content"),
        Value::Array(list) => return list,
        _ => findings.add(at, "content is neither text nor a list of blocks"),
    }
    &[]
}

fn check_text(at: &str, block: &Value, findings: &mut Findings) {
    if block["type"] == "text" && block["text"].as_str().is_none_or(|text| text.trim().is_empty()) {
        findings.add(at, "text content blocks must contain non-whitespace text");
    }
}

fn check_tools(body: &Map<String, Value>, findings: &mut Findings) {
    let Some(tools) = body.get("tools") else {
        if body.contains_key("tool_choice") {
            findings.add("tool_choice", "is only allowed when tools are given");
        }
        return;
    };
    let Some(tools) = tools.as_array().filter(|tools| !tools.is_empty()) else {
        return findings.add("tools", "is empty or no array: leave it out instead");
    };
    let mut names = HashSet::new();
    for (i, tool) in tools.iter().enumerate() {
        let at = format!("tools[{i}]");
        findings.only(&at, tool, &["type", "name", "description", "input_schema", "cache_control", "strict"]);
        findings.tool_name(&at, &tool["name"]);
        if !names.insert(tool["name"].as_str()) {
            findings.add(&at, format!("the name {} is taken by a tool before it", tool["name"]));
        }
        if !tool["description"].is_string() && !tool["description"].is_null() {
            findings.add(&at, "description is no text");
        }
        if tool["input_schema"]["type"] != "object" {
            findings.add(&at, "input_schema's root type is not `object`");
        }
        for combinator in ["oneOf", "allOf", "anyOf"] {
            if !tool["input_schema"][combinator].is_null() {
                findings.add(&at, format!("input_schema does not support {combinator} at the top level"));
            }
        }
    }
}

/// Blocks with a mark, and marks where none may be.
fn marks(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(marks).sum(),
        Value::Object(fields) => {
            // Arguments and schemas are the client's own.
            let inner = fields.iter().filter(|(key, _)| !["input", "input_schema"].contains(&key.as_str()));
            usize::from(fields.contains_key("cache_control")) + inner.map(|(_, value)| marks(value)).sum::<usize>()
        }
        _ => 0,
    }
}
