//! RUN-24: the machine in random worlds.
//!
//! A world performs effects in any order a real one could: calls end in any order, the user cancels at any moment, commits
//! fail, streams break, prompts overflow, making room fails, late and foreign inputs arrive. After each world: the run
//! ended, nothing came after `Finish`, and no request that was sent and no path that was left behind holds a call without
//! its result or a result without its call.

use std::collections::{HashMap, HashSet};

use agent_protocol::{
    ContentBlock, EndReason, ErrorCode, ErrorPayload, ModelFault, ModelRequest, NodeId, Object, Reply, Role, RunId,
    StopKind, StopReason, ToolCall, ToolCallId, Usage,
};

use super::testing::sources;
use super::*;
use crate::Path;

/// xorshift64*: the worlds must be the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % sides
    }

    /// True once in `n` times.
    fn one_in(&mut self, n: u64) -> bool {
        self.roll(n) == 0
    }

    fn pick<T>(&mut self, from: &mut Vec<T>) -> Option<T> {
        (!from.is_empty()).then(|| from.swap_remove(self.roll(from.len() as u64) as usize))
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Pending {
    Sources,
    Model(RequestNo),
    Prepare(ToolCallId),
    Authorize(ToolCallId),
    Execute(ToolCallId),
    Relief(JobNo),
    DrainExpired,
}

#[derive(Default, Debug)]
struct Figures {
    effects: usize,
    requests: usize,
    failed_commits: usize,
    ends: HashMap<&'static str, usize>,
}

struct World {
    dice: Dice,
    run: Run,
    pending: Vec<Pending>,
    aborted: HashSet<String>,
    /// Nodes as a store would hold them: committed only.
    stored: HashMap<NodeId, NodeDraft>,
    active: Option<NodeId>,
    finished: Option<EndReason>,
    begun: HashSet<ToolCallId>,
    rates: Rates,
}

/// How hostile a world is: one in `n`.
#[derive(Clone, Copy)]
struct Rates {
    cancel: u64,
    failed_commit: u64,
    broken_stream: u64,
    overflow: u64,
}

fn error(text: &str) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::ProviderError, text)
}

impl World {
    fn new(mut dice: Dice, path: Path, number: u64, rates: Rates) -> Self {
        let limits = Limits { max_turns: 2 + dice.roll(12) as u32, ..Limits::default() };
        let run_id = RunId::parse(&format!("run_world{number}")).unwrap();
        let run = Run::new(limits, run_id, path, Calibration::default());
        World {
            dice,
            run,
            pending: Vec::new(),
            aborted: HashSet::new(),
            stored: HashMap::new(),
            active: None,
            finished: None,
            begun: HashSet::new(),
            rates,
        }
    }

    fn live(&mut self, figures: &mut Figures) {
        self.feed(Input::Start { content: vec![ContentBlock::text("do it")] }, figures);
        for _ in 0..4000 {
            if self.finished.is_some() {
                break;
            }
            if self.dice.one_in(self.rates.cancel) {
                self.feed(Input::Cancel, figures);
            } else if self.dice.one_in(20) {
                let stale = self.stale();
                self.feed(stale, figures);
            } else if let Some(next) = self.dice.pick(&mut self.pending) {
                let input = self.complete(next);
                self.feed(input, figures);
            } else {
                panic!("stuck: nothing is pending and the run has not ended: {}", self.run.describe());
            }
        }
        let end = self.finished.unwrap_or_else(|| panic!("the run did not end: {}", self.run.describe()));
        *figures.ends.entry(end.as_str()).or_default() += 1;
        // Whatever comes now is late.
        for late in std::mem::take(&mut self.pending) {
            let input = self.complete(late);
            assert!(self.run.step(input).is_empty(), "something followed Finish");
        }
        assert!(self.run.step(Input::Cancel).is_empty());
        assert!(self.run.step(Input::DrainExpired).is_empty());
    }

    fn feed(&mut self, input: Input, figures: &mut Figures) {
        let effects = self.run.step(input);
        let commits = effects.iter().filter(|effect| matches!(effect, Effect::Commit { .. })).count();
        assert!(commits <= 1, "one step, one commit");
        for (at, effect) in effects.into_iter().enumerate() {
            figures.effects += 1;
            assert!(self.finished.is_none(), "{effect:?} after Finish");
            if let Effect::Commit { commit, writes } = effect {
                assert_eq!(at, 0, "a commit comes before everything it precedes");
                if self.dice.one_in(self.rates.failed_commit) {
                    figures.failed_commits += 1;
                    let error = ErrorPayload::new(ErrorCode::StorageError, "disk full");
                    return self.feed(Input::StoreFailed { commit, error }, figures);
                }
                self.store(writes);
            } else {
                self.perform(effect, figures);
            }
        }
    }

    fn perform(&mut self, effect: Effect, figures: &mut Figures) {
        match effect {
            Effect::Commit { .. } => unreachable!("handled before"),
            Effect::Gather => self.pending.push(Pending::Sources),
            Effect::CallModel { request, body } => {
                figures.requests += 1;
                check_request(&body);
                self.pending.push(Pending::Model(request));
            }
            Effect::Prepare { call } => self.pending.push(Pending::Prepare(call.tool_call_id)),
            Effect::Authorize(call) => self.pending.push(Pending::Authorize(call)),
            Effect::Execute(call) => {
                assert!(self.begun.contains(&call), "a call runs that was not written down as begun");
                self.pending.push(Pending::Execute(call));
            }
            Effect::Relieve { job, .. } => self.pending.push(Pending::Relief(job)),
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

    fn store(&mut self, writes: Vec<Write>) {
        self.check_results_and_events(&writes);
        for write in writes {
            match write {
                Write::Node(node) => {
                    let known = node.parent_id.as_ref().is_none_or(|parent| {
                        self.stored.contains_key(parent) || self.run.path().nodes().iter().any(|n| n.node_id == *parent)
                    });
                    assert!(known, "a node hangs below one that is not stored");
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
    }

    /// RUN-14: a result and its event are one commit, and what begins was written down as begun.
    fn check_results_and_events(&mut self, writes: &[Write]) {
        let ends = [EventType::ToolCompleted, EventType::ToolFailed, EventType::ToolDenied];
        let mut told = Vec::new();
        for write in writes {
            let Write::Event(event) = write else { continue };
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

    fn complete(&mut self, pending: Pending) -> Input {
        match pending {
            Pending::Sources => Input::Sources(Box::new(sources(400))),
            Pending::Model(request) => self.model(request),
            Pending::Prepare(call) => {
                let result = if self.dice.one_in(6) { Err(error("bad arguments")) } else { Ok("a line".to_owned()) };
                Input::Prepared { call, result }
            }
            Pending::Authorize(call) => {
                let denied = self.dice.one_in(6);
                let verdict = if denied { Verdict::Deny { error: error("no") } } else { Verdict::Allow };
                Input::Authorized { call, verdict }
            }
            Pending::Execute(call) => {
                let aborted = self.aborted.contains(&format!("{:?}", Target::Call(call.clone())));
                let outcome = Box::new(self.outcome(aborted));
                Input::CallDone { call, outcome }
            }
            Pending::Relief(job) => {
                let result = if self.dice.one_in(5) { Err(error("no room")) } else { Ok(Relief::Slide) };
                Input::ReliefDone { job, result }
            }
            Pending::DrainExpired => Input::DrainExpired,
        }
    }

    fn outcome(&mut self, aborted: bool) -> Outcome {
        let kind = match self.dice.roll(6) {
            _ if aborted => ResultKind::Aborted,
            0 => ResultKind::Failed,
            _ => ResultKind::Ok,
        };
        let words = "word ".repeat(self.dice.roll(120) as usize);
        Outcome {
            kind,
            content: vec![ContentBlock::text(words)],
            error: (kind != ResultKind::Ok).then(|| error("failed")),
            metadata: Object::new(),
            summary: None,
            digest: None,
            after: if self.dice.one_in(8) {
                vec![AfterNode {
                    node_type: NodeType::PlanInstruction,
                    content: vec![ContentBlock::text("a plan")],
                    metadata: Object::new(),
                }]
            } else {
                Vec::new()
            },
        }
    }

    fn model(&mut self, request: RequestNo) -> Input {
        let aborted = self.aborted.contains(&format!("{:?}", Target::Model(request)));
        let failed = |fault, partial| Input::ModelFailed { request, fault, error: error("broken"), partial };
        if aborted && !self.dice.one_in(4) {
            let partial = self.dice.one_in(2).then(|| self.reply());
            return failed(ModelFault::Aborted, partial);
        }
        if self.dice.one_in(self.rates.overflow) {
            return failed(ModelFault::Overflow, None);
        }
        if self.dice.one_in(self.rates.broken_stream) {
            let partial = self.dice.one_in(2).then(|| self.reply());
            let fault = if self.dice.one_in(3) { ModelFault::Fatal } else { ModelFault::Retryable };
            return failed(fault, partial);
        }
        Input::ModelDone { request, reply: self.reply() }
    }

    fn reply(&mut self) -> Reply {
        let mut content = Vec::new();
        if self.dice.one_in(2) {
            content.push(ContentBlock::text("some text"));
        }
        if !self.dice.one_in(4) {
            for _ in 0..self.dice.roll(5) {
                let call = self.call();
                content.push(ContentBlock::ToolCall(call));
            }
        }
        let stop = match self.dice.roll(12) {
            0 => StopKind::MaxTokens,
            1 => StopKind::ContentFilter,
            _ => StopKind::EndTurn,
        };
        Reply {
            content,
            usage: Usage { input_tokens: Some(self.dice.roll(900)), ..Usage::default() },
            stop: StopReason::new(stop),
            metadata: Object::new(),
        }
    }

    fn call(&mut self) -> ToolCall {
        // Few ids and few arguments, so that ids repeat and calls are equal.
        let id = format!("c{}", self.dice.roll(4));
        let name = ["look", "peek", "write", "order", "child", "no_such_tool"][self.dice.roll(6) as usize];
        let mut metadata = Object::new();
        if self.dice.one_in(12) {
            metadata.insert(ToolCall::ARGUMENTS_ERROR.to_owned(), "broken".into());
        }
        ToolCall {
            tool_call_id: ToolCallId::parse(&id).unwrap(),
            name: name.to_owned(),
            arguments: Object::from_iter([("n".to_owned(), self.dice.roll(2).into())]),
            metadata,
        }
    }

    /// Something late, foreign or impossible.
    fn stale(&mut self) -> Input {
        let call = ToolCallId::parse(&format!("c{}", self.dice.roll(9) + 100)).unwrap();
        match self.dice.roll(8) {
            0 => Input::ModelDone { request: RequestNo(9999), reply: self.reply() },
            1 => Input::ModelFailed {
                request: RequestNo(9999),
                fault: ModelFault::Retryable,
                error: error("late"),
                partial: None,
            },
            2 => Input::Prepared { call, result: Ok("a line".into()) },
            3 => Input::Authorized { call, verdict: Verdict::Allow },
            4 => Input::CallDone { call, outcome: Box::new(self.outcome(false)) },
            5 => Input::ReliefDone { job: JobNo(9999), result: Ok(Relief::Slide) },
            6 => Input::StoreFailed { commit: CommitNo(9999), error: error("late") },
            _ => Input::Start { content: vec![ContentBlock::text("again")] },
        }
    }
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

/// Calls on a path that have no result.
fn orphans(path: &Path) -> usize {
    path.unanswered().len()
}

/// RUN-24, RUN-14: every run ends, nothing follows `Finish`, and no request or path left behind has an orphan call or result.
/// RUN-19: the session is usable at once, whatever happened to the run before.
#[test]
fn random_worlds() {
    let worlds: u64 = if cfg!(debug_assertions) { 12_000 } else { 60_000 };
    let mut figures = Figures::default();
    for number in 0..worlds {
        let mut dice = Dice(number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let hostile = |dice: &mut Dice, n| if dice.one_in(2) { n } else { u64::MAX };
        let rates = Rates {
            cancel: hostile(&mut dice, 25),
            failed_commit: hostile(&mut dice, 40),
            broken_stream: 2 + dice.roll(20),
            overflow: 2 + dice.roll(30),
        };
        let mut world = World::new(dice, Path::new(), number, rates);
        world.live(&mut figures);
        let dice = Dice(world.dice.0);
        let store_failed = figures.failed_commits;
        let (path, _) = world.run.into_path();
        if rates.failed_commit == u64::MAX {
            assert_eq!(orphans(&path), 0, "world {number} left a call without its result");
        }
        // The next run on the same path: whatever the first one left, its requests are valid (checked as they are sent),
        // and it leaves nothing open.
        let calm = Rates { cancel: u64::MAX, failed_commit: u64::MAX, ..rates };
        let mut next = World::new(dice, path, number + worlds, calm);
        next.live(&mut figures);
        assert_eq!(orphans(next.run.path()), 0, "world {number}, second run");
        assert_eq!(figures.failed_commits, store_failed);
    }
    for end in EndReason::ALL {
        assert!(figures.ends.contains_key(end.as_str()), "no world ended with {end:?}");
    }
    println!("{worlds} worlds, {figures:?}");
}
