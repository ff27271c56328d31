//! A run of one request that writes no nodes: an internal agent is asked, answers, and is done (CMP-5, DEC-92).
//!
//! The same alphabet as [`Run`](crate::Run), so that one driver performs both. What the reply is good for is for whoever
//! started it: [`Exchange::into_reply`].

use agent_protocol::event::TreeUsage;
use agent_protocol::{
    EndReason, ErrorCode, ErrorPayload, EventDraft, Level, LoopStarted, ModelCompleted, ModelFailed, ModelFault,
    ModelRequest, ModelStarted, Reply, RunEnd, RunPatch, RunStatus, Usage,
};

use crate::numbers::{CommitNo, RequestNo};
use crate::price::Price;
use crate::run::{Effect, Input, Spent, Target, Write};
use crate::tokens::TokenCounter;

/// The machine of a run with one request.
#[derive(Debug)]
pub struct Exchange {
    /// What the run is for, in its first event.
    purpose: &'static str,
    phase: Phase,
    commit: CommitNo,
    reply: Option<Reply>,
    /// What the model costs.
    price: Option<Price>,
    /// Tokens of the prompt, as estimated.
    estimated: u64,
    /// Used without a reply that whoever asked will count.
    lost: Spent,
}

#[derive(Debug)]
enum Phase {
    Idle(Box<ModelRequest>),
    /// Waits for the model.
    Streaming,
    /// The request was aborted: waits for the model to report back.
    Draining,
    /// `Finish` is out; its commit may still fail.
    Ending(EndReason),
    Done,
}

impl Exchange {
    /// The only request there is.
    const REQUEST: RequestNo = RequestNo(1);

    /// Will ask this, for this purpose.
    #[must_use]
    pub fn new(purpose: &'static str, request: ModelRequest, price: Option<Price>) -> Self {
        let messages = request.messages.iter().map(|message| TokenCounter.message(&message.content)).sum::<u64>();
        let estimated = messages + request.system.blocks.iter().map(|block| block.token_count).sum::<u64>();
        let phase = Phase::Idle(Box::new(request));
        Self { purpose, phase, commit: CommitNo(0), reply: None, price, estimated, lost: Spent::default() }
    }

    /// What was used, where no reply came of it: a reply is counted by whoever asked for it.
    #[must_use]
    pub fn lost(&self) -> TreeUsage {
        self.lost.told()
    }

    /// The model's reply; `None` unless the run has completed.
    #[must_use]
    pub fn into_reply(self) -> Option<Reply> {
        self.reply
    }

    /// Takes one input and says what to do next, as [`Run::step`](crate::Run::step) does. Inputs that mean nothing here
    /// have no effect; the content of [`Input::Start`] is not looked at, since the request is known already.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Start { .. } => self.start(),
            Input::ModelDone { request, reply } if request == Self::REQUEST => self.answered(reply),
            Input::ModelFailed { request, fault, error, partial } if request == Self::REQUEST => {
                self.failed(fault, error, partial.as_ref())
            }
            Input::Cancel => self.cancel(),
            Input::DrainExpired => self.drain_expired(),
            Input::StoreFailed { commit, error } if commit == self.commit => self.store_failed(error),
            _ => Vec::new(),
        }
    }

    fn start(&mut self) -> Vec<Effect> {
        let body = match std::mem::replace(&mut self.phase, Phase::Streaming) {
            Phase::Idle(body) => body,
            other => {
                self.phase = other;
                return Vec::new();
            }
        };
        let writes = vec![
            Write::Event(EventDraft::of(LoopStarted {
                purpose: Some(self.purpose.to_owned()),
                ..LoopStarted::default()
            })),
            Write::Run(patch(RunStatus::Running)),
            Write::Event(EventDraft::of(ModelStarted { model: body.model.clone(), request: None, turn: Some(1) })),
        ];
        vec![self.commit(writes), Effect::CallModel { request: Self::REQUEST, body }]
    }

    fn answered(&mut self, reply: Reply) -> Vec<Effect> {
        let usage = reply.usage.clone();
        match &self.phase {
            Phase::Streaming => {
                self.reply = Some(reply);
                self.end(EndReason::Completed, usage, None)
            }
            // Too late to count, but what it cost was spent.
            Phase::Draining => {
                self.lost.add(self.estimated, true, &reply, self.price.as_ref());
                self.end(EndReason::AbortedStreaming, usage, Some(aborted()))
            }
            Phase::Idle(_) | Phase::Ending(_) | Phase::Done => Vec::new(),
        }
    }

    fn failed(&mut self, fault: ModelFault, error: ErrorPayload, partial: Option<&Reply>) -> Vec<Effect> {
        let end = match (&self.phase, fault) {
            (Phase::Idle(_) | Phase::Ending(_) | Phase::Done, _) => return Vec::new(),
            (Phase::Draining, _) | (_, ModelFault::Aborted) => EndReason::AbortedStreaming,
            (_, ModelFault::Overflow) => EndReason::PromptTooLong,
            (_, ModelFault::Retryable | ModelFault::Fatal) => EndReason::Failed,
        };
        let partial = partial.filter(|partial| !partial.content.is_empty());
        if let Some(partial) = partial {
            self.lost.add(self.estimated, true, partial, self.price.as_ref());
        }
        self.end(end, partial.map(|partial| partial.usage.clone()).unwrap_or_default(), Some(error))
    }

    fn cancel(&mut self) -> Vec<Effect> {
        match &self.phase {
            Phase::Idle(_) => self.end(EndReason::AbortedStreaming, Usage::default(), Some(aborted())),
            Phase::Streaming => {
                self.phase = Phase::Draining;
                vec![Effect::Abort(Target::Model(Self::REQUEST)), Effect::ArmDrain]
            }
            Phase::Draining | Phase::Ending(_) | Phase::Done => Vec::new(),
        }
    }

    fn drain_expired(&mut self) -> Vec<Effect> {
        match &self.phase {
            Phase::Draining => self.end(EndReason::AbortedStreaming, Usage::default(), Some(aborted())),
            _ => Vec::new(),
        }
    }

    /// Nothing after the failed commit was performed: before the first one is stored, nothing has been asked.
    fn store_failed(&mut self, error: ErrorPayload) -> Vec<Effect> {
        let end = match &self.phase {
            Phase::Ending(EndReason::Completed) | Phase::Streaming => EndReason::Failed,
            // It was cancelled while its first commit was under way: nothing was asked.
            Phase::Draining => EndReason::AbortedStreaming,
            Phase::Ending(end) => *end,
            Phase::Idle(_) | Phase::Done => return Vec::new(),
        };
        self.phase = Phase::Done;
        self.reply = None;
        vec![Effect::Finish { end, error: Some(error) }]
    }

    fn end(&mut self, end: EndReason, usage: Usage, error: Option<ErrorPayload>) -> Vec<Effect> {
        let model = match &error {
            Some(error) => EventDraft::of(ModelFailed { error: error.clone(), will_retry: None }).level(Level::Warning),
            None => EventDraft::of(ModelCompleted {
                stop: None,
                stop_raw: None,
                usage: usage.clone(),
                prompt_tokens_expected: None,
            }),
        };
        let ended = RunEnd {
            end_reason: Some(end),
            usage: error.is_none().then(|| usage.clone()),
            error: error.clone(),
            ..RunEnd::default()
        };
        let writes = vec![
            Write::Event(model),
            Write::Event(ended.into_event_at(Level::Warning)),
            Write::Run(RunPatch {
                end_reason: Some(end),
                turn_count: 1,
                usage: usage.clone(),
                error: error.clone(),
                ..patch(end.status())
            }),
        ];
        let commit = self.commit(writes);
        self.phase = Phase::Ending(end);
        vec![commit, Effect::Finish { end, error }]
    }

    fn commit(&mut self, writes: Vec<Write>) -> Effect {
        self.commit = self.commit.next();
        Effect::Commit { commit: self.commit, writes }
    }
}

fn patch(status: RunStatus) -> RunPatch {
    RunPatch { status, end_reason: None, end_node_id: None, turn_count: 0, usage: Usage::default(), error: None }
}

fn aborted() -> ErrorPayload {
    ErrorPayload::new(ErrorCode::Cancelled, "cancelled before the model had answered")
}

#[cfg(test)]
mod tests;
