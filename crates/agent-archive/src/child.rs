//! The run of a child, and the place of the child among the other agents (API-4).

use std::collections::BTreeSet;

use agent_protocol::task::{PoolId, StepId, TaskId};
use agent_protocol::{AgentId, AgentRole, Node, RunId, ToolCallId};
use agent_store::{AgentInfo, RunInfo};
use serde::Serialize;

use crate::archive::{Archive, not_found};
use crate::error::ArchiveError;
use crate::inspect::RunInspection;
use crate::screen;
use crate::stored::{self, Who};
use crate::tasks::{DispatchedStepView, TaskArchive};
use crate::timeline::words;

/// A child's run: what its turns were made of, who the child is, what it was asked and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChildInspection {
    /// Who the child is, what it was asked and what came of it.
    #[serde(flatten)]
    pub place: ChildPlace,
    /// The run and its turns.
    #[serde(flatten)]
    pub inspection: RunInspection,
}

/// Who a child is, what it was asked and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChildPlace {
    /// The child.
    pub agent: AgentInfo,
    /// The part it plays; none where an older build made it.
    pub role: Option<AgentRole>,
    /// The definition it is made from; none where an older build made it.
    pub agent_definition_id: Option<String>,
    /// The agent that asked for it.
    pub parent_agent_id: Option<AgentId>,
    /// The run that asked for it.
    pub parent_run_id: RunId,
    /// The call that did; none where an older build made it.
    pub parent_tool_call_id: Option<ToolCallId>,
    /// What it was asked to do, whole.
    pub asked: Option<String>,
    /// What it said at its end, whole; none where it did not come to that.
    pub answered: Option<String>,
    /// What a worker was sent for.
    pub worker: Option<WorkerPlace>,
}

/// What a worker was sent for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkerPlace {
    /// Its entry in the configuration.
    pub worker_id: Option<String>,
    /// Its pool.
    pub worker_pool_id: PoolId,
    /// The Task.
    pub task_id: TaskId,
    /// The only steps that it could claim; absent: all.
    pub allowed_step_ids: Option<BTreeSet<StepId>>,
    /// The step that it claimed; none before it does.
    pub step_id: Option<StepId>,
    /// That step as it was then and as it is now, where the Tasks were looked at.
    pub step: Option<DispatchedStepView>,
    /// Why the step cannot be told: the log of its Task makes none.
    pub step_unread: Option<String>,
}

impl ChildPlace {
    /// Puts the step that a worker claimed beside it. This blocks: the log of the Task is read.
    pub fn look_at_step(&mut self, run_id: &RunId, tasks: &TaskArchive) {
        let session_id = &self.agent.session_id;
        let Some(worker) = self.worker.as_mut().filter(|worker| worker.step_id.is_some()) else { return };
        match tasks.dispatched(session_id, &worker.task_id, run_id) {
            Ok(step) => worker.step = step,
            Err(why) => worker.step_unread = Some(why),
        }
    }
}

impl Archive {
    /// A child's run with its turns, and the child's place.
    ///
    /// # Errors
    /// [`ArchiveError::NoChild`] if the run is none of a child; if there is no such run, or the store cannot be read.
    pub async fn inspect_child(&self, id: &RunId, include_sensitive: bool) -> Result<ChildInspection, ArchiveError> {
        let place = self.child_place(id, include_sensitive).await?;
        Ok(ChildInspection { place, inspection: self.inspect_run(id, include_sensitive).await? })
    }

    /// Who a child is, what it was asked in this run and what came of it.
    ///
    /// # Errors
    /// [`ArchiveError::NoChild`] if the run is none of a child; if there is no such run, or the store cannot be read.
    pub async fn child_place(&self, id: &RunId, include_sensitive: bool) -> Result<ChildPlace, ArchiveError> {
        let run = self.run_row(id).await?;
        let agent = self.told(self.store.agent(&run.agent_id).await)?;
        let mut agent = agent.ok_or_else(|| not_found("agent", &run.agent_id))?;
        let origin = self.told(stored::origin_of(&run))?;
        let who = self.told(Who::of(&agent))?;
        let parent_run_id = stored::parent_of(origin.as_ref(), Some(&agent)).filter(|_| who.purpose.is_none());
        let parent_run_id = parent_run_id.ok_or_else(|| ArchiveError::NoChild { run_id: id.clone() })?;
        let asked = match self.first_message(&run).await? {
            Some(node) => self.whole(node, include_sensitive).await?,
            None => None,
        };
        let answered = match &run.end_node_id {
            Some(node) => self.told(self.store.node(node).await)?,
            None => None,
        };
        let answered = match answered {
            Some(node) => self.whole(node, include_sensitive).await?,
            None => None,
        };
        let (mut role, mut call, mut worker) = (None, None, None);
        let mut agent_definition_id = who.definition;
        if let Some(origin) = origin {
            (role, call) = (Some(origin.role), Some(origin.parent_tool_call_id));
            agent_definition_id = Some(origin.agent_definition_id);
            if let Some(sent) = origin.worker {
                worker = Some(WorkerPlace {
                    worker_id: sent.worker_id.or(who.worker),
                    worker_pool_id: sent.worker_pool_id,
                    task_id: sent.task_id,
                    allowed_step_ids: sent.allowed_step_ids,
                    step_id: self.claimed_step(id).await?,
                    step: None,
                    step_unread: None,
                });
            }
        }
        if !include_sensitive {
            screen::agent(self.screen.patterns()?, &mut agent);
        }
        Ok(ChildPlace {
            role,
            agent_definition_id,
            parent_agent_id: agent.parent_agent_id.clone(),
            parent_run_id,
            parent_tool_call_id: call,
            asked,
            answered,
            worker,
            agent,
        })
    }

    /// The message that the run began with.
    async fn first_message(&self, run: &RunInfo) -> Result<Option<Node>, ArchiveError> {
        let mut after = 0;
        loop {
            let page = self.messages_after(&run.session_id, &run.agent_id, after).await?;
            let Some(last) = page.last().map(|node| node.node_seq) else { return Ok(None) };
            after = last;
            if let Some(first) = page.into_iter().find(|node| node.run_id == run.run_id) {
                return Ok(Some(first));
            }
        }
    }

    /// All that a node says; nothing where it says nothing.
    async fn whole(&self, mut node: Node, include_sensitive: bool) -> Result<Option<String>, ArchiveError> {
        if !include_sensitive {
            node = self.screen.shown(node, screen::node).await?;
        }
        Ok(Some(words(&node)).filter(|text| !text.trim().is_empty()))
    }
}
