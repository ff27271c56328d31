//! Who worked in a session: its own agent and its runs, and below each run the agents that it made.

use std::collections::{HashMap, HashSet};

use agent_protocol::event::{TaskEvent, TaskStepClaimed};
use agent_protocol::task::{StepId, TaskId};
use agent_protocol::{
    AgentId, AgentRole, AgentStatus, AgentType, ChildOrigin, EndReason, ErrorPayload, EventType, Node, NodeId, RunId,
    RunMode, RunStatus, SessionId, Timestamp, ToolCallId, Usage,
};
use agent_redact::in_one_line;
use agent_store::{AgentInfo, RunInfo, StoreError};
use serde::Serialize;

use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::listing::was_interrupted;
use crate::screen;
use crate::stored::{self, Who};
use crate::timeline::words;

/// The agents of a session and their runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentTree {
    /// The session.
    pub session_id: SessionId,
    /// The agent the user talks to.
    pub root: TreeAgent,
    /// Agents that none of these runs made, oldest first: core made them for itself between runs.
    pub others: Vec<TreeAgent>,
}

/// An agent and its runs: of one that lives on, such as a worker, below each run that sent it those that this run asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TreeAgent {
    /// The agent.
    pub agent_id: AgentId,
    /// What kind of agent it is.
    pub agent_type: AgentType,
    /// The part it plays; none for one that core made for itself, and for children that an older build made.
    pub role: Option<AgentRole>,
    /// The definition it is made from; none for the session's own agent.
    pub agent_definition_id: Option<String>,
    /// A worker's entry in the configuration.
    pub worker_id: Option<String>,
    /// A worker's pool.
    pub worker_pool_id: Option<String>,
    /// Where it stands.
    pub status: AgentStatus,
    /// What core made it for, such as `compact`; none for one with a task of its own.
    pub purpose: Option<String>,
    /// The node a fork began at.
    pub fork_from_node_id: Option<NodeId>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Its runs, oldest first.
    pub runs: Vec<TreeRun>,
}

/// A run and the agents that worked for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TreeRun {
    /// The run.
    pub run_id: RunId,
    /// Where it stands.
    pub status: RunStatus,
    /// How it works; of the session's own agent only.
    pub mode: Option<RunMode>,
    /// Why it ended, once it has.
    pub end_reason: Option<EndReason>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed: for one that has ended, when it did.
    pub updated_at: Timestamp,
    /// How long it took, in milliseconds, once it has ended; none where its process ended before it did.
    pub elapsed_ms: Option<u64>,
    /// Turns taken.
    pub turns: u32,
    /// Tokens of its own requests and of the summaries made for it, which are in those agents' runs as well (DEC-92); without those
    /// of child agents.
    pub usage: Usage,
    /// What it was asked, in one line of at most 200 characters; none where no message of its own says something.
    pub asked: Option<String>,
    /// What it said at its end, in one line of at most 200 characters; none where there is no such node.
    pub answered: Option<String>,
    /// What went wrong.
    pub error: Option<ErrorPayload>,
    /// The call that asked for it.
    pub parent_tool_call_id: Option<ToolCallId>,
    /// The Task that a worker was sent for.
    pub task_id: Option<TaskId>,
    /// The step of it that the worker claimed; none before it does.
    pub step_id: Option<StepId>,
    /// The agents that worked for it, in the order in which their runs began.
    pub children: Vec<TreeAgent>,
}

/// Runs read at once.
const PAGE: u32 = 256;
/// Messages read at once: they may be long.
const MESSAGES: u32 = 8;
/// Characters of what a run was asked, and of what it answered.
const LINE: usize = 200;

impl Archive {
    /// The agents of a session and their runs. In memory are a few lines for every run.
    ///
    /// # Errors
    /// If there is no such session, or the store cannot be read.
    pub async fn agent_tree(&self, id: &SessionId, include_sensitive: bool) -> Result<AgentTree, ArchiveError> {
        let session = self.session_row(id).await?;
        // The agents first: each has a run once it can be seen, while a run that is read may be that of a later agent.
        let agents = self.told(self.archive.agents(id).await)?;
        let agents = agents.into_iter().map(|agent| self.told(agent)).collect::<Result<Vec<_>, _>>()?;
        let mut asked = HashMap::new();
        for agent in &agents {
            self.asked(agent, include_sensitive, &mut asked).await?;
        }
        let rows: HashMap<_, _> = agents.iter().map(|agent| (agent.agent_id.clone(), agent)).collect();
        let mut placed = Placed::default();
        let mut offset = 0;
        loop {
            let page = self.told(self.archive.runs(id, PAGE, offset).await)?;
            let read = u32::try_from(page.len()).unwrap_or(PAGE);
            for run in page {
                let agent = run.agent_id.clone();
                let asked = asked.remove(&run.run_id);
                let origin = self.told(stored::origin_of(&run))?;
                let below = stored::parent_of(origin.as_ref(), rows.get(&agent).copied());
                let is_root = agent == session.root_agent_id;
                let run = self.tree_run(run, (is_root, origin.as_ref()), asked, include_sensitive).await?;
                placed.add(agent, below.filter(|_| !is_root), origin, run);
            }
            offset += read;
            if read < PAGE {
                break;
            }
        }
        drop(rows);
        let mut agents = self.told(Agents::new(agents, placed))?;
        let root = agents.root(&session.root_agent_id);
        let root = root.ok_or_else(|| ArchiveError::from(no_root(&session.session_id, &session.root_agent_id)))?;
        Ok(AgentTree { session_id: session.session_id, root, others: agents.rest() })
    }

    /// The first message of each run of an agent, in one line.
    async fn asked(
        &self,
        agent: &AgentInfo,
        include_sensitive: bool,
        asked: &mut HashMap<RunId, String>,
    ) -> Result<(), ArchiveError> {
        let mut after = 0;
        loop {
            let page = self.messages_after(&agent.session_id, &agent.agent_id, after).await?;
            let complete = page.len() < MESSAGES as usize;
            for node in page {
                after = node.node_seq;
                if !asked.contains_key(&node.run_id) {
                    let run_id = node.run_id.clone();
                    asked.extend(self.line(node, include_sensitive).await?.map(|line| (run_id, line)));
                }
            }
            if complete {
                return Ok(());
            }
        }
    }

    /// The next of the messages that an agent was sent, a few at once.
    pub(crate) async fn messages_after(
        &self,
        session_id: &SessionId,
        agent_id: &AgentId,
        after: u64,
    ) -> Result<Vec<Node>, ArchiveError> {
        self.told(self.store.user_messages(session_id, agent_id, after, MESSAGES).await)
    }

    /// The step that a worker's run claimed.
    pub(crate) async fn claimed_step(&self, run_id: &RunId) -> Result<Option<StepId>, ArchiveError> {
        let mut after = 0;
        loop {
            let page = self.told(self.store.run_events(run_id, after, PAGE).await)?;
            let claimed = page.iter().find(|event| event.event_type == EventType::TaskStepClaimed);
            if let Some(event) = claimed {
                let claimed = event.read::<TaskEvent<TaskStepClaimed>>().map_err(StoreError::from);
                return Ok(self.told(claimed)?.step_id);
            }
            let Some(last) = page.last().and_then(|event| event.run_seq).filter(|_| page.len() == PAGE as usize) else {
                return Ok(None);
            };
            after = last;
        }
    }

    async fn tree_run(
        &self,
        mut run: RunInfo,
        (is_root, origin): (bool, Option<&ChildOrigin>),
        asked: Option<String>,
        include_sensitive: bool,
    ) -> Result<TreeRun, ArchiveError> {
        let mode = if is_root { Some(self.told(stored::mode_of(&run))?) } else { None };
        let worker = origin.and_then(|origin| origin.worker.as_ref());
        let step_id = match worker {
            Some(_) => self.claimed_step(&run.run_id).await?,
            None => None,
        };
        if !include_sensitive {
            screen::run(self.screen.patterns()?, &mut run);
        }
        let answered = match &run.end_node_id {
            Some(node) => self.told(self.store.node(node).await)?,
            None => None,
        };
        let answered = match answered {
            Some(node) => self.line(node, include_sensitive).await?,
            None => None,
        };
        Ok(TreeRun {
            asked,
            answered,
            mode,
            elapsed_ms: elapsed(&run),
            parent_tool_call_id: origin.map(|origin| origin.parent_tool_call_id.clone()),
            task_id: worker.map(|worker| worker.task_id.clone()),
            step_id,
            run_id: run.run_id,
            status: run.status,
            end_reason: run.end_reason,
            created_at: run.created_at,
            updated_at: run.updated_at,
            turns: run.turn_count,
            usage: run.usage,
            error: run.error,
            children: Vec::new(),
        })
    }

    /// What a node says, in one line. Secrets are taken out before it is cut, so that none is cut in half.
    pub(crate) async fn line(&self, mut node: Node, include_sensitive: bool) -> Result<Option<String>, ArchiveError> {
        if !include_sensitive {
            node = self.screen.shown(node, screen::node).await?;
        }
        let line = in_one_line(&words(&node), LINE);
        Ok(Some(line).filter(|line| !line.is_empty()))
    }
}

/// Runs by the place they have in the tree.
#[derive(Default)]
struct Placed {
    /// Below the run that asked for them, by agent, in the order in which their first run began.
    below: HashMap<RunId, Vec<(AgentId, Vec<TreeRun>)>>,
    /// Nobody's.
    top: HashMap<AgentId, Vec<TreeRun>>,
    /// The part that an agent plays.
    roles: HashMap<AgentId, AgentRole>,
}

impl Placed {
    fn add(&mut self, agent: AgentId, below: Option<RunId>, origin: Option<ChildOrigin>, run: TreeRun) {
        if let Some(origin) = origin {
            self.roles.insert(agent.clone(), origin.role);
        }
        let Some(parent) = below else { return self.top.entry(agent).or_default().push(run) };
        let agents = self.below.entry(parent).or_default();
        match agents.iter_mut().find(|(id, _)| *id == agent) {
            Some((_, runs)) => runs.push(run),
            None => agents.push((agent, vec![run])),
        }
    }
}

/// The agents of a session, and the runs that have no place in the tree yet.
struct Agents {
    /// Oldest first.
    order: Vec<AgentId>,
    rows: HashMap<AgentId, (AgentInfo, Who)>,
    placed: Placed,
    /// Those that stand somewhere.
    shown: HashSet<AgentId>,
}

impl Agents {
    fn new(agents: Vec<AgentInfo>, placed: Placed) -> Result<Self, StoreError> {
        let order = agents.iter().map(|agent| agent.agent_id.clone()).collect();
        let who = |agent: AgentInfo| {
            let who = Who::of(&agent)?;
            Ok((agent.agent_id.clone(), (agent, who)))
        };
        let rows = agents.into_iter().map(who).collect::<Result<_, StoreError>>()?;
        Ok(Self { order, rows, placed, shown: HashSet::new() })
    }

    fn root(&mut self, id: &AgentId) -> Option<TreeAgent> {
        let runs = self.placed.top.remove(id).unwrap_or_default();
        let mut root = self.agent(id, runs)?;
        if let Some(run) = root.runs.last().and_then(|run| run.mode) {
            root.role = Some(if run == RunMode::Orchestrator { AgentRole::Orchestrator } else { AgentRole::Main });
        }
        Some(root)
    }

    /// An agent with these of its runs, and all that is below them. Each run comes once, so this ends whatever the rows say.
    fn agent(&mut self, id: &AgentId, mut runs: Vec<TreeRun>) -> Option<TreeAgent> {
        let (agent, who) = self.rows.get(id)?;
        let mut shown = TreeAgent {
            agent_id: agent.agent_id.clone(),
            agent_type: agent.agent_type,
            role: self.placed.roles.get(id).copied(),
            agent_definition_id: who.definition.clone(),
            worker_id: who.worker.clone(),
            worker_pool_id: who.worker_pool.clone(),
            status: agent.status,
            purpose: who.purpose.clone(),
            fork_from_node_id: agent.fork_from_node_id.clone(),
            created_at: agent.created_at.clone(),
            runs: Vec::new(),
        };
        self.shown.insert(id.clone());
        for run in &mut runs {
            let below = self.placed.below.remove(&run.run_id).unwrap_or_default();
            run.children = below.into_iter().filter_map(|(child, runs)| self.agent(&child, runs)).collect();
        }
        shown.runs = runs;
        Some(shown)
    }

    /// What is left.
    fn rest(mut self) -> Vec<TreeAgent> {
        let mut rest = Vec::new();
        for id in std::mem::take(&mut self.order) {
            let mut runs = self.placed.top.remove(&id).unwrap_or_default();
            // What rows that contradict each other leave without a place.
            for agents in self.placed.below.values_mut() {
                for (_, lost) in agents.extract_if(.., |(agent, _)| *agent == id) {
                    runs.extend(lost);
                }
            }
            if !runs.is_empty() || !self.shown.contains(&id) {
                rest.extend(self.agent(&id, runs));
            }
        }
        rest
    }
}

/// How long a run took that has ended in its own process.
fn elapsed(run: &RunInfo) -> Option<u64> {
    if !run.status.is_terminal() || was_interrupted(run) {
        return None;
    }
    Some(run.updated_at.to_unix_millis()?.saturating_sub(run.created_at.to_unix_millis()?))
}

/// A session's row names an agent that is not there.
fn no_root(session_id: &SessionId, agent_id: &AgentId) -> StoreError {
    StoreError::NotInSession { session_id: session_id.clone(), kind: "agent", id: agent_id.to_string() }
}

#[cfg(test)]
mod tests;
