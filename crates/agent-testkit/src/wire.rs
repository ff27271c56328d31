//! Replies as bytes: what the canonical server of each protocol would send.

use serde_json::Value;

use crate::protocol::Protocol;
use crate::reply::{Fault, Message};

mod anthropic;
mod context;
mod json;
mod ollama;
mod openai;
mod rendered;
mod text;

pub(crate) use context::Context;
pub(crate) use rendered::Rendered;

/// A message as the protocol's stream.
pub(crate) fn message(message: &Message, context: &Context<'_>) -> Rendered {
    match context.request.protocol {
        Protocol::Ollama => ollama::message(message, context),
        Protocol::OpenAi => openai::message(message, context),
        Protocol::Anthropic => anthropic::message(message, context),
    }
}

/// An error as the protocol's status and body.
pub(crate) fn fault(protocol: Protocol, fault: &Fault) -> (u16, Value) {
    match protocol {
        Protocol::Ollama => ollama::fault(fault),
        Protocol::OpenAi => openai::fault(fault),
        Protocol::Anthropic => anthropic::fault(fault),
    }
}
