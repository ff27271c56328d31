//! What people see of a run (CLI-2).

use std::time::{Duration, Instant};

use agent_core::event::PayloadError;
use agent_core::event::{
    CallEnd, ChildAgentCancelRequested, ChildAgentCreated, CompactFailed, CompactMode, CompactStarted, LoopStarted,
    MessageCompleted, MessageDelta, ModelFailed, ModelRetry, ModelStarted, ResultKind, RunEnd, ToolProgress,
    ToolStarted,
};
use agent_core::id::{NodeId, SessionId};
use agent_core::runtime::RunResult;
use agent_core::{EventType, RuntimeEvent};

use crate::children::{Children, Drawing};
use crate::exit::describe;
use crate::lines;
use crate::output::{Colour, Output};
use crate::status::{PATIENCE, Shown, Status};

/// So many of the last lines of a command are seen while it runs.
const LIVE_LINES: usize = 4;

/// Stands before a line about a child agent.
const CHILD: &str = "agent ";

/// Shows a run's events.
pub(crate) struct View<'o> {
    pub(crate) output: &'o mut Output,
    status: Status,
    model: String,
    started: Instant,
    /// Text of the message being written, where it must not be shown before it is known to be the answer.
    pending: String,
    /// What was said beside the calls of the last message, and its node.
    beside_calls: Option<(NodeId, String)>,
    /// Its child agents at work.
    children: Children,
    /// What was drawn of them last, and for how wide a terminal.
    drawn: Option<(Drawing, usize)>,
    /// Calls that were not allowed.
    denied: u64,
    /// When the last text of a message came that has not ended, unless that nothing follows was said.
    said_at: Option<Instant>,
}

/// After so long without more of an answer that is said.
const SILENT: Duration = Duration::from_secs(10);

impl<'o> View<'o> {
    pub(crate) fn new(output: &'o mut Output) -> Self {
        Self {
            output,
            status: Status::new(),
            model: "the model".to_owned(),
            started: Instant::now(),
            pending: String::new(),
            beside_calls: None,
            children: Children::default(),
            drawn: None,
            denied: 0,
            said_at: None,
        }
    }

    /// Nothing may follow the beginning of an answer for a long time, and no status line stands behind it.
    pub(crate) fn say_if_silent(&mut self) {
        if self.said_at.take_if(|said_at| said_at.elapsed() >= SILENT).is_some() {
            let line = format!("{} has sent nothing to show for {} s; still waiting", self.model, SILENT.as_secs());
            self.note(&line);
        }
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self) {
        if !self.children.is_empty() {
            return self.draw_children();
        }
        let drawn = self.status.is_drawn();
        match self.status.shown(Instant::now()) {
            Some(Shown { what, seconds, lines }) => self.output.status(&what, seconds, lines),
            None if drawn => self.settle(),
            None => {}
        }
    }

    /// Child agents are at work.
    pub(crate) fn has_children(&self) -> bool {
        !self.children.is_empty()
    }

    /// Draws a line for each child, where that is not what is there.
    fn draw_children(&mut self) {
        let (width, rows) = (self.output.width(), self.output.rows_of_stderr());
        // The first line, and one that stays free.
        let most = rows.saturating_sub(2);
        let Some(drawing) = self.children.drawing(Instant::now(), PATIENCE, width, most) else { return };
        let drawn = Some((drawing, width.usable()));
        if self.status.is_drawn() && self.drawn == drawn {
            return;
        }
        self.drawn = drawn;
        if let Some((Drawing { what, seconds, lines }, _)) = &self.drawn {
            self.output.status(what, *seconds, lines);
            self.status.gives_way();
        }
    }

    /// Something happened in a child.
    pub(crate) fn child_event(&mut self, event: &RuntimeEvent) {
        if let Err(error) = self.children.happened(event) {
            self.note(&lines::unreadable(&error));
        }
    }

    fn child_began(&mut self, created: &ChildAgentCreated) {
        let line = self.children.begin(created, Instant::now());
        if !self.output.style.live {
            self.output.marked(CHILD, Colour::Dim, &line);
        }
    }

    fn child_ended(&mut self, event: &RuntimeEvent) -> Result<(), PayloadError> {
        let (colour, line) = self.children.end(event, Instant::now())?;
        self.settle();
        self.output.marked(CHILD, colour, &line);
        Ok(())
    }

    /// Wipes the status line away, before anything else is shown.
    pub(crate) fn settle(&mut self) {
        if self.status.wipe() {
            self.output.wipe_status();
        }
    }

    pub(crate) fn event(&mut self, event: &RuntimeEvent) {
        if let Err(error) = self.show(event) {
            self.note(&lines::unreadable(&error));
        }
    }

    fn show(&mut self, event: &RuntimeEvent) -> Result<(), PayloadError> {
        match event.event_type {
            EventType::LoopStarted => {
                if let Some(cut) = event.read::<LoopStarted>()?.cut_short {
                    lines::cut_short(&cut).iter().for_each(|line| self.note(line));
                }
                self.status.begin(format!("waiting for {}", self.model), Instant::now());
            }
            EventType::ModelStarted => {
                self.model = event.read::<ModelStarted>()?.model;
                self.status.begin(format!("waiting for {}", self.model), Instant::now());
            }
            EventType::MessageDelta => self.delta(&event.read::<MessageDelta>()?.text),
            EventType::MessageCompleted => self.message_completed(&event.read()?, event.node_id.as_ref()),
            EventType::ModelRetry => self.retry(&event.read()?),
            EventType::ModelFailed => self.model_failed(&event.read()?),
            EventType::ToolStarted => {
                let ToolStarted { tool_name, summary } = event.read()?;
                self.status.begin(lines::call_line(&tool_name, summary.as_deref()), Instant::now());
            }
            EventType::ToolProgress => {
                let ToolProgress(view) = event.read()?;
                self.status.shows(lines::last_lines(&view, LIVE_LINES));
            }
            EventType::ToolCompleted | EventType::ToolFailed | EventType::ToolDenied => {
                self.tool(&CallEnd::read(event)?);
            }
            EventType::CompactStarted => {
                let started: CompactStarted = event.read()?;
                if is_waited_for(started.mode) {
                    self.status.begin(lines::SUMMARISING.to_owned(), Instant::now());
                }
            }
            // CTX-9: when turns were left out or summarised, the user sees it.
            EventType::CompactCompleted => self.note(&lines::left_out(&event.read()?)),
            EventType::CompactFailed => {
                let failed: CompactFailed = event.read()?;
                if is_waited_for(failed.mode) {
                    self.note(&lines::no_summary(&failed));
                }
            }
            EventType::CancelTimeout => self.note(lines::DID_NOT_STOP),
            EventType::ChildAgentCreated => self.child_began(&event.read()?),
            EventType::ChildAgentCancelRequested => {
                self.children.stops(&event.read::<ChildAgentCancelRequested>()?.child_run_id);
            }
            EventType::ChildAgentCompleted
            | EventType::ChildAgentFailed
            | EventType::ChildAgentCancelled
            | EventType::ChildAgentCancelTimeout => self.child_ended(event)?,
            _ => {}
        }
        Ok(())
    }

    /// On a terminal text streams; elsewhere it waits until it is known whether it is the answer.
    fn delta(&mut self, text: &str) {
        self.settle();
        self.status.end();
        self.said_at = Some(Instant::now());
        if self.output.answer_on_terminal {
            self.output.answer(text);
        } else {
            self.pending.push_str(text);
        }
    }

    fn message_completed(&mut self, completed: &MessageCompleted, node: Option<&NodeId>) {
        self.said_at = None;
        let is_answer = completed.tool_calls == Some(0);
        let pending = std::mem::take(&mut self.pending);
        self.beside_calls =
            node.filter(|_| completed.tool_calls.is_some() && !is_answer).map(|node| (node.clone(), pending.clone()));
        if self.output.answer_on_terminal {
            self.output.end_answer();
        } else if is_answer {
            self.output.answer(&pending);
        } else if !pending.trim().is_empty() {
            self.settle();
            self.output.quoted(pending.trim());
        }
    }

    fn retry(&mut self, retry: &ModelRetry) {
        self.note(&lines::retry(retry));
        self.status.begin("waiting to ask again", Instant::now());
    }

    /// A broken answer that is asked for again is marked, so that nobody takes its beginning for the answer (RUN-23).
    fn model_failed(&mut self, failed: &ModelFailed) {
        self.said_at = None;
        if failed.will_retry == Some(true) {
            self.note(&lines::broken_off(failed));
            self.status.begin(format!("waiting for {}", self.model), Instant::now());
        }
    }

    fn tool(&mut self, end: &CallEnd) {
        self.settle();
        self.denied += u64::from(end.kind == ResultKind::Denied);
        let (mark, colour, line) = lines::outcome(end);
        self.output.marked(&format!("{mark:6}"), colour, &line);
        for line in lines::tail(end) {
            self.output.bordered(lines::OUTPUT, &line);
        }
        self.status.begin(format!("waiting for {}", self.model), Instant::now());
    }

    /// Something is waited for although the run is over.
    pub(crate) fn waits_for(&mut self, what: &str) {
        self.status.begin(what, Instant::now());
    }

    /// Nothing is any more.
    pub(crate) fn waited(&mut self) {
        self.status.end();
        self.settle();
    }

    pub(crate) fn note(&mut self, line: &str) {
        self.settle();
        self.output.marked("note  ", Colour::Dim, line);
    }

    /// Where the model said nothing more behind its last calls, what it said beside them is the answer (RUN-9).
    fn answer_beside_calls(&mut self, end: &RunEnd) {
        let Some((node, text)) = self.beside_calls.take() else { return };
        if !self.output.answer_on_terminal && end.answer_node_ids.as_deref() == Some(&[node]) {
            self.output.answer(&text);
        }
    }

    /// How it ended.
    pub(crate) fn end(&mut self, result: &RunResult, last: Option<&RuntimeEvent>) {
        self.status.end();
        self.settle();
        let end = last.map(RunEnd::read);
        if let Some(Ok(end)) = &end {
            self.answer_beside_calls(end);
        }
        self.output.close_answer();
        if let Some(error) = &result.error {
            self.output.error(&describe(error));
        }
        let took = self.started.elapsed().as_secs_f64();
        if let Some(line) = lines::denied(self.denied, result.unanswered.len() as u64) {
            self.note(&line);
        }
        match end {
            Some(Ok(end)) => {
                let usage = lines::usage(&end, Some(took));
                let how = lines::how_it_ended(result.status).map(|how| format!("{how}; ")).unwrap_or_default();
                self.output.note(&format!("{how}{usage}"));
            }
            Some(Err(error)) => self.output.note(&lines::unreadable(&error)),
            None => {}
        }
    }

    /// What was kept for debugging, and how to find it.
    pub(crate) fn where_exchanges_are(&mut self, session: &SessionId) {
        self.note("what travels to and from the model server is kept (SOONG_AGENT_DEBUG); the files are listed by:");
        self.output.command("      ", &format!("soong-agent cleanup artifacts --session {session}"));
    }

    /// The session, and how to take it up again: with the words this was started by.
    pub(crate) fn how_to_go_on(&mut self, session: &SessionId, started_by: &str) {
        self.settle();
        self.output.close_answer();
        self.output.id("session ", session.as_str());
        self.output.command("go on with:", &format!("{started_by} --session-id {session} \"…\""));
    }
}

/// Whether the run waits for this summary; of one that is made beside it nothing need be said before it is there.
fn is_waited_for(mode: Option<CompactMode>) -> bool {
    mode == Some(CompactMode::Recovery)
}

#[cfg(test)]
mod tests;
