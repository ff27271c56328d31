//! From gathered sources to a request, and room where it does not fit.

use agent_protocol::{EndReason, ErrorPayload, EventDraft, ModelStarted};

use super::{Effect, Out, Phase, Run, Sources, errors};
use crate::compose::{compose, request_metadata};

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

    pub(super) fn on_sources(&mut self, mut sources: Sources, out: &mut Out) {
        if !matches!(self.phase, Phase::Gathering) {
            return;
        }
        sources.budgets = sources.budgets.learned(self.calibration);
        if self.counts.turns >= self.limits.max_turns {
            let error = errors::max_turns(self.limits.max_turns);
            return self.conclude(EndReason::MaxTurns, Some(error), out);
        }
        if let Some(error) = self.limits.over_budget(&self.spent, &self.others.others) {
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
                let estimated = report.message_tokens + report.tail_tokens + report.system_tokens;
                self.counts.estimated = estimated;
                self.phase = Phase::Streaming { estimated };
                let call_id_prefix = self.run_id.tool_call(self.counts.calls);
                request.metadata = request_metadata(&call_id_prefix);
                let built =
                    self.epoch.report(sources, self.window, report, self.calibration, &self.counts, call_id_prefix);
                out.event(EventDraft::of(built));
                // The request is what starts; nothing is stored again until there is an answer.
                out.event(EventDraft::of(ModelStarted {
                    model: request.model.clone(),
                    request: Some(number.0),
                    turn: Some(self.counts.turns),
                }));
                out.effect(Effect::CallModel { request: number, body: Box::new(request) });
                self.compact_beside(tokens, out);
            }
            Err(overflow) => self.make_room(overflow, self.budgets(sources).slide_to(), None, out),
        }
    }
}
