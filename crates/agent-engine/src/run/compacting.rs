//! Older turns become a summary: asked for ahead of need or in need, judged, and written at a turn's border only (CMP-*).

use agent_protocol::{
    CompactCompleted, CompactFailed, CompactStarted, ContentBlock, EndReason, ErrorCode, ErrorPayload, EventDraft,
    Level, ModelMessage, ModelRequest, NodeDraft, NodeId, NodeType, Object, Role, ToolList,
};
use std::sync::Arc;

use super::{
    CompactMode, Compacted, Compacting, Effect, Job, JobNo, Out, Phase, Recovery, Run, Sources, Summariser, Target,
    Write, errors,
};
use crate::budget::Budgets;
use crate::compose::{Build, Overflow, Parts, dynamic_tokens, request_metadata};
use crate::cut::{CompactionPlan, CompactionRoom, CutPlan, NoPlan, PlannedCompaction, plan, plan_cut, turns_before};
use crate::marks::CompactionMark;
use crate::notes;
use crate::path::Path;
use crate::selection::Selection;
use crate::summary::{Summary, SummaryFault};
use crate::tokens::TokenCounter;
use crate::transcript::transcript;
use crate::window::Window;

/// Summaries in a row for one request that does not fit: a conversation that is many times too long is worked off in steps
/// (CMPT-11), then the rest is left out.
const STEPS: u32 = 2;

/// Why a summary was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CompactFault {
    /// The path it was made for is not the beginning of the active one any more (CMP-6).
    #[error("the conversation went another way meanwhile, so the summary of what it was is not used")]
    Stale,
    /// The reply is no summary (CMP-7).
    #[error("the model's reply is no summary: {0}")]
    NoSummary(SummaryFault),
    /// It would stand for no more than the one that is there.
    #[error("a newer summary covers as much already")]
    Covered,
}

impl CompactFault {
    fn payload(self, reply: &str) -> ErrorPayload {
        let kind = match self {
            Self::Stale => "stale",
            Self::NoSummary(fault) => fault.as_str(),
            Self::Covered => "covered",
        };
        let head: String = reply.chars().take(400).collect();
        ErrorPayload::new(ErrorCode::ProviderError, self.to_string()).detail("kind", kind).detail("reply", head)
    }
}

/// A summary that may be stored: its node and the event about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// The node; the new tip of the path.
    pub node: NodeDraft,
    /// `compact_completed`.
    pub event: EventDraft,
}

/// Judges a reply and makes the node of it, at the tip of `path`.
///
/// # Errors
/// The payload of `compact_failed`; then nothing may be written.
pub fn finish_compaction(
    path: &Path,
    plan: &CompactionPlan,
    mode: CompactMode,
    compacted: &Compacted,
    node_id: NodeId,
) -> Result<Finished, Box<ErrorPayload>> {
    let fault = |fault: CompactFault| Box::new(fault.payload(&compacted.reply.text()));
    let on_path = |node: &NodeId| path.position(node);
    let first_kept = match (on_path(&plan.first_kept_node_id), on_path(&plan.tip)) {
        (Some(first_kept), Some(tip)) if first_kept <= tip => first_kept,
        _ => return Err(fault(CompactFault::Stale)),
    };
    if path.compaction().is_some_and(|known| known.first_kept >= first_kept) {
        return Err(fault(CompactFault::Covered));
    }
    let summary = Summary::read(&compacted.reply, plan.summary_limit)
        .map_err(|summary_fault| fault(CompactFault::NoSummary(summary_fault)))?;
    let mut text = format!("{}\n\n{}", notes::summarised(plan.turns, plan.turns_left_out), summary.text);
    if !plan.user_words.is_empty() {
        text.push_str("\n\n");
        text.push_str(&plan.user_words.listed(notes::WORDS_SUMMARISED));
    }
    let content = vec![ContentBlock::text(text)];
    let tokens = TokenCounter.message(&content);
    let mut details = compacted.details.clone();
    details.insert("mode".to_owned(), mode.as_str().into());
    details.insert("summary_cut".to_owned(), summary.cut.into());
    let mark = CompactionMark {
        first_kept_node_id: plan.first_kept_node_id.clone(),
        turns: plan.turns,
        turns_left_out: plan.turns_left_out,
        tokens_before: plan.tokens_before,
        tokens_after: plan.tokens_kept + tokens,
        user_words: plan.user_words.clone(),
        details,
    };
    let mut metadata = mark.metadata();
    metadata.insert("synthetic".to_owned(), true.into());
    let completed = CompactCompleted::Summary {
        mode,
        turns_summarised: plan.turns as u64,
        first_kept_node_id: plan.first_kept_node_id.clone(),
        tokens_before: mark.tokens_before,
        tokens_after: mark.tokens_after,
        summary_cut: summary.cut,
    };
    let event = EventDraft::of(completed).node(&node_id);
    let node = NodeDraft {
        node_id,
        parent_id: path.tip().cloned(),
        role: Role::User,
        node_type: NodeType::Compaction,
        token_count: tokens,
        content: content.into(),
        metadata,
    };
    Ok(Finished { node, event })
}

impl Run {
    // --- ahead of need ---

    /// Begins a summary beside the turn that has just been asked for, where the server takes both (CMP-5). `tokens` are those
    /// of its messages, as estimated.
    pub(super) fn compact_beside(&mut self, tokens: u64, out: &mut Out) {
        if self.sources.as_ref().is_some_and(|sources| sources.compacting.background) {
            self.compact_ahead(CompactMode::Background, tokens, out);
        }
    }

    /// Begins one as the run ends.
    pub(super) fn compact_at_end(&mut self, out: &mut Out) {
        if self.sources.as_ref().is_some_and(|sources| sources.compacting.at_end) {
            self.compact_ahead(CompactMode::AtEnd, self.message_tokens(), out);
        }
    }

    /// Estimated tokens of the messages of a request that would be made now.
    fn message_tokens(&self) -> u64 {
        self.tokens_in(self.window)
    }

    fn tokens_in(&self, window: Window) -> u64 {
        self.sources.as_ref().map_or(0, |sources| {
            let parts = Parts::of(sources, window);
            Build::choose(&Selection::new(&self.path, parts.rules), parts.marker).tokens
        })
    }

    fn compact_ahead(&mut self, mode: CompactMode, tokens: u64, out: &mut Out) {
        let Some(sources) = self.sources.as_ref().filter(|_| self.job.is_none()) else { return };
        let tokens = self.calibration.apply(tokens);
        if tokens <= self.budgets(sources).compact_at || tokens < self.next_compaction_at {
            return;
        }
        let room = self.compaction_room(sources, u64::MAX, u64::MAX);
        match plan(&self.path, sources, self.window, room) {
            Ok(planned) => self.begin_job(mode, planned, out),
            Err(why) => {
                no_summary(mode, why, room, out);
                self.wait_for_growth(tokens);
            }
        }
    }

    /// None is tried again before the conversation has grown: neither a failed one nor one that freed little (CMP-6).
    fn wait_for_growth(&mut self, tokens: u64) {
        let step = self.sources.as_ref().map_or(0, |sources| sources.budgets.messages / 8);
        self.next_compaction_at = tokens + step;
    }

    // --- in need ---

    /// The next request does not fit: a summary is asked for or waited for, or turns are left out, or the run ends. `keep` and
    /// `refused` are in the provider's tokens; `refused` is what it said is too long, if it said so.
    pub(super) fn make_room(&mut self, overflow: Overflow, keep: u64, said: Option<&ErrorPayload>, out: &mut Out) {
        let recovery = self.sources.as_ref().map_or(Recovery::End, |sources| sources.compacting.recovery);
        if recovery == Recovery::End {
            return self.end_too_long(overflow, said, out);
        }
        if self.counts.overflows >= self.limits.overflows {
            return self.squeeze(overflow, said, out);
        }
        self.counts.overflows += 1;
        if recovery == Recovery::Summary {
            match &self.job {
                // One that is under way or ready is adopted: there are never two of one path.
                Some(job) if job.is_open() => {
                    let job = job.number;
                    self.phase = Phase::Recovering { job, keep, overflow, said: said.cloned() };
                    return;
                }
                Some(_) => {
                    if self.write_summary(out) {
                        return self.gather_anew(out);
                    }
                    if matches!(self.phase, Phase::Ending { .. }) {
                        return;
                    }
                }
                None => {}
            }
            if self.recover(overflow, keep, said, out) {
                return;
            }
        }
        self.slide(overflow, keep, said, out);
    }

    /// Asks for a summary and waits. False where none is worth it.
    fn recover(&mut self, overflow: Overflow, keep: u64, said: Option<&ErrorPayload>, out: &mut Out) -> bool {
        let Some(sources) = self.sources.as_ref().filter(|_| self.counts.recoveries < STEPS) else { return false };
        // What the provider refused is not sent again under another name.
        let refused = if said.is_some() { overflow.needed * 4 / 5 } else { u64::MAX };
        let room = self.compaction_room(sources, keep, refused);
        let planned = match plan(&self.path, sources, self.window, room) {
            Ok(planned) => planned,
            Err(why) => {
                no_summary(CompactMode::Recovery, why, room, out);
                return false;
            }
        };
        self.counts.recoveries += 1;
        self.begin_job(CompactMode::Recovery, planned, out);
        let job = self.counts.job;
        self.phase = Phase::Recovering { job, keep, overflow, said: said.cloned() };
        true
    }

    /// The oldest turns are left out at once, down to `keep` (PRV-15). An epoch begins, so what was loaded may join the system part:
    /// an instruction file's result may be among what is left out.
    fn slide(&mut self, overflow: Overflow, keep: u64, said: Option<&ErrorPayload>, out: &mut Out) {
        let Some(plan) = self.slide_plan(keep) else { return self.squeeze(overflow, said, out) };
        let CutPlan { first_kept, first_kept_node_id, tokens_before, tokens_after, .. } = plan;
        self.window.first_kept = first_kept;
        // All that are missing now, as the marker will say, not only those that this slide adds.
        let summarised = self.path.compaction().map_or(0, |compaction| compaction.mark.turns);
        let turns = turns_before(&self.path, first_kept).saturating_sub(summarised);
        out.event(EventDraft::of(CompactCompleted::WindowSlide {
            turns_left_out: turns as u64,
            first_kept_node_id,
            tokens_before,
            tokens_after,
        }));
        self.epoch.begin("window_slide");
        self.gather_anew(out);
    }

    /// What is always kept is too much together: what tools brought is shortened further, step by step (CTX-6). Where that does not
    /// help either, the run ends.
    fn squeeze(&mut self, overflow: Overflow, said: Option<&ErrorPayload>, out: &mut Out) {
        // What is no history gives way first, for this request.
        if let Some(sources) = self.sources.as_mut().filter(|sources| !sources.tail.is_empty()) {
            sources.tail.clear();
            return self.ask(out);
        }
        let now = self.tokens_in(self.window);
        let tighter = (self.window.squeeze + 1..=Window::TIGHTEST).map(|squeeze| Window { squeeze, ..self.window });
        let Some(window) = tighter.into_iter().find(|window| self.tokens_in(*window) < now) else {
            return self.end_too_long(overflow, said, out);
        };
        self.window = window;
        let squeezed = CompactCompleted::Squeeze { level: self.window.squeeze, tokens_before: overflow.needed };
        out.event(EventDraft::of(squeezed));
        self.epoch.begin("squeeze");
        self.gather_anew(out);
    }

    /// What to leave out so that no more than this is kept; none where nothing is left to leave out.
    pub(super) fn slide_plan(&self, keep: u64) -> Option<CutPlan> {
        let sources = self.sources.as_ref()?;
        // The plan counts in estimates, the budget in the provider's tokens.
        plan_cut(&self.path, sources, self.window, self.calibration.fits(keep))
    }

    fn end_too_long(&mut self, overflow: Overflow, said: Option<&ErrorPayload>, out: &mut Out) {
        let window = self.sources.as_ref().map_or(0, |sources| sources.budgets.window);
        let fits_alone = self
            .path
            .last_input()
            .is_some_and(|index| self.calibration.apply(self.path.nodes()[index].tokens) < overflow.available / 2);
        let forbidden = self.sources.as_ref().is_some_and(|sources| sources.compacting.recovery == Recovery::End);
        let error = match said {
            _ if fits_alone && forbidden => errors::no_recovery(overflow, window),
            Some(said) if fits_alone => errors::smaller_than_said(window, said),
            _ => errors::prompt_too_long(overflow, window, said),
        };
        self.conclude(EndReason::PromptTooLong, Some(error), out);
    }

    /// The shares as the provider counts: a fixed part that is bigger than estimated takes its room from the messages (CFG-8).
    pub(super) fn budgets(&self, sources: &Sources) -> Budgets {
        sources.budgets.calibrated(self.calibration, dynamic_tokens(&sources.system))
    }

    // --- the job ---

    /// Room in estimates, out of budgets in the provider's tokens.
    fn compaction_room(&self, sources: &Sources, keep: u64, covered: u64) -> CompactionRoom {
        let budgets = &self.budgets(sources);
        let fits = |tokens: u64| self.calibration.fits(tokens);
        let keep = fits(budgets.keep_recent.min(keep));
        // What is kept besides the newest turns takes its share of what is kept.
        let context: u64 = self.path.context().iter().map(|at| self.path.nodes()[*at].tokens).sum();
        let besides = budgets.words() + context.min(budgets.pinned()).min(keep / 2);
        let ask = TokenCounter.text(&sources.compacting.request) + 50;
        // A request for a summary needs less room for its answer than one of the run, so it may hold more.
        let system = self.calibration.apply(budgets.fixed + dynamic_tokens(&sources.system));
        let answer = (budgets.summary * 5 / 4).min(budgets.output);
        let window = budgets.window.saturating_sub(system + answer);
        let own = fits(window.max(budgets.messages).min(covered)).saturating_sub(ask);
        let covered = sources.compacting.by.as_ref().map_or(own, |other| other.room.min(fits(covered)));
        let output = sources.compacting.by.as_ref().map_or(budgets.output, |other| other.max_output_tokens);
        CompactionRoom { keep: keep.saturating_sub(besides), covered, summary: fits(budgets.summary.min(output)) }
    }

    fn begin_job(&mut self, mode: CompactMode, planned: PlannedCompaction, out: &mut Out) {
        let Some(sources) = &self.sources else { return };
        let PlannedCompaction { plan, messages, tokens } = planned;
        // A model that thinks first needs room for that as well; others are kept from going on for ever.
        let thinks = messages.iter().any(|message| message.metadata.contains_key(ModelMessage::REASONING));
        let limit = if thinks { u64::MAX } else { self.calibration.apply(plan.summary_limit) * 5 / 4 };
        let mut request = summary_request(sources, messages, &plan, limit.min(sources.budgets.output).max(1));
        request.metadata = request_metadata(&self.run_id.tool_call(self.counts.calls));
        self.counts.job = self.counts.job.next();
        let job = self.counts.job;
        // Another model that summarises has a short system part of its own.
        let system = match sources.compacting.by {
            None => sources.budgets.fixed + dynamic_tokens(&sources.system),
            Some(_) => 0,
        };
        let estimated = tokens + system;
        out.event(EventDraft::of(CompactStarted {
            mode: Some(mode),
            tokens_before: Some(plan.tokens_before),
            tokens_covered: Some(tokens),
            turns: Some(plan.turns as u64),
        }));
        out.effect(Effect::Compact { job, mode, plan: Box::new(plan.clone()), request: Box::new(request) });
        self.job = Some(Job::open(job, mode, plan, estimated));
    }

    pub(super) fn on_compaction_done(
        &mut self,
        job: JobNo,
        result: Result<Box<Compacted>, ErrorPayload>,
        out: &mut Out,
    ) {
        // The run is over: the summary is for the one that comes next.
        if matches!(self.phase, Phase::Ending { .. } | Phase::Done) {
            return;
        }
        let Some(current) = self.job.as_mut().filter(|current| current.number == job && current.is_open()) else {
            // Given up, but the drain waits for it.
            self.drained(&Target::Job(job), out);
            return;
        };
        match result {
            Ok(compacted) => {
                self.usage.add(&compacted.reply.usage);
                let prompt = self.calibration.apply(current.estimated);
                let by = self.sources.as_ref().and_then(|sources| sources.compacting.by.as_ref());
                let price = by.map_or(self.limits.price, |by| by.price);
                self.spent.add(prompt, true, &compacted.reply, price.as_ref());
                current.ready = Some(compacted);
            }
            Err(error) => self.give_up_job(&error, out),
        }
        match &self.phase {
            Phase::Draining(_) => {
                self.drained(&Target::Job(job), out);
            }
            Phase::Recovering { job: waited, .. } if *waited == job => self.recovered(out),
            _ => {}
        }
    }

    /// The summary a run waited for is there, or there will be none.
    fn recovered(&mut self, out: &mut Out) {
        let Phase::Recovering { keep, overflow, said, .. } = &mut self.phase else { return };
        let (keep, overflow, said) = (*keep, *overflow, said.take());
        if self.write_summary(out) {
            return self.gather_anew(out);
        }
        if !matches!(self.phase, Phase::Ending { .. }) {
            self.slide(overflow, keep, said.as_ref(), out);
        }
    }

    /// Failure of a compaction is only an event (CMP-5).
    fn give_up_job(&mut self, error: &ErrorPayload, out: &mut Out) {
        let Some(job) = self.job.take() else { return };
        if !self.store_is_gone() {
            let failed = CompactFailed { mode: Some(job.mode), error: error.clone() };
            out.event(EventDraft::of(failed).level(Level::Warning));
        }
        let tokens = self.calibration.apply(job.plan.tokens_before);
        self.wait_for_growth(tokens);
    }

    pub(super) fn store_is_gone(&self) -> bool {
        matches!(&self.phase, Phase::Draining(drain) if drain.store_gone)
    }

    /// Writes the summary that is ready, if there is one and it is one; whether it did and the run goes on.
    pub(super) fn write_summary(&mut self, out: &mut Out) -> bool {
        self.write_ready(out) && !self.ends_in_circles(out)
    }

    fn write_ready(&mut self, out: &mut Out) -> bool {
        let Some(compacted) = self.job.as_mut().and_then(|job| job.ready.take()) else { return false };
        let Some(job) = self.job.as_ref() else { return false };
        let node_id = self.run_id.node(self.counts.nodes + 1);
        match finish_compaction(&self.path, &job.plan, job.mode, &compacted, node_id) {
            Ok(Finished { node, event }) => {
                self.counts.nodes += 1;
                self.job = None;
                self.path.push(&node);
                out.writes.push(Write::Node(node));
                out.event(event);
                self.epoch.begin("compaction");
                self.wait_for_growth(self.calibration.apply(self.message_tokens()));
                true
            }
            Err(error) => {
                self.give_up_job(&error, out);
                false
            }
        }
    }

    /// CMPT-02: compacting again and again without anything new in between. True if the run has ended for it.
    fn ends_in_circles(&mut self, out: &mut Out) -> bool {
        if !self.progress.compacted() {
            return false;
        }
        let error = errors::compaction_loop();
        self.conclude(EndReason::Failed, Some(error), out);
        true
    }

    /// The last chance to write a summary that is ready, so that the work is not lost.
    pub(super) fn write_last_summary(&mut self, out: &mut Out) {
        if self.job.as_ref().is_some_and(|job| !job.is_open()) && !self.store_is_gone() {
            self.write_ready(out);
        }
    }
}

/// A summary that is wanted and cannot be asked for is told like one that failed.
fn no_summary(mode: CompactMode, why: NoPlan, room: CompactionRoom, out: &mut Out) {
    let NoPlan::NoRoom(needed) = why else { return };
    let error = errors::no_room_for_summary(needed, room.covered);
    out.event(EventDraft::of(CompactFailed { mode: Some(mode), error }).level(Level::Warning));
}

/// The request for a summary: the run's own conversation up to the border and one more message (a server that has it cached
/// reads only that), or the conversation as one text for another model.
fn summary_request(
    sources: &Sources,
    covered: Vec<Arc<ModelMessage>>,
    plan: &CompactionPlan,
    max_output_tokens: u64,
) -> ModelRequest {
    let Compacting { request, by, temperature, .. } = &sources.compacting;
    // A token is about three quarters of a word; the limit is what will be cut, so ask for less.
    let words = (plan.summary_limit / 2).max(40);
    let ask = request.replace("{max_words}", &words.to_string());
    let message = |text: String| Arc::new(ModelMessage::new(Role::User, vec![ContentBlock::text(text)]));
    match by {
        None => ModelRequest {
            model: sources.model.name.clone(),
            system: Arc::clone(&sources.system),
            messages: covered.into_iter().chain([message(ask)]).collect(),
            tools: Arc::clone(&sources.tools.list),
            tool_choice: sources.model.tool_choice.clone(),
            temperature: temperature.or(sources.model.temperature),
            max_output_tokens,
            provider_options: sources.model.provider_options.clone(),
            metadata: Object::new(),
        },
        Some(Summariser { model, system, max_output_tokens: limit, .. }) => ModelRequest {
            model: model.name.clone(),
            system: Arc::clone(system),
            messages: vec![message(format!("{}\n\n{ask}", transcript(&covered)))],
            tools: Arc::new(ToolList::default()),
            tool_choice: model.tool_choice.clone(),
            temperature: model.temperature,
            max_output_tokens: *limit,
            provider_options: model.provider_options.clone(),
            metadata: Object::new(),
        },
    }
}
