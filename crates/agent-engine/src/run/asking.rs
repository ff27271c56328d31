//! From gathered sources to a request: the epoch it belongs to, its report, and room where it does not fit.

use agent_protocol::{EndReason, ErrorPayload, EventDraft, EventType, RunId};

use super::{Counts, Effect, JobNo, Out, Phase, Relief, RequestNo, Run, Sources, Target, ending};
use crate::compose::{ContextReport, CutPlan, Overflow, compose, plan_cut, request_metadata};
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
    fn begin(&mut self, because: &'static str) {
        *self = Self { number: self.number + 1, because, reported: None };
    }

    /// The report of the request that has just been counted. What its epoch has in common it says in full once, and again
    /// only where something changed.
    fn report(
        &mut self,
        sources: &Sources,
        report: ContextReport,
        calibration: Calibration,
        counts: &Counts,
        run_id: &RunId,
    ) -> ContextBuilt {
        let reported = self.reported.as_ref().filter(|(_, part)| part.is_of(sources)).map(|(request, _)| *request);
        let epoch_part = reported.is_none().then(|| EpochPart::of(sources, self.because));
        if let Some(part) = &epoch_part {
            self.reported = Some((counts.request, part.clone()));
        }
        ContextBuilt {
            turn: counts.turns,
            request: counts.request,
            epoch: self.number,
            epoch_part,
            epoch_part_of_request: reported,
            first_kept_node_id: report.first_kept,
            last_node_id: report.last,
            nodes_in: report.nodes_in,
            nodes_out: report.nodes_out,
            turns_out: report.turns_out,
            results_shortened: report.results_shortened,
            message_tokens: report.message_tokens,
            request_tokens: report.request_tokens,
            calibration: calibration.ratio(),
            call_id_prefix: run_id.tool_call(counts.calls),
            tail: sources.tail.clone(),
        }
    }
}

impl Run {
    pub(super) fn gather(&mut self, out: &mut Out) {
        self.phase = Phase::Gathering;
        out.effect(Effect::Gather);
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

    /// A changed fixed part begins a new epoch; which of them changed is for the report.
    fn note_epoch(&mut self, sources: &Sources) {
        match &self.sources {
            None => self.epoch.begin("run_start"),
            Some(before) if !before.same_fixed_part(sources) => self.epoch.begin("sources_changed"),
            Some(_) => {}
        }
    }

    /// Composes and asks, or makes room first.
    fn ask(&mut self, out: &mut Out) {
        let Some(sources) = &self.sources else { return };
        match compose(&self.path, sources, self.window, self.calibration) {
            Ok((mut request, report)) => {
                self.counts.turns += 1;
                let number = self.counts.request.next();
                self.counts.request = number;
                self.phase = Phase::Streaming { estimated: report.message_tokens + sources.budgets.fixed };
                let built = self.epoch.report(sources, report, self.calibration, &self.counts, &self.run_id);
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
            }
            Err(overflow) => self.make_room(overflow, sources.budgets.slide_to(), None, out),
        }
    }

    /// Plans a cut, or ends the run where nothing is left to drop.
    pub(super) fn make_room(&mut self, overflow: Overflow, keep: u64, said: Option<&ErrorPayload>, out: &mut Out) {
        let Some(sources) = &self.sources else { return };
        match self.room_plan(sources, keep) {
            Some(plan) => {
                self.counts.overflows += 1;
                self.counts.job = self.counts.job.next();
                let job = self.counts.job;
                out.event(
                    EventDraft::new(EventType::CompactStarted)
                        .with("needed", overflow.needed)
                        .with("available", overflow.available),
                );
                out.effect(Effect::Relieve { job, plan: plan.clone() });
                self.phase = Phase::Recovering { job, plan };
            }
            _ => {
                let error = ending::prompt_too_long(overflow, sources.budgets.window, said);
                self.conclude(EndReason::PromptTooLong, Some(error), out);
            }
        }
    }

    /// What to drop so that no more than this is kept; none where nothing is left to drop, or it was tried often enough.
    pub(super) fn room_plan(&self, sources: &Sources, keep: u64) -> Option<CutPlan> {
        if self.counts.overflows >= self.limits.overflows {
            return None;
        }
        // The plan counts in estimates, the budget in the provider's tokens.
        plan_cut(&self.path, self.window, sources.budgets.results_of_a_turn(), self.calibration.fits(keep))
    }

    pub(super) fn on_relief(&mut self, job: JobNo, result: Result<Relief, ErrorPayload>, out: &mut Out) {
        if self.drained(&Target::Job(job), out) {
            return;
        }
        let Phase::Recovering { job: current, plan } = &self.phase else { return };
        if *current != job {
            return;
        }
        match result {
            Ok(Relief::Slide) => {
                self.window.first_kept = plan.first_kept;
                let (turns, kept) = (plan.turns, plan.first_kept_node_id.clone());
                out.event(
                    EventDraft::new(EventType::CompactCompleted)
                        .with("kind", "window_slide")
                        .with("turns_left_out", turns)
                        .with("first_kept_node_id", kept.as_str())
                        .with("tokens_before", plan.tokens_before)
                        .with("tokens_after", plan.tokens_after),
                );
                self.epoch.begin("window_slide");
                self.ask(out);
            }
            Err(error) => {
                out.event(EventDraft::new(EventType::CompactFailed).error(&error));
                self.conclude(EndReason::PromptTooLong, Some(error), out);
            }
        }
    }
}
