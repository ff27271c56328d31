//! From events to entries. In memory is what has begun and not ended: a run, a request, a summary.

use agent_protocol::{EventType, RunId, RuntimeEvent};
use serde_json::Value;

use super::entry::{
    CompactionBegun, CompactionOutcome, CompactionReport, ContextEnd, ContextEntry, ContextRun, RequestOutcome,
    RequestReport, error, part,
};
use super::request::{RequestContext, number, text};

/// Reads events in their order.
#[derive(Debug, Default)]
pub(super) struct Fold {
    /// Runs are counted: the events begin with the session.
    whole: bool,
    runs: u64,
    /// The run that is at work.
    run: Option<RunId>,
    /// Its last turn.
    turn: Option<u32>,
    request: Option<Box<RequestReport>>,
    /// A path has one summary under way at most.
    summary: Option<Begun>,
}

#[derive(Debug)]
struct Begun {
    by: Option<RunId>,
    mode: Option<String>,
    what: CompactionBegun,
}

impl Fold {
    /// `whole`: the events begin with the session, so runs can be counted.
    pub(super) fn new(whole: bool) -> Self {
        Self { whole, ..Self::default() }
    }

    /// What an event adds to the report.
    pub(super) fn take(&mut self, event: &RuntimeEvent, entries: &mut Vec<ContextEntry>) {
        match event.event_type {
            EventType::LoopStarted => self.begin(event, entries),
            EventType::ContextBuilt => self.asked(event, entries),
            EventType::ModelCompleted => {
                let usage = part(&event.payload, "usage").unwrap_or_default();
                let expected = number(&event.payload, "prompt_tokens_expected");
                self.answered(event, RequestOutcome::Replied { usage, expected }, entries);
            }
            EventType::ModelFailed => {
                let asked_again = event.payload.get("will_retry").is_some_and(|again| again == true);
                self.answered(event, RequestOutcome::Failed { error: error(event), asked_again }, entries);
            }
            EventType::CompactStarted => self.summarising(event, entries),
            EventType::CompactCompleted | EventType::CompactFailed => self.compacted(event, entries),
            EventType::LoopCompleted | EventType::LoopAborted | EventType::LoopFailed => self.ended(event, entries),
            _ => {}
        }
    }

    /// What has no end.
    pub(super) fn end(&mut self, entries: &mut Vec<ContextEntry>) {
        self.settle(entries);
        self.summary_lost(entries);
    }

    fn begin(&mut self, event: &RuntimeEvent, entries: &mut Vec<ContextEntry>) {
        let Some(run_id) = &event.run_id else { return };
        self.settle(entries);
        let purpose = text(&event.payload, "purpose");
        self.runs += u64::from(purpose.is_none());
        self.run = Some(run_id.clone());
        self.turn = None;
        entries.push(ContextEntry::Run(ContextRun {
            run_id: run_id.clone(),
            number: (self.whole && purpose.is_none()).then_some(self.runs),
            purpose,
            at: event.created_at.clone(),
        }));
    }

    fn asked(&mut self, event: &RuntimeEvent, entries: &mut Vec<ContextEntry>) {
        let Some(run_id) = &event.run_id else { return };
        self.settle(entries);
        let context = RequestContext::read(&event.payload);
        let again = context.turn.is_some() && context.turn == self.turn;
        self.turn = context.turn;
        self.request = Some(Box::new(RequestReport {
            run_id: run_id.clone(),
            at: event.created_at.clone(),
            context,
            pinned: Vec::new(),
            again,
            outcome: RequestOutcome::Open,
        }));
    }

    fn answered(&mut self, event: &RuntimeEvent, outcome: RequestOutcome, entries: &mut Vec<ContextEntry>) {
        if let Some(mut request) = self.request.take_if(|request| event.run_id.as_ref() == Some(&request.run_id)) {
            request.outcome = outcome;
            entries.push(ContextEntry::Request(request));
        }
    }

    /// A request that nothing came of.
    fn settle(&mut self, entries: &mut Vec<ContextEntry>) {
        entries.extend(self.request.take().map(ContextEntry::Request));
    }

    fn summarising(&mut self, event: &RuntimeEvent, entries: &mut Vec<ContextEntry>) {
        self.summary_lost(entries);
        self.summary = Some(Begun {
            by: event.run_id.clone(),
            mode: text(&event.payload, "mode"),
            what: CompactionBegun {
                at: event.created_at.clone(),
                tokens_before: number(&event.payload, "tokens_before"),
                turns: number(&event.payload, "turns"),
            },
        });
    }

    fn compacted(&mut self, event: &RuntimeEvent, entries: &mut Vec<ContextEntry>) {
        // The window may slide while a summary is being made.
        let is_slide = event.event_type == EventType::CompactCompleted
            && event.payload.get("kind").is_none_or(|kind| kind != "summary");
        let begun = if is_slide { None } else { self.summary.take() };
        let begun = begun.map(|begun| (begun.what, begun.mode));
        entries.push(ContextEntry::Compaction(Box::new(CompactionReport::of(event, begun))));
    }

    fn summary_lost(&mut self, entries: &mut Vec<ContextEntry>) {
        let Some(Begun { by, mode, what }) = self.summary.take() else { return };
        entries.push(ContextEntry::Compaction(Box::new(CompactionReport {
            run_id: by,
            at: what.at.clone(),
            mode,
            begun: Some(what),
            outcome: CompactionOutcome::Open,
        })));
    }

    fn ended(&mut self, event: &RuntimeEvent, entries: &mut Vec<ContextEntry>) {
        // A run that waited and never began has an end all the same.
        let Some(run_id) = self.run.take_if(|run| event.run_id.as_ref() == Some(run)) else { return };
        self.settle(entries);
        entries.push(ContextEntry::End(Box::new(ContextEnd {
            run_id,
            at: event.created_at.clone(),
            event_type: event.event_type,
            turns: number(&event.payload, "turns"),
            error: error(event),
            interrupted: event.payload.get("error").and_then(|error| error.get("details")?.get("kind"))
                == Some(&Value::from("interrupted")),
            estimates: part(&event.payload, "estimates"),
        })));
    }
}
