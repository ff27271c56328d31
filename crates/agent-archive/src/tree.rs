//! Who worked in a session: its own agent and its runs, and below each run the agents that it made.

use std::collections::HashMap;

use agent_protocol::internal::PURPOSE;
use agent_protocol::{
    AgentId, AgentStatus, AgentType, EndReason, ErrorPayload, Node, NodeId, RunId, RunStatus, SessionId, Timestamp,
    Usage,
};
use agent_store::{AgentInfo, RunInfo, StoreError};
use serde::Serialize;

use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::screen;
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

/// An agent and its runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TreeAgent {
    /// The agent.
    pub agent_id: AgentId,
    /// What kind of agent it is.
    pub agent_type: AgentType,
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

/// A run and the agents that it made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TreeRun {
    /// The run.
    pub run_id: RunId,
    /// Where it stands.
    pub status: RunStatus,
    /// Why it ended, once it has.
    pub end_reason: Option<EndReason>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed: for one that has ended, when it did.
    pub updated_at: Timestamp,
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
    /// The agents it made, oldest first.
    pub children: Vec<TreeAgent>,
}

/// Runs read at once.
const PAGE: u32 = 256;
/// Messages read at once: they may be long.
const MESSAGES: u32 = 8;
/// Characters of what a run was asked, and of what it answered.
const LINE: usize = 200;
/// Stands where a line was cut.
const CUT: char = '…';

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
        let mut runs: HashMap<AgentId, Vec<TreeRun>> = HashMap::new();
        let mut offset = 0;
        loop {
            let page = self.told(self.archive.runs(id, PAGE, offset).await)?;
            let read = u32::try_from(page.len()).unwrap_or(PAGE);
            for run in page {
                let agent = run.agent_id.clone();
                let asked = asked.remove(&run.run_id);
                let run = self.tree_run(run, asked, include_sensitive).await?;
                runs.entry(agent).or_default().push(run);
            }
            offset += read;
            if read < PAGE {
                break;
            }
        }
        let mut agents = Agents::new(agents, runs);
        let root = agents.take(&session.root_agent_id);
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
            let page = self.store.user_messages(&agent.session_id, &agent.agent_id, after, MESSAGES).await;
            let page = self.told(page)?;
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

    async fn tree_run(
        &self,
        mut run: RunInfo,
        asked: Option<String>,
        include_sensitive: bool,
    ) -> Result<TreeRun, ArchiveError> {
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
    async fn line(&self, mut node: Node, include_sensitive: bool) -> Result<Option<String>, ArchiveError> {
        if !include_sensitive {
            node = self.screen.shown(node, screen::node).await?;
        }
        let mut line = String::new();
        for word in words(&node).split_whitespace() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            if let Some((end, _)) = line.char_indices().nth(LINE) {
                line.truncate(end);
                line.pop();
                line.push(CUT);
                break;
            }
        }
        Ok(Some(line).filter(|line| !line.is_empty()))
    }
}

/// The agents that have no place in the tree yet.
struct Agents {
    /// By id, with their place among the others.
    left: HashMap<AgentId, (usize, AgentInfo)>,
    /// Those that a run made, oldest first.
    made_by: HashMap<RunId, Vec<AgentId>>,
    runs: HashMap<AgentId, Vec<TreeRun>>,
}

impl Agents {
    fn new(agents: Vec<AgentInfo>, runs: HashMap<AgentId, Vec<TreeRun>>) -> Self {
        let mut made_by: HashMap<_, Vec<_>> = HashMap::new();
        for agent in &agents {
            if let Some(run) = &agent.created_by_run_id {
                made_by.entry(run.clone()).or_default().push(agent.agent_id.clone());
            }
        }
        let left = agents.into_iter().enumerate();
        let left = left.map(|(place, agent)| (agent.agent_id.clone(), (place, agent))).collect();
        Self { left, made_by, runs }
    }

    /// An agent with all that is below it. Each comes once, so this ends whatever the rows say.
    fn take(&mut self, id: &AgentId) -> Option<TreeAgent> {
        let (_, agent) = self.left.remove(id)?;
        let mut runs = self.runs.remove(id).unwrap_or_default();
        for run in &mut runs {
            let made = self.made_by.remove(&run.run_id).unwrap_or_default();
            run.children = made.iter().filter_map(|child| self.take(child)).collect();
        }
        Some(TreeAgent {
            agent_id: agent.agent_id,
            agent_type: agent.agent_type,
            status: agent.status,
            purpose: agent.metadata.get(PURPOSE).and_then(|purpose| purpose.as_str()).map(str::to_owned),
            fork_from_node_id: agent.fork_from_node_id,
            created_at: agent.created_at,
            runs,
        })
    }

    /// What is left.
    fn rest(mut self) -> Vec<TreeAgent> {
        let mut order: Vec<_> = self.left.iter().map(|(id, (place, _))| (*place, id.clone())).collect();
        order.sort_unstable_by_key(|(place, _)| *place);
        order.iter().filter_map(|(_, id)| self.take(id)).collect()
    }
}

/// A session's row names an agent that is not there.
fn no_root(session_id: &SessionId, agent_id: &AgentId) -> StoreError {
    StoreError::NotInSession { session_id: session_id.clone(), kind: "agent", id: agent_id.to_string() }
}
