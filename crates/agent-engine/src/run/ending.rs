//! How runs end: by themselves, by the user, by a store that is gone.

use agent_protocol::{
    CancelTimeout, EndReason, ErrorPayload, ErrorReported, EventDraft, Level, RunCancelled, RunEnd, RunPatch,
};

use super::{CommitNo, Drain, Effect, Out, Phase, Run, Target, Write};
use crate::notes;

impl Run {
    pub(super) fn on_cancel(&mut self, out: &mut Out) {
        match &self.phase {
            Phase::Idle | Phase::Gathering => self.conclude(EndReason::AbortedStreaming, None, out),
            Phase::Streaming { .. } => self.drain_one(Target::Model(self.counts.request), out),
            Phase::Recovering { job, .. } => self.drain_one(Target::Job(*job), out),
            Phase::Tools(_) => self.drain_calls(out),
            Phase::Draining(_) | Phase::Ending { .. } | Phase::Done => {}
        }
    }

    fn drain_one(&mut self, target: Target, out: &mut Out) {
        out.effect(Effect::Abort(target.clone()));
        out.effect(Effect::ArmDrain);
        self.phase = Phase::Draining(Drain {
            end: EndReason::AbortedStreaming,
            error: None,
            open: Some(target),
            batch: None,
            store_gone: false,
        });
    }

    fn drain_calls(&mut self, out: &mut Out) {
        let Phase::Tools(batch) = std::mem::replace(&mut self.phase, Phase::Done) else { return };
        for call in batch.open() {
            out.effect(Effect::Abort(Target::Call(call.clone())));
        }
        out.effect(Effect::ArmDrain);
        self.phase = Phase::Draining(Drain {
            end: EndReason::AbortedTools,
            error: None,
            open: None,
            batch: Some(batch),
            store_gone: false,
        });
        self.cancel_waiting(out);
        self.conclude_if_drained(out);
    }

    /// Ends the run once everything that was aborted has reported back.
    pub(super) fn conclude_if_drained(&mut self, out: &mut Out) {
        let Phase::Draining(drain) = &self.phase else { return };
        let calls_open = drain.batch.as_ref().is_some_and(|batch| batch.slots.iter().any(|slot| !slot.state.is_done()));
        if drain.open.is_some() || calls_open {
            return;
        }
        let (end, error) = (drain.end, drain.error.clone());
        self.conclude(end, error, out);
    }

    /// RUN-17: the wait is over; what still runs is fenced off by the driver.
    pub(super) fn on_drain_expired(&mut self, out: &mut Out) {
        let Phase::Draining(drain) = &self.phase else { return };
        let (end, error, store_gone) = (drain.end, drain.error.clone(), drain.store_gone);
        if !store_gone {
            out.event(EventDraft::of(CancelTimeout {}).level(Level::Warning));
        }
        self.calls_that_did_not_stop(out);
        self.conclude(end, error, out);
    }

    pub(super) fn on_store_failed(&mut self, commit: CommitNo, error: ErrorPayload, out: &mut Out) {
        let Some(failed) = self.commits.fail(commit) else { return };
        // What the failed commit would have stored is not on the path.
        self.path.truncate(failed.path_len);
        let never_began = failed.opened;
        if self.job.as_ref().is_some_and(|job| never_began.contains(&Target::Job(job.number))) {
            self.job = None;
        }
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Ending { end, error: cause } => {
                // Even the last words cannot be stored: end without them, and say so.
                let (end, error) = match end {
                    EndReason::Completed => (EndReason::Failed, Some(error)),
                    other => (other, cause.or(Some(error))),
                };
                out.effect(Effect::Finish { end, error });
            }
            Phase::Done => {}
            phase => self.drain_without_store(phase, &never_began, error, out),
        }
    }

    /// Stops everything that is at work and waits for it; nothing can be stored any more (RUN-21).
    fn drain_without_store(&mut self, phase: Phase, never_began: &[Target], error: ErrorPayload, out: &mut Out) {
        let (open, mut batch) = match phase {
            Phase::Streaming { .. } => (Some(Target::Model(self.counts.request)), None),
            Phase::Recovering { job, .. } => (Some(Target::Job(job)), None),
            Phase::Tools(batch) => (None, Some(batch)),
            Phase::Draining(drain) => (drain.open, drain.batch),
            Phase::Idle | Phase::Gathering | Phase::Ending { .. } | Phase::Done => (None, None),
        };
        let open = open.filter(|target| !never_began.contains(target));
        if let Some(batch) = &mut batch {
            for slot in &mut batch.slots {
                let began = slot.state.is_open() && !never_began.contains(&Target::Call(slot.id.clone()));
                if !began && !slot.state.is_done() {
                    slot.state = crate::batch::SlotState::Done(super::ResultKind::Skipped);
                }
            }
        }
        // Nobody waits for a summary that is made beside the turns, and what comes of it could not be written.
        if let Some(job) = self.job.take()
            && job.is_open()
            && open != Some(Target::Job(job.number))
        {
            out.effect(Effect::Abort(Target::Job(job.number)));
        }
        let calls = batch.iter().flat_map(|batch| batch.open().cloned()).map(Target::Call);
        for target in open.iter().cloned().chain(calls) {
            out.effect(Effect::Abort(target));
        }
        out.effect(Effect::ArmDrain);
        self.phase =
            Phase::Draining(Drain { end: EndReason::Failed, error: Some(error), open, batch, store_gone: true });
        self.conclude_if_drained(out);
    }

    /// The last commit of a run, and its end.
    pub(super) fn conclude(&mut self, end: EndReason, error: Option<ErrorPayload>, out: &mut Out) {
        let cancelled = matches!(end, EndReason::AbortedStreaming | EndReason::AbortedTools);
        let store_gone = matches!(&self.phase, Phase::Draining(drain) if drain.store_gone);
        let started = !matches!(self.phase, Phase::Idle);
        self.write_last_summary(out);
        let shown = self.shown.clone();
        match shown {
            _ if !started || store_gone => {}
            shown if cancelled => drop(self.note(&notes::stopped_by_user(shown.as_deref()), out)),
            Some(shown) => drop(self.note(&notes::broke_off(&shown), out)),
            None => {}
        }
        if let Some(error) = error.as_ref().filter(|_| !cancelled) {
            out.event(EventDraft::of(ErrorReported { error: error.clone() }).level(Level::Error));
        }
        if cancelled {
            out.event(EventDraft::of(RunCancelled {}));
        }
        if end == EndReason::Completed {
            self.compact_at_end(out);
        }
        out.event(self.last_event(end, error.as_ref()));
        out.writes.push(Write::Run(RunPatch {
            end_reason: Some(end),
            end_node_id: self.path.tip().cloned(),
            error: error.clone(),
            ..self.patch(end.status())
        }));
        out.effect(Effect::Finish { end, error: error.clone() });
        self.phase = Phase::Ending { end, error };
    }

    fn last_event(&self, end: EndReason, error: Option<&ErrorPayload>) -> EventDraft {
        let completed = end == EndReason::Completed;
        let cost = self.spent.cost();
        let ended = RunEnd {
            end_reason: Some(end),
            turns: Some(self.counts.turns),
            usage: Some(self.usage.clone()),
            cost,
            cost_is_estimate: cost.is_some() && self.spent.is_estimate(),
            tree: Some(self.tree_usage()).filter(|tree| tree.children > 0),
            answer_node_ids: completed.then(|| self.answer.clone()),
            estimates: self.estimates.report(self.calibration.ratio()),
            error: error.cloned(),
        };
        ended.into_event_at(Level::Error)
    }
}
