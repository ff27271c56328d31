//! Where the conversation of an agent stands in the store: read when a session is claimed, and where a run left nothing in
//! memory.

use std::collections::HashMap;
use std::sync::Arc;

use agent_engine::{Calibration, Omitted, PINNED, Path, Sayings, WISH_WORDS, is_wish};
use agent_protocol::{
    AgentId, AgentRole, AgentStatus, AgentType, ContentBlock, ContextBuilt, ErrorCode, ErrorPayload, EventType,
    ModelStarted, Node, NodeId, NodeType, RunId, RunStatus, RuntimeEvent, SessionId, ToolCallId, ToolStarted,
    path_from_text,
};
use agent_store::{
    AgentInfo, ClaimedSession, Commit, LastContext, Lease, Recent, RecentPath, RecentWords, RunInfo, SessionStore,
    StoreError, Write,
};

use crate::agent::{Agent, CarriedState, LostChild};
use crate::agent_end::ROLE;
use crate::cut_run::{CutRun, INTERRUPTED};
use crate::error::RuntimeError;
use crate::failed_run::failed;
use crate::owned::OwnedSession;
use crate::seen_files::{SeenFiles, decode};
use crate::session_files::SessionFiles;

/// Messages of the user that are looked at in the part of a path that is not read: so many of the oldest and of the newest that are
/// wishes or rules, and so many of the newest of the others.
const EARLIER_RULES: usize = 24;
const EARLIER_OTHERS: usize = 16;
/// Nodes that are walked each time before what they hold is kept.
const STEP: usize = 64;
/// Events read at once when an interrupted run is looked at.
const PAGE: u32 = 512;

/// Reads conversations.
pub(crate) struct Resume {
    store: Arc<dyn SessionStore>,
    /// The model that runs ask.
    model: String,
    /// How much of the end of a path is read.
    recent: Recent,
    /// Room for the user's words out of what is not read, in tokens.
    words: u64,
}

impl Resume {
    /// For a model with this window, in tokens.
    pub(crate) fn new(store: Arc<dyn SessionStore>, model: String, window: u64) -> Self {
        // More than the window has no request, since a path that was just read is weighed by the same estimates.
        // The results of a reply are shortened to two fifths of what the messages may take, which is well above this.
        let words = RecentWords { is_rule, version: WISH_WORDS, rules: EARLIER_RULES, others: EARLIER_OTHERS };
        let recent = Recent {
            tokens: window,
            results: window / 16,
            always: PINNED.to_vec(),
            summary: Some(NodeType::Compaction),
            always_tokens: window / 2,
            words: Some(words),
            step: STEP,
        };
        Self { store, model, recent, words: window / 10 }
    }

    /// Takes a session of this project over, and ends what its last owner left at work.
    pub(crate) async fn claim(&self, id: &SessionId, project: &str) -> Result<OwnedSession, RuntimeError> {
        let claimed = self.store.claim_session(id, Some(project)).await;
        let ClaimedSession { row, lease, unfinished, written_files, .. } = claimed.map_err(|error| match error {
            StoreError::OtherProject { session_id, cwd, project } => {
                RuntimeError::OtherProject { session_id, cwd, project }
            }
            error => error.into(),
        })?;
        let root = &row.root_agent_id;
        let lost_children = self.end_interrupted_runs(&lease, root, unfinished).await?;
        let loaded = self.store.load_agent(id, root).await?;
        let written = written_files
            .into_iter()
            .filter_map(|row| Some((path_from_text(&row.path), decode(&row.hash)?, row.agent_id)));
        let files = Arc::new(SessionFiles::stored(written));
        let seen = SeenFiles::stored(root.clone(), Arc::clone(&files), loaded.file_versions);
        let calibration = self.calibration(loaded.last_context.as_ref());
        let carried = self.path(id, loaded.row.active_node_id.as_ref(), calibration).await?;
        let carried = CarriedState { lost_children, cut_short: self.cut_short(id, &carried).await, ..carried };
        let root = Agent::new(root.clone(), loaded.row.agent_type, None, Arc::new(seen), Some(carried));
        Ok(OwnedSession::new(lease, row.cwd, root, files))
    }

    /// The conversation of a session's own agent as it is stored now.
    pub(crate) async fn root(&self, session: &SessionId, root: &AgentId) -> Result<CarriedState, StoreError> {
        let loaded = self.store.load_agent(session, root).await?;
        let calibration = self.calibration(loaded.last_context.as_ref());
        let carried = self.path(session, loaded.row.active_node_id.as_ref(), calibration).await?;
        Ok(CarriedState { cut_short: self.cut_short(session, &carried).await, ..carried })
    }

    /// The last run of a session's own agent, where it was cut short. One that cannot be read tells nothing here: it is told where it
    /// is looked at, and does not keep the conversation from going on.
    async fn cut_short(&self, session: &SessionId, carried: &CarriedState) -> Option<CutRun> {
        let run = self.store.last_run(session).await.ok()??;
        CutRun::of(&run, carried.open_calls())
    }

    /// What a child inherits of its parent's conversation: all up to `leaf`, and what was learned about the model's counts.
    pub(crate) async fn inherited(
        &self,
        session: &SessionId,
        parent: &AgentId,
        leaf: &NodeId,
    ) -> Result<CarriedState, StoreError> {
        let loaded = self.store.load_agent(session, parent).await?;
        let calibration = self.calibration(loaded.last_context.as_ref());
        self.path(session, Some(leaf), calibration).await
    }

    /// What a worker's next run begins with: nothing of its conversation, and what was learned about the model's counts (WRK-2).
    /// Nothing where it was never sent.
    pub(crate) async fn worker(
        &self,
        session: &SessionId,
        worker: &AgentId,
    ) -> Result<Option<CarriedState>, StoreError> {
        match self.store.load_agent(session, worker).await {
            Ok(loaded) => {
                let calibration = self.calibration(loaded.last_context.as_ref());
                Ok(Some(CarriedState { calibration, ..CarriedState::default() }))
            }
            Err(StoreError::NotInSession { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn path(
        &self,
        session: &SessionId,
        leaf: Option<&NodeId>,
        calibration: Calibration,
    ) -> Result<CarriedState, StoreError> {
        let Some(leaf) = leaf else { return Ok(CarriedState::default()) };
        // The window is in the provider's tokens, the path in estimates.
        let recent = Recent { tokens: calibration.fits(self.recent.tokens), ..self.recent.clone() };
        let RecentPath {
            omitted_nodes,
            omitted_turns,
            nodes_before,
            nodes_pinned,
            nodes,
            earlier_words,
            earlier_unread,
        } = self.store.load_recent(session, leaf, &recent).await?;
        let said = earlier_words.iter().map(|node| (node.node_id.clone(), words_of(node)));
        let earlier_words = Sayings::unread(earlier_unread).and(said, self.words);
        let last_run = nodes.last().map(|node| node.run_id.clone());
        let path = Path::without(
            Omitted {
                nodes: omitted_nodes,
                turns: omitted_turns,
                at: nodes_before,
                pinned: nodes_pinned,
                // Its turns tell.
                is_past_summary: false,
            },
            nodes,
        )
        .with_earlier_words(earlier_words);
        // Only the last run can have left calls open: every run answers those it finds.
        let started = match last_run.filter(|_| !path.unanswered().is_empty()) {
            Some(run) => Some(self.started_calls(&run).await?),
            None => None,
        };
        Ok(CarriedState { path, calibration, started, ..CarriedState::default() })
    }

    /// What was learned about this model's token counts by the agent's last request (CTX-7). A report that cannot be read
    /// teaches nothing: it is told where it is looked at, and does not keep the conversation from going on.
    fn calibration(&self, last: Option<&LastContext>) -> Calibration {
        let learned = || {
            let last = last?;
            let built: ContextBuilt = last.built.read().ok()?;
            // Which model it is about stands in the event that is stored together with it.
            let asked = last.next.as_ref().filter(|event| event.event_type == EventType::ModelStarted)?;
            let started: ModelStarted = asked.read().ok()?;
            (started.model == self.model)
                .then(|| Calibration::of(built.calibration).with(built.window_learned, built.count_level))
        };
        learned().unwrap_or_default()
    }

    /// The calls of a run that had begun, with what each does.
    async fn started_calls(&self, run: &RunId) -> Result<HashMap<ToolCallId, Option<String>>, StoreError> {
        let mut started = HashMap::new();
        let mut after = 0;
        loop {
            let events = self.store.run_events(run, after, PAGE).await?;
            let Some(last) = events.last().and_then(|event| event.run_seq) else { return Ok(started) };
            after = last;
            let begun = events.into_iter().filter(|event| event.event_type == EventType::ToolStarted);
            // What cannot be read of it is told where it is looked at; that the call had begun is known.
            let summary = |event: &RuntimeEvent| event.read::<ToolStarted>().ok().and_then(|started| started.summary);
            started.extend(begun.filter_map(|event| Some((event.tool_call_id.clone()?, summary(&event)))));
        }
    }

    /// Runs whose process is gone have failed (RUN-20), children before those that began them. What they left open on the
    /// path, the next run answers. Gives the children whose work is lost.
    async fn end_interrupted_runs(
        &self,
        lease: &Lease,
        root: &AgentId,
        unfinished: Vec<RunInfo>,
    ) -> Result<Vec<LostChild>, StoreError> {
        let mut lost = Vec::new();
        // They come in the order in which they began.
        for run in unfinished.into_iter().rev() {
            let error = interrupted(run.status);
            let (agent_id, run_id) = (run.agent_id.clone(), run.run_id.clone());
            let is_internal = run.metadata.contains_key(agent_protocol::internal::PURPOSE);
            let mut writes = failed(run, &error);
            let is_root = agent_id == *root;
            let mut is_worker = false;
            if !is_root && !is_internal {
                let row = self.store.agent(&agent_id).await?;
                is_worker = row.as_ref().is_some_and(is_of_worker);
                let agent_type = row.map_or(AgentType::Sub, |row| row.agent_type);
                lost.push(LostChild { agent_id: agent_id.clone(), agent_type, is_worker });
            }
            // Nobody takes up the work of a child; the session's own agent goes on, and a worker waits for its next dispatch.
            let status = if is_root || is_worker { AgentStatus::Idle } else { AgentStatus::Failed };
            writes.push(Write::AgentStatus { agent_id: agent_id.clone(), status, result: None });
            self.store.commit(lease, Commit { agent_id, run_id, writes }).await?;
        }
        lost.reverse();
        Ok(lost)
    }
}

fn is_of_worker(agent: &AgentInfo) -> bool {
    agent.metadata.get(ROLE).is_some_and(|role| role == AgentRole::Worker.as_str())
}

fn is_rule(node: &Node) -> bool {
    is_wish(&words_of(node))
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
    ErrorPayload::new(ErrorCode::InternalError, message).detail("kind", INTERRUPTED)
}
