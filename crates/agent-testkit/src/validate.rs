//! What every real server insists on, so that a test notices a request no server would take.
//!
//! Servers differ in what they check; a request passes here only if the strictest would take it. Each violation names the
//! place in the body, e.g. `messages[2].tool_calls[0]: …`.

use std::collections::HashSet;
use std::fmt::Display;

use serde_json::{Map, Value};

use crate::protocol::Protocol;

mod anthropic;
mod ollama;
mod openai;
mod pairing;
#[cfg(test)]
mod tests;

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

/// A message, as far as order and pairing go.
#[derive(Debug)]
enum Turn<'a> {
    System,
    User,
    Assistant(Vec<CallRef<'a>>),
    Result(ResultRef<'a>),
    /// A role no server knows.
    Unknown,
}

/// A tool call in an assistant message.
#[derive(Debug)]
struct CallRef<'a> {
    id: Option<&'a str>,
    name: &'a str,
}

/// A tool message: `name` only where the protocol carries one.
#[derive(Debug)]
struct ResultRef<'a> {
    id: Option<&'a str>,
    name: Option<&'a str>,
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

/// The violations found so far.
#[derive(Debug, Default)]
struct Findings(Vec<String>);

impl Findings {
    fn add(&mut self, at: impl Display, what: impl Display) {
        self.0.push(format!("{at}: {what}"));
    }

    /// Names the fields of `value` that are not in `known`; what is no object has none.
    fn only(&mut self, at: &str, value: &Value, known: &[&str]) {
        for field in value.as_object().into_iter().flat_map(Map::keys) {
            if !known.contains(&field.as_str()) {
                self.add(at, format!("unknown field `{field}`"));
            }
        }
    }

    /// `^[a-zA-Z0-9_-]{1,64}$`, the strictest pattern that all of our providers' servers share.
    fn tool_name(&mut self, at: &str, name: &Value) {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !name.as_str().is_some_and(|name| (1..=64).contains(&name.len()) && name.chars().all(legal)) {
            self.add(at, format!("the name {name} does not match ^[a-zA-Z0-9_-]{{1,64}}$"));
        }
    }
}

fn message(i: usize) -> String {
    format!("messages[{i}]")
}

/// The request's messages; what is no array has none, which [`check_order`] reports.
fn messages(body: &Map<String, Value>) -> &[Value] {
    body.get("messages").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
