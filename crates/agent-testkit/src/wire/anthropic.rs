//! Anthropic's Messages: named server-sent events, `message_stop` last.

use serde_json::{Value, json};

use super::context::Context;
use super::json::{push_json_text, push_value};
use super::rendered::Rendered;
use super::text::split;
use crate::call::Call;
use crate::reply::{End, Fault, Message, Stop};

pub(super) fn message(message: &Message, context: &Context<'_>) -> Rendered {
    let mut events = Events { out: Rendered::default(), block: 0 };
    let pieces = message.chunks.unwrap_or(1);
    start(context, message, &mut events);
    if !message.thinking.is_empty() {
        thinking(&message.thinking, pieces, context, &mut events);
    }
    let mut deltas = message.text.deltas(pieces).peekable();
    if deltas.peek().is_some() {
        events.begin(&json!({"type": "text", "text": ""}));
        deltas.for_each(|delta| events.text_delta("text_delta", "text", delta));
        events.end();
    }
    for (place, call) in message.calls.iter().enumerate() {
        tool_use(call, place, message.chunks, context, &mut events);
    }
    end(message, context, &mut events);
    events.out
}

/// With the counts known by now, and a ping, as the real server does.
fn start(context: &Context<'_>, message: &Message, events: &mut Events) {
    let usage = match context.usage(message) {
        Some((input, _)) => json!({"input_tokens": input, "output_tokens": 1}),
        None => json!({}),
    };
    events.say(
        "message_start",
        &json!({"message": {
            "id": format!("msg_{}", context.request.at), "type": "message", "role": "assistant",
            "model": context.request.model(), "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage,
        }}),
    );
    events.say("ping", &json!({}));
    events.out.end_event();
}

/// A thought and the signature under which alone it may come back.
fn thinking(text: &str, pieces: usize, context: &Context<'_>, events: &mut Events) {
    events.begin(&json!({"type": "thinking", "thinking": "", "signature": ""}));
    split(text, pieces).for_each(|delta| events.text_delta("thinking_delta", "thinking", delta));
    events.text_delta("signature_delta", "signature", &signature(context.request.at, text));
    events.end();
}

/// Depends on the thought, so that a changed one can be told.
pub(crate) fn signature(request: usize, thought: &str) -> String {
    let sum = thought.bytes().fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    format!("sig-{request}-{sum:016x}")
}

/// First the name with an empty piece of arguments, then the arguments in fragments: two, unless the reply says otherwise.
fn tool_use(call: &Call, place: usize, pieces: Option<usize>, context: &Context<'_>, events: &mut Events) {
    let mut block = json!({"type": "tool_use"});
    if let Some(id) = call.wire_id(context.request.at, place) {
        block["id"] = json!(id);
    }
    block["name"] = json!(context.wire_name(call));
    block["input"] = json!({});
    events.begin(&block);
    events.text_delta("input_json_delta", "partial_json", "");
    for fragment in split(&call.arguments_text(), pieces.unwrap_or(2)) {
        events.text_delta("input_json_delta", "partial_json", fragment);
    }
    events.end();
}

fn end(message: &Message, context: &Context<'_>, events: &mut Events) {
    match &message.end {
        End::Missing => {}
        End::Error(text) => events.say("error", &json!({"error": {"type": "api_error", "message": text}})),
        End::Marker => {
            let usage = match context.usage(message) {
                Some((_, output)) => json!({"output_tokens": output}),
                None => json!({}),
            };
            let delta = json!({"stop_reason": stop_reason(message), "stop_sequence": null});
            events.say("message_delta", &json!({"delta": delta, "usage": usage}));
            events.out.end_event();
            events.say("message_stop", &json!({}));
        }
    }
}

fn stop_reason(message: &Message) -> &str {
    match &message.stop {
        Stop::End if message.calls.is_empty() => "end_turn",
        Stop::End => "tool_use",
        Stop::Length => "max_tokens",
        Stop::Filter => "refusal",
        Stop::Named(reason) => reason,
    }
}

/// Writes the events of one message; its blocks are numbered. What begins or ends a block goes out with the delta after it, so
/// that a gate counts what it counts in the other protocols.
struct Events {
    out: Rendered,
    block: usize,
}

impl Events {
    fn say(&mut self, name: &str, fields: &Value) {
        self.head(name);
        for (field, value) in fields.as_object().into_iter().flatten() {
            push_json_text(&mut self.out.bytes, ",", field, ":");
            push_value(&mut self.out.bytes, value);
        }
        self.out.bytes.extend_from_slice(b"}\n\n");
    }

    fn head(&mut self, name: &str) {
        self.out.bytes.extend_from_slice(format!("event: {name}\ndata: {{\"type\":\"{name}\"").as_bytes());
    }

    fn begin(&mut self, block: &Value) {
        self.say("content_block_start", &json!({"index": self.block, "content_block": block}));
    }

    fn text_delta(&mut self, kind: &str, field: &str, text: &str) {
        self.head("content_block_delta");
        let before = format!(",\"index\":{},\"delta\":{{\"type\":\"{kind}\",\"{field}\":", self.block);
        push_json_text(&mut self.out.bytes, &before, text, "}}\n\n");
        self.out.end_event();
    }

    fn end(&mut self) {
        self.say("content_block_stop", &json!({"index": self.block}));
        self.block += 1;
    }
}

pub(super) fn fault(fault: &Fault) -> (u16, Value) {
    let invalid = "invalid_request_error";
    match fault {
        Fault::Plain { status, message } => (*status, body(kind(*status), message)),
        Fault::Overflow { requested, limit } => {
            (400, body(invalid, &format!("prompt is too long: {requested} tokens > {limit} maximum")))
        }
        Fault::ModelMissing(model) => (404, body("not_found_error", &format!("model: {model}"))),
        Fault::CannotUseTools(model) => (400, body(invalid, &format!("\"{model}\" does not support tools"))),
        Fault::CannotThink(model) => (400, body(invalid, &format!("\"{model}\" does not support thinking"))),
    }
}

fn kind(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

fn body(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"})
}
