//! From gathered sources to a request: the epoch it belongs to, its report, and room where it does not fit.

use agent_protocol::{EndReason, ErrorPayload, EventDraft, EventType, RunId};

use super::{Counts, Effect, Out, Phase, RequestNo, Run, Sources, ending};
use crate::compose::{ContextReport, Window, compose, request_metadata};
use crate::report::{ContextBuilt, EpochPart};
use crate::tokens::Calibration;

/// Which stretch of append-only requests this is, and why it began (PRV-15).
#[derive(Debug, Default)]
pub(super) struct Epoch {
    pub(super) number: u32,
    because: &'static str,
    /// What was last reported of it in full, and with which request.
    reported: Option<(RequestNo, EpochPart)>,
}

impl Epoch {
    pub(super) fn begin(&mut self, because: &'static str) {
        *self = Self { number: self.number + 1, because, reported: None };
    }

    fn has_requests(&self) -> bool {
        self.reported.is_some()
    }

    /// The report of the request that has just been counted. What its epoch has in common it says in full once, and again
    /// only where something changed.
    fn report(
        &mut self,
        sources: &Sources,
        window: Window,
        report: ContextReport,
        calibration: Calibration,
        counts: &Counts,
        run_id: &RunId,
    ) -> ContextBuilt {
        let reported = self
            .reported
            .as_ref()
            .filter(|(_, part)| part.is_of(sources, report.marker.as_ref()))
            .map(|(request, _)| *request);
        let epoch_part =
            reported.is_none().then(|| EpochPart::of(sources, window, report.marker.as_ref(), self.because));
        if let Some(part) = &epoch_part {
            self.reported = Some((counts.request, part.clone()));
        }
        ContextBuilt {
            turn: counts.turns,
            request: counts.request,
            epoch: self.number,
            epoch_part,
            epoch_part_of_request: reported,
            compaction_node_id: report.compaction,
            first_kept_node_id: report.first_kept,
            squeeze: window.squeeze,
            pinned_node_ids: report.pinned,
            last_node_id: report.last,
            nodes_in: report.nodes_in,
            nodes_out: report.nodes_out,
            turns_out: report.turns_out,
            turns_summarised: report.turns_summarised,
            results_shortened: report.results_shortened,
            message_tokens: report.message_tokens,
            system_tokens: report.system_tokens,
            request_tokens: report.request_tokens,
            calibration: calibration.ratio(),
            call_id_prefix: run_id.tool_call(counts.calls),
            tail: sources.tail.clone(),
        }
    }
}

impl Run {
    /// The border of a turn: a summary that is ready joins the path here and nowhere else.
    pub(super) fn gather(&mut self, out: &mut Out) {
        if self.write_summary(out) {
            return self.gather_anew(out);
        }
        if !matches!(self.phase, Phase::Ending { .. }) {
            self.phase = Phase::Gathering;
            out.effect(Effect::Gather { fresh: false });
        }
    }

    /// The same where an epoch begins.
    pub(super) fn gather_anew(&mut self, out: &mut Out) {
        self.phase = Phase::Gathering;
        out.effect(Effect::Gather { fresh: true });
    }

    /// The first gathering of a run.
    pub(super) fn begin_gathering(&mut self, out: &mut Out) {
        self.gather_anew(out);
    }

    pub(super) fn on_sources(&mut self, sources: Sources, out: &mut Out) {
        if !matches!(self.phase, Phase::Gathering) {
            return;
        }
        if self.counts.turns >= self.limits.max_turns {
            let error = ending::max_turns(self.limits.max_turns);
            return self.conclude(EndReason::MaxTurns, Some(error), out);
        }
        if let Some(error) = self.limits.over_budget(&self.usage) {
            return self.conclude(EndReason::Failed, Some(error), out);
        }
        self.note_epoch(&sources);
        self.sources = Some(sources);
        self.ask(out);
    }

    pub(super) fn on_sources_failed(&mut self, error: ErrorPayload, out: &mut Out) {
        if matches!(self.phase, Phase::Gathering) {
            self.conclude(EndReason::Failed, Some(error), out);
        }
    }

    /// A changed fixed part begins a new epoch; which of them changed is for the report.
    fn note_epoch(&mut self, sources: &Sources) {
        match &self.sources {
            None => self.epoch.begin("run_start"),
            // Where an epoch has begun for another reason, it is that one's sources that have changed.
            Some(before) if !before.same_fixed_part(sources) && self.epoch.has_requests() => {
                self.epoch.begin("sources_changed");
            }
            Some(_) => {}
        }
    }

    /// Composes and asks, or makes room first.
    pub(super) fn ask(&mut self, out: &mut Out) {
        let Some(sources) = &self.sources else { return };
        match compose(&self.path, sources, self.window, self.calibration) {
            Ok((mut request, report)) => {
                self.counts.turns += 1;
                let number = self.counts.request.next();
                self.counts.request = number;
                let tokens = report.message_tokens;
                self.phase = Phase::Streaming { estimated: report.message_tokens + report.system_tokens };
                let built =
                    self.epoch.report(sources, self.window, report, self.calibration, &self.counts, &self.run_id);
                request.metadata = request_metadata(&built.call_id_prefix);
                let mut event = EventDraft::new(EventType::ContextBuilt);
                event.payload = built.payload();
                out.event(event);
                // The request is what starts; nothing is stored again until there is an answer.
                out.event(
                    EventDraft::new(EventType::ModelStarted)
                        .with("model", request.model.as_str())
                        .with("request", number.0)
                        .with("turn", self.counts.turns),
                );
                out.effect(Effect::CallModel { request: number, body: Box::new(request) });
                self.compact_beside(tokens, out);
            }
            Err(overflow) => self.make_room(overflow, self.budgets(sources).slide_to(), None, out),
        }
    }
}
