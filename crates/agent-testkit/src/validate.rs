//! What every real server insists on, so that a test notices a request no server would take.
//!
//! Servers differ in what they check; a request passes here only if the strictest would take it. Each violation names the
//! place in the body, e.g. `messages[2].tool_calls[0]: …`.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::protocol::Protocol;

mod anthropic;
mod findings;
mod ollama;
mod openai;
mod pairing;
#[cfg(test)]
mod tests;
mod turn;

use findings::Findings;
use turn::{Turn, message};

/// Checks a request body against the invariants of its protocol.
///
/// # Errors
/// Every violation found.
pub fn validate_request(protocol: Protocol, body: &Value) -> Result<(), Vec<String>> {
    validate_with(protocol, body, &[])
}

/// As [`validate_request`], with further top-level fields a test knows to be legal for its server.
pub(crate) fn validate_with(protocol: Protocol, body: &Value, extra: &[String]) -> Result<(), Vec<String>> {
    let mut findings = Findings::default();
    match body.as_object() {
        None => findings.add("body", "is not a JSON object"),
        Some(body) => check(protocol, body, extra, &mut findings),
    }
    if findings.0.is_empty() { Ok(()) } else { Err(findings.0) }
}

fn check(protocol: Protocol, body: &Map<String, Value>, extra: &[String], findings: &mut Findings) {
    let known = match protocol {
        Protocol::Ollama => ollama::FIELDS,
        Protocol::OpenAi => openai::FIELDS,
        Protocol::Anthropic => anthropic::FIELDS,
    };
    for field in body.keys().filter(|field| !known.contains(&field.as_str()) && !extra.contains(field)) {
        findings.add("body", format!("unknown field `{field}`"));
    }
    if body.get("model").and_then(Value::as_str).is_none_or(str::is_empty) {
        findings.add("model", "is not a name");
    }
    let turns = match protocol {
        Protocol::Ollama => ollama::check(body, findings),
        Protocol::OpenAi => openai::check(body, findings),
        // Its turns hold blocks, its tools are no functions: it checks all of that itself.
        Protocol::Anthropic => return anthropic::check(body, findings),
    };
    check_order(&turns, findings);
    pairing::check(&turns, findings);
    if let Some(tools) = body.get("tools") {
        check_tools(tools, findings);
    }
}

fn check_order(turns: &[Turn<'_>], findings: &mut Findings) {
    if turns.is_empty() {
        findings.add("messages", "is empty or no array");
        return;
    }
    for (i, turn) in turns.iter().enumerate() {
        match turn {
            Turn::Unknown => findings.add(message(i), "has no legal role"),
            Turn::System if i > 0 => findings.add(message(i), "a system message may only be the first"),
            _ => {}
        }
    }
    // Several chat templates refuse a prompt without one.
    if !turns.iter().any(|turn| matches!(turn, Turn::User)) {
        findings.add("messages", "no user query found in messages");
    }
}

fn check_tools(tools: &Value, findings: &mut Findings) {
    let Some(tools) = tools.as_array() else {
        findings.add("tools", "is no array");
        return;
    };
    if tools.is_empty() {
        findings.add("tools", "is empty: leave it out instead");
    }
    let mut names = HashSet::new();
    for (i, tool) in tools.iter().enumerate() {
        let at = format!("tools[{i}]");
        if tool["type"] != "function" {
            findings.add(&at, "type is not `function`");
        }
        findings.only(&at, tool, &["type", "function"]);
        let function = &tool["function"];
        findings.only(&at, function, &["name", "description", "parameters", "strict"]);
        findings.tool_name(&at, &function["name"]);
        if !names.insert(function["name"].as_str()) {
            findings.add(&at, format!("the name {} is taken by a tool before it", function["name"]));
        }
        if !function["description"].is_string() && !function["description"].is_null() {
            findings.add(&at, "description is no text");
        }
        if function["parameters"]["type"] != "object" {
            findings.add(&at, "parameters' root type is not `object`");
        }
    }
}
