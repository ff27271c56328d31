//! The run machine: one `Run` is the loop of one agent for one input; a child's is another `Run`.
//!
//! Total: every (state, input) pair is legal; a stale or late input yields no effect. Every step that stores anything emits
//! exactly one `Commit`, first, so that nothing happens outside before it is written down.

mod answer_rule;
mod asking;
mod commits;
mod compacting;
mod counts;
mod ending;
mod epoch;
mod errors;
mod estimates;
mod interrupted;
mod job;
mod limits;
mod progress;
mod prompt_counts;
mod replies;
mod said;
mod spent;
mod state;
mod tools;
mod types;

use std::sync::Arc;

use agent_protocol::event::TreeUsage;
use agent_protocol::{
    ContentBlock, EventDraft, LoopStarted, MessageCreated, NodeDraft, NodeId, NodeType, Object, Role, RunId, RunMode,
    RunPatch, RunStatus, ToolCallId, Usage,
};

use crate::compose::in_context;
use crate::cut::CompactionPlan;
use crate::loops::LoopWindow;
use crate::marks::keys;
use crate::notes;
use crate::numbers::{CommitNo, JobNo, RequestNo};
use crate::outcome::{Outcome, ResultKind};
use crate::path::{Path, PathNode};
use crate::sources::{Compacting, Recovery, Sources, Summariser};
use crate::tokens::{Calibration, TokenCounter};
use crate::window::Window;

pub use answer_rule::AnswerRule;
use commits::Commits;
pub use compacting::{CompactFault, Finished, finish_compaction};
use counts::Counts;
use epoch::Epoch;
use estimates::Estimates;
use job::Job;
pub use limits::{Limits, OthersSpent};
use progress::Progress;
use prompt_counts::PromptCounts;
pub(crate) use spent::Spent;
pub use state::Run;
use state::{Drain, Out, Phase};
pub use types::{CompactMode, Compacted, Effect, Input, Target, Verdict, Write};

impl Run {
    /// A run on a path that was loaded from the store.
    #[must_use]
    pub fn new(limits: Limits, run_id: RunId, path: Path, calibration: Calibration) -> Self {
        Self {
            limits,
            run_id,
            sources: None,
            phase: Phase::Idle,
            // The report names the first node behind those that are only pinned, as it would with the whole path.
            window: Window { first_kept: path.omitted().pinned, squeeze: 0 },
            path,
            epoch: Epoch::default(),
            calibration,
            estimates: Estimates::default(),
            prompt_counts: PromptCounts::default(),
            loops: LoopWindow::default(),
            job: None,
            next_compaction_at: 0,
            progress: Progress::default(),
            counts: Counts::default(),
            usage: Usage::default(),
            spent: Spent::default(),
            others: OthersSpent::default(),
            answer: Vec::new(),
            answer_rule: None,
            answer_is_off: false,
            shown: None,
            commits: Commits::default(),
            started_calls: None,
            lost_children: Vec::new(),
            cut_short: None,
            today: None,
            mode: RunMode::Normal,
        }
    }

    /// Says in the run's first event how it works.
    #[must_use]
    pub fn with_mode(mut self, mode: RunMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sends an answer that is not as it has to be back once. What comes then is the answer, whatever it is.
    #[must_use]
    pub fn with_answer_rule(mut self, rule: AnswerRule) -> Self {
        self.answer_rule = Some(rule);
        self
    }

    /// Tells the model the user's date with the message that begins this run. It is part of that message's node, so that it
    /// stays what it was in later requests, and another day changes no byte before it (PRV-15).
    #[must_use]
    pub fn with_today(mut self, date: String) -> Self {
        self.today = Some(date);
        self
    }

    /// Takes one input and says what to do next. Perform the effects strictly in order; when a `Commit` fails, drop the
    /// rest and feed [`Input::StoreFailed`]. Where [`Effect::commit_may_wait`], it may be stored together with the next.
    pub fn step(&mut self, input: Input) -> Vec<Effect> {
        let path_len = self.path.len();
        let mut out = Out::default();
        self.dispatch(input, &mut out);
        self.emit(path_len, out)
    }

    /// The path handed to the next run of this agent, without what a summary covers or no request can hold, and what was learned
    /// about this model's token counts.
    #[must_use]
    pub fn into_path(self) -> (Path, Calibration) {
        let path = self.path.without_what_is_covered();
        let path = match self.sources.as_ref().map(|sources| &sources.budgets) {
            Some(budgets) => path.without_the_oldest(budgets.memory()),
            None => path,
        };
        (path, self.calibration)
    }

    /// Message tokens from which on a summary is asked for ahead of need; for the next run ([`Self::with_compaction_floor`]).
    #[must_use]
    pub fn compaction_floor(&self) -> u64 {
        self.next_compaction_at
    }

    /// What an earlier run of this path has learned: a summary that failed, or freed little, is not asked for again before the
    /// conversation has grown.
    #[must_use]
    pub fn with_compaction_floor(mut self, tokens: u64) -> Self {
        self.next_compaction_at = tokens;
        self
    }

    /// A summary that is still being made; it goes on after the run.
    #[must_use]
    pub fn open_compaction(&self) -> Option<(JobNo, &CompactionPlan)> {
        self.job.as_ref().filter(|job| job.is_open()).map(|job| (job.number, &job.plan))
    }

    /// Takes over a summary that an earlier run asked for and that is still being made, before this run starts.
    pub fn adopt(&mut self, mode: CompactMode, plan: CompactionPlan) -> JobNo {
        self.counts.job = self.counts.job.next();
        let estimated = plan.tokens_before;
        self.job = Some(Job::open(self.counts.job, mode, plan, estimated));
        self.counts.job
    }

    /// What skills, memories and instructions bring into the requests of this run at the moment.
    #[must_use]
    pub fn context(&self) -> Vec<&PathNode> {
        self.sources.as_ref().map_or_else(Vec::new, |sources| in_context(&self.path, sources, self.window))
    }

    /// The path so far.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text of the answer; `None` while there is no reply that belongs to it.
    #[must_use]
    pub fn answer(&self) -> Option<String> {
        self.answer_blocks().map(|nodes| answer_text(&nodes))
    }

    /// What the answer is made of, node by node, as the path has it: nothing is copied.
    #[must_use]
    pub fn answer_blocks(&self) -> Option<Vec<Arc<[ContentBlock]>>> {
        let is_in = |node: &&PathNode| self.answer.contains(&node.node_id);
        let nodes = self.path.nodes().iter().filter(is_in).map(|node| Arc::clone(&node.message.content));
        (!self.answer.is_empty()).then(|| nodes.collect())
    }

    /// What was said so far, where no answer came of it: what there is of an answer, with what was shown of a reply that broke off;
    /// or else what was said last, be it beside calls.
    #[must_use]
    pub fn said_so_far(&self) -> Option<String> {
        let answer = self.answer().into_iter().chain(self.shown.clone()).collect::<String>();
        let said = if answer.trim().is_empty() { self.said_last()? } else { answer };
        Some(said)
    }

    /// Tokens so far.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// What its requests used so far, with estimates where the provider counts nothing, and what that cost.
    #[must_use]
    pub fn spent(&self) -> TreeUsage {
        self.spent.told()
    }

    /// Learns what the other runs of its tree have used. It may be told at any time; what it heard last counts.
    pub fn hear_of(&mut self, others: OthersSpent) {
        self.others = others;
    }

    /// What it and those below it used.
    #[must_use]
    pub fn tree_usage(&self) -> TreeUsage {
        let mut all = self.spent();
        all.add(&self.others.below);
        all
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
            Input::SourcesFailed(error) => self.on_sources_failed(error, out),
            Input::ModelDone { request, reply } => self.on_reply(request, reply, out),
            Input::ModelFailed { request, fault, error, partial } => {
                self.on_model_failed(request, fault, error, partial, out);
            }
            Input::Prepared { call, result } => self.on_prepared(&call, result, out),
            Input::Authorized { call, verdict } => self.on_authorized(&call, verdict, out),
            Input::CallDone { call, outcome } => self.on_call_done(&call, *outcome, out),
            Input::CompactionDone { job, result } => self.on_compaction_done(job, result, out),
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
        let commit = self.commits.next();
        let mut all = Vec::with_capacity(effects.len() + 1);
        all.push(Effect::Commit { commit, writes });
        all.extend(effects);
        self.commits.note(commit, path_len, &all);
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
        let mode = Some(self.mode).filter(|mode| *mode != RunMode::Normal);
        let cut_short = self.cut_short.take();
        let note = cut_short.as_ref().map(notes::cut_short);
        out.event(EventDraft::of(LoopStarted { purpose: None, mode, cut_short }));
        out.writes.push(Write::Run(self.patch(RunStatus::Running)));
        self.answer_interrupted(out);
        self.tell_of_lost_children(out);
        if let Some(note) = note {
            self.note(&note, out);
        }
        let today = self.today.take().map(|date| (keys::TODAY.to_owned(), date.into()));
        let node = self.append(Role::User, NodeType::Message, content, today.into_iter().collect(), out);
        out.event(EventDraft::of(MessageCreated { role: Role::User }).node(&node));
        self.begin_gathering(out);
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

/// The text of an answer that is made of these.
#[must_use]
pub fn answer_text(nodes: &[Arc<[ContentBlock]>]) -> String {
    nodes.iter().flat_map(|content| content.iter()).filter_map(ContentBlock::as_text).collect()
}

#[cfg(test)]
mod answers_testing;
#[cfg(test)]
mod circle_tests;
#[cfg(test)]
mod commit_tests;
#[cfg(test)]
mod compaction_tests;
#[cfg(test)]
mod interrupted_tests;
#[cfg(test)]
mod learned_tests;
#[cfg(test)]
mod omitted_tests;
#[cfg(test)]
mod rebuild_tests;
#[cfg(test)]
mod request_tests;
#[cfg(test)]
mod said_tests;
#[cfg(test)]
mod script_testing;
#[cfg(test)]
mod session_checks_testing;
#[cfg(test)]
mod session_children_testing;
#[cfg(test)]
mod session_figures_testing;
#[cfg(test)]
mod session_owner_testing;
#[cfg(test)]
mod session_store_testing;
#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod session_world_testing;
#[cfg(test)]
mod session_world_tests;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod window_tests;
#[cfg(test)]
mod world_testing;
#[cfg(test)]
mod world_tests;
