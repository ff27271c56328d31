//! From pages to entries. In memory is what has begun and not ended, and the number of every run.

use std::collections::HashMap;

use agent_protocol::DecisionKind;
use agent_protocol::{
    AgentId, CallEnd, ChildAgentCreated, ContentBlock, ErrorReported, EventType, LoopStarted, MessageCompleted,
    ModelFailed, Node, NodeId, NodeType, PayloadError, PermissionFailed, PermissionRequestId, PermissionRequested,
    PermissionResolved, Role, RunEnd, RunId, RunMode, RuntimeEvent, Timestamp, ToolCallId, ToolStarted,
};
use agent_store::{ArtifactInfo, DamagedEntry, ReplayPage};

use super::branches::{Branch, Branches};
use super::entry::{
    TimelineCall, TimelineChild, TimelineChildEnd, TimelineEnd, TimelineEntry, TimelineFile, TimelineOutcome,
    TimelineQuestion, TimelineStep,
};

/// Which events a timeline tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineScope {
    /// Whose runs are told.
    pub agent_id: AgentId,
    /// The pages begin with the session, so its runs can be counted.
    pub counts_runs: bool,
    /// Also what has no entry of its own, and what other agents do: for debugging.
    pub all_events: bool,
}

/// What became of a run whose end is not in the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelineTail {
    /// All runs have ended.
    Ended,
    /// The last run is at work.
    AtWork,
    /// The process of the last run ended during it.
    Interrupted,
}

/// Makes the entries of a timeline from the pages of a [`Replay`](crate::Replay), one after the other.
#[derive(Debug)]
pub struct TimelineFold {
    scope: TimelineScope,
    branches: Branches,
    run: Option<Current>,
    entries: Vec<TimelineEntry>,
}

/// The run that is being told.
#[derive(Debug)]
struct Current {
    run_id: RunId,
    /// When it began, in milliseconds since 1970.
    started: Option<u64>,
    /// Questions without an answer.
    questions: Vec<PermissionRequested>,
    /// Calls without an outcome.
    calls: Vec<OpenCall>,
}

#[derive(Debug)]
struct OpenCall {
    id: Option<ToolCallId>,
    what: ToolStarted,
    /// In milliseconds since 1970.
    began: Option<u64>,
    children: Vec<OpenChild>,
}

#[derive(Debug)]
struct OpenChild {
    child: TimelineChild,
    /// In milliseconds since 1970.
    began: Option<u64>,
}

/// The nodes of a page that events refer to.
struct Nodes<'p> {
    by_id: HashMap<&'p NodeId, &'p Node>,
    /// Where branches begin, oldest first.
    branches: std::iter::Peekable<std::vec::IntoIter<Branch<'p>>>,
    artifacts: &'p [ArtifactInfo],
}

impl TimelineFold {
    /// Before the first page.
    #[must_use]
    pub fn new(scope: TimelineScope) -> Self {
        Self { scope, branches: Branches::default(), run: None, entries: Vec::new() }
    }

    /// The entries of the next page.
    pub fn page(&mut self, page: &ReplayPage) -> Vec<TimelineEntry> {
        let mut nodes = Nodes {
            by_id: page.nodes.iter().map(|node| (&node.node_id, node)).collect(),
            branches: self.branches.among(&page.nodes).into_iter().peekable(),
            artifacts: &page.artifacts,
        };
        let mut damaged = page.damaged.iter().peekable();
        for event in &page.events {
            while let Some(row) = damaged.next_if(|row| event.seq.is_none_or(|seq| row.after < seq)) {
                self.damaged(row);
            }
            self.event(event, &mut nodes);
        }
        damaged.for_each(|row| self.damaged(row));
        std::mem::take(&mut self.entries)
    }

    /// The entries after the last page.
    pub fn end(&mut self, tail: TimelineTail) -> Vec<TimelineEntry> {
        if let Some(run) = &mut self.run {
            let run_id = run.run_id.clone();
            match tail {
                TimelineTail::Ended => {}
                TimelineTail::AtWork => {
                    let question = run.questions.pop().map(|asked| question(asked, None));
                    let children = run.calls.drain(..).flat_map(|call| call.children).map(|open| open.child);
                    let children = children.filter(|child| child.end.is_none()).collect();
                    self.untimed(run_id, TimelineStep::AtWork { question, children });
                }
                TimelineTail::Interrupted => {
                    self.open_ends();
                    self.untimed(run_id, TimelineStep::Interrupted);
                }
            }
        }
        std::mem::take(&mut self.entries)
    }

    fn damaged(&mut self, row: &DamagedEntry) {
        let step = TimelineStep::Damaged { message: row.error.payload().message };
        self.entries.push(TimelineEntry { run_id: None, at: None, since_start_ms: None, step });
    }

    fn event(&mut self, event: &RuntimeEvent, nodes: &mut Nodes<'_>) {
        if event.agent_id.as_ref().is_some_and(|agent| *agent != self.scope.agent_id) {
            // An internal agent, such as one that summarises, may do so in the middle of a run.
            if self.scope.all_events {
                self.add(event, TimelineStep::OtherAgent { event: Box::new(event.clone()) });
            }
        } else if let Err(error) = self.told(event, nodes) {
            let PayloadError { event_id, event_type, .. } = error.clone();
            self.add(event, TimelineStep::Unreadable { event_id, event_type, message: error.to_string() });
        }
    }

    fn told(&mut self, event: &RuntimeEvent, nodes: &mut Nodes<'_>) -> Result<(), PayloadError> {
        if event.event_type == EventType::LoopStarted {
            self.begin(event)?;
        }
        let node = event.node_id.as_ref().and_then(|id| nodes.by_id.get(id).copied());
        if let Some(node) = node {
            while let Some(branch) = nodes.branches.next_if(|branch| branch.place <= node.node_seq) {
                let from_run = branch.from.and_then(|node| self.branches.run_of(node));
                self.add(event, TimelineStep::Branched { from_node_id: branch.from.cloned(), from_run });
            }
        }
        match event.event_type {
            EventType::LoopStarted => {}
            EventType::MessageCreated => self.created(event, node),
            EventType::MessageCompleted => self.completed(event, node)?,
            EventType::ToolStarted => self.call_began(event)?,
            EventType::ToolCompleted | EventType::ToolFailed | EventType::ToolDenied => {
                self.call_ended(event, nodes.artifacts)?;
            }
            EventType::PermissionRequested => {
                let asked = event.read()?;
                self.run.iter_mut().for_each(|run| run.questions.push(PermissionRequested::clone(&asked)));
            }
            EventType::PermissionResolved => self.answered(event)?,
            EventType::PermissionFailed => {
                let PermissionFailed { request_id, message } = event.read()?;
                self.add(event, TimelineStep::AskingFailed { request_id, message });
            }
            EventType::ModelRetry => self.add(event, TimelineStep::Retried(event.read()?)),
            EventType::ModelFailed => match event.read::<ModelFailed>()? {
                failed if failed.will_retry == Some(true) => self.add(event, TimelineStep::BrokeOff(failed)),
                _ => self.other(event),
            },
            EventType::CompactCompleted => self.add(event, TimelineStep::Compacted(event.read()?)),
            EventType::CompactFailed => self.add(event, TimelineStep::CompactingFailed(event.read()?)),
            EventType::CancelTimeout => self.add(event, TimelineStep::DidNotStop),
            EventType::Error => {
                let ErrorReported { error } = event.read()?;
                self.add(event, TimelineStep::Failed { error });
            }
            EventType::LoopCompleted | EventType::LoopAborted | EventType::LoopFailed => self.ended(event)?,
            EventType::RunQueued => self.add(event, TimelineStep::Queued),
            EventType::RunCancelled if !self.is_current(event) => self.add(event, TimelineStep::QueuedCancelled),
            EventType::ChildAgentCreated => {
                let created: Box<ChildAgentCreated> = Box::new(event.read()?);
                self.child_began(event, &created);
                self.add(event, TimelineStep::ChildBegan(created));
                self.other(event);
            }
            EventType::ChildAgentCompleted | EventType::ChildAgentFailed | EventType::ChildAgentCancelled => {
                let end = Box::new(TimelineChildEnd::read(event)?);
                self.child_ended(event, &end);
                self.add(event, TimelineStep::ChildEnded(end));
                self.other(event);
            }
            _ => self.other(event),
        }
        Ok(())
    }

    fn begin(&mut self, event: &RuntimeEvent) -> Result<(), PayloadError> {
        let Some(run_id) = &event.run_id else { return Ok(()) };
        let LoopStarted { purpose, mode, .. } = event.read()?;
        let mode = purpose.is_none().then(|| mode.unwrap_or(RunMode::Normal));
        let number = purpose.is_none().then(|| self.branches.begin(run_id)).filter(|_| self.scope.counts_runs);
        self.run = Some(Current {
            run_id: run_id.clone(),
            started: event.created_at.to_unix_millis(),
            questions: Vec::new(),
            calls: Vec::new(),
        });
        self.add(event, TimelineStep::Began { number, purpose, mode });
        Ok(())
    }

    fn is_current(&self, event: &RuntimeEvent) -> bool {
        self.run.as_ref().is_some_and(|run| Some(&run.run_id) == event.run_id.as_ref())
    }

    /// What was said to the model: by the user, or by core in the user's place.
    fn created(&mut self, event: &RuntimeEvent, node: Option<&Node>) {
        let Some(node) = node else { return };
        let (node_id, text) = (node.node_id.clone(), words(node));
        if (node.role, node.node_type) != (Role::User, NodeType::Message) {
            self.add(event, TimelineStep::Added { node_id, node_type: node.node_type, text });
        } else if !text.trim().is_empty() {
            self.add(event, TimelineStep::UserSaid { node_id, text });
        }
    }

    fn completed(&mut self, event: &RuntimeEvent, node: Option<&Node>) -> Result<(), PayloadError> {
        if let Some(node) = node {
            let (node_id, text) = (node.node_id.clone(), words(node));
            if !text.trim().is_empty() {
                self.add(event, TimelineStep::ModelSaid { node_id, text });
            }
        }
        if event.read::<MessageCompleted>()?.partial {
            self.add(event, TimelineStep::Partial);
        }
        Ok(())
    }

    fn call_began(&mut self, event: &RuntimeEvent) -> Result<(), PayloadError> {
        let what = event.read()?;
        let began = event.created_at.to_unix_millis();
        let call = OpenCall { id: event.tool_call_id.clone(), what, began, children: Vec::new() };
        if let Some(run) = &mut self.run {
            run.calls.push(call);
        }
        Ok(())
    }

    fn call_ended(&mut self, event: &RuntimeEvent, artifacts: &[ArtifactInfo]) -> Result<(), PayloadError> {
        let (mut began, mut children) = (None, Vec::new());
        if let Some(run) = &mut self.run {
            for call in run.calls.extract_if(.., |call| call.id == event.tool_call_id) {
                began = call.began;
                children.extend(call.children.into_iter().map(|open| open.child));
            }
        }
        let end = CallEnd::read(event)?;
        let duration_ms = began.and_then(|began| Some(event.created_at.to_unix_millis()?.saturating_sub(began)));
        let files = artifacts.iter().filter(|artifact| artifact.tool_call_id == event.tool_call_id);
        let files = files.map(TimelineFile::from).collect();
        let tool_call_id = event.tool_call_id.clone();
        let call = TimelineCall { tool_call_id, end, duration_ms, files, children };
        self.add(event, TimelineStep::Called(Box::new(call)));
        Ok(())
    }

    fn child_began(&mut self, event: &RuntimeEvent, created: &ChildAgentCreated) {
        let calls = self.run.iter_mut().flat_map(|run| &mut run.calls);
        if let Some(call) = calls.rev().find(|call| call.id == event.tool_call_id) {
            let child = TimelineChild { created: Box::new(created.clone()), end: None, duration_ms: None };
            call.children.push(OpenChild { child, began: event.created_at.to_unix_millis() });
        }
    }

    fn child_ended(&mut self, event: &RuntimeEvent, end: &TimelineChildEnd) {
        let mut children = self.run.iter_mut().flat_map(|run| &mut run.calls).flat_map(|call| &mut call.children);
        if let Some(OpenChild { child, began }) =
            children.find(|open| open.child.created.child_run_id == end.child_run_id)
        {
            child.end = Some(end.clone());
            let ended = event.created_at.to_unix_millis();
            child.duration_ms = ended.zip(*began).map(|(ended, began)| ended.saturating_sub(began));
        }
    }

    fn answered(&mut self, event: &RuntimeEvent) -> Result<(), PayloadError> {
        let PermissionResolved { request_id, decision, reason } = event.read()?;
        let asked = self.run.as_mut().and_then(|run| {
            let at = run.questions.iter().position(|open| open.request_id == request_id)?;
            Some(run.questions.remove(at))
        });
        let answer = Some((decision, reason));
        let question = match asked {
            Some(asked) => question(asked, answer),
            None => told_question(request_id, None, Vec::new(), answer),
        };
        self.add(event, TimelineStep::Asked(question));
        Ok(())
    }

    fn ended(&mut self, event: &RuntimeEvent) -> Result<(), PayloadError> {
        let end = RunEnd::read(event)?;
        if !self.is_current(event) {
            // It waited when its process ended.
            self.add(event, TimelineStep::NeverBegan { error: end.error });
            return Ok(());
        }
        self.open_ends();
        let outcome = match event.event_type {
            _ if end.was_interrupted() => TimelineOutcome::Interrupted,
            EventType::LoopCompleted => TimelineOutcome::Completed,
            EventType::LoopAborted => TimelineOutcome::Cancelled,
            _ => TimelineOutcome::Failed,
        };
        // When an interruption was found out says nothing about how long the run took.
        let took = self.since_start(&event.created_at).filter(|_| outcome != TimelineOutcome::Interrupted);
        self.add(event, TimelineStep::Ended(Box::new(TimelineEnd { outcome, duration_ms: took, end })));
        self.run = None;
        Ok(())
    }

    /// What a run left open: its process ended, or nothing could be stored any more.
    fn open_ends(&mut self) {
        let Some(run) = &mut self.run else { return };
        let run_id = run.run_id.clone();
        let (questions, calls) = (std::mem::take(&mut run.questions), std::mem::take(&mut run.calls));
        for asked in questions {
            self.untimed(run_id.clone(), TimelineStep::Asked(question(asked, None)));
        }
        for OpenCall { id, what: ToolStarted { tool_name, summary }, children, .. } in calls {
            let children = children.into_iter().map(|open| open.child).collect();
            let lost = TimelineStep::CallLost { tool_call_id: id, tool_name, call: summary, children };
            self.untimed(run_id.clone(), lost);
        }
    }

    /// What has no entry of its own is of use for debugging only.
    fn other(&mut self, event: &RuntimeEvent) {
        if self.scope.all_events {
            self.add(event, TimelineStep::Event { event: Box::new(event.clone()) });
        }
    }

    fn since_start(&self, moment: &Timestamp) -> Option<u64> {
        Some(moment.to_unix_millis()?.saturating_sub(self.run.as_ref()?.started?))
    }

    fn add(&mut self, event: &RuntimeEvent, step: TimelineStep) {
        let at = event.created_at.clone();
        let since_start_ms = self.since_start(&at);
        self.entries.push(TimelineEntry { run_id: event.run_id.clone(), at: Some(at), since_start_ms, step });
    }

    fn untimed(&mut self, run_id: RunId, step: TimelineStep) {
        self.entries.push(TimelineEntry { run_id: Some(run_id), at: None, since_start_ms: None, step });
    }
}

type Answer = Option<(DecisionKind, Option<String>)>;

fn question(asked: PermissionRequested, answer: Answer) -> TimelineQuestion {
    let targets = asked.targets().map(str::to_owned).collect();
    told_question(asked.request_id, Some(asked.tool_name), targets, answer)
}

fn told_question(
    request_id: PermissionRequestId,
    tool_name: Option<String>,
    targets: Vec<String>,
    answer: Answer,
) -> TimelineQuestion {
    let (decision, reason) = answer.unzip();
    TimelineQuestion { request_id, tool_name, targets, decision, reason: reason.flatten() }
}

/// What a node says; calls and results have entries of their own.
pub(crate) fn words(node: &Node) -> String {
    let texts: Vec<_> = node.content.iter().filter_map(ContentBlock::to_model_text).collect();
    texts.join("\n")
}
