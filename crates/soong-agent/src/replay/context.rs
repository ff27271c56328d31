//! What went into every request and what was left out, as people read it (CTX-1, CTX-9).

mod block;
mod table;

use agent_core::EventType;
use agent_core::archive::{
    CompactionOutcome, CompactionReport, ContextEnd, ContextEntry, ContextRun, Estimates, RequestOutcome,
    RequestReport, UnreadableEvent,
};
use agent_core::event::Timestamp;
use agent_core::id::RunId;

use super::rows::Rows;
use crate::lines::{self, counted, in_line};
use crate::moment;
use crate::output::{Colour, Look};
use block::{Told, short};

/// In the column of times.
const BESIDE: &str = "       ";

/// The mark where there is no summary.
const NONE: &str = "none";

/// How wide the column of marks is.
const MARKS: usize = 8;

/// Turns entries into rows.
pub(super) struct Contexts {
    rows: Rows,
    run: Option<Current>,
    /// What has been told of the epoch, so that only news is.
    told: Told,
    /// Rows were met that cannot be read.
    pub(super) is_damaged: bool,
}

/// What became of a run whose end is not in the report.
pub(super) enum Ending {
    /// There is an end.
    Nothing,
    /// It has not ended yet.
    AtWork,
    /// Its process ended; how the session can be gone on with.
    Interrupted(String),
}

/// The run that the rows belong to, also when it has ended: a summary may come after it.
struct Current {
    run_id: RunId,
    started: Option<u64>,
    open: bool,
}

impl Contexts {
    pub(super) fn new(look: Look) -> Self {
        Self { rows: Rows::new(look, MARKS), run: None, told: Told::default(), is_damaged: false }
    }

    /// What the columns are.
    pub(super) fn legend(&mut self) -> String {
        self.rows.blank();
        for (columns, meaning) in table::LEGEND {
            self.rows.dim(&format!("{columns:9} "), "          ", meaning);
        }
        self.rows.take()
    }

    /// The rows of a page.
    pub(super) fn page(&mut self, entries: &[ContextEntry]) -> String {
        for entry in entries {
            match entry {
                ContextEntry::Run(run) => self.begin(run),
                ContextEntry::Request(request) => self.request(request),
                ContextEntry::Compaction(compaction) => self.compaction(compaction),
                ContextEntry::End(end) => self.ended(end),
                ContextEntry::Unreadable(event) => self.unreadable(event),
                ContextEntry::Damaged { message } => {
                    self.is_damaged = true;
                    self.rows.row(None, "damage", Some(Colour::Red), &in_line(message));
                }
            }
        }
        self.rows.take()
    }

    /// The last rows.
    pub(super) fn end(&mut self, ending: &Ending) -> String {
        match (ending, self.run.as_ref().is_some_and(|run| run.open)) {
            (_, false) | (Ending::Nothing, _) => {}
            (Ending::AtWork, true) => self.rows.row(None, "now", Some(Colour::Green), "at work"),
            (Ending::Interrupted(how), true) => {
                let line = format!("interrupted: the process ended during the run; {how}");
                self.rows.row(None, "end", Some(Colour::Yellow), &line);
            }
        }
        self.rows.take()
    }

    fn begin(&mut self, run: &ContextRun) {
        self.rows.run(run.number, &run.run_id, &run.at, (run.purpose.as_deref(), run.mode));
        self.run = Some(Current { run_id: run.run_id.clone(), started: moment::millis(&run.at), open: true });
        self.told.run();
    }

    fn request(&mut self, request: &RequestReport) {
        let time = self.since_start(&request.at);
        let news = self.told.news(request);
        let begins = news.first().is_some_and(|(mark, _)| *mark == block::EPOCH);
        for (at, (mark, line)) in news.iter().enumerate() {
            let colour = if *mark == block::LEFT_OUT { Colour::Yellow } else { Colour::Dim };
            let colour = Some(colour).filter(|_| !mark.is_empty());
            self.rows.row(time.filter(|_| begins && at == 0), mark, colour, line);
        }
        if !news.is_empty() {
            self.rows.dim(BESIDE, BESIDE, table::HEADER);
        }
        let time = format!("{:>5}  ", time.map(moment::into).unwrap_or_default());
        self.rows.push(&time, BESIDE, &table::row(request, self.told.window()), |_, row| row.to_owned());
        match &request.outcome {
            RequestOutcome::Replied { expected: Some(expected), .. } => {
                let line = format!(
                    "about {expected} expected: the server cut the prompt, or did not count what it had cached"
                );
                self.rows.row(None, "odd", Some(Colour::Yellow), &line);
            }
            RequestOutcome::Failed { error, asked_again } => {
                let line = format!("{}{}", in_line(error), if *asked_again { "; asked again" } else { "" });
                self.rows.row(None, "failed", Some(Colour::Red), &line);
            }
            RequestOutcome::Open | RequestOutcome::Replied { .. } => {}
        }
    }

    fn compaction(&mut self, compaction: &CompactionReport) {
        let time = self.since_start(&compaction.at);
        let (mark, colour, line) = compacted(compaction);
        self.rows.row(time, mark, Some(colour), &line);
    }

    fn ended(&mut self, end: &ContextEnd) {
        let why = end.error.as_deref().filter(|_| end.event_type == EventType::LoopFailed);
        let why = why.map(|why| format!(": {}", in_line(why))).unwrap_or_default();
        let (colour, what) = match end.event_type {
            _ if end.interrupted => (Colour::Yellow, "interrupted: the process ended during the run".to_owned()),
            EventType::LoopCompleted => (Colour::Green, "completed".to_owned()),
            EventType::LoopAborted => (Colour::Yellow, "cancelled".to_owned()),
            _ => (Colour::Red, format!("failed{why}")),
        };
        let turns = end.turns.map(|turns| format!("; {}", counted(turns, "turn"))).unwrap_or_default();
        let time = self.since_start(&end.at).filter(|_| !end.interrupted);
        self.rows.row(time, "end", Some(colour), &format!("{what}{turns}"));
        if let Some(estimates) = &end.estimates {
            self.rows.row(None, "estimate", Some(Colour::Dim), &estimated(estimates));
        }
        if let Some(run) = self.run.as_mut().filter(|run| run.run_id == end.run_id) {
            run.open = false;
        }
    }

    fn unreadable(&mut self, event: &UnreadableEvent) {
        let time = self.since_start(&event.at);
        self.rows.row(time, "damage", Some(Colour::Red), &lines::unreadable(&event.error));
    }

    fn since_start(&self, moment: &Timestamp) -> Option<u64> {
        Some(moment::millis(moment)?.saturating_sub(self.run.as_ref()?.started?))
    }
}

/// What came of a compaction: mark, colour, words.
fn compacted(compaction: &CompactionReport) -> (&'static str, Colour, String) {
    let made = made(compaction);
    match &compaction.outcome {
        CompactionOutcome::Summary { node_id, turns, tokens_before, tokens_after, cut } => {
            let node = node_id.as_ref().map(|node| format!(" in {}", short(node))).unwrap_or_default();
            let tokens = became(*tokens_before, *tokens_after);
            let cut = if *cut { ", cut at its limit" } else { "" };
            ("summary", Colour::Green, format!("{}{node}: {tokens}{cut}{made}", turns_of(*turns)))
        }
        CompactionOutcome::Slide { turns, tokens_before, tokens_after, .. } => {
            let tokens = became(*tokens_before, *tokens_after);
            ("slide", Colour::Yellow, format!("the window is full: {} left out, {tokens}", turns_of(*turns)))
        }
        CompactionOutcome::Squeeze { .. } => ("slide", Colour::Yellow, lines::SQUEEZED.to_owned()),
        CompactionOutcome::Failed { error } => (NONE, Colour::Yellow, format!("{}{made}", in_line(error))),
        CompactionOutcome::Open => {
            let of = turns_of(compaction.begun.as_ref().and_then(|begun| begun.turns));
            (NONE, Colour::Yellow, format!("what came of the summary of {of} is not stored here{made}"))
        }
    }
}

/// Who asked, and how long it took.
fn made(compaction: &CompactionReport) -> String {
    let who = match compaction.mode.as_deref() {
        Some("background") => "; in the background".to_owned(),
        Some("at_end") => "; at the end of a run".to_owned(),
        Some("recovery") => "; in need".to_owned(),
        Some(other) => format!("; {}", in_line(other)),
        None => String::new(),
    };
    let began = compaction.begun.as_ref().and_then(|begun| moment::millis(&begun.at));
    let ended = moment::millis(&compaction.at).filter(|_| !matches!(compaction.outcome, CompactionOutcome::Open));
    match (began, ended) {
        (Some(began), Some(ended)) => format!("{who}, {:.1} s", ended.saturating_sub(began) as f64 / 1000.0),
        _ => who,
    }
}

fn turns_of(turns: Option<u64>) -> String {
    turns.map_or_else(|| "earlier turns".to_owned(), |turns| counted(turns, "turn"))
}

fn became(before: Option<u64>, after: Option<u64>) -> String {
    match (before, after) {
        (Some(before), Some(after)) => format!("{before} tokens became {after}"),
        _ => "tokens unknown".to_owned(),
    }
}

/// How far the estimates of a run were off (CTX-7).
fn estimated(estimates: &Estimates) -> String {
    let percent = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), |value| format!("{value:.1}%"));
    let factor = estimates.calibration.map(|factor| format!(", factor {factor:.3}")).unwrap_or_default();
    format!(
        "{} off ({} uncalibrated), at most {}, at last {}; {}{factor}",
        percent(estimates.mean_error_percent),
        percent(estimates.mean_error_uncalibrated_percent),
        percent(estimates.worst_error_percent),
        percent(estimates.last_error_percent),
        counted(estimates.calls, "request"),
    )
}

#[cfg(test)]
mod tests;
