//! What the unit tests share: requests, transcripts of events, ways to cut bytes, and a wire that plays a script.

use std::sync::Arc;

use agent_protocol::{
    ContentBlock, ErrorPayload, ModelEvent, ModelMessage, ModelRequest, Object, Permission, Reply, Role, SystemBlock,
    SystemPrompt, ToolCall, ToolCallId, ToolChoice, ToolDefinition, ToolResultBlock,
};
use serde_json::{Value, json};

use crate::dialect::{Decoder, Dialect, Flow, StreamFault, Unfinished};
use crate::names::NameTable;
use crate::reply::{About, ReplyBuilder};

/// Properties print what they found and write no files: tests leave nothing in the source tree.
pub(crate) fn properties() -> proptest::test_runner::Config {
    proptest::test_runner::Config { failure_persistence: None, ..Default::default() }
}

/// The tools of [`request`].
pub(crate) const TOOLS: [&str; 3] = ["code.read_file", "code.write_file", "internal.load_skill"];

pub(crate) fn object(value: Value) -> Object {
    value.as_object().cloned().unwrap_or_default()
}

pub(crate) fn tool(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: format!("does {name}"),
        input_schema: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        permission: Permission::Readonly,
        tags: Vec::new(),
        metadata: Object::new(),
    }
}

/// A request with three tools and one user message.
pub(crate) fn request() -> ModelRequest {
    ModelRequest {
        model: "m".to_owned(),
        system: Arc::new(SystemPrompt::default()),
        messages: vec![said(Role::User, "hi")],
        tools: Arc::new(TOOLS.map(tool).to_vec().into()),
        tool_choice: ToolChoice::Auto,
        temperature: None,
        max_output_tokens: 1000,
        provider_options: Object::new(),
        metadata: object(json!({"call_id_prefix": "call_run"})),
    }
}

pub(crate) fn said(role: Role, text: &str) -> Arc<ModelMessage> {
    Arc::new(ModelMessage::new(role, vec![ContentBlock::text(text)]))
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> ContentBlock {
    ContentBlock::ToolCall(ToolCall {
        tool_call_id: ToolCallId::parse(id).unwrap(),
        name: name.to_owned(),
        arguments: object(arguments),
        metadata: Object::new(),
    })
}

pub(crate) fn result(id: &str, text: &str) -> Arc<ModelMessage> {
    let block = ToolResultBlock {
        tool_call_id: ToolCallId::parse(id).unwrap(),
        is_error: false,
        content: vec![ContentBlock::text(text)],
        error: None,
        metadata: Object::new(),
    };
    Arc::new(ModelMessage::new(Role::Tool, vec![ContentBlock::ToolResult(block)]))
}

/// One event as one short line.
pub(crate) fn line(event: &ModelEvent) -> String {
    match event {
        ModelEvent::Started { model, .. } => format!("started {model}"),
        ModelEvent::TextDelta { text } => format!("text {text:?}"),
        ModelEvent::ReasoningDelta { text } => format!("think {text:?}"),
        ModelEvent::ToolCallDelta { index, name: Some(name), fragment } => format!("call {index} {name} {fragment}"),
        ModelEvent::ToolCallDelta { index, name: None, fragment } => format!("more {index} {fragment}"),
        ModelEvent::Retry { attempt, wait_ms, error } => format!("retry {attempt} {wait_ms} {}", kind(error)),
        ModelEvent::Completed(reply) => format!("done {}", summary(reply)),
        ModelEvent::Failed { fault, error, partial } => {
            let partial = partial.as_ref().map_or_else(|| "nothing".to_owned(), summary);
            format!("failed {} {} {} | {partial}", fault.as_str(), error.code, kind(error))
        }
    }
}

fn kind(error: &ErrorPayload) -> &str {
    error.details.get("kind").and_then(Value::as_str).unwrap_or("?")
}

/// A reply as one short line: stop, usage, content, and calls with what is wrong with them.
pub(crate) fn summary(reply: &Reply) -> String {
    let mut line = reply.stop.kind.as_str().to_owned();
    if let (Some(input), Some(output)) = (reply.usage.input_tokens, reply.usage.output_tokens) {
        line.push_str(&format!(" {input}+{output}"));
    }
    match reply.metadata.get("reasoning") {
        None => {}
        Some(Value::Object(kept)) => {
            for entry in kept["blocks"].as_array().into_iter().flatten() {
                line.push_str(&format!(" kept{}{}", entry["before"], entry["block"]));
            }
        }
        Some(reasoning) => line.push_str(&format!(" think{reasoning}")),
    }
    for block in &reply.content {
        match block {
            ContentBlock::Text(text) => line.push_str(&format!(" {:?}", text.text)),
            ContentBlock::ToolCall(call) => {
                let arguments = Value::Object(call.arguments.clone());
                line.push_str(&format!(" {}:{}{arguments}", call.tool_call_id, call.name));
                if let Some(error) = call.arguments_error() {
                    line.push_str(&format!("!({error})"));
                }
                if let Some(extra) = call.metadata.get("extra_content") {
                    let from = call.metadata.get("extra_content_from").and_then(Value::as_str).unwrap_or("?");
                    line.push_str(&format!(" extra{extra}@{from}"));
                }
            }
            other => line.push_str(&format!(" {other:?}")),
        }
    }
    if let Some(mended) = reply.metadata.get("mended_events") {
        line.push_str(&format!(" mended{mended}"));
    }
    if let Some(names) = reply.metadata.get("unfinished_calls") {
        line.push_str(&format!(" unfinished{names}"));
    }
    line
}

/// The reply to a request that ends properly.
pub(crate) fn reply_to(dialect: &dyn Dialect, request: ModelRequest, body: &[u8]) -> Reply {
    let mut decoder = decoder(dialect, request);
    let mut events = Vec::new();
    if decoder.feed(body, &mut events).unwrap() == Flow::More {
        decoder.end(&mut events).unwrap();
    }
    decoder.finish(&mut events).unwrap()
}

fn decoder(dialect: &dyn Dialect, request: ModelRequest) -> Box<dyn Decoder> {
    let request = Arc::new(request);
    let names: Arc<NameTable> = Arc::new(dialect.names(&request.tools));
    let about = About { provider: dialect.key(), request, names, metadata: Object::new(), limit: 1 << 20 };
    dialect.decoder(ReplyBuilder::new(about))
}

/// What a dialect makes of a body that comes in these chunks and then ends: as a conversation reads it, without the
/// waiting.
pub(crate) fn decode<'a>(dialect: &dyn Dialect, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut decoder = decoder(dialect, request());
    let mut events = Vec::new();
    let mut result = Ok(Flow::More);
    for chunk in chunks {
        result = decoder.feed(chunk, &mut events);
        if result != Ok(Flow::More) {
            break;
        }
    }
    if result == Ok(Flow::More) {
        result = decoder.end(&mut events).map(|()| Flow::Done);
    }
    let end = match result {
        Ok(_) => decoder.finish(&mut events),
        Err(fault) => Err(Box::new(Unfinished { fault, partial: decoder.partial() })),
    };
    let mut lines: Vec<String> = events.iter().map(line).collect();
    lines.push(match end {
        Ok(reply) => format!("done {}", summary(&reply)),
        Err(unfinished) => {
            let Unfinished { fault, partial } = *unfinished;
            let partial = partial.as_ref().map_or_else(|| "nothing".to_owned(), summary);
            format!("failed {} | {partial}", fault_text(&fault))
        }
    });
    lines
}

fn fault_text(fault: &StreamFault) -> String {
    match fault {
        StreamFault::Broken(broken) => broken.to_string(),
        StreamFault::Said(words) => format!("said {:?}", words.message),
        StreamFault::PromptFillsWindow { prompt, window } => format!("prompt {prompt} of {window}"),
    }
}

/// Replays a body whole, byte by byte, and in twenty random cuts; every time the transcript is the expected one.
#[track_caller]
pub(crate) fn check_body(dialect: &dyn Dialect, body: &[u8], expected: &[&str]) {
    assert_eq!(replay(dialect, body), expected, "whole: {}", String::from_utf8_lossy(body));
}

/// The same for the end of the transcript only.
#[track_caller]
pub(crate) fn check_last(dialect: &dyn Dialect, body: &[u8], expected: &str) {
    let transcript = replay(dialect, body);
    assert_eq!(transcript.last().map(String::as_str), Some(expected), "{}", String::from_utf8_lossy(body));
}

/// The transcript of a body, which does not depend on how it is cut: whole, byte by byte, and in twenty random ways.
#[track_caller]
pub(crate) fn replay(dialect: &dyn Dialect, body: &[u8]) -> Vec<String> {
    let whole = decode(dialect, [body]);
    assert_eq!(decode(dialect, body.chunks(1)), whole, "byte by byte: {}", String::from_utf8_lossy(body));
    for seed in 0..20 {
        assert_eq!(decode(dialect, random_cuts(body, seed)), whole, "cut with seed {seed}");
    }
    whole
}

/// A body as some server sends it, and what becomes of it. Its name stands in `docs/design/wire-quirks.md`.
pub(crate) struct Fixture {
    pub(crate) name: &'static str,
    pub(crate) body: Vec<u8>,
    pub(crate) outcome: Outcome,
}

/// What a fixture says of the transcript.
pub(crate) enum Outcome {
    All(&'static [&'static str]),
    Last(&'static str),
}

/// Replays fixtures in every cut.
#[track_caller]
pub(crate) fn check_fixtures(dialect: &dyn Dialect, fixtures: &[Fixture]) {
    for fixture in fixtures {
        let transcript = replay(dialect, &fixture.body);
        match fixture.outcome {
            Outcome::All(expected) => assert_eq!(transcript, expected, "{}", fixture.name),
            Outcome::Last(expected) => {
                assert_eq!(transcript.last().map(String::as_str), Some(expected), "{}", fixture.name);
            }
        }
    }
}

/// Pieces of 1 to 40 bytes, the same for the same seed.
fn random_cuts(mut body: &[u8], seed: u64) -> Vec<&[u8]> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut pieces = Vec::new();
    while !body.is_empty() {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let (piece, rest) = body.split_at((1 + random as usize % 40).min(body.len()));
        pieces.push(piece);
        body = rest;
    }
    pieces
}

/// A system part of these texts.
pub(crate) fn system(texts: &[&str]) -> Arc<SystemPrompt> {
    let block = |text: &&str| SystemBlock {
        block_id: "b".into(),
        source: "s".into(),
        content: (*text).to_owned(),
        priority: 0,
        dynamic: false,
        token_count: 1,
        metadata: Object::new(),
    };
    Arc::new(texts.iter().map(block).collect::<Vec<_>>().into())
}
