//! What a store holds of a session with several agents, and what it refuses.

use std::collections::{HashMap, HashSet};

use agent_protocol::{
    AgentId, ContentBlock, EndReason, ErrorCode, ErrorPayload, EventDraft, EventType, Level, Node, NodeDraft, NodeId,
    Role, RunEnd, RunId, RunPatch, RunStatus, SessionId, Timestamp, ToolCallId, Usage,
};

use crate::Write;

struct AgentRow {
    active: Option<NodeId>,
    forked_from: Option<NodeId>,
    /// How many nodes its path has.
    len: usize,
}

struct RunRow {
    agent: AgentId,
    status: RunStatus,
    /// Whether it was ever at work.
    began: bool,
    events: usize,
}

struct EventRow {
    seq: usize,
    run_seq: usize,
    run: RunId,
    event: EventDraft,
}

pub(super) struct SessionStore {
    root: AgentId,
    session: SessionId,
    made_at: Timestamp,
    /// The session's active node.
    active: Option<NodeId>,
    agents: HashMap<AgentId, AgentRow>,
    nodes: HashMap<NodeId, Node>,
    runs: HashMap<RunId, RunRow>,
    events: Vec<EventRow>,
}

impl SessionStore {
    pub(super) fn new(root: &AgentId) -> Self {
        let mut store = Self {
            root: root.clone(),
            session: SessionId::parse("sess_w").unwrap(),
            made_at: Timestamp::from_unix_millis(0),
            active: None,
            agents: HashMap::new(),
            nodes: HashMap::new(),
            runs: HashMap::new(),
            events: Vec::new(),
        };
        store.add_agent(root, None);
        store
    }

    pub(super) fn add_agent(&mut self, agent: &AgentId, forked_from: Option<&NodeId>) {
        let len = self.chain(forked_from).len();
        let row = AgentRow { active: forked_from.cloned(), forked_from: forked_from.cloned(), len };
        assert!(self.agents.insert(agent.clone(), row).is_none(), "an agent twice");
    }

    pub(super) fn add_run(&mut self, run: &RunId, agent: &AgentId) {
        let row = RunRow { agent: agent.clone(), status: RunStatus::Queued, began: false, events: 0 };
        assert!(self.runs.insert(run.clone(), row).is_none(), "a run twice");
    }

    /// One transaction of a run.
    pub(super) fn commit(&mut self, run: &RunId, writes: &[Write]) {
        let row = &self.runs[run];
        assert!(!row.status.is_terminal(), "{run} stores something after its end");
        let agent = row.agent.clone();
        for write in writes {
            match write {
                Write::Node(node) => self.add_node(run, &agent, node),
                Write::Event(event) => self.add_event(run, event),
                Write::Activate(node) => self.activate(&agent, node),
                Write::Run(patch) => self.patch(run, patch),
            }
        }
        self.check_commit(run, &agent, writes);
    }

    fn check_commit(&self, run: &RunId, agent: &AgentId, writes: &[Write]) {
        for write in writes {
            match write {
                Write::Event(EventDraft { node_id: Some(node), .. }) => {
                    assert_eq!(self.nodes[node].run_id, *run, "an event about another run's node");
                }
                Write::Run(RunPatch { status, end_node_id, .. }) if status.is_terminal() => {
                    assert_eq!(*end_node_id, self.agents[agent].active, "a run ends at its agent's active node");
                }
                _ => {}
            }
        }
    }

    /// STO-8: a node hangs in its agent's own tree, or begins below the node that the agent was forked from.
    fn add_node(&mut self, run: &RunId, agent: &AgentId, draft: &NodeDraft) {
        let row = &self.agents[agent];
        match &draft.parent_id {
            None => assert!(row.active.is_none(), "{agent} has a second root"),
            Some(parent) => {
                let known = self.nodes.get(parent).expect("a node's parent is stored before it");
                let own = known.agent_id == *agent || row.forked_from.as_ref() == Some(parent);
                assert!(own, "{agent} adds a node to the tree of {}", known.agent_id);
            }
        }
        let node = Node {
            session_id: self.session.clone(),
            node_seq: self.nodes.len() as u64 + 1,
            node_id: draft.node_id.clone(),
            parent_id: draft.parent_id.clone(),
            agent_id: agent.clone(),
            run_id: run.clone(),
            role: draft.role,
            node_type: draft.node_type,
            content: draft.content.clone(),
            metadata: draft.metadata.clone(),
            token_count: draft.token_count,
            created_at: self.made_at.clone(),
        };
        assert!(self.nodes.insert(draft.node_id.clone(), node).is_none(), "a node id twice in the session");
    }

    /// STO-7: a commit moves its own agent, and the session only where that is the root agent. Nobody jumps.
    fn activate(&mut self, agent: &AgentId, node: &NodeId) {
        let row = &self.agents[agent];
        let (mut at, mut steps) = (Some(node), 0);
        while at != row.active.as_ref() {
            let known = &self.nodes[at.expect("an active node is below the one before it")];
            assert_eq!(known.agent_id, *agent, "an agent moves to another agent's node");
            (at, steps) = (known.parent_id.as_ref(), steps + 1);
        }
        let row = self.agents.get_mut(agent).unwrap();
        row.active = Some(node.clone());
        row.len += steps;
        if *agent == self.root {
            self.active = Some(node.clone());
        }
    }

    fn add_event(&mut self, run: &RunId, event: &EventDraft) {
        let row = self.runs.get_mut(run).unwrap();
        row.events += 1;
        let run_seq = row.events;
        self.events.push(EventRow { seq: self.events.len() + 1, run_seq, run: run.clone(), event: event.clone() });
    }

    fn patch(&mut self, run: &RunId, patch: &RunPatch) {
        let row = self.runs.get_mut(run).unwrap();
        row.status = patch.status;
        row.began |= patch.status == RunStatus::Running;
        assert_eq!(patch.end_reason.map(EndReason::status), Some(patch.status).filter(|status| status.is_terminal()));
    }

    // --- what the owner of the session does ---

    /// Writes down that a run is over whose machine cannot say so any more. False if it has said so itself.
    pub(super) fn end_run(&mut self, run: &RunId) -> bool {
        let row = &self.runs[run];
        if row.status.is_terminal() {
            return false;
        }
        let error = ErrorPayload::new(ErrorCode::InternalError, "process ended during the run");
        let patch = RunPatch {
            status: RunStatus::Failed,
            end_reason: Some(EndReason::Failed),
            end_node_id: self.agents[&row.agent].active.clone(),
            turn_count: 0,
            usage: Usage::default(),
            error: Some(error.clone()),
        };
        let last = RunEnd { error: Some(error), ..RunEnd::default() }.into_event_at(Level::Error);
        self.commit(run, &[Write::Event(last), Write::Run(patch)]);
        true
    }

    /// Runs without an end, those of children first.
    pub(super) fn unfinished(&self) -> Vec<RunId> {
        let open = self.runs.iter().filter(|(_, row)| !row.status.is_terminal());
        let mut open: Vec<_> = open.map(|(run, row)| (row.agent == self.root, run.clone())).collect();
        open.sort();
        open.into_iter().map(|(_, run)| run).collect()
    }

    /// The calls of this agent that are stored as begun.
    pub(super) fn started_calls(&self, agent: &AgentId) -> HashSet<ToolCallId> {
        let started = self.events.iter().filter(|row| row.event.event_type == EventType::ToolStarted);
        let own = started.filter(|row| self.runs[&row.run].agent == *agent);
        own.filter_map(|row| row.event.tool_call_id.clone()).collect()
    }

    // --- what is looked up ---

    pub(super) fn status(&self, run: &RunId) -> RunStatus {
        self.runs[run].status
    }

    /// The session's active node.
    pub(super) fn session_active(&self) -> Option<&NodeId> {
        self.active.as_ref()
    }

    /// An agent's active node, and how many nodes lead to it.
    pub(super) fn tip(&self, agent: &AgentId) -> (Option<&NodeId>, usize) {
        let row = &self.agents[agent];
        (row.active.as_ref(), row.len)
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// The path to a node, root first.
    pub(super) fn chain(&self, tip: Option<&NodeId>) -> Vec<Node> {
        let mut chain: Vec<_> = std::iter::successors(tip, |node| self.nodes[*node].parent_id.as_ref())
            .map(|id| self.nodes[id].clone())
            .collect();
        chain.reverse();
        chain
    }

    /// What a run has answered, as its last event says.
    pub(super) fn answer(&self, run: &RunId) -> String {
        let mut own = self.events.iter().rev().filter(|row| row.run == *run);
        let last = own.find(|row| row.event.event_type == EventType::LoopCompleted).expect("a completed run says so");
        let nodes = last.event.payload["answer_node_ids"].as_array().unwrap().iter();
        let nodes = nodes.map(|id| &self.nodes[&NodeId::parse(id.as_str().unwrap()).unwrap()]);
        nodes.flat_map(|node| node.content.iter()).filter_map(ContentBlock::as_text).collect()
    }

    // --- what holds at the end ---

    /// Events are numbered without gaps, in the session and in each run, in the order in which they were stored. A run's first event is
    /// its start, unless it was cancelled before, and its last one the end; the end is there once it has ended.
    pub(super) fn check_timeline(&self) {
        let ends = [EventType::LoopCompleted, EventType::LoopFailed, EventType::LoopAborted];
        let mut of_run: HashMap<&RunId, Vec<EventType>> = HashMap::new();
        for (before, row) in self.events.iter().enumerate() {
            assert_eq!(row.seq, before + 1);
            let own = of_run.entry(&row.run).or_default();
            own.push(row.event.event_type);
            assert_eq!(row.run_seq, own.len());
        }
        for (run, row) in &self.runs {
            let own = of_run.remove(run).unwrap_or_default();
            assert_eq!(own.first() == Some(&EventType::LoopStarted), row.began, "{run}: {own:?}");
            let ended: Vec<_> = own.iter().filter(|event| ends.contains(event)).collect();
            assert_eq!(ended.len(), usize::from(row.status.is_terminal()), "{run}: {own:?}");
            assert!(ended.is_empty() || ends.contains(own.last().unwrap()), "{run}: {own:?}");
        }
    }

    /// STO-7, CTX-5: the user's conversation is the root agent's alone, and each call in it has exactly one result, which follows it.
    pub(super) fn check_conversation(&self) {
        let (tip, _) = self.tip(&self.root);
        assert_eq!(tip, self.active.as_ref(), "the session is where its root agent is");
        let mut open = HashSet::new();
        for node in self.chain(tip) {
            assert_eq!(node.agent_id, self.root, "another agent's node in the user's conversation");
            for block in node.content.iter() {
                match block {
                    ContentBlock::ToolCall(call) => {
                        assert!(open.insert(call.tool_call_id.clone()), "an open call twice")
                    }
                    ContentBlock::ToolResult(result) if node.role == Role::Tool => {
                        assert!(open.remove(&result.tool_call_id), "a result without its call");
                    }
                    _ => {}
                }
            }
        }
        assert!(open.is_empty(), "calls without their result: {open:?}");
    }
}
