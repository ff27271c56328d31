//! The run machine: one `Run` is the loop of one agent for one input; a child's is another `Run`.
//!
//! Total: every (state, input) pair is legal; a stale or late input yields no effect. Every step that stores anything emits
//! exactly one `Commit`, first, so that nothing happens outside before it is written down.

mod ending;
mod prompt_counts;
mod replies;
mod tools;
mod types;

use agent_protocol::{
    ContentBlock, EndReason, ErrorPayload, EventDraft, EventType, NodeDraft, NodeId, NodeType, Object, Role, RunId,
    RunPatch, RunStatus, ToolCallId, Usage,
};

use crate::batch::Batch;
use crate::compose::{CutPlan, Overflow, Window, compose, plan_cut};
use crate::loops::LoopWindow;
use crate::path::Path;
use crate::tokens::{Calibration, TokenCounter};

use prompt_counts::PromptCounts;
pub(crate) use types::AfterNode;
pub use types::{
    CommitNo, Effect, Input, JobNo, Limits, ModelSettings, Outcome, Price, Relief, RequestNo, ResultKind, Sources,
    Target, ToolSet, Verdict, Write,
};

/// The machine.
#[derive(Debug)]
pub struct Run {
    limits: Limits,
    run_id: RunId,
    path: Path,
    sources: Option<Sources>,
    phase: Phase,
    window: Window,
    epoch: Epoch,
    calibration: Calibration,
    prompt_counts: PromptCounts,
    loops: LoopWindow,
    counts: Counts,
    usage: Usage,
    /// Assistant nodes the answer is made of: more than one after a continuation.
    answer: Vec<NodeId>,
    last: LastStep,
}

/// Which stretch of append-only requests this is, and why it began (PRV-15).
#[derive(Debug)]
struct Epoch {
    number: u32,
    because: &'static str,
}

/// What the last step asked for, in case its commit fails.
#[derive(Debug, Default)]
struct LastStep {
    commit: CommitNo,
    path_len: usize,
    opened: Vec<Target>,
}

#[derive(Debug, Default)]
struct Counts {
    turns: u32,
    nodes: u64,
    calls: u64,
    request: RequestNo,
    job: JobNo,
    /// In a row.
    continuations: u32,
    empty_replies: u32,
    model_retries: u32,
    overflows: u32,
}

#[derive(Debug)]
enum Phase {
    Idle,
    /// Waits for `Sources`.
    Gathering,
    /// Waits for the model; holds the estimate of its request.
    Streaming {
        estimated: u64,
    },
    /// Works off the calls of a reply.
    Tools(Batch),
    /// Waits for room to be made.
    Recovering {
        job: JobNo,
        plan: CutPlan,
    },
    /// Cancelled, or the store is gone: waits for what was aborted and keeps its output.
    Draining(Drain),
    /// `Finish` is out; its commit may still fail.
    Ending {
        end: EndReason,
        error: Option<ErrorPayload>,
    },
    Done,
}

#[derive(Debug)]
struct Drain {
    end: EndReason,
    error: Option<ErrorPayload>,
    /// The model stream or job that was aborted and has not reported back.
    open: Option<Target>,
    batch: Option<Batch>,
    /// Nothing can be stored any more.
    store_gone: bool,
}

/// What one step wants: writes are one commit, effects come after it.
#[derive(Default)]
struct Out {
    writes: Vec<Write>,
    effects: Vec<Effect>,
}

impl Out {
    fn event(&mut self, event: EventDraft) {
        self.writes.push(Write::Event(event));
    }

    fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
}

impl Run {
    /// A run on a path that was loaded from the store.
    #[must_use]
    pub fn new(limits: Limits, run_id: RunId, path: Path, calibration: Calibration) -> Self {
        Self {
            limits,
            run_id,
            path,
            sources: None,
            phase: Phase::Idle,
            window: Window::default(),
            epoch: Epoch { number: 0, because: "run_start" },
            calibration,
            prompt_counts: PromptCounts::default(),
            loops: LoopWindow::default(),
            counts: Counts::default(),
            usage: Usage::default(),
            answer: Vec::new(),
            last: LastStep::default(),
        }
    }

    /// Takes one input and says what to do next. Perform the effects strictly in order; when a `Commit` fails, drop the
    /// rest and feed [`Input::StoreFailed`].
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        let path_len = self.path.len();
        let mut out = Out::default();
        self.dispatch(input, &mut out);
        self.emit(path_len, out)
    }

    /// The path handed to the next run of this agent, and what was learned about this model's token counts.
    #[must_use]
    pub fn into_path(self) -> (Path, Calibration) {
        (self.path, self.calibration)
    }

    /// The path so far.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Tokens so far.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Turns so far.
    #[must_use]
    pub fn turns(&self) -> u32 {
        self.counts.turns
    }

    /// The state in one line, for tests and inspection.
    #[must_use]
    pub fn describe(&self) -> String {
        let phase = match &self.phase {
            Phase::Idle => "idle".to_owned(),
            Phase::Gathering => "gathering".to_owned(),
            Phase::Streaming { .. } => "streaming".to_owned(),
            Phase::Tools(batch) => {
                let done = batch.slots.iter().filter(|slot| slot.state.is_done()).count();
                format!("tools {done}/{}", batch.slots.len())
            }
            Phase::Recovering { .. } => "recovering".to_owned(),
            Phase::Draining(drain) => format!("draining to {}", drain.end.as_str()),
            Phase::Ending { end, .. } => format!("ending {}", end.as_str()),
            Phase::Done => "done".to_owned(),
        };
        format!("turn {} {phase}", self.counts.turns)
    }

    fn dispatch(&mut self, input: Input, out: &mut Out) {
        match input {
            Input::Start { content } => self.start(content, out),
            Input::Sources(sources) => self.on_sources(*sources, out),
            Input::ModelDone { request, reply } => self.on_reply(request, reply, out),
            Input::ModelFailed { request, fault, error, partial } => {
                self.on_model_failed(request, fault, error, partial, out);
            }
            Input::Prepared { call, result } => self.on_prepared(&call, result, out),
            Input::Authorized { call, verdict } => self.on_authorized(&call, verdict, out),
            Input::CallDone { call, outcome } => self.on_call_done(&call, *outcome, out),
            Input::ReliefDone { job, result } => self.on_relief(job, result, out),
            Input::StoreFailed { commit, error } => self.on_store_failed(commit, error, out),
            Input::Cancel => self.on_cancel(out),
            Input::DrainExpired => self.on_drain_expired(out),
        }
    }

    /// Puts the writes of a step into one commit before everything else.
    fn emit(&mut self, path_len: usize, out: Out) -> Vec<Effect> {
        let Out { mut writes, effects } = out;
        if writes.is_empty() {
            return effects;
        }
        if let (true, Some(tip)) = (self.path.len() > path_len, self.path.tip()) {
            // The tip is always something a user may see: partial and failed replies never join the path (RUN-8).
            writes.push(Write::Activate(tip.clone()));
        }
        let commit = self.last.commit.next();
        self.last = LastStep { commit, path_len, opened: effects.iter().filter_map(Effect::opens).collect() };
        let mut all = Vec::with_capacity(effects.len() + 1);
        all.push(Effect::Commit { commit, writes });
        all.extend(effects);
        all
    }

    // --- the path ---

    /// Makes a node at the tip and writes it.
    fn append(
        &mut self,
        role: Role,
        node_type: NodeType,
        content: Vec<ContentBlock>,
        metadata: Object,
        out: &mut Out,
    ) -> NodeId {
        let draft = self.draft(role, node_type, content, metadata);
        let node_id = draft.node_id.clone();
        self.path.push(&draft);
        out.writes.push(Write::Node(draft));
        node_id
    }

    fn draft(&mut self, role: Role, node_type: NodeType, content: Vec<ContentBlock>, metadata: Object) -> NodeDraft {
        self.counts.nodes += 1;
        NodeDraft {
            node_id: self.run_id.node(self.counts.nodes),
            parent_id: self.path.tip().cloned(),
            role,
            node_type,
            token_count: TokenCounter.message(&content),
            content: content.into(),
            metadata,
        }
    }

    /// A note of core to the model (STO-6).
    fn note(&mut self, text: &str, out: &mut Out) -> NodeId {
        let metadata = Object::from_iter([("synthetic".to_owned(), true.into())]);
        self.append(Role::User, NodeType::SystemNote, vec![ContentBlock::text(text)], metadata, out)
    }

    // --- the loop ---

    fn start(&mut self, content: Vec<ContentBlock>, out: &mut Out) {
        if !matches!(self.phase, Phase::Idle) {
            return;
        }
        out.event(EventDraft::new(EventType::LoopStarted));
        out.writes.push(Write::Run(self.patch(RunStatus::Running)));
        for (call, tool) in self.path.unanswered() {
            self.answer_interrupted(call, tool, out);
        }
        let node = self.append(Role::User, NodeType::Message, content, Object::new(), out);
        out.event(EventDraft::new(EventType::MessageCreated).node(&node).with("role", "user"));
        self.gather(out);
    }

    fn gather(&mut self, out: &mut Out) {
        self.phase = Phase::Gathering;
        out.effect(Effect::Gather);
    }

    fn on_sources(&mut self, sources: Sources, out: &mut Out) {
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
        let changed = match &self.sources {
            None => Some("run_start"),
            Some(before) if !before.same_fixed_part(sources) => Some("sources_changed"),
            Some(_) => None,
        };
        if let Some(because) = changed {
            self.begin_epoch(because);
        }
    }

    fn begin_epoch(&mut self, because: &'static str) {
        self.epoch = Epoch { number: self.epoch.number + 1, because };
    }

    /// Composes and asks, or makes room first.
    fn ask(&mut self, out: &mut Out) {
        let Some(sources) = &self.sources else { return };
        match compose(&self.path, sources, self.window, self.calibration) {
            Ok((mut request, report)) => {
                self.counts.turns += 1;
                let number = self.counts.request.next();
                self.counts.request = number;
                request.metadata = self.request_metadata();
                out.event(self.context_built(sources, &report));
                self.phase = Phase::Streaming { estimated: report.message_tokens + sources.budgets.fixed };
                out.effect(Effect::CallModel { request: number, body: Box::new(request) });
            }
            Err(overflow) => self.make_room(overflow, sources.budgets.slide_to(), None, out),
        }
    }

    fn request_metadata(&self) -> Object {
        Object::from_iter([("call_id_prefix".to_owned(), self.run_id.tool_call(self.counts.calls).as_str().into())])
    }

    /// Plans a cut, or ends the run where nothing is left to drop.
    fn make_room(&mut self, overflow: Overflow, keep: u64, said: Option<&ErrorPayload>, out: &mut Out) {
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
    fn room_plan(&self, sources: &Sources, keep: u64) -> Option<CutPlan> {
        if self.counts.overflows >= self.limits.overflows {
            return None;
        }
        // The plan counts in estimates, the budget in the provider's tokens.
        plan_cut(&self.path, self.window, sources.budgets.results_of_a_turn(), self.calibration.fits(keep))
    }

    fn on_relief(&mut self, job: JobNo, result: Result<Relief, ErrorPayload>, out: &mut Out) {
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
                self.begin_epoch("window_slide");
                self.ask(out);
            }
            Err(error) => {
                out.event(EventDraft::new(EventType::CompactFailed).error(&error));
                self.conclude(EndReason::PromptTooLong, Some(error), out);
            }
        }
    }

    fn context_built(&self, sources: &Sources, report: &crate::ContextReport) -> EventDraft {
        let budgets = &sources.budgets;
        let id = |node: &Option<NodeId>| node.as_ref().map(|id| id.as_str().to_owned());
        EventDraft::new(EventType::ContextBuilt)
            .with("turn", self.counts.turns)
            .with("request", self.counts.request.0)
            .with("epoch", self.epoch.number)
            .with("epoch_because", self.epoch.because)
            .with("first_kept_node_id", id(&report.first_kept))
            .with("last_node_id", id(&report.last))
            .with("nodes_in", report.nodes_in)
            .with("nodes_out", report.nodes_out)
            .with("turns_out", report.turns_out)
            .with("results_shortened", report.results_shortened)
            .with("message_tokens", report.message_tokens)
            .with("request_tokens", report.request_tokens)
            .with("calibration", self.calibration.ratio())
            .with(
                "budgets",
                serde_json::json!({
                    "window": budgets.window, "fixed": budgets.fixed, "output": budgets.output,
                    "dynamic": budgets.dynamic, "messages": budgets.messages, "compact_at": budgets.compact_at,
                }),
            )
            .with("fixed_part", sources.fingerprint.clone())
    }

    fn patch(&self, status: RunStatus) -> RunPatch {
        RunPatch {
            status,
            end_reason: None,
            end_node_id: None,
            turn_count: self.counts.turns,
            usage: self.usage.clone(),
            error: None,
        }
    }

    /// An id for a call: the provider's where it is new on this path, else ours (PRV-5).
    fn call_id(&mut self, wanted: &ToolCallId, taken: &[ToolCallId]) -> ToolCallId {
        let mut id = wanted.clone();
        while self.path.knows_call(&id) || taken.contains(&id) {
            self.counts.calls += 1;
            id = self.run_id.tool_call(self.counts.calls);
        }
        id
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod world_tests;
