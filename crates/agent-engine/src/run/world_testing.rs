//! A random world: it performs the machine's effects in any order a real driver could, and holds what a store would hold.

use std::collections::{HashMap, HashSet};

use agent_protocol::{
    ContentBlock, ContextBuilt, EndReason, ErrorCode, ErrorPayload, EventPayload, EventType, ModelRequest, NodeId,
    Role, RunId, ToolCallId,
};

use super::answers_testing::WRITTEN_CALL;
use super::testing::fixed;
use super::*;
use crate::{Path, rebuild};

/// xorshift64*: the worlds must be the same on every machine.
#[derive(Clone)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn of_world(number: u64) -> Self {
        Self(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % sides
    }

    /// True once in `n` times.
    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.roll(n) == 0
    }

    pub(super) fn pick<T>(&mut self, from: &mut Vec<T>) -> Option<T> {
        (!from.is_empty()).then(|| from.swap_remove(self.roll(from.len() as u64) as usize))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Pending {
    Sources,
    Model(RequestNo),
    Prepare(ToolCallId),
    Authorize(ToolCallId),
    Execute(ToolCallId),
    Compaction(JobNo),
    DrainExpired,
}

#[derive(Default, Debug)]
pub(super) struct Figures {
    pub(super) effects: usize,
    pub(super) requests: usize,
    pub(super) compactions: usize,
    pub(super) summaries: usize,
    pub(super) adopted: usize,
    pub(super) failed_commits: usize,
    pub(super) failed_merged: usize,
    pub(super) ends: HashMap<&'static str, usize>,
}

/// How hostile a world is: one in `n`.
#[derive(Clone, Copy)]
pub(super) struct Rates {
    pub(super) cancel: u64,
    pub(super) failed_commit: u64,
    pub(super) broken_stream: u64,
    pub(super) overflow: u64,
    /// Replies are cut, or withheld.
    pub(super) cut: u64,
    /// The process ends.
    pub(super) crash: u64,
}

impl Rates {
    pub(super) const CALM: Self =
        Self { cancel: u64::MAX, failed_commit: u64::MAX, broken_stream: 12, overflow: 20, cut: 12, crash: u64::MAX };
}

/// What the sources are made of at the moment.
pub(super) struct Settings {
    pub(super) fixed: usize,
    pub(super) messages: u64,
    pub(super) tenths: u64,
    pub(super) compacting: Compacting,
    pub(super) in_system: Vec<NodeId>,
}

/// A request that was sent, and its report as it was stored.
pub(super) struct Sent {
    pub(super) request: ModelRequest,
    pub(super) built: ContextBuilt,
}

/// Hears of what is stored.
pub(super) type OnCommit = Box<dyn FnMut(&[Write])>;

pub(super) struct World {
    pub(super) dice: Dice,
    pub(super) run: Run,
    pub(super) pending: Vec<Pending>,
    pub(super) aborted: HashSet<String>,
    pub(super) settings: Settings,
    /// Nodes as a store would hold them: committed only.
    pub(super) stored: HashMap<NodeId, NodeDraft>,
    /// The stored nodes that are on the path, root first.
    pub(super) chain: Vec<NodeId>,
    active: Option<NodeId>,
    /// Whether all of the path came to be in this world.
    own_path: bool,
    pub(super) finished: Option<EndReason>,
    /// Calls that are stored as begun, and those that were run.
    pub(super) begun: HashSet<ToolCallId>,
    pub(super) executed: HashSet<ToolCallId>,
    pub(super) sent: Vec<Sent>,
    /// The stored reports, read from their text.
    reports: Vec<ContextBuilt>,
    /// Whether the driver holds back commits that may wait, and the one it holds.
    merges: bool,
    pub(super) held: Option<(CommitNo, Vec<Write>)>,
    /// Whether a commit has failed.
    pub(super) store_failed: bool,
    pub(super) on_commit: OnCommit,
    /// The tools that the model calls.
    pub(super) tools: [&'static str; 6],
    pub(super) rates: Rates,
}

pub(super) fn error(text: &str) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::ProviderError, text)
}

impl World {
    pub(super) fn new(mut dice: Dice, path: Path, number: u64, rates: Rates) -> Self {
        let limits = Limits { max_turns: 2 + dice.roll(12) as u32, ..Limits::default() };
        let run_id = RunId::parse(&format!("run_world{number}")).unwrap();
        let chain = path.nodes().iter().map(|node| node.node_id.clone()).collect();
        let merges = dice.one_in(2);
        let own_path = path.is_empty();
        let compacting = Compacting {
            background: dice.one_in(2),
            at_end: dice.one_in(2),
            recovery: [Recovery::Summary, Recovery::Summary, Recovery::Slide, Recovery::End][dice.roll(4) as usize],
            request: "summarise in {max_words} words".into(),
            ..Compacting::default()
        };
        let run = Run::new(limits, run_id, path, Calibration::default());
        World {
            dice,
            run,
            pending: Vec::new(),
            aborted: HashSet::new(),
            settings: Settings { fixed: 0, messages: 1000, tenths: 0, compacting, in_system: Vec::new() },
            own_path,
            stored: HashMap::new(),
            chain,
            active: None,
            finished: None,
            begun: HashSet::new(),
            executed: HashSet::new(),
            sent: Vec::new(),
            reports: Vec::new(),
            merges,
            held: None,
            store_failed: false,
            on_commit: Box::new(|_| {}),
            tools: ["look", "peek", "write", "order", "child", "no_such_tool"],
            rates,
        }
    }

    /// Lives until the run has ended; false if the process ended before it.
    pub(super) fn live(&mut self, figures: &mut Figures) -> bool {
        self.live_on(None, figures)
    }

    /// The same with a summary that the run before has left open.
    pub(super) fn live_on(&mut self, open: Option<CompactionPlan>, figures: &mut Figures) -> bool {
        self.begin(open, figures);
        for _ in 0..4000 {
            if self.finished.is_some() {
                break;
            }
            if self.dice.one_in(self.rates.crash) {
                return false;
            }
            self.go_on(figures);
        }
        self.leave(figures);
        true
    }

    /// Takes over a summary that the run before has left open, and starts.
    pub(super) fn begin(&mut self, open: Option<CompactionPlan>, figures: &mut Figures) {
        if let Some(plan) = open {
            let job = self.run.adopt(CompactMode::AtEnd, plan);
            self.pending.push(Pending::Compaction(job));
            figures.adopted += 1;
        }
        self.feed(Input::Start { content: vec![ContentBlock::text("do it")] }, figures);
    }

    /// The next thing happens, whichever it is.
    pub(super) fn go_on(&mut self, figures: &mut Figures) {
        if self.dice.one_in(self.rates.cancel) {
            self.feed(Input::Cancel, figures);
        } else if self.dice.one_in(20) {
            let stale = self.stale();
            self.feed(stale, figures);
        } else if let Some(next) = self.dice.pick(&mut self.pending) {
            if next != Pending::Sources && !self.store_held(figures) {
                self.pending.push(next);
                return;
            }
            let input = self.complete(next);
            self.feed(input, figures);
        } else {
            panic!("stuck: nothing is pending and the run has not ended: {}", self.run.describe());
        }
    }

    /// The run has ended.
    pub(super) fn leave(&mut self, figures: &mut Figures) {
        let end = self.finished.unwrap_or_else(|| panic!("the run did not end: {}", self.run.describe()));
        *figures.ends.entry(end.as_str()).or_default() += 1;
        if end == EndReason::Completed {
            let answer = self.run.answer().unwrap_or_default();
            assert!(!answer.is_empty() || self.store_failed, "a run completed without an answer");
            assert!(!answer.ends_with(WRITTEN_CALL), "a call that was written as text passed for the answer");
        }
        figures.summaries +=
            self.run.path().nodes().iter().filter(|node| node.node_type == NodeType::Compaction).count();
        // Whatever comes now is late.
        for late in std::mem::take(&mut self.pending) {
            let input = self.complete(late);
            assert!(self.run.step(input).is_empty(), "something followed Finish");
        }
        assert!(self.run.step(Input::Cancel).is_empty());
        assert!(self.run.step(Input::DrainExpired).is_empty());
    }

    pub(super) fn feed(&mut self, input: Input, figures: &mut Figures) {
        let effects = self.run.step(input);
        let commits = effects.iter().filter(|effect| matches!(effect, Effect::Commit { .. })).count();
        assert!(commits <= 1, "one step, one commit");
        let may_wait = self.merges && Effect::commit_may_wait(&effects);
        for (at, effect) in effects.into_iter().enumerate() {
            figures.effects += 1;
            assert!(self.finished.is_none(), "{effect:?} after Finish");
            if let Effect::Commit { commit, writes } = effect {
                assert_eq!(at, 0, "a commit comes before everything it precedes");
                if !self.commit(commit, writes, may_wait, figures) {
                    return;
                }
            } else {
                assert!(may_wait || self.held.is_none(), "{effect:?} comes before a commit that was asked for earlier");
                self.perform(effect, figures);
            }
        }
    }

    /// Nothing waits for something outside before what came before it is stored. False if that failed.
    pub(super) fn store_held(&mut self, figures: &mut Figures) -> bool {
        match self.held.take() {
            Some((commit, writes)) => self.commit(commit, writes, false, figures),
            None => true,
        }
    }

    /// False if it failed; then nothing after it is performed.
    fn commit(&mut self, commit: CommitNo, writes: Vec<Write>, may_wait: bool, figures: &mut Figures) -> bool {
        let held = self.held.take();
        let merged = held.is_some();
        let (first, mut all) = held.unwrap_or((commit, Vec::new()));
        all.extend(writes);
        if may_wait {
            self.held = Some((first, all));
            return true;
        }
        let fails = self.dice.one_in(self.rates.failed_commit);
        if fails {
            self.store_failed = true;
            figures.failed_commits += 1;
            figures.failed_merged += usize::from(merged);
            let error = ErrorPayload::new(ErrorCode::StorageError, "disk full");
            self.feed(Input::StoreFailed { commit: first, error }, figures);
        } else {
            self.store(all);
        }
        // RUN-21: whether it failed or not, the path is what is stored.
        let path: Vec<_> = self.run.path().nodes().iter().map(|node| node.node_id.clone()).collect();
        assert_eq!(path, self.chain, "the path is not what is stored");
        !fails
    }

    fn perform(&mut self, effect: Effect, figures: &mut Figures) {
        match effect {
            Effect::Commit { .. } => unreachable!("handled before"),
            Effect::Gather { fresh } => {
                if fresh {
                    self.settings.in_system = self.instructions();
                }
                self.pending.push(Pending::Sources);
            }
            Effect::CallModel { request, body } => {
                figures.requests += 1;
                check_request(&body);
                self.note_request(request, *body);
                self.pending.push(Pending::Model(request));
            }
            Effect::Prepare { call } => self.pending.push(Pending::Prepare(call.tool_call_id)),
            Effect::Authorize(call) => self.pending.push(Pending::Authorize(call)),
            Effect::Execute(call) => {
                assert!(self.begun.contains(&call), "a call runs that was not written down as begun");
                self.executed.insert(call.clone());
                self.pending.push(Pending::Execute(call));
            }
            Effect::Compact { job, plan, request, .. } => {
                check_request(&request);
                assert!(
                    self.stored.contains_key(&plan.first_kept_node_id) || !self.own_path,
                    "kept from a node that is not stored"
                );
                let open = self.pending.iter().filter(|pending| matches!(pending, Pending::Compaction(_))).count();
                let given_up = self.aborted.iter().filter(|target| target.starts_with("Job")).count();
                assert!(open <= given_up, "two compactions of one path (CMP-6)");
                figures.compactions += 1;
                self.pending.push(Pending::Compaction(job));
            }
            Effect::Abort(target) => {
                self.aborted.insert(format!("{target:?}"));
            }
            Effect::ArmDrain => {
                if !self.pending.contains(&Pending::DrainExpired) {
                    self.pending.push(Pending::DrainExpired);
                }
            }
            Effect::Finish { end, .. } => self.finished = Some(end),
        }
    }

    /// The instruction files that may join the system part.
    fn instructions(&self) -> Vec<NodeId> {
        let nodes = self.run.path().nodes().iter();
        nodes.filter(|node| node.node_type == NodeType::InstructionContext).map(|node| node.node_id.clone()).collect()
    }

    /// STO-11: what is stored of a request as it is sent is enough to make it again.
    fn note_request(&mut self, number: RequestNo, request: ModelRequest) {
        let built = self.reports.last().expect("a request without its report").clone();
        assert_eq!(built.request, number.0, "the report before a request is its own");
        let sent = Sent { request, built };
        assert_eq!(self.rebuilt(&sent, self.run.path()), sent.request);
        self.sent.push(sent);
    }

    /// A request made again from this path and the stored reports of the run.
    pub(super) fn rebuilt(&self, sent: &Sent, path: &Path) -> ModelRequest {
        let holder = self.reports.iter().find(|report| report.request == sent.built.epoch_part_in());
        let holder = holder.expect("the report that holds the epoch's part is stored");
        let variant = &holder.epoch_part.as_ref().expect("it holds the epoch's part").fixed_part["variant"];
        let variant = usize::try_from(variant.as_u64().unwrap()).unwrap();
        rebuild(path, &sent.built, holder, &fixed(variant)).unwrap_or_else(|error| panic!("{error}"))
    }

    fn store(&mut self, writes: Vec<Write>) {
        self.check_results_and_events(&writes);
        self.check_starts(&writes);
        (self.on_commit)(&writes);
        for write in writes {
            match write {
                Write::Node(node) => {
                    assert_eq!(node.parent_id.as_ref(), self.chain.last(), "a node hangs below the stored tip");
                    if !node.metadata.contains_key("partial") {
                        self.chain.push(node.node_id.clone());
                    }
                    assert!(self.stored.insert(node.node_id.clone(), node).is_none(), "a node id twice");
                }
                Write::Activate(node) => {
                    assert!(self.stored.contains_key(&node), "an active node that is not stored");
                    assert!(!self.stored[&node].metadata.contains_key("partial"), "a partial reply is active (RUN-8)");
                    self.active = Some(node);
                }
                Write::Event(_) | Write::Run(_) => {}
            }
        }
        assert!(self.active.is_none() || self.active.as_ref() == self.chain.last(), "the tip is active");
    }

    /// RUN-14: a result and its event are one commit, and what begins was written down as begun.
    fn check_results_and_events(&mut self, writes: &[Write]) {
        let ends = [EventType::ToolCompleted, EventType::ToolFailed, EventType::ToolDenied];
        let mut told = Vec::new();
        for event in events(writes) {
            if event.event_type == EventType::ToolStarted {
                self.begun.insert(event.tool_call_id.clone().unwrap());
            } else if ends.contains(&event.event_type) {
                told.push(event.node_id.clone().unwrap());
            }
        }
        let results = writes.iter().filter_map(|write| match write {
            Write::Node(node) if node.role == Role::Tool => Some(node.node_id.clone()),
            _ => None,
        });
        assert_eq!(results.collect::<Vec<_>>(), told, "each result node has its event in the same commit");
    }

    /// A request's report and its start are stored together, once.
    fn check_starts(&mut self, writes: &[Write]) {
        let of_type = |wanted| events(writes).filter(move |event| event.event_type == wanted);
        let built: Vec<_> = of_type(EventType::ContextBuilt).collect();
        let started: Vec<_> = of_type(EventType::ModelStarted).map(|event| event.payload["request"].clone()).collect();
        assert_eq!(started, built.iter().map(|event| event.payload["request"].clone()).collect::<Vec<_>>());
        self.reports.extend(built.iter().map(|event| read(&serde_json::to_string(&event.payload).unwrap())));
    }
}

fn events(writes: &[Write]) -> impl Iterator<Item = &EventDraft> {
    writes.iter().filter_map(|write| match write {
        Write::Event(event) => Some(event),
        Write::Node(_) | Write::Activate(_) | Write::Run(_) => None,
    })
}

/// As it comes from the store.
fn read(payload: &str) -> ContextBuilt {
    ContextBuilt::read(&serde_json::from_str(payload).unwrap()).unwrap()
}

/// Each call directly followed by exactly its results, no other result, no id twice.
#[track_caller]
fn check_request(request: &ModelRequest) {
    let mut seen = HashSet::new();
    let mut waiting: HashSet<ToolCallId> = HashSet::new();
    for message in &request.messages {
        if message.role == Role::Tool {
            let [ContentBlock::ToolResult(result)] = &*message.content else { panic!("a tool message is one result") };
            assert!(waiting.remove(&result.tool_call_id), "a result without its call");
            continue;
        }
        assert!(waiting.is_empty(), "a call without its result");
        for call in message.content.iter().filter_map(ContentBlock::as_tool_call) {
            assert!(seen.insert(call.tool_call_id.clone()), "a call id twice");
            waiting.insert(call.tool_call_id.clone());
        }
        assert!(!message.content.is_empty(), "an empty message");
    }
    assert!(waiting.is_empty(), "a call without its result");
    assert!(request.messages.iter().any(|message| message.role == Role::User), "no user message");
}
