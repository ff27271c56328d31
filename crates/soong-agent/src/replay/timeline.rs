//! A timeline as people read it.
//!
//! Every row says at its beginning what it is: the time and a word of ours, or a border (`> ` for the user, `| ` for the
//! model) before words of others, which could be written so as to look like ours.

use agent_core::RuntimeEvent;
use agent_core::archive::{
    TimelineCall, TimelineChild, TimelineEnd, TimelineEntry, TimelineFile, TimelineOutcome, TimelineQuestion,
    TimelineStep,
};
use agent_core::error::ErrorPayload;
use agent_core::id::{NodeId, RunId, SessionId};
use agent_core::runtime::RunMode;
use agent_core::text::{escape_for_terminal, shown_path};

use super::rows::Rows;
use crate::children;
use crate::lines::{self, in_line, whole_line};
use crate::output::{Colour, Look};
use crate::size::readable;
use crate::stored::below_home;

/// Turns entries into rows.
pub(super) struct Timeline {
    /// The project: as the beginning of a path it goes without saying.
    project: String,
    /// How a session whose process ended can be gone on with.
    how_to_go_on: String,
    rows: Rows,
    /// The last error of the run that was shown; the end of the run need not repeat it.
    error: Option<String>,
    /// Rows were met that cannot be read.
    pub(super) is_damaged: bool,
    /// The end of something longer was shown.
    tails: bool,
}

/// How wide the column of marks is.
const MARKS: usize = 6;

impl Timeline {
    pub(super) fn new(look: Look, project: &str, how_to_go_on: String) -> Self {
        let rows = Rows::new(look, MARKS);
        Self { project: project.to_owned(), how_to_go_on, rows, error: None, is_damaged: false, tails: false }
    }

    /// After the last page: where all is of which only an end was shown.
    pub(super) fn end(&mut self, session: &SessionId) -> String {
        if self.tails {
            self.rows.blank();
            self.rows.dim("", "", "What a call was given and gave back is in the request of the turn after it:");
            self.rows.dim("  ", "  ", &format!("soong-agent replay {session} --run N --turn M"));
        }
        self.rows.take()
    }

    /// The rows of a page.
    pub(super) fn page(&mut self, entries: &[TimelineEntry]) -> String {
        entries.iter().for_each(|entry| self.entry(entry));
        self.rows.take()
    }

    fn entry(&mut self, entry: &TimelineEntry) {
        match &entry.step {
            TimelineStep::Began { number, purpose, mode } => self.began(entry, *number, (purpose.as_deref(), *mode)),
            TimelineStep::Branched { from_node_id, from_run } => {
                self.note(entry, &branch(from_node_id.as_ref(), *from_run));
            }
            TimelineStep::UserSaid { text, .. } => self.said("> ", text),
            TimelineStep::ModelSaid { text, .. } => self.said("| ", text),
            TimelineStep::Added { node_type, text, .. } => {
                let words = in_line(text.lines().next().unwrap_or_default());
                self.note(entry, &format!("{}: {words}", node_type.as_str()));
            }
            TimelineStep::Partial => self.note(entry, "it broke off here; a later prompt only quotes it, in a note"),
            TimelineStep::Called(call) => self.called(entry, call),
            TimelineStep::CallLost { tool_name, call, children, .. } => {
                let call = lines::call_line(tool_name, call.as_deref());
                let line = format!("{call}: began; what came of it was not stored");
                self.row(entry, "lost", Colour::Yellow, &line);
                children.iter().for_each(|child| self.child(child, "what came of it was not stored"));
            }
            TimelineStep::Asked(question) => self.asked(entry, question),
            TimelineStep::AskingFailed { message, .. } => self.note(entry, message),
            TimelineStep::Retried(retry) => self.note(entry, &lines::retry(retry)),
            TimelineStep::BrokeOff(failed) => self.note(entry, &lines::broken_off(failed)),
            TimelineStep::Compacted(completed) => self.note(entry, &lines::left_out(completed)),
            TimelineStep::CompactingFailed(failed) => self.note(entry, &lines::no_summary(failed)),
            TimelineStep::DidNotStop => self.note(entry, lines::DID_NOT_STOP),
            TimelineStep::Failed { error } => self.failed(entry, error),
            TimelineStep::Queued => self.note(entry, &format!("the next message waits: {}", run_of(entry))),
            TimelineStep::QueuedCancelled => {
                self.note(entry, &format!("a message that waited was cancelled: {}", run_of(entry)));
            }
            TimelineStep::NeverBegan { error } => {
                let why = error.as_ref().map_or("it has ended", |error| &error.message);
                self.note(entry, &format!("{}: {why}", run_of(entry)));
            }
            // Children are told below the call that asked for them.
            TimelineStep::ChildBegan(_) | TimelineStep::ChildEnded(_) => {}
            TimelineStep::Ended(end) => self.ended(entry, end),
            TimelineStep::AtWork { question, children } => {
                match question {
                    Some(question) => {
                        let line = format!("waits for an answer: {}", self.question(question));
                        self.row(entry, "now", Colour::Yellow, &line);
                    }
                    None => self.row(entry, "now", Colour::Green, "at work"),
                }
                children.iter().for_each(|child| self.child(child, "at work"));
            }
            TimelineStep::Interrupted => {
                let line = format!("interrupted: the process ended during the run; {}", self.how_to_go_on);
                self.row(entry, "end", Colour::Yellow, &line);
            }
            TimelineStep::Unreadable { message, .. } => self.row(entry, "damage", Colour::Red, &in_line(message)),
            TimelineStep::Damaged { message } => {
                self.is_damaged = true;
                self.row(entry, "damage", Colour::Red, &in_line(message));
            }
            TimelineStep::Event { event } => {
                let line = format!("{} {}", event.event_type.as_str(), payload(event));
                self.row(entry, "debug", Colour::Dim, &line);
            }
            TimelineStep::OtherAgent { event } => {
                let line = format!("{} {} {}", run_of(entry), event.event_type.as_str(), payload(event));
                self.row(entry, "other", Colour::Dim, &line);
            }
        }
    }

    fn began(&mut self, entry: &TimelineEntry, number: Option<u64>, what: (Option<&str>, Option<RunMode>)) {
        self.error = None;
        if let (Some(run_id), Some(at)) = (&entry.run_id, &entry.at) {
            self.rows.run(number, run_id, at, what);
        }
    }

    fn said(&mut self, border: &str, text: &str) {
        for line in escape_for_terminal(text.trim_end()).split('\n') {
            self.rows.push(border, border, line, |_, row| row.to_owned());
        }
    }

    fn called(&mut self, entry: &TimelineEntry, call: &TimelineCall) {
        let (mark, colour, line) = lines::outcome(&call.end);
        self.row(entry, mark, colour, &line);
        for line in lines::tail(&call.end) {
            self.tails = true;
            self.rows.push(lines::OUTPUT, lines::OUTPUT, &line, |_, row| row.to_owned());
        }
        call.children.iter().for_each(|child| self.child(child, "what came of it was not stored"));
        for TimelineFile { path, size_bytes, .. } in &call.files {
            let path = whole_line(&below_home(&shown_path(path)));
            self.rows.row(None, "file", Some(Colour::Dim), &format!("{}: {path}", readable(*size_bytes)));
        }
    }

    /// A child, set in below its call: who it is, how it ended, what that took, and the run that tells what it did.
    fn child(&mut self, child: &TimelineChild, without_end: &str) {
        let created = &child.created;
        let mut line = in_line(children::name(created));
        if let Some(task) = &created.task_id {
            line.push_str(&format!(" (task {task})"));
        }
        let colour = match &child.end {
            None => {
                line.push_str(&format!(": {without_end}"));
                Colour::Yellow
            }
            Some(end) => {
                line.push_str(&format!(" {}", end.status.as_str()));
                if let Some(error) = &end.error {
                    line.push_str(&format!(": {}", in_one(&error.message)));
                }
                if let Some((step, status)) = end.step_id.as_ref().zip(end.step_status) {
                    line.push_str(&format!("; step {step} is {status}"));
                }
                let seconds = child.duration_ms.map(|millis| millis as f64 / 1000.0);
                line.push_str(&format!("; {}", children::took(end.turns, &end.usage, seconds)));
                children::colour(end.status)
            }
        };
        self.rows.child("agent", colour, &line);
        let asked = created.asked.as_deref().map(|asked| format!("  {}", in_line(asked))).unwrap_or_default();
        self.rows.child("", Colour::Dim, &format!("{}{asked}", created.child_run_id));
    }

    fn asked(&mut self, entry: &TimelineEntry, question: &TimelineQuestion) {
        let asked = self.question(question);
        let answer = question.decision.map_or_else(
            || "not answered".to_owned(),
            |decision| {
                let reason = question.reason.as_deref().map(|reason| format!(" ({})", in_line(reason)));
                format!("{}{}", decision.as_str().replace('_', " "), reason.unwrap_or_default())
            },
        );
        self.row(entry, "asked", Colour::Yellow, &format!("{asked}: {answer}"));
    }

    fn question(&self, question: &TimelineQuestion) -> String {
        let Some(tool) = &question.tool_name else { return "a call".to_owned() };
        lines::question(tool, question.targets.iter().map(String::as_str), &self.project)
    }

    fn failed(&mut self, entry: &TimelineEntry, error: &ErrorPayload) {
        self.row(entry, "error", Colour::Red, &in_one(&error.message));
        self.error = Some(error.message.clone());
    }

    fn ended(&mut self, entry: &TimelineEntry, end: &TimelineEnd) {
        let shown = self.error.take();
        let (colour, what) = match end.outcome {
            TimelineOutcome::Interrupted => {
                // When that was found out says nothing about the run.
                let line = "interrupted: the process ended during the run";
                return self.rows.row(None, "end", Some(Colour::Yellow), line);
            }
            TimelineOutcome::Completed => (Colour::Green, "completed"),
            TimelineOutcome::Cancelled => (Colour::Yellow, "cancelled"),
            TimelineOutcome::Failed => (Colour::Red, "failed"),
        };
        let error = end.end.error.as_ref().filter(|_| end.outcome == TimelineOutcome::Failed);
        let why = error.map(|error| &error.message).filter(|error| shown.as_ref() != Some(error));
        let why = why.map(|error| format!(": {}", in_one(error))).unwrap_or_default();
        let took = end.duration_ms.map(|millis| millis as f64 / 1000.0);
        self.row(entry, "end", colour, &format!("{what}{why}; {}", lines::usage(&end.end, took)));
    }

    fn note(&mut self, entry: &TimelineEntry, line: &str) {
        self.row(entry, "note", Colour::Dim, &in_one(line));
    }

    /// A row with the time, as far as there is one, and a word that says what it is about.
    fn row(&mut self, entry: &TimelineEntry, mark: &str, colour: Colour, line: &str) {
        self.rows.row(entry.since_start_ms, mark, Some(colour), line);
    }
}

/// Where another branch begins, and on what it goes on.
fn branch(from: Option<&NodeId>, run: Option<u64>) -> String {
    let from = match (from, run) {
        (Some(node), Some(number)) => format!("{node}, in run {number}"),
        (Some(node), None) => node.to_string(),
        (None, _) => "nothing".to_owned(),
    };
    format!("another branch begins here: it goes on from {from}")
}

/// A text as a part of one row, whole: it is worth its length.
fn in_one(text: &str) -> String {
    text.replace('\n', "\\n").replace('\t', "\\t")
}

fn run_of(entry: &TimelineEntry) -> &str {
    entry.run_id.as_ref().map_or("a run", RunId::as_str)
}

fn payload(event: &RuntimeEvent) -> String {
    serde_json::to_string(&event.payload).unwrap_or_default()
}

#[cfg(test)]
mod tests;
