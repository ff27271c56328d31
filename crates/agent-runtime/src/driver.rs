//! Drives one run: performs the machine's effects in their order, and feeds it what comes of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use agent_engine::{
    BudgetError, CommitNo, CompactMode, Effect, Input, JobNo, RequestNo, Target, Verdict, Write as Wanted,
};
use agent_protocol::{EndReason, ErrorCode, ErrorPayload, ModelFault, ModelRequest, Reply, RunStatus};
use agent_store::{StoreError, Write};
use futures::FutureExt;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::{oneshot, watch};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::agent::{CarriedState, PendingCompaction};
use crate::agent_end::AgentEnd;
use crate::calls::{Calls, Done, Job};
use crate::caught::caught;
use crate::compaction::Compactor;
use crate::context::{Gathered, Gatherer, InstructionNode};
use crate::failed_run::failed;
use crate::machine::Machine;
use crate::memory::Extractor;
use crate::model_call;
use crate::model_server::ModelServer;
use crate::queue::{SessionPermit, is_awaited};
use crate::raw::{self, RunExchanges};
use crate::run_context::RunContext;
use crate::run_state::{Ended, Left, RunResult, RunState};
use crate::session::Session;
use crate::tasks::TaskAccess;

/// Everything one run works with.
pub(crate) struct Driver {
    /// The session's queue waits for this run until it is dropped; only the user's runs have one.
    pub(crate) permit: Option<SessionPermit<Session>>,
    pub(crate) context: Arc<RunContext>,
    pub(crate) server: ModelServer,
    pub(crate) machine: Machine,
    pub(crate) calls: Calls,
    /// Not here while it looks at files.
    pub(crate) gatherer: Option<Gatherer>,
    /// The Tasks of the session, where requests of the run may show them.
    pub(crate) tasks: Option<TaskAccess>,
    pub(crate) compactor: Compactor,
    pub(crate) extractor: Option<Extractor>,
    /// The summary that is being made for this run, or was taken over by it.
    pub(crate) summary: Option<(JobNo, PendingCompaction)>,
    /// Who waits for the reply of a run that is one request.
    pub(crate) reply_to: Option<oneshot::Sender<Reply>>,
    /// What becomes of the agent when the run ends.
    pub(crate) agent_end: AgentEnd,
    /// What travels to and from the server, if somebody debugs.
    pub(crate) raw: Option<RunExchanges>,
    /// Rows, bytes and events that go into the first commit.
    pub(crate) prelude: Vec<Write>,
    /// A commit that goes together with the next one, and its number.
    pub(crate) held: Option<(CommitNo, Vec<Wanted>)>,
    /// Something could not be stored, so the path here may not be the one that is stored.
    pub(crate) store_failed: bool,
    /// Why nothing more is tried: the store has been waited for long enough.
    pub(crate) locked: Option<StoreError>,
    /// The last thing that was to be stored was not.
    pub(crate) unsaid: bool,
    pub(crate) cancel: CancellationToken,
    pub(crate) cancel_timeout: Duration,
    pub(crate) state: watch::Sender<RunState>,
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
        if let Some(extractor) = &self.extractor {
            extractor.run_begins(&self.context);
        }
        let ended = caught("the run", self.run_out(start)).await;
        // Before anybody is told: who waits for work beside runs then finds it begun.
        if let Some(extractor) = &self.extractor {
            extractor.run_ended(&self.context);
        }
        match ended {
            Ok((end, error)) => self.finish(end, error),
            Err(fault) => self.broken(fault).await,
        }
    }

    async fn run_out(&mut self, start: Input) -> (EndReason, Option<ErrorPayload>) {
        let left = self.context.agent.compaction.take();
        let mut outside = Outside {
            jobs: FuturesUnordered::new(),
            ready: VecDeque::from([start]),
            model: None,
            drain: None,
            cancelled: false,
        };
        if let Some(pending) = left
            && let Some(job) = self.machine.adopt(&pending)
        {
            self.watch_summary(job, pending, &outside);
        }
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
            let mut writes = failed(run, &fault);
            writes.push(self.agent_end.write(&self.context.agent.id, RunStatus::Failed, || None));
            // Should that fail, the next claim of the session ends it.
            if self.context.commit(writes).await.is_err() {
                self.context.owned.end_is_unstored();
            }
        }
        let Self { permit, context, calls, state, reply_to, .. } = self;
        release(permit, &context);
        context.live.close();
        let (left_behind, tree) = (context.left_behind(), context.spending.whole());
        drop((calls, context, reply_to));
        let failed = RunResult::without_work(RunStatus::Failed, Some(EndReason::Failed), Some(fault));
        let result = RunResult { tree, ..failed };
        state.send_replace(RunState { status: RunStatus::Failed, left_behind, end: Some(result.into()) });
    }

    fn finish(self, end: EndReason, error: Option<ErrorPayload>) {
        let status = end.status();
        let Self {
            permit, context, mut calls, machine, state, store_failed, unsaid, summary, reply_to, agent_end, ..
        } = self;
        let (answer, (usage, turns), unanswered) = (machine.answer_blocks(), machine.spent(), calls.take_unanswered());
        let left = Left {
            said: if status == RunStatus::Completed { None } else { machine.said_so_far() },
            artifacts: calls.finished_artifacts().ids(),
        };
        let reply = match machine {
            Machine::Exchange(exchange) => exchange.into_reply(),
            // Otherwise the next run reads what was stored.
            Machine::Loop(run) if !store_failed && agent_end.goes_on() => {
                // What is still being made goes on, for whoever comes next.
                let open_job = run.open_compaction().map(|(job, _)| job);
                if let Some((_, pending)) = summary.filter(|(job, _)| Some(*job) == open_job) {
                    context.agent.compaction.put(pending);
                }
                let compaction_floor = run.compaction_floor();
                let (path, calibration) = run.into_path();
                context.agent.carry(CarriedState { path, calibration, compaction_floor, ..CarriedState::default() });
                None
            }
            Machine::Loop(_) => None,
        };
        if unsaid {
            context.owned.end_is_unstored();
        }
        release(permit, &context);
        context.live.close();
        let (left_behind, tree) = (context.left_behind(), context.spending.whole());
        // When somebody hears that it is over, nothing of this run holds the session any more.
        drop((calls, context));
        if let (Some(reply), Some(reply_to)) = (reply, reply_to) {
            // That nobody listens any more is no fault.
            let _ = reply_to.send(reply);
        }
        let result = RunResult { status, end_reason: Some(end), answer: None, error, usage, tree, turns, unanswered };
        let ended = Ended::with_answer(result, answer, left);
        state.send_replace(RunState { status, left_behind, end: Some(ended) });
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
            // Nothing waits for something outside before what came before it is stored.
            if !self.commit_held(outside).await {
                continue;
            }
            let done = tokio::select! {
                biased;
                () = self.cancel.cancelled(), if !outside.cancelled => continue,
                Some(done) = outside.jobs.next() => done,
                () = expired(&mut outside.drain) => {
                    outside.drain = None;
                    self.context.note_left_behind();
                    return Input::DrainExpired;
                }
            };
            match done {
                Done::Input(input) => return *input,
                Done::Gathered(gathered) => {
                    let (gatherer, gathered) = *gathered;
                    return self.gathered(gatherer, gathered);
                }
                Done::Prepared { call, prepared, summary } => {
                    self.calls.keep(&call, *prepared);
                    return Input::Prepared { call, result: Ok(summary) };
                }
            }
        }
    }

    /// One step and its effects. When a commit fails, nothing after it is performed.
    ///
    /// A step that only stores something and gathers goes into one transaction with the step after it: nothing happens
    /// outside between the two.
    async fn step(&mut self, input: Input, outside: &mut Outside) -> Option<(EndReason, Option<ErrorPayload>)> {
        if let Input::CallDone { call, .. } = &input {
            self.calls.forget(call);
        }
        if let Input::Authorized { call, verdict: Verdict::Deny { error } } = &input {
            self.calls.note_unanswered(call, error);
            self.calls.forget(call);
        }
        if let Input::Prepared { call, result: Err(_) } = &input {
            self.calls.forget(call);
        }
        self.machine.hear_of(self.context.spending.others());
        let effects = self.machine.step(input);
        self.context.spending.tell(self.machine.used());
        self.let_go_of_summary();
        let may_wait = Effect::commit_may_wait(&effects);
        for effect in effects {
            match effect {
                Effect::Commit { commit, writes } => {
                    let (number, mut all) = self.held.take().unwrap_or((commit, Vec::new()));
                    all.extend(writes);
                    if may_wait {
                        self.held = Some((number, all));
                    } else if !self.commit(number, all, outside).await {
                        return None;
                    }
                }
                Effect::Gather { .. } => self.perform(effect, outside),
                other => {
                    if !self.commit_held(outside).await {
                        return None;
                    }
                    match other {
                        Effect::Finish { end, error } => return Some((end, error)),
                        other => self.perform(other, outside),
                    }
                }
            }
        }
        None
    }

    async fn commit_held(&mut self, outside: &mut Outside) -> bool {
        match self.held.take() {
            Some((number, writes)) => self.commit(number, writes, outside).await,
            None => true,
        }
    }

    /// Whether it was stored; if not, the machine hears of it next.
    async fn commit(&mut self, number: CommitNo, wanted: Vec<Wanted>, outside: &mut Outside) -> bool {
        let stored = match &self.locked {
            Some(error) => Err(error.clone()),
            None => self.store(wanted).await,
        };
        self.unsaid = stored.is_err();
        match stored {
            Ok(()) => true,
            Err(error) => {
                self.store_failed = true;
                if matches!(error, StoreError::Locked { .. }) {
                    self.locked = Some(error.clone());
                }
                outside.ready.push_front(Input::StoreFailed { commit: number, error: error.payload() });
                false
            }
        }
    }

    async fn store(&mut self, wanted: Vec<Wanted>) -> Result<(), StoreError> {
        let mut writes = std::mem::take(&mut self.prelude);
        writes.extend(self.context.agent.files.take_unstored());
        writes.extend(self.calls.finished_artifacts().take());
        if let Some(raw) = &self.raw {
            writes.extend(raw.take().await);
        }
        // Should this fail, they go with the next try: rows of the run, of files that were made, of what was seen.
        let besides = writes.clone();
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
            writes.push(self.agent_end.write(&self.context.agent.id, status, || self.machine.answer()));
        }
        if let Err(error) = self.context.commit(writes).await {
            self.prelude = besides;
            return Err(error);
        }
        if let Some(status) = status.filter(|status| !status.is_terminal()) {
            self.state.send_modify(|state| state.status = status);
        }
        Ok(())
    }

    fn perform(&mut self, effect: Effect, outside: &mut Outside) {
        match effect {
            Effect::Gather { fresh } => self.gather(fresh, outside),
            Effect::CallModel { request, body } => self.call_model(request, *body, outside),
            Effect::Prepare { call } => {
                let before = self.machine.node_before(&call.tool_call_id);
                outside.jobs.push(self.calls.prepare(call, before));
            }
            Effect::Authorize(call) => outside.jobs.push(self.calls.authorize(call)),
            Effect::Execute(call) => outside.jobs.push(self.calls.execute(call)),
            // Who waits for the session had better not wait for a server's only slot as well; and of an agent that is done
            // nobody reads a summary.
            Effect::Compact { mode: CompactMode::AtEnd, .. } if self.is_awaited() || !self.agent_end.goes_on() => {}
            Effect::Compact { job, mode, plan, request } => {
                let pending = self.compactor.begin(&self.context, mode, *plan, *request);
                self.watch_summary(job, pending, outside);
            }
            Effect::Abort(target) => self.abort(&target, outside),
            Effect::ArmDrain => {
                outside.drain.get_or_insert_with(|| Box::pin(tokio::time::sleep(self.cancel_timeout)));
            }
            // Taken care of where the order of effects is.
            Effect::Commit { .. } | Effect::Finish { .. } => {}
        }
    }

    fn is_awaited(&self) -> bool {
        self.permit.as_ref().is_some_and(|permit| is_awaited(permit))
    }

    /// At once where nothing was loaded; else on a thread where files may be looked at.
    fn gather(&mut self, fresh: bool, outside: &mut Outside) {
        let Some(path) = self.machine.path() else { return };
        let nodes = InstructionNode::on(path);
        let Some(mut gatherer) = self.gatherer.take() else { return };
        let reads_files = gatherer.reads_files(fresh, &nodes);
        let gather = move || {
            let gathered = gatherer.gather(fresh, &nodes);
            (gatherer, gathered)
        };
        let tasks = self.tasks.clone().filter(TaskAccess::has_board);
        if !reads_files && tasks.is_none() {
            let (gatherer, gathered) = gather();
            let input = self.gathered(gatherer, gathered);
            outside.ready.push_back(input);
            return;
        }
        let work = async move {
            let done = if reads_files { spawn_blocking(gather).await } else { Ok(gather()) };
            let Ok((gatherer, mut gathered)) = done else {
                let error = ErrorPayload::new(ErrorCode::InternalError, "looking at instruction files broke off");
                return Done::Input(Box::new(Input::SourcesFailed(error)));
            };
            if let (Some(tasks), Ok(gathered)) = (tasks, &mut gathered) {
                gathered.sources.tail.extend(tasks.board(gathered.board_room).await);
            }
            Done::Gathered(Box::new((gatherer, gathered)))
        };
        outside.jobs.push(work.boxed());
    }

    fn gathered(&mut self, gatherer: Gatherer, gathered: Result<Gathered, BudgetError>) -> Input {
        self.gatherer = Some(gatherer);
        match gathered {
            Ok(Gathered { sources, blobs, .. }) => {
                self.prelude.extend(blobs);
                Input::Sources(Box::new(sources))
            }
            Err(error) => Input::SourcesFailed(ErrorPayload::new(ErrorCode::ConfigError, error.to_string())),
        }
    }

    fn call_model(&self, number: RequestNo, mut request: ModelRequest, outside: &mut Outside) {
        if self.raw.is_some() {
            request.metadata.insert(raw::RUN_ID.to_owned(), self.context.run_id.as_str().into());
            request.metadata.insert(raw::REQUEST.to_owned(), number.0.into());
        }
        self.calls.loaded().replace(&self.machine.context());
        let cancel = CancellationToken::new();
        outside.model = Some((number, cancel.clone()));
        let asked = model_call::ask(Arc::clone(&self.context), self.server.clone(), number, request, cancel);
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

    /// A summary that the machine has used, or given up, is nobody's any more.
    fn let_go_of_summary(&mut self) {
        let open = self.machine.open_compaction();
        let is_done = |pending: &PendingCompaction| pending.done.peek().is_some();
        self.summary.take_if(|(job, pending)| open != Some(*job) && is_done(pending));
    }

    /// The machine hears what comes of a summary.
    fn watch_summary(&mut self, job: JobNo, pending: PendingCompaction, outside: &Outside) {
        let made = pending.done.clone().map(move |result| Input::CompactionDone { job, result });
        outside.jobs.push(made.map(|input| Done::Input(Box::new(input))).boxed());
        self.summary = Some((job, pending));
    }

    fn abort(&mut self, target: &Target, outside: &Outside) {
        match target {
            Target::Call(call) => self.calls.abort(call),
            Target::Model(number) => {
                if let Some((current, cancel)) = &outside.model
                    && current == number
                {
                    cancel.cancel();
                }
            }
            Target::Job(job) => {
                // Stops the work; its end still comes.
                if let Some((_, pending)) = self.summary.take_if(|(current, _)| current == job) {
                    drop(pending.cancel);
                }
            }
        }
    }
}

/// Lets the next run come before anybody is told that this one is over. Where an end could not be stored the session is given
/// up: whoever claims it next writes it down.
fn release(permit: Option<SessionPermit<Session>>, context: &RunContext) {
    let Some(permit) = permit else { return };
    drop(permit);
    if context.owned.has_unstored_end() {
        context.session.release();
    }
}

async fn expired(drain: &mut Option<std::pin::Pin<Box<tokio::time::Sleep>>>) {
    match drain {
        Some(sleep) => sleep.await,
        None => std::future::pending().await,
    }
}
