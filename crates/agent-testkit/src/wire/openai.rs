//! OpenAI Chat Completions: server-sent events, `[DONE]` last.

use serde_json::{Value, json};

use super::context::Context;
use super::json::{push_json_text, push_value};
use super::rendered::Rendered;
use super::text::split;
use crate::call::Call;
use crate::reply::{End, Fault, Message, Stop};

/// Fixed, so that two runs of a script give the same bytes.
const CREATED: u64 = 1_767_225_600;

pub(super) fn message(message: &Message, context: &Context<'_>) -> Rendered {
    let mut chunks = Chunks::new(context);
    let pieces = message.chunks.unwrap_or(1);

    chunks.delta(&json!({"role": "assistant", "content": "", "refusal": null}));
    for text in split(&message.thinking, pieces) {
        chunks.text_delta("reasoning_content", text);
    }
    for text in message.text.deltas(pieces) {
        chunks.text_delta("content", text);
    }
    for (place, call) in message.calls.iter().enumerate() {
        tool_call(call, place, message.chunks, context, &mut chunks);
    }
    end(message, context, &mut chunks);
    chunks.out
}

/// First the name with empty arguments, then the arguments in fragments: two, unless the reply says otherwise.
fn tool_call(call: &Call, place: usize, pieces: Option<usize>, context: &Context<'_>, chunks: &mut Chunks) {
    let mut first = json!({
        "index": place,
        "id": call.wire_id(context.request.at, place),
        "type": "function",
        "function": {"name": context.wire_name(call), "arguments": ""},
    });
    if first["id"].is_null() {
        first.as_object_mut().and_then(|first| first.shift_remove("id"));
    }
    chunks.delta(&json!({"tool_calls": [first]}));
    for fragment in split(&call.arguments_text(), pieces.unwrap_or(2)) {
        chunks.delta(&json!({"tool_calls": [{"index": place, "function": {"arguments": fragment}}]}));
    }
}

fn end(message: &Message, context: &Context<'_>, chunks: &mut Chunks) {
    match &message.end {
        End::Missing => {}
        End::Error(text) => {
            let error = json!({"message": text, "type": "server_error", "param": null, "code": null});
            chunks.data(&json!({"error": error}));
        }
        End::Marker => {
            chunks.finish(finish_reason(message));
            if let Some((input, output)) = context.usage(message).filter(|_| chunks.include_usage) {
                chunks.usage(input, output);
            }
            chunks.out.bytes.extend_from_slice(b"data: [DONE]\n\n");
            chunks.out.end_event();
        }
    }
}

fn finish_reason(message: &Message) -> &str {
    match &message.stop {
        Stop::End if message.calls.is_empty() => "stop",
        Stop::End => "tool_calls",
        Stop::Length => "length",
        Stop::Filter => "content_filter",
        Stop::Named(reason) => reason,
    }
}

/// Writes the chunks of one completion, which differ in little but their delta.
struct Chunks {
    out: Rendered,
    /// Everything before a chunk's `choices`.
    head: String,
    /// Everything after a delta that does not finish.
    tail: &'static str,
    include_usage: bool,
}

impl Chunks {
    fn new(context: &Context<'_>) -> Self {
        let include_usage = context.request.body["stream_options"]["include_usage"] == true;
        let head = format!(
            "data: {{\"id\":\"chatcmpl-{}\",\"object\":\"chat.completion.chunk\",\"created\":{CREATED},\"model\":{}",
            context.request.at,
            json!(context.request.model())
        );
        let tail = match include_usage {
            true => ",\"finish_reason\":null}],\"usage\":null}\n\n",
            false => ",\"finish_reason\":null}]}\n\n",
        };
        Self { out: Rendered::default(), head, tail, include_usage }
    }

    fn delta(&mut self, delta: &Value) {
        self.out.bytes.extend_from_slice(self.head.as_bytes());
        self.out.bytes.extend_from_slice(b",\"choices\":[{\"index\":0,\"delta\":");
        push_value(&mut self.out.bytes, delta);
        self.out.bytes.extend_from_slice(self.tail.as_bytes());
        self.out.end_event();
    }

    fn text_delta(&mut self, field: &str, text: &str) {
        self.out.bytes.extend_from_slice(self.head.as_bytes());
        let before = format!(",\"choices\":[{{\"index\":0,\"delta\":{{\"{field}\":");
        push_json_text(&mut self.out.bytes, &before, text, "}");
        self.out.bytes.extend_from_slice(self.tail.as_bytes());
        self.out.end_event();
    }

    fn finish(&mut self, reason: &str) {
        self.out.bytes.extend_from_slice(self.head.as_bytes());
        let before = ",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":";
        let after = if self.include_usage { "}],\"usage\":null}\n\n" } else { "}]}\n\n" };
        push_json_text(&mut self.out.bytes, before, reason, after);
        self.out.end_event();
    }

    fn usage(&mut self, input: u64, output: u64) {
        let usage = json!({
            "prompt_tokens": input,
            "completion_tokens": output,
            "total_tokens": input + output,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        });
        self.out.bytes.extend_from_slice(self.head.as_bytes());
        self.out.bytes.extend_from_slice(b",\"choices\":[],\"usage\":");
        push_value(&mut self.out.bytes, &usage);
        self.out.bytes.extend_from_slice(b"}\n\n");
        self.out.end_event();
    }

    fn data(&mut self, value: &Value) {
        self.out.bytes.extend_from_slice(b"data: ");
        push_value(&mut self.out.bytes, value);
        self.out.bytes.extend_from_slice(b"\n\n");
        self.out.end_event();
    }
}

pub(super) fn fault(fault: &Fault) -> (u16, Value) {
    let invalid = "invalid_request_error";
    match fault {
        Fault::Plain { status, message } => {
            let (kind, code) = match status {
                401 => (invalid, Some("invalid_api_key")),
                404 => (invalid, Some("model_not_found")),
                429 => ("requests", Some("rate_limit_exceeded")),
                500.. => ("server_error", None),
                _ => (invalid, None),
            };
            (*status, body(message, kind, None, code))
        }
        Fault::Overflow { requested, limit } => {
            let message = format!(
                "This model's maximum context length is {limit} tokens. However, your messages resulted in {requested} \
                 tokens. Please reduce the length of the messages."
            );
            (400, body(&message, invalid, Some("messages"), Some("context_length_exceeded")))
        }
        Fault::ModelMissing(model) => {
            let message = format!("The model `{model}` does not exist or you do not have access to it.");
            (404, body(&message, invalid, None, Some("model_not_found")))
        }
        Fault::CannotUseTools(model) => {
            (400, body(&format!("\"{model}\" does not support tools"), invalid, None, None))
        }
        Fault::CannotThink(model) => {
            (400, body(&format!("\"{model}\" does not support thinking"), invalid, None, None))
        }
    }
}

fn body(message: &str, kind: &str, param: Option<&str>, code: Option<&str>) -> Value {
    json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
}
