//! From events to entries. In memory is what has begun and not ended: a run, a request, a summary.

use agent_protocol::{
    CompactCompleted, CompactFailed, CompactStarted, ContextBuilt, EventType, LoopStarted, ModelCompleted, ModelFailed,
    PayloadError, RunEnd, RunId, RunMode, RuntimeEvent,
};

use super::entry::{
    CompactionBegun, CompactionOutcome, CompactionReport, ContextEnd, ContextEntry, ContextRun, RequestOutcome,
    RequestReport, UnreadableEvent,
};
use super::request::RequestContext;

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

    /// What an event adds to the report. One that cannot be read is told as such, and the report goes on.
    pub(super) fn take(&mut self, event: &RuntimeEvent, entries: &mut Vec<ContextEntry>) {
        if let Err(error) = self.read(event, entries) {
            let (run_id, at) = (event.run_id.clone(), event.created_at.clone());
            entries.push(ContextEntry::Unreadable(Box::new(UnreadableEvent { run_id, at, error })));
        }
    }

    fn read(&mut self, event: &RuntimeEvent, entries: &mut Vec<ContextEntry>) -> Result<(), PayloadError> {
        match event.event_type {
            EventType::LoopStarted => self.begin(event, entries)?,
            EventType::ContextBuilt => self.asked(event, entries)?,
            EventType::ModelCompleted => {
                let ModelCompleted { usage, prompt_tokens_expected: expected, .. } = event.read()?;
                self.answered(event, RequestOutcome::Replied { usage, expected }, entries);
            }
            EventType::ModelFailed => {
                let failed: ModelFailed = event.read()?;
                let asked_again = failed.will_retry == Some(true);
                self.answered(event, RequestOutcome::Failed { error: failed.error.message, asked_again }, entries);
            }
            EventType::CompactStarted => self.summarising(event, entries)?,
            EventType::CompactCompleted => self.compacted(event, event.read()?, entries),
            EventType::CompactFailed => self.not_compacted(event, event.read()?, entries),
            EventType::LoopCompleted | EventType::LoopAborted | EventType::LoopFailed => self.ended(event, entries)?,
            _ => {}
        }
        Ok(())
    }

    /// What has no end.
    pub(super) fn end(&mut self, entries: &mut Vec<ContextEntry>) {
        self.settle(entries);
        self.summary_lost(entries);
    }

    fn begin(&mut self, event: &RuntimeEvent, entries: &mut Vec<ContextEntry>) -> Result<(), PayloadError> {
        let Some(run_id) = &event.run_id else { return Ok(()) };
        self.settle(entries);
        let LoopStarted { purpose, mode, .. } = event.read()?;
        self.runs += u64::from(purpose.is_none());
        self.run = Some(run_id.clone());
        self.turn = None;
        entries.push(ContextEntry::Run(ContextRun {
            run_id: run_id.clone(),
            number: (self.whole && purpose.is_none()).then_some(self.runs),
            mode: purpose.is_none().then(|| mode.unwrap_or(RunMode::Normal)),
            purpose,
            at: event.created_at.clone(),
        }));
        Ok(())
    }

    fn asked(&mut self, event: &RuntimeEvent, entries: &mut Vec<ContextEntry>) -> Result<(), PayloadError> {
        let Some(run_id) = &event.run_id else { return Ok(()) };
        self.settle(entries);
        let context = RequestContext::from(event.read::<ContextBuilt>()?);
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
        Ok(())
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

    fn summarising(&mut self, event: &RuntimeEvent, entries: &mut Vec<ContextEntry>) -> Result<(), PayloadError> {
        self.summary_lost(entries);
        let CompactStarted { mode, tokens_before, turns, .. } = event.read()?;
        self.summary = Some(Begun {
            by: event.run_id.clone(),
            mode: mode.map(|mode| mode.as_str().to_owned()),
            what: CompactionBegun { at: event.created_at.clone(), tokens_before, turns },
        });
        Ok(())
    }

    fn compacted(&mut self, event: &RuntimeEvent, completed: CompactCompleted, entries: &mut Vec<ContextEntry>) {
        // The window may slide while a summary is being made.
        let is_summary = matches!(completed, CompactCompleted::Summary { .. });
        let begun = if is_summary { self.summary.take() } else { None };
        let report = CompactionReport::completed(event, completed, begun.map(|begun| begun.what));
        entries.push(ContextEntry::Compaction(Box::new(report)));
    }

    fn not_compacted(&mut self, event: &RuntimeEvent, failed: CompactFailed, entries: &mut Vec<ContextEntry>) {
        let (begun, mode) = self.summary.take().map(|begun| (begun.what, begun.mode)).unzip();
        let outcome = CompactionOutcome::Failed { error: failed.error.message };
        let mut report = CompactionReport::of(event, failed.mode, begun, outcome);
        report.mode = report.mode.or(mode.flatten());
        entries.push(ContextEntry::Compaction(Box::new(report)));
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

    fn ended(&mut self, event: &RuntimeEvent, entries: &mut Vec<ContextEntry>) -> Result<(), PayloadError> {
        // A run that waited and never began has an end all the same.
        let Some(run_id) = self.run.take_if(|run| event.run_id.as_ref() == Some(run)) else { return Ok(()) };
        self.settle(entries);
        let end = RunEnd::read(event)?;
        entries.push(ContextEntry::End(Box::new(ContextEnd {
            run_id,
            at: event.created_at.clone(),
            event_type: event.event_type,
            turns: end.turns.map(u64::from),
            interrupted: end.was_interrupted(),
            error: end.error.map(|error| error.message),
            estimates: end.estimates,
        })));
        Ok(())
    }
}
