//! Ollama's native chat: one JSON object per line.

use serde_json::{Value, json};

use super::context::Context;
use super::json::{push_json_text, push_value};
use super::rendered::Rendered;
use super::text::split;
use crate::call::Call;
use crate::reply::{End, Fault, Message, Stop};

/// Fixed, so that two runs of a script give the same bytes.
const CREATED_AT: &str = "2026-01-01T00:00:00Z";

pub(super) fn message(message: &Message, context: &Context<'_>) -> Rendered {
    let mut out = Rendered::default();
    let chunks = message.chunks.unwrap_or(1);
    let head = format!("{{\"model\":{},\"created_at\":\"{CREATED_AT}\"", json!(context.request.model()));
    let line = format!("{head},\"message\":{{\"role\":\"assistant\"");

    let before = format!("{line},\"content\":\"\",\"thinking\":");
    for delta in split(&message.thinking, chunks) {
        push_json_text(&mut out.bytes, &before, delta, "},\"done\":false}\n");
        out.end_event();
    }
    let before = format!("{line},\"content\":");
    for delta in message.text.deltas(chunks) {
        push_json_text(&mut out.bytes, &before, delta, "},\"done\":false}\n");
        out.end_event();
    }
    // Calls are never split: name and whole arguments are in one line.
    for (place, call) in message.calls.iter().enumerate() {
        out.bytes.extend_from_slice(line.as_bytes());
        out.bytes.extend_from_slice(b",\"content\":\"\",\"tool_calls\":[");
        push_value(&mut out.bytes, &tool_call(call, place, context));
        out.bytes.extend_from_slice(b"]},\"done\":false}\n");
        out.end_event();
    }
    end(message, context, &line, &mut out);
    out
}

fn tool_call(call: &Call, place: usize, context: &Context<'_>) -> Value {
    let function = json!({"index": place, "name": context.wire_name(call), "arguments": call.arguments_value()});
    match call.wire_id(context.request.at, place) {
        Some(id) => json!({"id": id, "function": function}),
        None => json!({"function": function}),
    }
}

fn end(message: &Message, context: &Context<'_>, line: &str, out: &mut Rendered) {
    match &message.end {
        End::Missing => return,
        End::Error(text) => push_json_text(&mut out.bytes, "{\"error\":", text, "}\n"),
        End::Marker => {
            let before = format!("{line},\"content\":\"\"}},\"done\":true,\"done_reason\":");
            push_json_text(
                &mut out.bytes,
                &before,
                done_reason(&message.stop),
                ",\"total_duration\":9,\"load_duration\":1",
            );
            if let Some((input, output)) = context.usage(message) {
                let counts = format!(
                    ",\"prompt_eval_count\":{input},\"prompt_eval_duration\":3,\"eval_count\":{output},\"eval_duration\":4"
                );
                out.bytes.extend_from_slice(counts.as_bytes());
            }
            out.bytes.extend_from_slice(b"}\n");
        }
    }
    out.end_event();
}

fn done_reason(stop: &Stop) -> &str {
    match stop {
        Stop::End | Stop::Filter => "stop",
        Stop::Length => "length",
        Stop::Named(reason) => reason,
    }
}

pub(super) fn fault(fault: &Fault) -> (u16, Value) {
    let (status, text) = match fault {
        Fault::Plain { status, message } => (*status, message.clone()),
        Fault::Overflow { .. } => {
            (400, "the prompt is longer than the context length currently available to the model".to_owned())
        }
        Fault::ModelMissing(model) => (404, format!("model '{model}' not found")),
        Fault::CannotUseTools(model) => (400, format!("\"{model}\" does not support tools")),
        Fault::CannotThink(model) => (400, format!("\"{model}\" does not support thinking")),
    };
    (status, json!({"error": text}))
}
