//! A timeline as people read it.
//!
//! Every row says at its beginning what it is: the time and a word of ours, or a border (`> ` for the user, `| ` for the
//! model) before words of others, which could be written so as to look like ours.

use std::collections::HashMap;

use agent_core::archive::ReplayPage;
use agent_core::event::PayloadError;
use agent_core::event::Timestamp;
use agent_core::event::{
    CallEnd, ErrorReported, LoopStarted, MessageCompleted, ModelFailed, PermissionFailed, PermissionRequested,
    PermissionResolved, RunEnd, ToolStarted,
};
use agent_core::id::PermissionRequestId;
use agent_core::id::{AgentId, NodeId, RunId};
use agent_core::message::ContentBlock;
use agent_core::session::{ArtifactInfo, Node, NodeType, Role};
use agent_core::text::escape_for_terminal;
use agent_core::{EventType, RuntimeEvent};

use super::branches::{Branch, Branches};
use super::rows::Rows;
use crate::lines::{self, in_line, whole_line};
use crate::moment;
use crate::output::{Colour, Look};
use crate::size::readable;
use crate::stored::below_home;

/// Turns pages into rows.
pub(super) struct Timeline {
    /// Also what is of use for debugging only.
    debug: bool,
    /// Whose runs it tells; what other agents do is for debugging.
    agent: AgentId,
    /// It begins with the session, so runs can be counted and branches told.
    whole: bool,
    /// The project: as the beginning of a path it goes without saying.
    project: String,
    rows: Rows,
    branches: Branches,
    run: Option<Current>,
}

/// How wide the column of marks is.
const MARKS: usize = 6;

/// The run that the rows belong to.
struct Current {
    run_id: RunId,
    started: Option<u64>,
    /// Questions without an answer, by their id.
    questions: Vec<(PermissionRequestId, String)>,
    /// Calls without an outcome.
    calls: Vec<(String, String)>,
    /// The last error that was shown; the end of the run need not repeat it.
    error: Option<String>,
}

/// What became of a run whose end is not in the timeline.
pub(super) enum Ending {
    /// There is an end.
    Nothing,
    /// It has not ended yet.
    AtWork,
    /// Its process ended; how the session can be gone on with.
    Interrupted(String),
}

/// The nodes of a page that events refer to.
struct Nodes<'p> {
    by_id: HashMap<&'p NodeId, &'p Node>,
    /// Where branches begin, oldest first.
    branches: std::iter::Peekable<std::vec::IntoIter<Branch<'p>>>,
    artifacts: &'p [ArtifactInfo],
}

impl Timeline {
    pub(super) fn new(look: Look, debug: bool, whole: bool, agent: AgentId, project: &str) -> Self {
        Self {
            debug,
            agent,
            whole,
            project: project.to_owned(),
            rows: Rows::new(look, MARKS),
            branches: Branches::default(),
            run: None,
        }
    }

    /// The rows of a page.
    pub(super) fn page(&mut self, page: &ReplayPage) -> String {
        let mut nodes = Nodes {
            by_id: page.nodes.iter().map(|node| (&node.node_id, node)).collect(),
            branches: self.branches.among(&page.nodes).into_iter().peekable(),
            artifacts: &page.artifacts,
        };
        for event in &page.events {
            self.event(event, &mut nodes);
        }
        self.rows.take()
    }

    /// The last rows.
    pub(super) fn end(&mut self, ending: &Ending) -> String {
        if self.run.is_some() {
            match ending {
                Ending::Nothing => {}
                Ending::AtWork => self.at_work(),
                Ending::Interrupted(how) => {
                    self.open_ends();
                    self.row(
                        None,
                        "end",
                        Some(Colour::Yellow),
                        &format!("interrupted: the process ended during the run; {how}"),
                    );
                }
            }
        }
        self.rows.take()
    }

    fn event(&mut self, event: &RuntimeEvent, nodes: &mut Nodes<'_>) {
        if event.agent_id.as_ref().is_some_and(|agent| *agent != self.agent) {
            return self.of_another(event);
        }
        if let Err(error) = self.told(event, nodes) {
            self.row(Some(&event.created_at), "damage", Some(Colour::Red), &lines::unreadable(&error));
        }
    }

    fn told(&mut self, event: &RuntimeEvent, nodes: &mut Nodes<'_>) -> Result<(), PayloadError> {
        if event.event_type == EventType::LoopStarted {
            self.begin(event)?;
        }
        let node = event.node_id.as_ref().and_then(|id| nodes.by_id.get(id).copied());
        if let Some(node) = node {
            while let Some(branch) = nodes.branches.next_if(|branch| branch.place <= node.node_seq) {
                let words = self.branches.words(branch.from);
                self.note(event, &words);
            }
        }
        match event.event_type {
            EventType::LoopStarted => {}
            EventType::MessageCreated => self.created(event, node),
            EventType::MessageCompleted => self.completed(event, node)?,
            EventType::ToolStarted => self.tool_started(event)?,
            EventType::ToolCompleted | EventType::ToolFailed | EventType::ToolDenied => {
                self.tool(event, nodes.artifacts)?;
            }
            EventType::PermissionRequested => self.asked(&event.read()?),
            EventType::PermissionFailed => self.note(event, &event.read::<PermissionFailed>()?.message),
            EventType::PermissionResolved => self.answered(event)?,
            EventType::ModelRetry => self.note(event, &lines::retry(&event.read()?)),
            EventType::ModelFailed => {
                let failed: ModelFailed = event.read()?;
                match failed.will_retry {
                    Some(true) => self.note(event, &lines::broken_off(&failed)),
                    _ => self.other(event),
                }
            }
            EventType::CompactCompleted => self.note(event, &lines::left_out(&event.read()?)),
            EventType::CompactFailed => self.note(event, &lines::no_summary(&event.read()?)),
            EventType::CancelTimeout => self.note(event, lines::DID_NOT_STOP),
            EventType::Error => self.error(event, event.read()?),
            EventType::LoopCompleted | EventType::LoopAborted | EventType::LoopFailed => self.ended(event)?,
            EventType::RunQueued => self.note(event, &format!("the next message waits: {}", run_of(event))),
            EventType::RunCancelled if !self.is_current(event) => {
                self.note(event, &format!("a message that waited was cancelled: {}", run_of(event)));
            }
            _ => self.other(event),
        }
        Ok(())
    }

    fn begin(&mut self, event: &RuntimeEvent) -> Result<(), PayloadError> {
        let Some(run_id) = &event.run_id else { return Ok(()) };
        let purpose = event.read::<LoopStarted>()?.purpose;
        let number = self.branches.begin(run_id) as u64;
        self.rows.run(self.whole.then_some(number), run_id, &event.created_at, purpose.as_deref());
        self.run = Some(Current {
            run_id: run_id.clone(),
            started: moment::millis(&event.created_at),
            questions: Vec::new(),
            calls: Vec::new(),
            error: None,
        });
        Ok(())
    }

    fn is_current(&self, event: &RuntimeEvent) -> bool {
        self.run.as_ref().is_some_and(|run| Some(&run.run_id) == event.run_id.as_ref())
    }

    /// What was said to the model: by the user, or by core in the user's place.
    fn created(&mut self, event: &RuntimeEvent, node: Option<&Node>) {
        let Some(node) = node else { return };
        if (node.role, node.node_type) == (Role::User, NodeType::Message) {
            return self.said("> ", node);
        }
        let words = words(node);
        self.note(
            event,
            &format!("{}: {}", node.node_type.as_str(), in_line(words.lines().next().unwrap_or_default())),
        );
    }

    fn completed(&mut self, event: &RuntimeEvent, node: Option<&Node>) -> Result<(), PayloadError> {
        if let Some(node) = node {
            self.said("| ", node);
        }
        if event.read::<MessageCompleted>()?.partial {
            self.note(event, "it broke off here, and is in no later prompt");
        }
        Ok(())
    }

    fn said(&mut self, border: &str, node: &Node) {
        let words = words(node);
        if words.trim().is_empty() {
            return;
        }
        for line in escape_for_terminal(words.trim_end()).split('\n') {
            self.rows.push(border, border, line, |_, row| row.to_owned());
        }
    }

    fn tool_started(&mut self, event: &RuntimeEvent) -> Result<(), PayloadError> {
        let ToolStarted { tool_name, summary } = event.read()?;
        if let Some(run) = &mut self.run {
            run.calls.push((call_of(event), lines::call_line(&tool_name, summary.as_deref())));
        }
        Ok(())
    }

    fn tool(&mut self, event: &RuntimeEvent, artifacts: &[ArtifactInfo]) -> Result<(), PayloadError> {
        let call = call_of(event);
        if let Some(run) = &mut self.run {
            run.calls.retain(|(open, _)| *open != call);
        }
        let (mark, colour, line) = lines::outcome(&CallEnd::read(event)?);
        self.row(Some(&event.created_at), mark, Some(colour), &line);
        for artifact in artifacts.iter().filter(|artifact| artifact.tool_call_id == event.tool_call_id) {
            let path = whole_line(&below_home(&artifact.path.to_string_lossy()));
            let line = format!("{}: {path}", readable(artifact.size_bytes));
            self.row(None, "file", Some(Colour::Dim), &line);
        }
        Ok(())
    }

    fn asked(&mut self, asked: &PermissionRequested) {
        let line = lines::question(asked, &self.project);
        if let Some(run) = &mut self.run {
            run.questions.push((asked.request_id.clone(), line));
        }
    }

    fn answered(&mut self, event: &RuntimeEvent) -> Result<(), PayloadError> {
        let resolved: PermissionResolved = event.read()?;
        let questions = self.run.as_mut().map(|run| &mut run.questions);
        let line = questions.and_then(|questions| {
            let at = questions.iter().position(|(open, _)| *open == resolved.request_id)?;
            Some(questions.remove(at).1)
        });
        let decision = resolved.decision.as_str().replace('_', " ");
        let reason = resolved.reason.map(|reason| format!(" ({})", in_line(&reason))).unwrap_or_default();
        let line = format!("{}: {decision}{reason}", line.as_deref().unwrap_or("a call"));
        self.row(Some(&event.created_at), "asked", Some(Colour::Yellow), &line);
        Ok(())
    }

    fn error(&mut self, event: &RuntimeEvent, reported: ErrorReported) {
        let message = reported.error.message;
        self.row(Some(&event.created_at), "error", Some(Colour::Red), &in_one(&message));
        if let Some(run) = &mut self.run {
            run.error = Some(message);
        }
    }

    fn ended(&mut self, event: &RuntimeEvent) -> Result<(), PayloadError> {
        let end = RunEnd::read(event)?;
        let error = end.error.as_ref().map(|error| error.message.as_str());
        if !self.is_current(event) {
            // It never began: it waited when its process ended.
            self.note(event, &format!("{}: {}", run_of(event), error.unwrap_or("it has ended")));
            return Ok(());
        }
        self.open_ends();
        if end.was_interrupted() {
            // When that was found out says nothing about the run.
            self.row(None, "end", Some(Colour::Yellow), "interrupted: the process ended during the run");
        } else {
            let (colour, what) = match event.event_type {
                EventType::LoopCompleted => (Colour::Green, "completed"),
                EventType::LoopAborted => (Colour::Yellow, "cancelled"),
                _ => (Colour::Red, "failed"),
            };
            let shown = self.run.as_ref().and_then(|run| run.error.as_deref());
            let why = error.filter(|error| Some(*error) != shown && event.event_type == EventType::LoopFailed);
            let why = why.map(|error| format!(": {}", in_one(error))).unwrap_or_default();
            let took = self.since_start(&event.created_at).map(|millis| millis as f64 / 1000.0);
            let line = format!("{what}{why}; {}", lines::usage(&end, took));
            self.row(Some(&event.created_at), "end", Some(colour), &line);
        }
        self.run = None;
        Ok(())
    }

    /// What goes on at this moment.
    fn at_work(&mut self) {
        let question = self.run.as_ref().and_then(|run| Some(run.questions.last()?.1.clone()));
        match question {
            Some(question) => {
                self.row(None, "now", Some(Colour::Yellow), &format!("waits for an answer: {question}"));
            }
            None => self.row(None, "now", Some(Colour::Green), "at work"),
        }
    }

    /// What a run left open: its process ended, or nothing could be stored any more.
    fn open_ends(&mut self) {
        let Some(run) = &mut self.run else { return };
        let (questions, calls) = (std::mem::take(&mut run.questions), std::mem::take(&mut run.calls));
        for (_, line) in questions {
            self.row(None, "asked", Some(Colour::Yellow), &format!("{line}: not answered"));
        }
        for (_, line) in calls {
            self.row(None, "lost", Some(Colour::Yellow), &format!("{line}: began; what came of it was not stored"));
        }
    }

    /// What another agent does, such as an internal one that summarises: it may do so in the middle of a run.
    fn of_another(&mut self, event: &RuntimeEvent) {
        if self.debug {
            let payload = serde_json::to_string(&event.payload).unwrap_or_default();
            let line = format!("{} {} {payload}", run_of(event), event.event_type.as_str());
            self.row(Some(&event.created_at), "other", Some(Colour::Dim), &line);
        }
    }

    /// What has no line of its own is of use for debugging only.
    fn other(&mut self, event: &RuntimeEvent) {
        if self.debug {
            let payload = serde_json::to_string(&event.payload).unwrap_or_default();
            let line = format!("{} {payload}", event.event_type.as_str());
            self.row(Some(&event.created_at), "debug", Some(Colour::Dim), &line);
        }
    }

    fn note(&mut self, event: &RuntimeEvent, line: &str) {
        self.row(Some(&event.created_at), "note", Some(Colour::Dim), &in_one(line));
    }

    fn since_start(&self, moment: &Timestamp) -> Option<u64> {
        Some(moment::millis(moment)?.saturating_sub(self.run.as_ref()?.started?))
    }

    /// A row with the time, as far as there is one, and a word that says what it is about.
    fn row(&mut self, moment: Option<&Timestamp>, mark: &str, colour: Option<Colour>, line: &str) {
        let time = moment.and_then(|moment| self.since_start(moment));
        self.rows.row(time, mark, colour, line);
    }
}

/// What a node says; calls and results have rows of their own.
fn words(node: &Node) -> String {
    let texts: Vec<_> = node.content.iter().filter_map(ContentBlock::to_model_text).collect();
    texts.join("\n")
}

/// A text as a part of one row, whole: it is worth its length.
fn in_one(text: &str) -> String {
    text.replace('\n', "\\n").replace('\t', "\\t")
}

fn run_of(event: &RuntimeEvent) -> &str {
    event.run_id.as_ref().map_or("a run", RunId::as_str)
}

fn call_of(event: &RuntimeEvent) -> String {
    event.tool_call_id.as_ref().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests;
