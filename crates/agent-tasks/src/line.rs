//! One line of a Task's log: ten fields, the contract's (WAL-7).

mod written;

use std::borrow::Cow;

use agent_protocol::task::{Moment, NameError, StepId, TaskId};
use agent_protocol::{AgentId, EventId, EventType, IdError, RunId, SessionId};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::event::{Event, Payload};
use crate::nullable;

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its number: 1, 2, 3 …
    pub wal_seq: u64,
    /// The session.
    pub session_id: SessionId,
    /// The event's id.
    pub event_id: EventId,
    /// The agent that caused it; none without a run.
    pub actor_agent_id: Option<AgentId>,
    /// The run that caused it; none where core did.
    pub actor_run_id: Option<RunId>,
    /// The Task.
    pub task_id: TaskId,
    /// What happened.
    pub event: Event,
}

/// The order of the fields in the file.
#[derive(Serialize)]
struct Written<'a> {
    wal_seq: u64,
    session_id: &'a SessionId,
    event_id: &'a EventId,
    event_type: EventType,
    actor_agent_id: Option<&'a AgentId>,
    actor_run_id: Option<&'a RunId>,
    task_id: &'a TaskId,
    step_id: Option<&'a StepId>,
    payload: &'a Payload,
    created_at: Moment,
}

/// A line as it stands, with nothing copied that replay does not keep.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Read<'a> {
    pub(crate) wal_seq: u64,
    #[serde(borrow)]
    pub(crate) session_id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) event_id: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) event_type: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "nullable")]
    pub(super) actor_agent_id: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "nullable")]
    pub(super) actor_run_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(crate) task_id: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "nullable")]
    pub(super) step_id: Option<Cow<'a, str>>,
    #[serde(borrow, deserialize_with = "raw")]
    pub(super) payload: &'a str,
    pub(super) created_at: Moment,
}

/// JSON as it stands.
fn raw<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'de str, D::Error> {
    <&RawValue>::deserialize(deserializer).map(RawValue::get)
}

/// Why a line cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It is not JSON of this form.
    #[error("{}", in_words(.0))]
    Json(#[from] serde_json::Error),
    /// Its type is not one of a Task's log. A newer version may have written it.
    #[error("\"{0}\" is not an event type of a task's log")]
    Type(String),
    /// An id has another form.
    #[error("{0}")]
    Id(#[from] IdError),
    /// A name has another form.
    #[error("{0}")]
    Name(#[from] NameError),
    /// An event of a step without one, or the other way round.
    #[error("{event_type} {}", if *.of_step { "names no step" } else { "is about the task, and names a step" })]
    Step {
        /// The type.
        event_type: &'static str,
        /// Whether it is about a step.
        of_step: bool,
    },
}

/// What a parser says of a line, for people: they see the line's number already, and where in a line the parser stood helps nobody.
fn in_words(error: &serde_json::Error) -> String {
    match error.classify() {
        Category::Data => {
            let said = error.to_string();
            let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
            format!("it is JSON, and not a line of a task's log: {said}")
        }
        Category::Syntax | Category::Io => "it is not JSON".to_owned(),
        Category::Eof => "it is JSON that was cut off".to_owned(),
    }
}

impl Line {
    /// Appends the line with its line end.
    pub fn write(&self, out: &mut Vec<u8>) {
        let line = Written {
            wal_seq: self.wal_seq,
            session_id: &self.session_id,
            event_id: &self.event_id,
            event_type: self.event.payload.event_type(),
            actor_agent_id: self.actor_agent_id.as_ref(),
            actor_run_id: self.actor_run_id.as_ref(),
            task_id: &self.task_id,
            step_id: self.event.step_id.as_ref(),
            payload: &self.event.payload,
            created_at: self.event.at,
        };
        // Structs of words, numbers and ids always serialise, and memory takes all bytes: a test writes one of each type.
        if serde_json::to_writer(&mut *out, &line).is_err() {
            unreachable!("a line of a log is always JSON");
        }
        out.push(b'\n');
    }

    /// Reads a line, without its line end.
    ///
    /// # Errors
    /// [`LineError`] says what is wrong with it.
    pub fn read(text: &str) -> Result<Self, LineError> {
        Self::of(&Read::new(text)?)
    }

    pub(crate) fn of(read: &Read<'_>) -> Result<Self, LineError> {
        let event = read.event(StepId::parse)?;
        Ok(Self {
            wal_seq: read.wal_seq,
            session_id: SessionId::parse(&read.session_id)?,
            event_id: EventId::parse(&read.event_id)?,
            actor_agent_id: read.actor_agent_id.as_deref().map(AgentId::parse).transpose()?,
            actor_run_id: read.actor_run_id.as_deref().map(RunId::parse).transpose()?,
            task_id: TaskId::parse(&read.task_id)?,
            event,
        })
    }
}

impl<'a> Read<'a> {
    pub(crate) fn new(text: &'a str) -> Result<Self, LineError> {
        let read = Self::as_written(text).map_or_else(|| Self::as_json(text), Ok)?;
        EventId::check(&read.event_id)?;
        read.actor_agent_id.as_deref().map(AgentId::check).transpose()?;
        read.actor_run_id.as_deref().map(RunId::check).transpose()?;
        Ok(read)
    }

    /// The step that it names, not checked.
    pub(crate) fn step_id(&self) -> Option<&str> {
        self.step_id.as_deref()
    }

    /// A line of any form.
    pub(crate) fn as_json(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// What happened. `step_id` makes the id, or finds it where it is kept already.
    pub(crate) fn event(&self, step_id: impl FnOnce(&str) -> Result<StepId, NameError>) -> Result<Event, LineError> {
        let known = event_type(&self.event_type);
        let Some((event_type, of_step)) = known else {
            return Err(LineError::Type(self.event_type.chars().take(64).flat_map(char::escape_debug).collect()));
        };
        if of_step != self.step_id.is_some() {
            return Err(LineError::Step { event_type: event_type.as_str(), of_step });
        }
        let step_id = self.step_id.as_deref().map(step_id).transpose()?;
        let Some(payload) = Payload::read(event_type, self.payload) else {
            return Err(LineError::Type(event_type.as_str().to_owned()));
        };
        Ok(Event { step_id, at: self.created_at, payload: payload? })
    }
}

fn event_type(text: &str) -> Option<(EventType, bool)> {
    let event_type = Payload::EVENT_TYPES.iter().copied().find(|known| known.as_str() == text)?;
    Some((event_type, Payload::is_of_step(event_type)?))
}
