//! The summary of a session that is being made (CMP-4, CMP-5, CMP-6).
//!
//! The model call runs in a task of its own and holds neither the session's turn nor its lock: it may outlive the run that asked
//! for it. Whoever works on the session when it is done writes the node: the run that asked, the next one, which takes it over,
//! or, if nobody works there, the task itself, which joins the line for that.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use agent_engine::{CompactMode, Compacted, CompactionPlan, Finished, finish_compaction};
use agent_llm::ProviderAdapter;
use agent_protocol::{
    AgentId, AgentStatus, AgentType, EndReason, ErrorCode, ErrorPayload, EventDraft, EventType, Level, ModelFault,
    ModelRequest, Object, Reply, RunId, RunPatch, RunStatus, Usage,
};
use agent_redact::SecretPatterns;
use agent_store::{ArtifactWriter, Commit, NewAgent, NewRun, SessionStore, StoreError, Write};
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::RawExchanges;
use crate::caught::caught;
use crate::line::{self, Place};
use crate::model_call::reply;
use crate::raw::{self, RunExchanges};
use crate::redact::Redactor;
use crate::session::{Open, Rest, RunContext, Session, fresh_id};

/// Of what use an internal agent is, in its row's metadata.
pub(crate) const PURPOSE: &str = "purpose";

/// What came of it.
pub(crate) type Made = Result<Box<Compacted>, ErrorPayload>;

/// A summary that is being made. Dropping it stops the work.
pub(crate) struct Underway {
    pub(crate) plan: CompactionPlan,
    pub(crate) done: Shared<BoxFuture<'static, Made>>,
    pub(crate) mode: CompactMode,
    run_id: RunId,
    cancel: DropGuard,
}

impl Underway {
    /// Stops the work; its end still comes.
    pub(crate) fn abort(self) {
        drop(self.cancel);
    }
}

/// The place of the one that nobody has in hand.
#[derive(Default)]
pub(crate) struct Slot(Mutex<Option<Underway>>);

impl Slot {
    fn inner(&self) -> MutexGuard<'_, Option<Underway>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes it over.
    pub(crate) fn take(&self) -> Option<Underway> {
        self.inner().take()
    }

    /// Leaves it for whoever comes next.
    pub(crate) fn put(&self, underway: Underway) {
        *self.inner() = Some(underway);
    }

    fn take_of(&self, run_id: &RunId) -> Option<Underway> {
        let mut slot = self.inner();
        slot.take_if(|underway| underway.run_id == *run_id)
    }
}

/// What keeping raw exchanges takes.
#[derive(Clone)]
pub(crate) struct RawKeeper {
    pub(crate) exchanges: RawExchanges,
    pub(crate) writer: ArtifactWriter,
    pub(crate) patterns: SecretPatterns,
}

/// Makes summaries for all sessions of a runtime.
#[derive(Clone)]
pub(crate) struct Compactor {
    pub(crate) provider: Arc<dyn ProviderAdapter>,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) redactor: Redactor,
    /// Keeps what travels, if somebody debugs (PRV-14).
    pub(crate) raw: Option<RawKeeper>,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
}

impl Compactor {
    /// Begins one for the session of this run.
    pub(crate) fn begin(
        &self,
        run: &RunContext,
        mode: CompactMode,
        plan: CompactionPlan,
        mut request: ModelRequest,
    ) -> Underway {
        let run_id = fresh_id(RunId::PREFIX, RunId::parse, Uuid::now_v7());
        let cancel = self.stop.child_token();
        let job = Job {
            compactor: self.clone(),
            session: Arc::clone(&run.session),
            open: Arc::downgrade(&run.open),
            parent_agent: run.agent_id.clone(),
            parent_run: run.run_id.clone(),
            agent_id: fresh_id(AgentId::PREFIX, AgentId::parse, Uuid::now_v7()),
            run_id: run_id.clone(),
            cancel: cancel.clone(),
        };
        request.metadata.insert(raw::RUN_ID.to_owned(), run_id.as_str().into());
        let (sender, receiver) = oneshot::channel();
        let from = plan.tip.clone();
        self.tasks.spawn(async move {
            let made = caught("the summary", job.make(mode, request, from)).await.flatten();
            // Whoever has it in hand hears of it first; that nobody listens any more is no fault.
            let _ = sender.send(made);
            job.write_if_left().await;
        });
        let gone = || Err(ErrorPayload::new(ErrorCode::Cancelled, "the summary was given up"));
        let done = receiver.map(move |made| made.unwrap_or_else(|_| gone())).boxed().shared();
        Underway { plan, done, mode, run_id, cancel: cancel.drop_guard() }
    }
}

struct Job {
    compactor: Compactor,
    session: Arc<Session>,
    /// Not held: a session that is given up gives up its summary.
    open: Weak<Open>,
    parent_agent: AgentId,
    parent_run: RunId,
    agent_id: AgentId,
    run_id: RunId,
    cancel: CancellationToken,
}

impl Job {
    async fn make(&self, mode: CompactMode, request: ModelRequest, from: agent_protocol::NodeId) -> Made {
        let model = request.model.clone();
        self.commit(self.first_writes(mode, &model, from)).await?;
        let raw = self.compactor.raw.clone().map(|keeper| self.listen(keeper));
        let answer = self.ask(request).await;
        let mut last = match &raw {
            Some(raw) => raw.take().await,
            None => Vec::new(),
        };
        last.extend(match &answer {
            Ok(reply) => self.last_writes(EndReason::Completed, reply.usage.clone(), None),
            Err((end, error)) => self.last_writes(*end, Usage::default(), Some(error)),
        });
        self.commit(last).await?;
        let reply = answer.map_err(|(_, error)| error)?;
        let details =
            [("model", model.as_str()), ("run_id", self.run_id.as_str()), ("agent_id", self.agent_id.as_str())];
        let details = details.map(|(key, value)| (key.to_owned(), value.into()));
        Ok(Box::new(Compacted { reply, details: Object::from_iter(details) }))
    }

    fn listen(&self, RawKeeper { exchanges, writer, patterns }: RawKeeper) -> RunExchanges {
        let redactor = self.compactor.redactor.clone();
        let (run_id, session_id) = (self.run_id.clone(), self.session.id().clone());
        RunExchanges { exchanges, run_id, session_id, writer, redactor, patterns }.listen()
    }

    async fn ask(&self, request: ModelRequest) -> Result<Reply, (EndReason, ErrorPayload)> {
        match reply(&*self.compactor.provider, request, self.cancel.clone()).await {
            Ok(mut reply) => {
                self.compactor.redactor.reply(&mut reply);
                Ok(reply)
            }
            Err((fault, mut error)) => {
                self.compactor.redactor.error(&mut error);
                let end = match fault {
                    ModelFault::Aborted => EndReason::AbortedStreaming,
                    ModelFault::Overflow => EndReason::PromptTooLong,
                    ModelFault::Retryable | ModelFault::Fatal => EndReason::Failed,
                };
                Err((end, error))
            }
        }
    }

    fn first_writes(&self, mode: CompactMode, model: &str, from: agent_protocol::NodeId) -> Vec<Write> {
        let metadata = Object::from_iter([
            (PURPOSE.to_owned(), "compact".into()),
            ("mode".to_owned(), mode.as_str().into()),
            ("agent_definition_id".to_owned(), "default_compact_agent".into()),
        ]);
        vec![
            Write::Agent(NewAgent {
                agent_id: self.agent_id.clone(),
                parent_agent_id: Some(self.parent_agent.clone()),
                agent_type: AgentType::Fork,
                created_by_run_id: Some(self.parent_run.clone()),
                fork_from_node_id: Some(from),
                status: AgentStatus::Running,
                metadata: metadata.clone(),
            }),
            Write::Run(NewRun {
                run_id: self.run_id.clone(),
                agent_id: self.agent_id.clone(),
                status: RunStatus::Running,
                start_node_id: None,
                metadata,
            }),
            Write::Event(EventDraft::new(EventType::LoopStarted).with(PURPOSE, "compact")),
            Write::Event(EventDraft::new(EventType::ModelStarted).with("model", model).with("turn", 1)),
        ]
    }

    fn last_writes(&self, end: EndReason, usage: Usage, error: Option<&ErrorPayload>) -> Vec<Write> {
        let said = serde_json::to_value(&usage).unwrap_or_default();
        let (model, last, status) = match end {
            EndReason::Completed => (EventType::ModelCompleted, EventType::LoopCompleted, AgentStatus::Completed),
            EndReason::AbortedStreaming => (EventType::ModelFailed, EventType::LoopAborted, AgentStatus::Cancelled),
            _ => (EventType::ModelFailed, EventType::LoopFailed, AgentStatus::Failed),
        };
        let with_error = |event: EventDraft| match error {
            Some(error) => event.level(Level::Warning).error(error),
            None => event.with("usage", said.clone()),
        };
        vec![
            Write::Event(with_error(EventDraft::new(model))),
            Write::Event(with_error(EventDraft::new(last).with("end_reason", end.as_str()))),
            Write::RunPatch(RunPatch {
                status: end.status(),
                end_reason: Some(end),
                end_node_id: None,
                turn_count: 1,
                usage,
                error: error.cloned(),
            }),
            Write::AgentStatus { agent_id: self.agent_id.clone(), status, result: None },
        ]
    }

    /// Stores something of the internal run; it is seen in replay, not in anybody's live stream.
    async fn commit(&self, writes: Vec<Write>) -> Result<(), ErrorPayload> {
        let Some(open) = self.open.upgrade() else { return Err(given_up()) };
        let commit = Commit { agent_id: self.agent_id.clone(), run_id: self.run_id.clone(), writes };
        let stored = self.compactor.store.commit(&open.lease, commit).await;
        stored.map(drop).map_err(|error| error.payload())
    }

    /// Writes the node if no run has the summary in hand: at the session's next free moment.
    async fn write_if_left(&self) {
        let turn = match line::join(&self.session) {
            Some(Place::First(turn)) => turn,
            Some(Place::Waiting { turn, .. }) => tokio::select! {
                biased;
                turn = turn => match turn {
                    Ok(turn) => turn,
                    Err(_) => return,
                },
                // A run has used it, or nobody wants it any more.
                () = self.cancel.cancelled() => return,
            },
            // So many wait that one of them will take it over.
            None => return,
        };
        let Some(open) = self.open.upgrade() else { return };
        let Some(underway) = open.upkeep.take_of(&self.run_id) else { return };
        let Some(made) = underway.done.clone().now_or_never() else { return };
        let Some(rest) = open.take_rest() else { return };
        // Should it fail, the next run reads its path from the store.
        if let Ok(rest) = self.write(&open, rest, &underway, made).await {
            open.put_rest(rest);
        }
        drop(turn);
    }

    async fn write(&self, open: &Open, mut rest: Rest, underway: &Underway, made: Made) -> Result<Rest, StoreError> {
        let node_id = self.run_id.node(1);
        let finished = made.and_then(|compacted| {
            let finished = finish_compaction(&rest.path, &underway.plan, underway.mode, &compacted, node_id);
            finished.map_err(|error| *error)
        });
        let writes = match finished {
            Ok(Finished { node, event }) => {
                rest.path.push(&node);
                rest.path = rest.path.without_what_is_covered();
                let active = node.node_id.clone();
                vec![Write::Node(node), Write::Event(event), Write::Activate(active)]
            }
            Err(error) => {
                // Not again before the conversation has grown by an eighth.
                let tokens = rest.calibration.apply(underway.plan.tokens_before);
                rest.compaction_floor = tokens + tokens / 8;
                let event = EventDraft::new(EventType::CompactFailed).level(Level::Warning);
                vec![Write::Event(event.with("mode", underway.mode.as_str()).error(&error))]
            }
        };
        let commit = Commit { agent_id: self.parent_agent.clone(), run_id: self.parent_run.clone(), writes };
        self.compactor.store.commit(&open.lease, commit).await.map(|_| rest)
    }
}

fn given_up() -> ErrorPayload {
    ErrorPayload::new(ErrorCode::Cancelled, "the session was given up before its summary was made")
}
