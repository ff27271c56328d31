//! Working off the calls of a reply.

use agent_protocol::{
    CallEnd, ContentBlock, EndReason, ErrorCode, ErrorPayload, EventDraft, Level, NodeType, Object, Role, ToolCallId,
    ToolClass, ToolResultBlock, ToolStarted,
};

use super::{Effect, Out, Outcome, Phase, ResultKind, Run, Verdict, errors};
use crate::batch::{Batch, Halt, Slot, SlotState, twin_outcome};
use crate::digest;
use crate::loops::{Given, LoopVerdict};
use crate::near::near_names;
use crate::notes;

/// What a result needs to know of its call.
pub(super) struct Called {
    pub(super) id: ToolCallId,
    pub(super) tool: String,
    pub(super) summary: Option<String>,
}

impl Called {
    pub(super) fn of(slot: &Slot) -> Self {
        Self { id: slot.id.clone(), tool: slot.call.name.clone(), summary: slot.summary.clone() }
    }
}

/// An outcome that is only an error.
pub(super) fn failed(error: ErrorPayload) -> Outcome {
    ended(ResultKind::Failed, error)
}

pub(super) fn ended(kind: ResultKind, error: ErrorPayload) -> Outcome {
    Outcome {
        kind,
        content: vec![ContentBlock::text(error.message.clone())],
        error: Some(error),
        metadata: Object::new(),
        summary: None,
        after: Vec::new(),
    }
}

pub(super) fn cancelled(message: &str) -> Outcome {
    ended(ResultKind::Aborted, ErrorPayload::new(ErrorCode::Cancelled, message))
}

impl Run {
    /// Goes on with the batch as far as it can without an answer from outside.
    pub(super) fn advance(&mut self, out: &mut Out) {
        loop {
            let Phase::Tools(batch) = &mut self.phase else { return };
            let group = batch.group();
            if group.is_empty() {
                return self.finish_batch(out);
            }
            if !batch.started {
                batch.started = true;
                for at in group.clone() {
                    if !self.begin_call(at, out) {
                        return;
                    }
                }
            }
            let Phase::Tools(batch) = &mut self.phase else { return };
            if !batch.slots[group.clone()].iter().all(|slot| slot.state.is_done()) {
                return;
            }
            batch.cursor = group.end;
            batch.started = false;
        }
    }

    /// Begins one call, or answers it at once. False: the run is over.
    fn begin_call(&mut self, at: usize, out: &mut Out) -> bool {
        let Phase::Tools(batch) = &self.phase else { return false };
        let slot = &batch.slots[at];
        if let Some(halt) = batch.halted(slot.class) {
            let outcome = skipped(halt);
            self.end_call(at, outcome, out);
            return true;
        }
        let unusable = self.unusable(slot);
        if let Some(outcome) = &unusable
            && batch.slots[..at].iter().any(|earlier| earlier.key == slot.key)
        {
            // Said twice in one reply: the model has not seen yet what came of the first.
            self.end_call(at, outcome.clone(), out);
            return true;
        }
        if let Some(first) = twin(batch, at) {
            self.set_state(at, SlotState::TwinOf(first));
            return true;
        }
        match self.loops.judge(slot.key) {
            LoopVerdict::Go => {
                if let Some(outcome) = unusable {
                    self.end_and_note(at, outcome, out);
                } else {
                    out.effect(Effect::Prepare { call: slot.call.clone() });
                    self.set_state(at, SlotState::Preparing);
                }
                true
            }
            LoopVerdict::Refuse(times) => {
                let error = ErrorPayload::new(ErrorCode::ValidationError, notes::refused_repeat(times))
                    .detail("kind", "tool_loop")
                    .detail("times", times);
                self.loops.refused(slot.key);
                self.end_call(at, failed(error), out);
                true
            }
            LoopVerdict::Fail(times) => {
                let error = errors::tool_loop(&slot.call.name, times);
                self.fail_batch(&error, out);
                false
            }
        }
    }

    /// A call that cannot even be prepared: its tool is not in the set (RUN-15), or its arguments are no object (RUN-16).
    fn unusable(&self, slot: &Slot) -> Option<Outcome> {
        let tools = &self.sources.as_ref()?.tools;
        if !tools.classes.contains_key(&slot.call.name) {
            return Some(failed(not_available(
                &slot.call.name,
                tools.list.tools.iter().map(|tool| tool.name.as_str()),
            )));
        }
        let why = slot.call.arguments_error()?;
        let raw = slot.call.metadata.get(agent_protocol::ToolCall::INVALID_ARGUMENTS);
        let mut error = ErrorPayload::new(
            ErrorCode::ValidationError,
            format!(
                "the arguments of {} cannot be used ({why}), so it was not run. {}",
                slot.call.name,
                notes::right_arguments(why)
            ),
        );
        if let Some(raw) = raw {
            error = error.detail("arguments", raw.clone());
        }
        Some(failed(error))
    }

    fn set_state(&mut self, at: usize, state: SlotState) {
        if let Some(batch) = self.batch_mut() {
            batch.slots[at].state = state;
        }
    }

    /// The batch at work, or the one being drained.
    fn batch_mut(&mut self) -> Option<&mut Batch> {
        match &mut self.phase {
            Phase::Tools(batch) => Some(batch),
            Phase::Draining(drain) => drain.batch.as_mut(),
            _ => None,
        }
    }

    /// Finds a call in a given state, wherever its batch is.
    fn find_call(&mut self, call: &ToolCallId, state: SlotState) -> Option<usize> {
        let batch = self.batch_mut()?;
        batch.find(call).filter(|at| batch.slots[*at].state == state)
    }

    fn is_draining(&self) -> bool {
        matches!(self.phase, Phase::Draining(_))
    }

    pub(super) fn on_prepared(&mut self, call: &ToolCallId, result: Result<String, ErrorPayload>, out: &mut Out) {
        let Some(at) = self.find_call(call, SlotState::Preparing) else { return };
        if self.is_draining() {
            return self.end_call_and_go_on(at, cancelled(notes::CANCELLED_BEFORE), out);
        }
        match result {
            Ok(summary) => {
                if let Some(batch) = self.batch_mut() {
                    batch.slots[at].summary = Some(summary);
                }
                self.set_state(at, SlotState::Authorizing);
                out.effect(Effect::Authorize(call.clone()));
            }
            Err(error) => {
                self.end_and_note(at, failed(error), out);
                self.advance(out);
            }
        }
    }

    pub(super) fn on_authorized(&mut self, call: &ToolCallId, verdict: Verdict, out: &mut Out) {
        let Some(at) = self.find_call(call, SlotState::Authorizing) else { return };
        if self.is_draining() {
            return self.end_call_and_go_on(at, cancelled(notes::CANCELLED_BEFORE), out);
        }
        match verdict {
            Verdict::Allow => {
                self.set_state(at, SlotState::Running);
                let Some(batch) = self.batch_mut() else { return };
                let slot = &batch.slots[at];
                // Written down before the side effect begins, so that after a crash we can say what may have run (RUN-14).
                let started = ToolStarted { tool_name: slot.call.name.clone(), summary: slot.summary.clone() };
                out.event(EventDraft::of(started).call(call));
                out.effect(Effect::Execute(call.clone()));
            }
            Verdict::Deny { error } => {
                self.end_and_note(at, ended(ResultKind::Denied, error), out);
                self.advance(out);
            }
        }
    }

    pub(super) fn on_call_done(&mut self, call: &ToolCallId, mut outcome: Outcome, out: &mut Out) {
        let Some(at) = self.find_call(call, SlotState::Running) else { return };
        if !self.is_draining() {
            self.note_repetition(at, &mut outcome, true);
        }
        self.end_call_and_go_on(at, outcome, out);
    }

    /// Ends a call that did not run, and remembers it.
    fn end_and_note(&mut self, at: usize, mut outcome: Outcome, out: &mut Out) {
        self.note_repetition(at, &mut outcome, false);
        self.end_call(at, outcome, out);
    }

    /// RUN-10: remembers the call, whatever came of it, and reminds a model that repeats itself.
    fn note_repetition(&mut self, at: usize, outcome: &mut Outcome, ran: bool) {
        let Some(batch) = self.batch_mut() else { return };
        let (key, class) = (batch.slots[at].key, batch.slots[at].class);
        let changed_something = class == ToolClass::Write && outcome.kind == ResultKind::Ok;
        let digest = digest::of_outcome(outcome);
        if ran {
            self.progress.note(key, digest, changed_something);
        }
        let is_denied = outcome.kind == ResultKind::Denied;
        let given = if is_denied { Given::Denied } else { Given::Result(digest) };
        if let Some(times) = self.loops.came_to(key, given, changed_something) {
            let reminder = if is_denied { notes::denied_again(times) } else { notes::repeated(times) };
            outcome.content.push(ContentBlock::text(reminder));
        }
    }

    fn end_call_and_go_on(&mut self, at: usize, outcome: Outcome, out: &mut Out) {
        self.end_call(at, outcome, out);
        if self.is_draining() {
            self.conclude_if_drained(out);
        } else {
            self.advance(out);
        }
    }

    /// Stores a call's result and gives its twins the same.
    fn end_call(&mut self, at: usize, outcome: Outcome, out: &mut Out) {
        let Some(batch) = self.batch_mut() else { return };
        batch.slots[at].state = SlotState::Done(outcome.kind);
        batch.note_result(at, outcome.kind);
        batch.after.extend(outcome.after.iter().cloned());
        let ended = std::iter::once((at, outcome.clone()))
            .chain(batch.twins_of(at).into_iter().map(|twin| (twin, twin_outcome(&outcome))));
        for (at, outcome) in ended.collect::<Vec<_>>() {
            self.set_state(at, SlotState::Done(outcome.kind));
            self.store_result(at, &outcome, out);
        }
    }

    fn store_result(&mut self, at: usize, outcome: &Outcome, out: &mut Out) {
        if matches!(&self.phase, Phase::Draining(drain) if drain.store_gone) {
            return;
        }
        if let Some(called) = self.batch_mut().map(|batch| Called::of(&batch.slots[at])) {
            self.write_result(&called, outcome, out);
        }
    }

    /// A result node and its event, in the one commit of this step (RUN-14).
    pub(super) fn write_result(&mut self, called: &Called, outcome: &Outcome, out: &mut Out) {
        let is_error = outcome.kind != ResultKind::Ok;
        let mut metadata = outcome.metadata.clone();
        if outcome.kind == ResultKind::Aborted {
            metadata.insert("aborted".to_owned(), true.into());
        }
        let block = ContentBlock::ToolResult(ToolResultBlock {
            tool_call_id: called.id.clone(),
            is_error,
            content: outcome.content.clone(),
            error: outcome.error.clone(),
            metadata,
        });
        let tool = Object::from_iter([("tool_name".to_owned(), called.tool.as_str().into())]);
        let node = self.append(Role::Tool, NodeType::Message, vec![block], tool, out);
        let ended = CallEnd {
            tool_name: called.tool.clone(),
            kind: outcome.kind,
            call: called.summary.clone(),
            summary: outcome.summary.clone(),
            metadata: outcome.metadata.clone(),
            error: outcome.error.clone(),
        };
        let event = ended.into_event().node(&node).call(&called.id);
        out.event(if outcome.error.is_some() { event.level(Level::Warning) } else { event });
    }

    fn finish_batch(&mut self, out: &mut Out) {
        let Phase::Tools(batch) = &mut self.phase else { return };
        for after in std::mem::take(&mut batch.after) {
            self.append(Role::User, after.node_type, after.content, after.metadata, out);
        }
        self.gather(out);
    }

    /// Ends every call that has no result, then the run: no path is left with an orphan call.
    fn fail_batch(&mut self, error: &ErrorPayload, out: &mut Out) {
        self.close_batch(&ended(ResultKind::Skipped, error.clone()), out);
        self.conclude(EndReason::Failed, Some(error.clone()), out);
    }

    /// Gives every call without a result this one.
    pub(super) fn close_batch(&mut self, outcome: &Outcome, out: &mut Out) {
        let Some(batch) = self.batch_mut() else { return };
        let open: Vec<_> = (0..batch.slots.len()).filter(|at| !batch.slots[*at].state.is_done()).collect();
        for at in open {
            self.set_state(at, SlotState::Done(outcome.kind));
            self.store_result(at, outcome, out);
        }
    }

    /// Calls that nobody works on get their result at once when the user cancels.
    pub(super) fn cancel_waiting(&mut self, out: &mut Out) {
        let Some(batch) = self.batch_mut() else { return };
        let idle = |slot: &Slot| matches!(slot.state, SlotState::Waiting);
        let waiting: Vec<_> = (0..batch.slots.len()).filter(|at| idle(&batch.slots[*at])).collect();
        for at in waiting {
            self.end_call(at, cancelled(notes::CANCELLED_BEFORE), out);
        }
    }

    pub(super) fn calls_that_did_not_stop(&mut self, out: &mut Out) {
        self.close_batch(&cancelled(notes::DID_NOT_STOP), out);
    }
}

/// The first equal readonly call of the group before `at`: equal calls run once (RUN-10).
fn twin(batch: &Batch, at: usize) -> Option<usize> {
    let slot = &batch.slots[at];
    if slot.class != ToolClass::Readonly {
        return None;
    }
    (batch.group().start..at).find(|earlier| {
        let other = &batch.slots[*earlier];
        other.state.is_open()
            && other.key == slot.key
            && other.call.name == slot.call.name
            && other.call.arguments == slot.call.arguments
    })
}

fn skipped(halt: &Halt) -> Outcome {
    ended(ResultKind::Skipped, ErrorPayload::new(ErrorCode::Cancelled, notes::skipped(&halt.tool, halt.how)))
}

fn not_available<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> ErrorPayload {
    let near = near_names(name, known.clone());
    let hint = if near.is_empty() {
        let all: Vec<_> = known.take(20).collect();
        if all.is_empty() { "this run has no tools".to_owned() } else { format!("the tools are {}", all.join(", ")) }
    } else {
        format!("did you mean {}?", near.join(" or "))
    };
    let shown: String = name.chars().take(80).collect();
    ErrorPayload::new(ErrorCode::ToolNotAvailable, format!("there is no tool \"{shown}\" in this run; {hint}"))
        .detail("near", near)
}
