//! The pieces of a stream, as servers send them. Every field may be missing or null, and unknown ones are passed over
//! (DEC-5); strings are borrowed from the event.

use std::fmt;

use agent_protocol::Object;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::reply::mend::{each, inner, numbers, texts};
use crate::reply::{Text, TextOrParts};

/// One event's data, or a whole answer where a server does not stream.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) model: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) choices: Option<Choices<'a>>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) x_groq: Option<Box<Groq<'a>>>,
    #[serde(borrow, default)]
    pub(super) error: Option<&'a RawValue>,
}

/// An error that is no field of an object but the object itself.
#[derive(Deserialize)]
pub(super) struct FlatError<'a> {
    #[serde(borrow, default)]
    object: Option<Text<'a>>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    detail: Option<&'a RawValue>,
    #[serde(borrow, default)]
    code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
    #[serde(rename = "type", borrow, default)]
    kind: Option<&'a RawValue>,
}

impl FlatError<'_> {
    /// Whether an event that is no chunk is such an error. After the end of a reply it must say so itself: a gateway may add a
    /// message of another sort.
    pub(super) fn is_in(data: &str, over: bool) -> bool {
        serde_json::from_str::<FlatError<'_>>(data).is_ok_and(|flat| {
            let has_code = [flat.code, flat.status, flat.kind].iter().any(Option::is_some);
            let is_failure = flat.detail.is_some() || (flat.message.is_some() && has_code);
            Text::filled(&flat.object) == Some("error") || (is_failure && !over)
        })
    }
}

/// Groq's own place for usage.
#[derive(Deserialize)]
pub(super) struct Groq<'a> {
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
}

/// The choices of an event. We ask for one; a server that sends several mixes their events, or lists them in one.
pub(super) struct Choices<'a> {
    first: Option<Choice<'a>>,
    /// As good as always none.
    others: Vec<Choice<'a>>,
}

impl<'a> Choices<'a> {
    /// The choice that the reply is made of, and whether there are others. The first one that comes is chosen.
    pub(super) fn pick(self, chosen: &mut Option<u64>) -> (Option<Choice<'a>>, bool) {
        let Some(first) = self.first else { return (None, false) };
        let number = *chosen.get_or_insert(first.number());
        let mut all = std::iter::once(first).chain(self.others);
        let mut others = false;
        let picked = all.find(|choice| {
            let is_it = choice.number() == number;
            others |= !is_it;
            is_it
        });
        (picked, others || all.next().is_some())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Choices<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Choices<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let first = seq.next_element()?;
                let mut others = Vec::new();
                while let Some(other) = seq.next_element()? {
                    others.push(other);
                }
                Ok(Choices { first, others })
            }
        }
        deserializer.deserialize_seq(List)
    }
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    index: Option<u64>,
    /// Boxed: on its way up through the deserialiser it would be copied at every level.
    #[serde(borrow, default)]
    pub(super) delta: Option<Box<Delta<'a>>>,
    /// In place of `delta` where a server does not stream.
    #[serde(borrow, default)]
    pub(super) message: Option<Box<Delta<'a>>>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Option<Text<'a>>,
}

impl Choice<'_> {
    /// Its place among the choices; a server with only one may leave that out.
    fn number(&self) -> u64 {
        self.index.unwrap_or(0)
    }
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(super) content: Option<TextOrParts<'a>>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) reasoning: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Option<Vec<Call<'a>>>,
    /// The one call of older servers.
    #[serde(borrow, default)]
    pub(super) function_call: Option<Function<'a>>,
    /// Gemini may sign a thought after the call it led to.
    #[serde(borrow, default)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Call<'a> {
    #[serde(default)]
    pub(super) index: Option<u64>,
    #[serde(borrow, default)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) function: Option<Function<'a>>,
    #[serde(borrow, default)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow, default)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// Puts right, or leaves out, what a server writes in types of its own.
pub(super) fn tidy(chunk: &mut Object) {
    texts(chunk, &["model", "object"]);
    inner(chunk, "x_groq");
    for choice in each(chunk, "choices") {
        numbers(choice, &["index"]);
        texts(choice, &["finish_reason"]);
        for side in ["delta", "message"] {
            if let Some(delta) = inner(choice, side) {
                tidy_delta(delta);
            }
        }
    }
}

fn tidy_delta(delta: &mut Object) {
    texts(delta, &["refusal", "reasoning_content", "reasoning"]);
    match delta.get_mut("content") {
        Some(Value::Array(parts)) => tidy_parts(parts),
        _ => texts(delta, &["content"]),
    }
    for call in each(delta, "tool_calls") {
        numbers(call, &["index"]);
        texts(call, &["id"]);
        if let Some(function) = inner(call, "function") {
            texts(function, &["name"]);
        }
    }
    if let Some(function) = inner(delta, "function_call") {
        texts(function, &["name"]);
    }
}

fn tidy_parts(parts: &mut Vec<Value>) {
    for part in parts.iter_mut() {
        if let Value::String(text) = part {
            *part = Value::Object(Object::from_iter([("text".to_owned(), std::mem::take(text).into())]));
        }
    }
    parts.retain(Value::is_object);
    for part in parts.iter_mut().filter_map(Value::as_object_mut) {
        texts(part, &["text"]);
        match part.get_mut("thinking") {
            Some(Value::Array(parts)) => {
                parts.retain(Value::is_object);
                parts.iter_mut().filter_map(Value::as_object_mut).for_each(|part| texts(part, &["text"]));
            }
            _ => texts(part, &["thinking"]),
        }
    }
}
