//! What people see of a run (CLI-2).

use std::time::Instant;

use agent_core::{EventType, RunResult, RuntimeEvent, SessionId, escape_for_terminal, shorten};

use crate::exit::describe;
use crate::output::{Colour, Output};
use crate::status::Status;

/// More of a call, or of what came of it, does not help to recognise it.
const MAX_COLUMNS: usize = 200;

/// Shows a run's events.
pub(crate) struct View<'o> {
    pub(crate) output: &'o mut Output,
    status: Status,
    model: String,
    started: Instant,
    /// Text of the message being written, where it must not be shown before it is known to be the answer.
    pending: String,
}

impl<'o> View<'o> {
    pub(crate) fn new(output: &'o mut Output) -> Self {
        Self {
            output,
            status: Status::new(),
            model: "the model".to_owned(),
            started: Instant::now(),
            pending: String::new(),
        }
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self) {
        if let Some(line) = self.status.line(Instant::now()) {
            self.output.status(&line);
        }
    }

    /// Wipes the status line away, before anything else is shown.
    pub(crate) fn settle(&mut self) {
        if let Some(line) = self.status.wipe() {
            self.output.status(&line);
        }
    }

    pub(crate) fn event(&mut self, event: &RuntimeEvent) {
        match event.event_type {
            EventType::LoopStarted => self.status.begin(format!("waiting for {}", self.model), Instant::now()),
            EventType::ModelStarted => {
                if let Some(model) = text(event, "model") {
                    self.model = model.to_owned();
                }
                self.status.begin(format!("{} is answering", self.model), Instant::now());
            }
            EventType::MessageDelta => self.delta(text(event, "text").unwrap_or_default()),
            EventType::MessageCompleted => self.message_completed(event),
            EventType::ModelRetry => self.retry(event),
            EventType::ModelFailed => self.model_failed(event),
            EventType::ToolStarted => {
                let what = in_line(&call_line(event));
                self.status.begin(what, Instant::now());
            }
            EventType::ToolProgress => {}
            EventType::ToolCompleted if exit_code(event) != 0 => self.tool("exit", Colour::Yellow, event),
            EventType::ToolCompleted => self.tool("ok", Colour::Green, event),
            EventType::ToolFailed if text(event, "kind") == Some("skipped") => self.skipped(event),
            EventType::ToolFailed => self.tool("failed", Colour::Red, event),
            EventType::ToolDenied => self.tool("denied", Colour::Yellow, event),
            EventType::CompactCompleted => self.left_out(event),
            EventType::CancelTimeout => {
                self.note("something did not stop in time; it can change nothing any more");
            }
            _ => {}
        }
    }

    /// On a terminal text streams; elsewhere it waits until it is known whether it is the answer.
    fn delta(&mut self, text: &str) {
        self.settle();
        self.status.end();
        if self.output.answer_on_terminal {
            self.output.answer(text);
        } else {
            self.pending.push_str(text);
        }
    }

    fn message_completed(&mut self, event: &RuntimeEvent) {
        let is_answer = event.payload.get("tool_calls").is_some_and(|calls| calls == 0);
        let pending = std::mem::take(&mut self.pending);
        if self.output.answer_on_terminal {
            self.output.end_answer();
        } else if is_answer {
            self.output.answer(&pending);
        } else if !pending.trim().is_empty() {
            self.settle();
            self.output.quoted(pending.trim());
        }
    }

    fn retry(&mut self, event: &RuntimeEvent) {
        let wait = event.payload.get("wait_ms").and_then(|wait| wait.as_u64()).unwrap_or(0);
        let said = error_message(event).unwrap_or_default();
        self.note(&format!("{said}; asking again in {:.1} s", wait as f64 / 1000.0));
        self.status.begin("waiting to ask again", Instant::now());
    }

    /// A broken answer that is asked for again is marked, so that nobody takes its beginning for the answer (RUN-23).
    fn model_failed(&mut self, event: &RuntimeEvent) {
        if event.payload.get("will_retry").is_some_and(|again| again == true) {
            let said = error_message(event).unwrap_or_default();
            self.note(&format!("the answer broke off here: {said}; asking again"));
            self.status.begin(format!("waiting for {}", self.model), Instant::now());
        }
    }

    fn tool(&mut self, mark: &str, colour: Colour, event: &RuntimeEvent) {
        self.settle();
        let mut line = in_line(&call_line(event));
        let outcome = error_message(event).or_else(|| text(event, "summary"));
        if let Some(outcome) = outcome {
            line = format!("{line}: {}", in_line(outcome.lines().next().unwrap_or_default()));
        }
        self.output.marked_wrapped(&format!("{mark:6}"), colour, &line);
        self.status.begin(format!("waiting for {}", self.model), Instant::now());
    }

    /// Why it was skipped stands right above: the call that failed or was denied.
    fn skipped(&mut self, event: &RuntimeEvent) {
        self.settle();
        self.output.marked_wrapped("skip  ", Colour::Dim, &in_line(&call_line(event)));
    }

    /// CTX-9: when turns were left out, the user sees it.
    fn left_out(&mut self, event: &RuntimeEvent) {
        let turns = event.payload.get("turns_left_out").and_then(|turns| turns.as_u64()).unwrap_or(0);
        self.note(&format!("the context window is full: {turns} earlier turns are left out from here on"));
    }

    pub(crate) fn note(&mut self, line: &str) {
        self.settle();
        self.output.marked("note  ", Colour::Dim, line);
    }

    /// How it ended.
    pub(crate) fn end(&mut self, result: &RunResult, last: Option<&RuntimeEvent>) {
        self.status.end();
        self.settle();
        if let Some(error) = &result.error {
            self.output.error(&describe(error));
        }
        if let Some(line) = last.map(|event| usage_line(event, self.started)) {
            self.output.note(&line);
        }
    }

    /// The session, and how to take it up again: with the words this was started by.
    pub(crate) fn how_to_go_on(&mut self, session: &SessionId, started_by: &str) {
        self.settle();
        self.output.note(&format!("session {session} (go on with: {started_by} --session-id {session} \"…\")"));
    }
}

fn text<'e>(event: &'e RuntimeEvent, key: &str) -> Option<&'e str> {
    event.payload.get(key).and_then(|value| value.as_str())
}

/// Of a command that ran: a code that is not 0 is a result and no failure, but nothing to call "ok" either (RUN-13).
fn exit_code(event: &RuntimeEvent) -> i64 {
    event.payload.get("metadata").and_then(|facts| facts.get("exit_code")?.as_i64()).unwrap_or(0)
}

fn error_message(event: &RuntimeEvent) -> Option<&str> {
    event.payload.get("error")?.get("message")?.as_str()
}

/// The tool and what the call does.
fn call_line(event: &RuntimeEvent) -> String {
    let tool = text(event, "tool_name").unwrap_or_default();
    // The event that begins a call says it as its summary, the one that ends it as its call.
    let call = match event.event_type {
        EventType::ToolStarted => text(event, "summary"),
        _ => text(event, "call"),
    };
    call.map_or_else(|| tool.to_owned(), |call| format!("{tool} {call}"))
}

/// Text for a part of one line: a model may call anything by any name, also by one that looks like lines of ours.
fn in_line(text: &str) -> String {
    shorten(&escape_for_terminal(text).replace('\n', "\\n").replace('\t', "\\t"), MAX_COLUMNS).into_owned()
}

fn usage_line(event: &RuntimeEvent, started: Instant) -> String {
    let turns = event.payload.get("turns").and_then(|turns| turns.as_u64()).unwrap_or(0);
    let usage = |key: &str| event.payload.get("usage").and_then(|usage| usage.get(key)).and_then(|n| n.as_u64());
    let tokens = match (usage("input_tokens"), usage("output_tokens")) {
        (None, None) => "tokens unknown".to_owned(),
        (input, output) => format!("{} tokens in, {} out", known(input), known(output)),
    };
    let cost = event.payload.get("cost").and_then(|cost| cost.as_f64());
    let cost = cost.map(|cost| format!(", cost {cost:.4}")).unwrap_or_default();
    let s = if turns == 1 { "" } else { "s" };
    format!("{turns} turn{s}, {tokens}{cost}, {:.1} s", started.elapsed().as_secs_f64())
}

fn known(count: Option<u64>) -> String {
    count.map_or_else(|| "?".to_owned(), |count| count.to_string())
}
