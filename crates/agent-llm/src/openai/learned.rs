//! What an adapter learns about its server from refusals: many servers imitate the protocol, and each leaves out something
//! else. Lessons only ever add up, so a request changes a few times at most.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::fault::speaks_of_support;
use crate::{Refusal, RefusalKind};

/// Something a server taught. The numbers are bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Lesson {
    NoStreamOptions = 1,
    OtherLimitField = 1 << 1,
    NoTemperature = 1 << 2,
    MergeUsers = 1 << 3,
    SystemRole = 1 << 4,
    /// Ids of calls are nine letters or digits.
    NineIds = 1 << 5,
    /// Earlier reasoning goes back with every message of the assistant.
    EchoReasoning = 1 << 6,
    /// It must not go back.
    NoReasoning = 1 << 7,
    /// Beside calls, no content is an empty text and not null.
    EmptyContent = 1 << 8,
    /// Beside calls, no content is no field.
    AbsentContent = 1 << 9,
    /// Schemas without advice that the server does not know.
    PlainSchemas = 1 << 10,
    /// Calls that another server made need a stand-in for the signature of their thought.
    StandInSignatures = 1 << 11,
}

impl Lesson {
    /// What the adapter does from now on.
    fn words(self) -> &'static str {
        match self {
            Self::NoStreamOptions => "stream_options is left out",
            Self::OtherLimitField => "the output limit goes under its other name",
            Self::NoTemperature => "temperature is left out",
            Self::MergeUsers => "neighbouring user messages are joined",
            Self::SystemRole => "the role of the system prompt is \"system\"",
            Self::NineIds => "ids of calls are written with nine characters",
            Self::EchoReasoning => "earlier reasoning is sent back",
            Self::NoReasoning => "earlier reasoning is not sent back",
            Self::EmptyContent => "missing content is sent as an empty text",
            Self::AbsentContent => "missing content is left out",
            Self::PlainSchemas => "schemas are sent without additionalProperties and default",
            Self::StandInSignatures => "calls without a signature carry a stand-in",
        }
    }
}

/// The lessons of one adapter.
#[derive(Debug, Default)]
pub(super) struct Learned(AtomicU32);

impl Learned {
    pub(super) fn has(&self, lesson: Lesson) -> bool {
        self.0.load(Ordering::Relaxed) & lesson as u32 != 0
    }

    /// Takes the lesson of a refusal, if it holds one; says what changes if it is new.
    pub(super) fn learn(&self, refusal: &Refusal) -> Option<&'static str> {
        let lesson = lesson(refusal)?;
        let known = self.0.fetch_or(lesson as u32, Ordering::Relaxed) & lesson as u32 != 0;
        (!known).then(|| lesson.words())
    }
}

fn lesson(refusal: &Refusal) -> Option<Lesson> {
    let rejected = matches!(refusal.kind, RefusalKind::Unsupported | RefusalKind::InvalidRequest);
    // A template that refuses its input is a fault of the server as some servers tell it.
    let template = rejected || matches!(refusal.kind, RefusalKind::Server | RefusalKind::Unknown);
    let text = refusal.words.to_ascii_lowercase();
    let names = |field: &str| refusal.param.as_deref() == Some(field) || text.contains(field);
    let unsupported = speaks_of_support(&text);
    let all = |words: &[&str]| words.iter().all(|word| text.contains(word));
    let any = |words: &[&str]| words.iter().any(|word| text.contains(word));
    Some(match () {
        () if rejected && names("stream_options") => Lesson::NoStreamOptions,
        () if rejected && unsupported && (names("max_completion_tokens") || names("max_tokens")) => {
            Lesson::OtherLimitField
        }
        () if rejected && unsupported && names("temperature") => Lesson::NoTemperature,
        () if template && text.contains("roles must alternate") => Lesson::MergeUsers,
        () if template && all(&["tool call id", "length of 9"]) => Lesson::NineIds,
        () if template && all(&["reasoning_content", "must be passed back"]) => Lesson::EchoReasoning,
        () if rejected
            && names("reasoning_content")
            && (unsupported || any(&["must not", "not allowed", "remove"])) =>
        {
            Lesson::NoReasoning
        }
        () if rejected && any(&["thought_signature", "thought signature"]) && any(&["missing", "required"]) => {
            Lesson::StandInSignatures
        }
        () if rejected && text.contains("developer") && text.contains("role") => Lesson::SystemRole,
        () if rejected && is_schema_word(&text) => Lesson::PlainSchemas,
        () if template && is_about_content(&text) && any(&["non-empty", "must not be empty", "cannot be empty"]) => {
            Lesson::AbsentContent
        }
        () if template && is_about_content(&text) && any(&["valid string", "be a string", "string_type", "null"]) => {
            Lesson::EmptyContent
        }
        () => return None,
    })
}

/// Google's word for a keyword of a schema that it does not know.
fn is_schema_word(text: &str) -> bool {
    let places = ["parameters", "function_declarations", "tools["];
    let keywords = ["additionalproperties", "\"default\"", "$schema", "\"title\""];
    text.contains("unknown name")
        && places.iter().any(|place| text.contains(place))
        && keywords.iter().any(|keyword| text.contains(keyword))
}

/// Whether the content of a message is meant, and not another text that is called content somewhere.
fn is_about_content(text: &str) -> bool {
    text.contains("content")
        && (text.contains("messages") || text.contains("message content") || text.contains("content block"))
}
