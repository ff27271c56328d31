//! Drives one run: performs the machine's effects in their order, and feeds it what comes of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use agent_engine::{CommitNo, Effect, Input, Relief, RequestNo, Run, Sources, Target, Write as Wanted};
use agent_llm::ProviderAdapter;
use agent_protocol::{
    EndReason, ErrorPayload, EventDraft, EventType, Level, ModelFault, ModelRequest, RunPatch, RunStatus,
};
use agent_store::{RunRow, StoreError, Write};
use futures::FutureExt;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::calls::{Calls, Done, Job};
use crate::caught::caught;
use crate::handle::{RunResult, Standing};
use crate::model_call;
use crate::session::{Occupied, RunContext};

/// Everything one run works with.
pub(crate) struct Driver {
    pub(crate) occupied: Occupied,
    pub(crate) context: Arc<RunContext>,
    pub(crate) provider: Arc<dyn ProviderAdapter>,
    pub(crate) machine: Run,
    pub(crate) calls: Calls,
    pub(crate) sources: Sources,
    /// Rows and bytes that go into the first commit.
    pub(crate) prelude: Vec<Write>,
    pub(crate) cancel: CancellationToken,
    pub(crate) cancel_timeout: Duration,
    pub(crate) standing: watch::Sender<Standing>,
}

/// What is at work outside the machine.
struct Outside {
    jobs: FuturesUnordered<Job>,
    ready: VecDeque<Input>,
    model: Option<(RequestNo, CancellationToken)>,
    drain: Option<std::pin::Pin<Box<tokio::time::Sleep>>>,
    cancelled: bool,
}

impl Driver {
    /// Runs to the end. The session is given free before anybody is told.
    ///
    /// Should the driver itself panic, the run has failed and says so, and the session reads its path anew from the store.
    pub(crate) async fn drive(mut self, start: Input) {
        match caught("the run", self.run_out(start)).await {
            Ok((end, error)) => self.finish(end, error),
            Err(fault) => self.broken(fault).await,
        }
    }

    async fn run_out(&mut self, start: Input) -> (EndReason, Option<ErrorPayload>) {
        let mut outside = Outside {
            jobs: FuturesUnordered::new(),
            ready: VecDeque::from([start]),
            model: None,
            drain: None,
            cancelled: false,
        };
        let end = loop {
            let input = self.next_input(&mut outside).await;
            if let Some(end) = self.step(input, &mut outside).await {
                break end;
            }
        };
        self.calls.close();
        end
    }

    async fn broken(self, mut fault: ErrorPayload) {
        self.calls.close();
        self.context.redactor.error(&mut fault);
        let run = self.context.store.unfinished_runs(self.context.session.id()).await;
        let run = run.ok().and_then(|runs| runs.into_iter().find(|run| run.run_id == self.context.run_id));
        if let Some(run) = run {
            // Should that fail, the next claim of the session ends it.
            let _ = self.context.commit(failed(run, &fault)).await;
        }
        let Self { occupied, context, standing, .. } = self;
        drop(occupied);
        context.live.close();
        let result = RunResult { status: RunStatus::Failed, end_reason: Some(EndReason::Failed), error: Some(fault) };
        standing.send_replace(Standing { status: RunStatus::Failed, result: Some(result) });
    }

    fn finish(self, end: EndReason, error: Option<ErrorPayload>) {
        let status = end.status();
        self.occupied.put_rest(self.machine.into_path());
        drop(self.occupied);
        self.context.live.close();
        let result = RunResult { status, end_reason: Some(end), error };
        self.standing.send_replace(Standing { status, result: Some(result) });
    }

    /// The next thing that happens. A cancel goes before everything that waits.
    async fn next_input(&mut self, outside: &mut Outside) -> Input {
        loop {
            if !outside.cancelled && self.cancel.is_cancelled() {
                outside.cancelled = true;
                return Input::Cancel;
            }
            if let Some(input) = outside.ready.pop_front() {
                return input;
            }
            let done = tokio::select! {
                biased;
                () = self.cancel.cancelled(), if !outside.cancelled => continue,
                Some(done) = outside.jobs.next() => done,
                () = expired(&mut outside.drain) => {
                    outside.drain = None;
                    return Input::DrainExpired;
                }
            };
            match done {
                Done::Input(input) => return *input,
                Done::Prepared { call, prepared, summary } => {
                    self.calls.keep(&call, *prepared);
                    return Input::Prepared { call, result: Ok(summary) };
                }
            }
        }
    }

    /// One step and its effects. When a commit fails, nothing after it is performed.
    async fn step(&mut self, input: Input, outside: &mut Outside) -> Option<(EndReason, Option<ErrorPayload>)> {
        if let Input::CallDone { call, .. } = &input {
            self.calls.forget(call);
        }
        for effect in self.machine.step(input) {
            match effect {
                Effect::Commit { commit, writes } => {
                    if let Err(error) = self.commit(writes).await {
                        outside.ready.push_front(store_failed(commit, &error));
                        return None;
                    }
                }
                Effect::Finish { end, error } => return Some((end, error)),
                other => self.perform(other, outside),
            }
        }
        None
    }

    async fn commit(&mut self, wanted: Vec<Wanted>) -> Result<(), StoreError> {
        let mut writes = std::mem::take(&mut self.prelude);
        writes.extend(self.context.session.versions.take_unstored());
        writes.extend(self.calls.finished_artifacts().take());
        let status = wanted.iter().rev().find_map(|write| match write {
            Wanted::Run(patch) => Some(patch.status),
            _ => None,
        });
        writes.extend(wanted.into_iter().map(|write| match write {
            Wanted::Node(node) => Write::Node(node),
            Wanted::Event(event) => Write::Event(event),
            Wanted::Activate(node) => Write::Activate(node),
            Wanted::Run(patch) => Write::RunPatch(patch),
        }));
        if let Some(status) = status {
            writes.push(agent_status(&self.context, status));
        }
        self.context.commit(writes).await?;
        if let Some(status) = status.filter(|status| !status.is_terminal()) {
            self.standing.send_modify(|standing| standing.status = status);
        }
        Ok(())
    }

    fn perform(&mut self, effect: Effect, outside: &mut Outside) {
        match effect {
            Effect::Gather => outside.ready.push_back(Input::Sources(Box::new(self.sources.clone()))),
            Effect::CallModel { request, body } => self.call_model(request, *body, outside),
            Effect::Prepare { call } => outside.jobs.push(self.calls.prepare(call)),
            Effect::Authorize(call) => outside.jobs.push(self.calls.authorize(call)),
            Effect::Execute(call) => outside.jobs.push(self.calls.execute(call)),
            // Until there is compaction, room is made by letting the window slide (PRV-15).
            Effect::Relieve { job, .. } => {
                outside.ready.push_back(Input::ReliefDone { job, result: Ok(Relief::Slide) });
            }
            Effect::Abort(target) => self.abort(&target, outside),
            Effect::ArmDrain => {
                outside.drain.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.cancel_timeout)));
            }
            // Taken care of where the order of effects is.
            Effect::Commit { .. } | Effect::Finish { .. } => {}
        }
    }

    fn call_model(&self, number: RequestNo, request: ModelRequest, outside: &mut Outside) {
        let cancel = CancellationToken::new();
        outside.model = Some((number, cancel.clone()));
        let asked = model_call::ask(Arc::clone(&self.context), Arc::clone(&self.provider), number, request, cancel);
        let asked = caught("the provider's adapter", asked).map(move |answer| {
            answer.unwrap_or_else(|error| Input::ModelFailed {
                request: number,
                fault: ModelFault::Fatal,
                error,
                partial: None,
            })
        });
        outside.jobs.push(asked.map(|input| Done::Input(Box::new(input))).boxed());
    }

    fn abort(&self, target: &Target, outside: &Outside) {
        match target {
            Target::Call(call) => self.calls.abort(call),
            Target::Model(number) => {
                if let Some((current, cancel)) = &outside.model
                    && current == number
                {
                    cancel.cancel();
                }
            }
            // Sliding the window takes no time; its answer is on the way.
            Target::Job(_) => {}
        }
    }
}

/// The end of a run that could not end itself.
pub(crate) fn failed(run: RunRow, error: &ErrorPayload) -> Vec<Write> {
    vec![
        Write::Event(EventDraft::new(EventType::LoopFailed).level(Level::Error).error(error)),
        Write::RunPatch(RunPatch {
            status: RunStatus::Failed,
            end_reason: Some(EndReason::Failed),
            end_node_id: run.end_node_id,
            turn_count: run.turn_count,
            usage: run.usage,
            error: Some(error.clone()),
        }),
    ]
}

async fn expired(drain: &mut Option<std::pin::Pin<Box<tokio::time::Sleep>>>) {
    match drain {
        Some(sleep) => sleep.await,
        None => std::future::pending().await,
    }
}

fn store_failed(commit: CommitNo, error: &StoreError) -> Input {
    Input::StoreFailed { commit, error: error.payload() }
}

fn agent_status(context: &RunContext, status: RunStatus) -> Write {
    use agent_protocol::AgentStatus;
    let status = match status {
        RunStatus::Queued | RunStatus::Pending => AgentStatus::Idle,
        RunStatus::Running => AgentStatus::Running,
        // The session's own agent waits for the next message, whatever became of this run.
        RunStatus::Completed | RunStatus::Failed | RunStatus::Aborted | RunStatus::Cancelled => AgentStatus::Idle,
    };
    Write::AgentStatus { agent_id: context.agent_id.clone(), status, result: None }
}
