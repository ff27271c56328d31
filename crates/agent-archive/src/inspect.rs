//! A run, turn by turn.

use agent_protocol::{
    ContextBuilt, ErrorPayload, EventPayload, EventType, FieldError, MessageCompleted, ModelCompleted, ModelFailed,
    ModelRequest, NodeId, Object, RunId, RuntimeEvent, StopReason, Usage,
};
use agent_store::{AgentInfo, RunInfo, StoreError};
use serde::Serialize;

use crate::archive::Archive;
use crate::context::RequestContext;
use crate::error::ArchiveError;
use crate::error::not_rebuilt;
use crate::missing::Missing;
use crate::replay::Children;
use crate::screen;
use agent_redact::within::{in_error, in_object, in_optional_text};

/// A run, and what its turns were made of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunInspection {
    /// The run.
    pub run: RunInfo,
    /// The child agents it made.
    pub children: Vec<AgentInfo>,
    /// Its turns, in order.
    pub turns: Vec<TurnReport>,
}

/// A turn, as its events tell it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnReport {
    /// Its number, from 1.
    pub turn: u32,
    /// How often the model was asked in it: a broken stream is asked again, and so is a prompt that was too long.
    pub requests: u32,
    /// The last report about what went into a request (`context_built`).
    pub context: Object,
    /// What the model answered, if it did.
    pub reply: Option<TurnReply>,
    /// Why the last request failed, if it did.
    pub error: Option<ErrorPayload>,
}

/// A reply, without its content.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnReply {
    /// The node that holds its content; none for an empty reply.
    pub node_id: Option<NodeId>,
    /// Why it ended.
    pub stop: StopReason,
    /// What it cost.
    pub usage: Usage,
}

/// A turn, and what the model was asked in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnInspection {
    /// The run.
    pub run: RunInfo,
    /// What its events tell.
    pub report: TurnReport,
    /// The request, put together again from what is stored (STO-11).
    pub request: ModelRequest,
}

/// Events read at once.
const PAGE: u32 = 256;

impl Archive {
    /// A run with its turns.
    ///
    /// # Errors
    /// If there is no such run, or the store cannot be read.
    pub async fn inspect_run(&self, id: &RunId, include_sensitive: bool) -> Result<RunInspection, ArchiveError> {
        let mut run = self.run_row(id).await?;
        let session = self.session_row(&run.session_id).await?;
        let Children { agents: mut children, damaged } = self.children(&session, Some(&run)).await?;
        if let Some(error) = damaged.into_iter().next() {
            return Err(error.into());
        }
        let mut turns = self.turns(id, None).await?.turns;
        if !include_sensitive {
            let patterns = self.screen.patterns()?;
            screen::run(patterns, &mut run);
            children.iter_mut().for_each(|child| screen::agent(patterns, child));
            turns.iter_mut().for_each(|turn| turn.show(patterns));
        }
        Ok(RunInspection { run, children, turns })
    }

    /// A turn, with the request that was last made in it.
    ///
    /// # Errors
    /// If there is no such run or turn, if something the request was made of is not stored, or the store cannot be read.
    pub async fn inspect_turn(
        &self,
        id: &RunId,
        turn: u32,
        include_sensitive: bool,
    ) -> Result<TurnInspection, ArchiveError> {
        let mut run = self.run_row(id).await?;
        let Turns { turns, holders } = self.turns(id, Some(turn)).await?;
        let found = turns.into_iter().find(|report| report.turn == turn);
        let mut report = found.ok_or_else(|| not_rebuilt(id, turn, Missing::Turn))?;
        let mut request = self.rebuild(&run, &report, &holders).await?;
        if !include_sensitive {
            request = self.screen.shown(request, screen::request).await?;
            let patterns = self.screen.patterns()?;
            screen::run(patterns, &mut run);
            report.show(patterns);
        }
        Ok(TurnInspection { run, report, request })
    }

    /// The turns of a run; with `last`, none after it.
    async fn turns(&self, id: &RunId, last: Option<u32>) -> Result<Turns, ArchiveError> {
        let (mut turns, mut after) = (Turns::default(), 0);
        loop {
            let page = self.told(self.store.run_events(id, after, PAGE).await)?;
            let complete = page.len() < PAGE as usize;
            after = page.last().and_then(|event| event.run_seq).unwrap_or(after);
            for event in page {
                if !self.told(turns.take(event, last))? {
                    return Ok(turns);
                }
            }
            if complete {
                return Ok(turns);
            }
        }
    }
}

impl TurnReport {
    /// What went into the last request and what was left out: `context` in a form for programs.
    ///
    /// # Errors
    /// [`FieldError`] names what of it cannot be read.
    pub fn request_context(&self) -> Result<RequestContext, FieldError> {
        ContextBuilt::read(&self.context).map(RequestContext::from)
    }

    fn show(&mut self, patterns: &agent_redact::SecretPatterns) {
        in_object(patterns, &mut self.context);
        self.error.iter_mut().for_each(|error| {
            in_error(patterns, error);
        });
        if let Some(reply) = &mut self.reply {
            in_object(patterns, &mut reply.usage.raw);
            in_optional_text(patterns, reply.stop.raw.as_mut());
        }
    }
}

/// Turns told by the events of a run, one after the other.
#[derive(Default)]
struct Turns {
    turns: Vec<TurnReport>,
    /// The reports that hold what is the same throughout an epoch.
    holders: Vec<Object>,
}

impl Turns {
    /// Takes an event in; false where it belongs to a turn after `last`.
    fn take(&mut self, event: RuntimeEvent, last: Option<u32>) -> Result<bool, StoreError> {
        match event.event_type {
            EventType::ContextBuilt => return self.begin(event, last),
            EventType::ModelCompleted => {
                if let Some(turn) = self.turns.last_mut() {
                    turn.error = None;
                    turn.reply = Some(reply(&event)?);
                }
            }
            EventType::ModelFailed => {
                if let Some(turn) = self.turns.last_mut() {
                    turn.error = Some(event.read::<ModelFailed>()?.error);
                }
            }
            EventType::MessageCompleted => {
                let whole = !event.read::<MessageCompleted>()?.partial;
                let reply = self.turns.last_mut().and_then(|turn| turn.reply.as_mut());
                if let Some(reply) = reply.filter(|reply| whole && reply.node_id.is_none()) {
                    reply.node_id = event.node_id;
                }
            }
            _ => {}
        }
        Ok(true)
    }

    fn begin(&mut self, event: RuntimeEvent, last: Option<u32>) -> Result<bool, StoreError> {
        let ContextBuilt { turn, epoch_part, .. } = event.read()?;
        if last.is_some_and(|last| turn > last) {
            return Ok(false);
        }
        if epoch_part.is_some() {
            self.holders.push(event.payload.clone());
        }
        let context = event.payload;
        match self.turns.last_mut().filter(|report| report.turn == turn) {
            // The same turn again; what the request before it came to says nothing about this one.
            Some(report) => *report = TurnReport { requests: report.requests + 1, ..TurnReport::new(turn, context) },
            None => self.turns.push(TurnReport::new(turn, context)),
        }
        Ok(true)
    }
}

impl TurnReport {
    fn new(turn: u32, context: Object) -> Self {
        Self { turn, requests: 1, context, reply: None, error: None }
    }
}

fn reply(event: &RuntimeEvent) -> Result<TurnReply, StoreError> {
    let completed: ModelCompleted = event.read()?;
    // Only requests that core makes for itself leave it out, and they have no turn.
    let kind = completed.stop.ok_or_else(|| event.unreadable(FieldError::missing("stop")))?;
    let stop = StopReason { kind, raw: completed.stop_raw.flatten() };
    Ok(TurnReply { node_id: None, stop, usage: completed.usage })
}
