//! The summary of an agent's older turns that is being made (CMP-4, CMP-5, CMP-6).
//!
//! A run of its own makes it, which holds neither the session's queue nor its lease: it may outlive the run that asked for it.
//! Whoever works on the conversation when it is done writes the node: the run that asked, the next one, which takes it over,
//! or, if no run works there, a task that waits for the session's queue.

use std::sync::Arc;

use agent_engine::{CompactMode, Compacted, CompactionPlan, Finished, Limits, finish_compaction};
use agent_protocol::{CompactFailed, ErrorCode, ErrorPayload, EventDraft, Level, ModelRequest, Object, RunId};
use agent_store::{Commit, SessionStore, StoreError, Write};
use futures::FutureExt;
use tokio::sync::oneshot;

use crate::agent::{Agent, CarriedState, Made, Parent, PendingCompaction};
use crate::ids::fresh_id;
use crate::models::RunModel;
use crate::owned::OwnedSession;
use crate::queue::{self, QueuePosition};
use crate::run_context::RunContext;
use crate::run_spec::{RunSpec, StartRuns, StartedRun, Work};
use crate::services::Services;
use crate::session::Session;
use crate::spending::Spending;

/// Has summaries made for one run.
pub(crate) struct Compactor {
    pub(crate) starter: Arc<dyn StartRuns>,
    pub(crate) services: Arc<Services>,
    /// The model of the run.
    pub(crate) model: Arc<RunModel>,
}

impl Compactor {
    /// Begins one of the run's conversation.
    pub(crate) fn begin(
        &self,
        run: &RunContext,
        mode: CompactMode,
        plan: CompactionPlan,
        request: ModelRequest,
    ) -> PendingCompaction {
        let cancel = self.services.stop.child_token();
        let asked = request.model.clone();
        let (reply_to, reply) = oneshot::channel();
        let work = Work::Summary {
            request: Box::new(request),
            mode,
            from: plan.tip.clone(),
            parent: run.as_parent(),
            // Beside the turns nobody waits.
            clock: (mode == CompactMode::Recovery).then(|| Arc::clone(&run.clock)),
            reply_to,
        };
        let limits = Limits { price: self.model.summary_price(), ..Limits::default() };
        let spending = Spending::of_part(&run.spending);
        let run_id = fresh_id(RunId::PREFIX, RunId::parse);
        let spec = RunSpec { run_id, work, model: Arc::clone(&self.model), limits, spending, cancel: cancel.clone() };
        let started = self.starter.start(&run.session, &run.owned, spec);
        let run_id = started.run_id.clone();
        let task = SummaryTask {
            store: Arc::clone(&self.services.store),
            session: Arc::clone(&run.session),
            owned: Arc::clone(&run.owned),
            agent: Arc::clone(&run.agent),
            asked_by: run.as_parent(),
            started,
        };
        let (sender, receiver) = oneshot::channel();
        self.services.background.spawn(async move {
            let made = task.made(&asked, reply).await;
            // Whoever has it in hand hears of it first; that nobody listens any more is no fault.
            let _ = sender.send(made);
            task.write_if_left().await;
        });
        let done = receiver.map(|made| made.unwrap_or_else(|_| Err(given_up()))).boxed().shared();
        PendingCompaction { plan, done, mode, run_id, cancel: cancel.drop_guard() }
    }
}

struct SummaryTask {
    store: Arc<dyn SessionStore>,
    session: Arc<Session>,
    owned: Arc<OwnedSession>,
    /// Whose conversation it is.
    agent: Arc<Agent>,
    asked_by: Parent,
    /// The run that makes it.
    started: StartedRun,
}

impl SummaryTask {
    /// What came of the run.
    async fn made(&self, model: &str, reply: oneshot::Receiver<agent_protocol::Reply>) -> Made {
        let Ok(reply) = reply.await else {
            let ended = self.started.ended().await;
            return Err(ended.and_then(|result| result.error).unwrap_or_else(given_up));
        };
        let (run_id, agent_id) = (self.started.run_id.as_str(), self.started.agent_id.as_str());
        let details = [("model", model), ("run_id", run_id), ("agent_id", agent_id)];
        let details = details.map(|(key, value)| (key.to_owned(), value.into()));
        Ok(Box::new(Compacted { reply, details: Object::from_iter(details) }))
    }

    fn run_id(&self) -> &RunId {
        &self.started.run_id
    }

    /// Writes the node if no run has the summary in hand: at the session's next free moment.
    async fn write_if_left(&self) {
        if self.agent.parent.is_some() {
            // A child has one run: the summary was for that.
            return;
        }
        let permit = match queue::join(&self.session) {
            Some(QueuePosition::First(permit)) => permit,
            Some(QueuePosition::Waiting { permit, .. }) => tokio::select! {
                biased;
                permit = permit => match permit {
                    Ok(permit) => permit,
                    Err(_) => return,
                },
                // A run has used it, or nobody wants it any more.
                () = self.started.cancel.cancelled() => return,
            },
            // So many wait that one of them will take it over.
            None => return,
        };
        let Some(pending) = self.agent.compaction.take_of(self.run_id()) else { return };
        let Some(made) = pending.done.clone().now_or_never() else { return };
        let Some(carried) = self.agent.take_carried() else { return };
        // Should it fail, the next run reads its path from the store.
        if let Ok(carried) = self.write(carried, &pending, made).await {
            self.agent.carry(carried);
        }
        drop(permit);
    }

    async fn write(
        &self,
        mut carried: CarriedState,
        pending: &PendingCompaction,
        made: Made,
    ) -> Result<CarriedState, StoreError> {
        let node_id = self.run_id().node(1);
        let finished = made.and_then(|compacted| {
            let finished = finish_compaction(&carried.path, &pending.plan, pending.mode, &compacted, node_id);
            finished.map_err(|error| *error)
        });
        let writes = match finished {
            Ok(Finished { node, event }) => {
                carried.path.push(&node);
                carried.path = carried.path.without_what_is_covered();
                let active = node.node_id.clone();
                vec![Write::Node(node), Write::Event(event), Write::Activate(active)]
            }
            Err(error) => {
                // Not again before the conversation has grown by an eighth.
                let tokens = carried.calibration.apply(pending.plan.tokens_before);
                carried.compaction_floor = tokens + tokens / 8;
                let failed = CompactFailed { mode: Some(pending.mode), error };
                vec![Write::Event(EventDraft::of(failed).level(Level::Warning))]
            }
        };
        let Parent { agent_id, run_id, .. } = self.asked_by.clone();
        self.owned.commit(&*self.store, Commit { agent_id, run_id, writes }).await.map(|_| carried)
    }
}

fn given_up() -> ErrorPayload {
    ErrorPayload::new(ErrorCode::Cancelled, "the session was given up before its summary was made")
}
