//! The pieces of a stream. Every field may be missing or null, and unknown ones are passed over (DEC-5); strings are borrowed
//! from the event.

use agent_protocol::Object;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::reply::Text;
use crate::reply::mend::{each, inner, numbers, texts};

/// One event's data. Its `type` tells which fields there are.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Option<Text<'a>>,
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) content_block: Option<&'a RawValue>,
    /// Boxed: on its way up through the deserialiser it would be copied at every level.
    #[serde(borrow, default)]
    pub(super) delta: Option<Box<Delta<'a>>>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// What a block or the message gains. Its `type` says more than its fields, but the fields tell all the same.
#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(super) text: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) thinking: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) signature: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) partial_json: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) stop_reason: Option<Text<'a>>,
}

/// The message an answer begins with, or the whole of it where a server does not stream.
#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow, default)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) model: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) content: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    pub(super) stop_reason: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
}

/// Puts right, or leaves out, what a server writes in types of its own.
pub(super) fn tidy(event: &mut Object) {
    texts(event, &["type"]);
    numbers(event, &["index"]);
    inner(event, "content_block");
    if let Some(delta) = inner(event, "delta") {
        texts(delta, &["text", "thinking", "signature", "partial_json", "stop_reason"]);
    }
    if let Some(message) = inner(event, "message") {
        texts(message, &["id", "model", "stop_reason"]);
        let _ = each(message, "content").count();
    }
}
