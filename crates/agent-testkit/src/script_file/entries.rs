//! The shape of the JSON, and its translation; the format is described at [`super::ScriptFile`].

use std::collections::BTreeMap;

use hyper::header::HeaderValue;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ScriptError;
use crate::call::Call;
use crate::home::MODEL;
use crate::model::Model;
use crate::reply::{Reply, Stop};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Format {
    #[serde(default = "default_models")]
    pub(super) models: Vec<ModelEntry>,
    #[serde(default)]
    pub(super) select: Select,
    #[serde(default)]
    pub(super) after: After,
    pub(super) replies: Vec<ReplyEntry>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Select {
    #[default]
    Arrival,
    Turn,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum After {
    #[default]
    Stop,
    Last,
    Cycle,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelEntry {
    name: String,
    capabilities: Option<Vec<String>>,
    context_length: Option<u64>,
}

fn default_models() -> Vec<ModelEntry> {
    vec![ModelEntry { name: MODEL.to_owned(), capabilities: None, context_length: None }]
}

impl ModelEntry {
    pub(super) fn model(self) -> Model {
        let mut model = Model::new(self.name);
        if let Some(capabilities) = self.capabilities {
            model = model.capabilities(capabilities);
        }
        match self.context_length {
            Some(tokens) => model.context_length(tokens),
            None => model,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReplyEntry {
    Message(MessageEntry),
    Flood(FloodEntry),
    Error(ErrorEntry),
    Status(StatusEntry),
    ContextOverflow(OverflowEntry),
    Raw(RawEntry),
    Hang,
    HangUp,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageEntry {
    #[serde(default)]
    text: String,
    #[serde(default)]
    thinking: String,
    #[serde(default)]
    calls: Vec<CallEntry>,
    usage: Option<UsageEntry>,
    #[serde(default)]
    stop: String,
    chunks: Option<usize>,
    #[serde(default)]
    end: EndEntry,
    #[serde(default)]
    delivery: DeliveryEntry,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallEntry {
    name: String,
    arguments: Option<Value>,
    raw_arguments: Option<String>,
    id: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageEntry {
    input: u64,
    output: u64,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EndEntry {
    #[default]
    Marker,
    Missing,
    Dropped,
    Error(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FloodEntry {
    count: usize,
    delta: String,
    #[serde(default)]
    delivery: DeliveryEntry,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ErrorEntry {
    status: u16,
    message: String,
    #[serde(default)]
    delivery: DeliveryEntry,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusEntry {
    status: u16,
    body: String,
    #[serde(default)]
    delivery: DeliveryEntry,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OverflowEntry {
    requested: u64,
    limit: u64,
    #[serde(default)]
    delivery: DeliveryEntry,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEntry {
    body: String,
    content_type: String,
    #[serde(default)]
    delivery: DeliveryEntry,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeliveryEntry {
    #[serde(default)]
    headers: BTreeMap<String, String>,
    cut_after: Option<usize>,
    stall_after: Option<usize>,
    pieces_of: Option<usize>,
}

impl ReplyEntry {
    pub(super) fn reply(self, at: usize) -> Result<Reply, ScriptError> {
        let wrong = |what| ScriptError::Reply { at, what };
        let final_status = |status: u16| match status {
            200..=599 => Ok(status),
            _ => Err(wrong("no status of a final response (200 to 599)")),
        };
        match self {
            Self::Hang => Ok(Reply::hang()),
            Self::HangUp => Ok(Reply::hang_up()),
            Self::Flood(flood) => flood.delivery.apply(Reply::flood(flood.count, flood.delta), at),
            Self::ContextOverflow(e) => e.delivery.apply(Reply::context_overflow(e.requested, e.limit), at),
            Self::Error(e) => e.delivery.apply(Reply::error(final_status(e.status)?, e.message), at),
            Self::Status(e) => e.delivery.apply(Reply::status(final_status(e.status)?, e.body), at),
            Self::Raw(raw) => {
                if HeaderValue::try_from(&raw.content_type).is_err() {
                    return Err(wrong("content_type is no legal header value"));
                }
                raw.delivery.apply(Reply::raw(raw.body, &raw.content_type), at)
            }
            Self::Message(message) => message.reply(at),
        }
    }
}

impl MessageEntry {
    fn reply(self, at: usize) -> Result<Reply, ScriptError> {
        let calls: Vec<Call> = self.calls.into_iter().map(|call| call.call(at)).collect::<Result<_, _>>()?;
        let mut reply = Reply::text(self.text).thinking(self.thinking).calls(calls).stop(stop(self.stop));
        if let Some(UsageEntry { input, output }) = self.usage {
            reply = reply.usage(input, output);
        }
        if let Some(chunks) = self.chunks {
            reply = reply.chunks(chunks);
        }
        let reply = match self.end {
            EndEntry::Marker => reply,
            EndEntry::Missing => reply.without_end(),
            EndEntry::Dropped => reply.drop_connection(),
            EndEntry::Error(message) => reply.then_error(message),
        };
        self.delivery.apply(reply, at)
    }
}

fn stop(word: String) -> Stop {
    match word.as_str() {
        "" | "end" => Stop::End,
        "length" => Stop::Length,
        "filter" => Stop::Filter,
        _ => Stop::Named(word),
    }
}

impl CallEntry {
    fn call(self, at: usize) -> Result<Call, ScriptError> {
        let call = match (self.arguments, self.raw_arguments) {
            (Some(_), Some(_)) => {
                return Err(ScriptError::Reply { at, what: "a call has both arguments and raw_arguments" });
            }
            (Some(arguments), None) => Call::new(self.name, arguments),
            (None, Some(text)) => Call::raw(self.name, text),
            (None, None) => Call::new(self.name, json!({})),
        };
        Ok(match self.id {
            Some(id) => call.id(id),
            None => call,
        })
    }
}

impl DeliveryEntry {
    fn apply(self, mut reply: Reply, at: usize) -> Result<Reply, ScriptError> {
        if self.cut_after.is_some() && self.stall_after.is_some() {
            return Err(ScriptError::Reply { at, what: "cut_after and stall_after exclude each other" });
        }
        for (name, value) in self.headers {
            reply = reply.try_header(&name, &value).map_err(|source| ScriptError::Header { at, name, source })?;
        }
        if let Some(bytes) = self.cut_after {
            reply = reply.cut_after(bytes);
        }
        if let Some(bytes) = self.stall_after {
            reply = reply.stall_after(bytes);
        }
        Ok(match self.pieces_of {
            Some(bytes) => reply.pieces_of(bytes),
            None => reply,
        })
    }
}
