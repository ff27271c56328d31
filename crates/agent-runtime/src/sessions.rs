//! The sessions of a runtime: opened once, kept awake while they are used, put to sleep when others are.
//!
//! A session that sleeps costs its entry in a map; one without grants costs nothing. Its lock is given up, so another
//! process may go on with it, and whatever that one stored is read when the session is woken.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_engine::{Calibration, Omitted, PINNED, Path, Sayings};
use agent_protocol::{
    AgentId, AgentStatus, AgentType, ContentBlock, ErrorCode, ErrorPayload, EventType, Node, NodeType, Object, RunId,
    RunStatus, SessionId, ToolCallId,
};
use agent_store::{
    ClaimedSession, Commit, LastContext, Lease, LoadedAgent, NewSession, Recent, RecentPath, RunRow, SessionStore,
    StoreError, Write, percent_encoded,
};
use uuid::Uuid;

use crate::RuntimeError;
use crate::driver::failed;
use crate::session::{Open, Rest, Session, fresh_id};
use crate::versions::Versions;

/// Sessions that stay owned and in memory although nothing runs in them.
const AWAKE: usize = 16;
/// Messages of the user that are looked at in the part of a path that is not read: the first and the newest.
const EARLIER_WORDS: usize = 64;
/// Events read at once when an interrupted run is looked at.
const PAGE: u32 = 512;

/// The sessions a runtime has to do with.
pub(crate) struct Sessions {
    store: Arc<dyn SessionStore>,
    /// The project folder all of them belong to (COD-10).
    project: String,
    /// The model that runs ask.
    model: String,
    /// How much of the end of a path is read.
    recent: Recent,
    /// Room for the user's words out of what is not read, in tokens.
    words: u64,
    known: Mutex<HashMap<SessionId, Arc<Session>>>,
    /// Idle and awake, the one that has rested longest first.
    resting: Mutex<VecDeque<SessionId>>,
}

impl Sessions {
    /// For a model with this window, in tokens.
    pub(crate) fn new(store: Arc<dyn SessionStore>, project: String, model: String, window: u64) -> Arc<Self> {
        // More than the window has no request, since a path that was just read is weighed by the same estimates.
        // The results of a reply are shortened to two fifths of what the messages may take, which is well above this.
        let recent = Recent {
            tokens: window,
            results: window / 16,
            always: PINNED.to_vec(),
            summary: Some(NodeType::Compaction),
            user_messages: EARLIER_WORDS,
        };
        Arc::new(Self {
            store,
            project,
            model,
            recent,
            words: window / 10,
            known: Mutex::default(),
            resting: Mutex::default(),
        })
    }

    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a session, owned by this process.
    pub(crate) async fn create(self: &Arc<Self>) -> Result<(Arc<Session>, Arc<Open>), RuntimeError> {
        let session_id = fresh_id(SessionId::PREFIX, SessionId::parse, Uuid::now_v7());
        let agent_id = fresh_id(AgentId::PREFIX, AgentId::parse, Uuid::now_v7());
        let new = NewSession {
            session_id,
            cwd: self.project.clone(),
            root_agent_id: agent_id.clone(),
            agent_type: AgentType::Main,
            metadata: Object::new(),
        };
        let lease = self.store.create_session(new).await?;
        let session = self.entry(lease.session_id());
        let rest = Rest { path: Path::new(), calibration: Calibration::default(), started: None, compaction_floor: 0 };
        let open = Arc::new(Open::new(lease, agent_id, self.project.clone(), rest, Versions::default()));
        session.wake(Arc::clone(&open));
        Ok((session, open))
    }

    /// A session this process owns, or one that is claimed from the store.
    pub(crate) async fn open(self: &Arc<Self>, id: &SessionId) -> Result<(Arc<Session>, Arc<Open>), RuntimeError> {
        let session = self.entry(id);
        match self.wake(&session).await {
            Ok(open) => Ok((session, open)),
            Err(error) => {
                self.forget(session);
                Err(error)
            }
        }
    }

    fn entry(self: &Arc<Self>, id: &SessionId) -> Arc<Session> {
        let mut known = self.known();
        let session = || Arc::new(Session::new(id.clone(), Arc::downgrade(self)));
        Arc::clone(known.entry(id.clone()).or_insert_with(session))
    }

    /// Drops the entry of a session that has nothing worth keeping and that nobody else has in hand.
    fn forget(&self, session: Arc<Session>) {
        let mut known = self.known();
        // The map's and this one. Whoever wants another must come through the map.
        let unused = Arc::strong_count(&session) == 2 && session.opened().is_none() && session.grants().is_empty();
        if unused {
            known.remove(session.id());
        }
    }

    async fn wake(&self, session: &Session) -> Result<Arc<Open>, RuntimeError> {
        let _one_at_a_time = session.opening.lock().await;
        let open = match session.opened() {
            Some(open) => open,
            None => Arc::new(self.claim(session.id()).await?),
        };
        session.wake(Arc::clone(&open));
        Ok(open)
    }

    async fn claim(&self, id: &SessionId) -> Result<Open, RuntimeError> {
        let claimed = self.store.claim_session(id, Some(&self.project)).await.map_err(|error| match error {
            StoreError::OtherProject { session_id, cwd, project } => {
                RuntimeError::OtherProject { session_id, cwd, project }
            }
            error => error.into(),
        })?;
        let ClaimedSession { row, lease, unfinished, .. } = claimed;
        self.end_interrupted_runs(&lease, &row.root_agent_id, unfinished).await?;
        let agent = self.store.load_agent(id, &row.root_agent_id).await?;
        let rest = self.read_rest(&agent).await?;
        Ok(Open::new(lease, row.root_agent_id, row.cwd, rest, Versions::stored(agent.file_versions)))
    }

    /// The path of an agent as it is stored now.
    pub(crate) async fn reread(&self, id: &SessionId, agent_id: &AgentId) -> Result<Rest, StoreError> {
        self.read_rest(&self.store.load_agent(id, agent_id).await?).await
    }

    async fn read_rest(&self, agent: &LoadedAgent) -> Result<Rest, StoreError> {
        let Some(leaf) = &agent.row.active_node_id else {
            return Ok(Rest {
                path: Path::new(),
                calibration: Calibration::default(),
                started: None,
                compaction_floor: 0,
            });
        };
        let calibration = self.calibration(agent.last_context.as_ref());
        // The window is in the provider's tokens, the path in estimates.
        let recent = Recent { tokens: calibration.fits(self.recent.tokens), ..self.recent.clone() };
        let RecentPath { omitted_nodes, omitted_turns, nodes_before, nodes_pinned, nodes, earlier_words } =
            self.store.load_recent(&agent.row.session_id, leaf, &recent).await?;
        let said = earlier_words.iter().map(|node| (node.node_id.clone(), words_of(node)));
        let earlier_words = Sayings::default().and(said, self.words);
        let last_run = nodes.last().map(|node| node.run_id.clone());
        let path = Path::without(
            Omitted { nodes: omitted_nodes, turns: omitted_turns, at: nodes_before, pinned: nodes_pinned },
            nodes,
        )
        .with_earlier_words(earlier_words);
        // Only the last run can have left calls open: every run answers those it finds.
        let started = match last_run.filter(|_| !path.unanswered().is_empty()) {
            Some(run) => Some(self.started_calls(&run).await?),
            None => None,
        };
        Ok(Rest { path, calibration, started, compaction_floor: 0 })
    }

    /// What was learned about this model's token counts by the agent's last request (CTX-7).
    fn calibration(&self, last: Option<&LastContext>) -> Calibration {
        let Some(last) = last else { return Calibration::default() };
        // Which model it is about stands in the event that is stored together with it.
        let asked = last.next.as_ref().and_then(|event| event.payload.get("model")?.as_str());
        let ratio = last.built.payload.get("calibration").and_then(serde_json::Value::as_f64);
        let ratio = ratio.filter(|_| asked == Some(self.model.as_str()));
        ratio.map_or_else(Calibration::default, Calibration::of)
    }

    /// The calls of a run that had begun.
    async fn started_calls(&self, run: &RunId) -> Result<HashSet<ToolCallId>, StoreError> {
        let mut started = HashSet::new();
        let mut after = 0;
        loop {
            let events = self.store.run_events(run, after, PAGE).await?;
            let Some(last) = events.last().and_then(|event| event.run_seq) else { return Ok(started) };
            after = last;
            let begun = events.into_iter().filter(|event| event.event_type == EventType::ToolStarted);
            started.extend(begun.filter_map(|event| event.tool_call_id));
        }
    }

    /// Runs whose process is gone have failed (RUN-20). What they left open on the path, the next run answers.
    async fn end_interrupted_runs(
        &self,
        lease: &Lease,
        root_agent: &AgentId,
        unfinished: Vec<RunRow>,
    ) -> Result<(), RuntimeError> {
        for run in unfinished {
            let error = interrupted(run.status);
            let (agent_id, run_id) = (run.agent_id.clone(), run.run_id.clone());
            let mut writes = failed(run, &error);
            if agent_id != *root_agent {
                // Nobody takes up the work of an internal agent; the session's own goes on.
                writes.push(Write::AgentStatus {
                    agent_id: agent_id.clone(),
                    status: AgentStatus::Failed,
                    result: None,
                });
            }
            let commit = Commit { agent_id, run_id, writes };
            self.store.commit(lease, commit).await?;
        }
        Ok(())
    }

    /// Nothing runs in this session any more: the one that has rested longest goes to sleep if too many are awake.
    pub(crate) fn rested(&self, session: &Arc<Session>) {
        let oldest = {
            let mut resting = self.resting.lock().unwrap_or_else(PoisonError::into_inner);
            resting.retain(|id| id != session.id());
            resting.push_back(session.id().clone());
            if resting.len() > AWAKE { resting.pop_front() } else { None }
        };
        let Some(oldest) = oldest else { return };
        let asleep = self.known().get(&oldest).cloned();
        // One that works again comes back here when it rests.
        if let Some(asleep) = asleep.filter(|session| session.sleep()) {
            self.forget(asleep);
        }
    }

    /// Gives a session up so that it can be changed from outside of runs.
    pub(crate) fn release(&self, id: &SessionId) -> Result<(), RuntimeError> {
        let session = self.known().get(id).cloned();
        let Some(session) = session else { return Ok(()) };
        if !session.sleep() {
            return Err(RuntimeError::SessionBusy { session_id: id.clone() });
        }
        self.forget(session);
        Ok(())
    }

    /// Gives up all of them.
    pub(crate) fn close(&self) {
        self.known().clear();
    }
}

/// What a message says, in words.
fn words_of(node: &Node) -> String {
    node.content.iter().filter_map(ContentBlock::to_model_text).collect::<Vec<_>>().join("\n")
}

fn interrupted(status: RunStatus) -> ErrorPayload {
    let message = match status {
        RunStatus::Queued => "process ended while the run was queued: its message was not sent to the model",
        _ => "process ended during the run",
    };
    ErrorPayload::new(ErrorCode::InternalError, message).detail("kind", "interrupted")
}

/// A project folder as sessions name it. One that is no UTF-8 is written out byte by byte, so that no two share a name; that
/// form begins with no `/`, as every folder does.
#[must_use]
pub fn project_name(folder: &std::path::Path) -> String {
    folder.to_str().map_or_else(|| format!("bytes:{}", percent_encoded(folder)), str::to_owned)
}
