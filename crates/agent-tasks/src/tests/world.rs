//! A Task with the log that it writes, and what must hold at any time.

use std::collections::BTreeSet;

use agent_protocol::{AgentId, ErrorCode, EventId, RunId, SessionId};

use crate::{
    Actor, Command, Context, Event, Line, Moment, NewTask, Operation, Payload, PoolId, Refusal, Replay, StepId,
    StepSpec, StepStatus, StepUpdate, Task, TaskId, Worker,
};

pub(super) const LEASE: u64 = 1_000;

pub(super) fn step_id(id: &str) -> StepId {
    StepId::parse(id).unwrap()
}

pub(super) fn run_id(n: usize) -> RunId {
    RunId::parse(&format!("run_{n}")).unwrap()
}

/// `c<a,b` is the step `c` that depends on `a` and `b`; `c?` is not required.
pub(super) fn spec(text: &str) -> StepSpec {
    let (id, on) = text.split_once('<').unwrap_or((text, ""));
    StepSpec {
        step_id: step_id(id.trim_end_matches('?')),
        title: format!("Step {id}"),
        summary: String::new(),
        depends_on_step_ids: on.split(',').filter(|id| !id.is_empty()).map(step_id).collect(),
        required: !id.ends_with('?'),
        worker_pool_id: None,
    }
}

pub(super) fn new_task(steps: &[StepSpec]) -> NewTask {
    NewTask {
        task_id: TaskId::parse("t1").unwrap(),
        wal_path: "t1.wal.jsonl".to_owned(),
        title: "A task".to_owned(),
        summary: "What it is about".to_owned(),
        steps: steps.to_vec(),
        agent_id: Some(AgentId::parse("agent_root").unwrap()),
        run_id: Some(run_id(0)),
    }
}

pub(super) fn worker(n: usize, run: usize) -> Worker {
    Worker {
        agent_id: AgentId::parse(&format!("agent_w{n}")).unwrap(),
        run_id: run_id(run),
        pool_id: PoolId::parse("default").unwrap(),
        allowed_step_ids: None,
    }
}

/// A Task, its log and a clock.
#[derive(Clone)]
pub(super) struct World {
    pub(super) task: Task,
    pub(super) log: Vec<Event>,
    pub(super) now: u64,
}

impl World {
    /// A Task of these steps, written as for [`spec`], with a blank between them.
    pub(super) fn new(steps: &str) -> Self {
        let steps: Vec<StepSpec> = steps.split_whitespace().map(spec).collect();
        let (task, log) = Task::create(&new_task(&steps), Moment::from_millis(0)).unwrap();
        Self { task, log, now: 0 }
    }

    pub(super) fn context(&self) -> Context {
        Context { now: Moment::from_millis(self.now), lease_millis: LEASE }
    }

    /// Does it, and gives the types of its events.
    pub(super) fn run(&mut self, command: &Command) -> Result<Vec<&'static str>, Refusal> {
        let context = self.context();
        let events = self.task.prepare(command, &context)?.commit();
        let types = events.iter().map(|event| event.payload.event_type().as_str()).collect();
        self.log.extend(events);
        Ok(types)
    }

    #[track_caller]
    pub(super) fn ok(&mut self, command: &Command) -> Vec<&'static str> {
        self.run(command).unwrap()
    }

    /// The code of a refusal, which must have changed nothing.
    #[track_caller]
    pub(super) fn refused(&mut self, command: &Command) -> (ErrorCode, String) {
        let before = self.task.clone();
        let refusal = self.run(command).unwrap_err();
        assert_eq!(self.task, before, "{command:?}");
        (refusal.code(), refusal.to_string())
    }

    pub(super) fn status(&self, id: &str) -> StepStatus {
        self.task.step(&step_id(id)).unwrap().status
    }

    /// All steps with their states, such as `a:ready b:pending`.
    pub(super) fn steps(&self) -> String {
        self.task.steps().map(|step| format!("{}:{}", step.id, step.status)).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn replayed(&self) -> Task {
        replay(&self.log).unwrap()
    }
}

/// The Task of a log, without the way through text.
pub(super) fn fold(log: &[Event]) -> Task {
    let Some((Event { payload: Payload::TaskCreated(created), .. }, rest)) = log.split_first() else {
        panic!("the log begins with {:?}", log.first())
    };
    let mut task = Task::created(&created.task).unwrap();
    for event in rest {
        task.apply(event).unwrap();
    }
    task.keep();
    task
}

pub(super) fn lines(log: &[Event]) -> Vec<String> {
    let line = |(n, event): (usize, &Event)| {
        let line = Line {
            wal_seq: n as u64 + 1,
            session_id: SessionId::parse("sess_1").unwrap(),
            event_id: EventId::parse(&format!("evt_{n}")).unwrap(),
            actor_agent_id: None,
            actor_run_id: None,
            task_id: TaskId::parse("t1").unwrap(),
            event: event.clone(),
        };
        let mut out = Vec::new();
        line.write(&mut out);
        String::from_utf8(out).unwrap()
    };
    log.iter().enumerate().map(line).collect()
}

pub(super) fn replay(log: &[Event]) -> Result<Task, crate::ReplayError> {
    let mut replay = Replay::default();
    for line in lines(log) {
        replay.line(line.trim_end())?;
    }
    Ok(replay.finish().unwrap().1)
}

/// What holds in every state that a command leaves behind.
#[track_caller]
pub(super) fn check(task: &Task) {
    task.graph.check();
    let completed = |id: &StepId| task.step(id).unwrap().status == StepStatus::Completed;
    let mut runs = BTreeSet::new();
    for step in task.steps() {
        let met = step.content.depends_on.iter().all(completed);
        match step.status {
            StepStatus::Ready => assert!(met, "{} is ready and waits", step.id),
            StepStatus::Pending => {
                assert!(!met || task.status().is_terminal(), "{} is pending and waits for nothing", step.id);
            }
            StepStatus::Claimed => assert!(step.lease().is_some(), "{} is claimed without a lease", step.id),
            StepStatus::Running => {
                assert_eq!(step.claim.is_some(), step.lease().is_some(), "{} is running", step.id);
            }
            _ => {}
        }
        if let Some(claim) = &step.claim {
            assert!(runs.insert(claim.run_id.clone()), "{} has two steps", claim.run_id);
            assert_eq!(task.claimed_by(&claim.run_id).map(|step| &step.id), Some(&step.id));
        }
        assert!(step.lease().is_none() || step.status.is_held(), "{} has a lease", step.id);
    }
    if task.status().is_terminal() {
        let open = [StepStatus::Pending, StepStatus::Ready, StepStatus::Claimed, StepStatus::Running];
        assert!(open.iter().all(|status| task.steps_in(*status).next().is_none()), "an ended task has open steps");
        assert!(!task.is_stalled() && !task.is_completeable());
    } else if task.status() == crate::TaskStatus::Pending {
        assert!(!task.has_moving_steps(), "a pending task has steps to do");
    }
}

/// What no command may do, whatever it is.
#[track_caller]
pub(super) fn kept(before: &Task, after: &Task) {
    if before.status().is_terminal() {
        assert_eq!(before, after, "an ended task changed");
    }
    for step in before.steps().filter(|step| step.status == StepStatus::Completed || step.status.is_held()) {
        let Some(now) = after.step(&step.id) else { panic!("{} was deleted while it was {}", step.id, step.status) };
        if step.status == StepStatus::Completed {
            assert_eq!(now.status, step.status, "{} was final", step.id);
        }
        // One holder: while somebody has it, nobody else gets it.
        if let (true, Some(claim), Some(next)) = (now.status.is_held(), &step.claim, &now.claim) {
            assert_eq!(claim.run_id, next.run_id, "{} was taken from its holder", step.id);
        }
    }
}

// The commands, short enough for tables.

pub(super) fn claim(worker_and_run: usize, id: &str) -> Command {
    Command::Claim { worker: worker(worker_and_run, worker_and_run), step_id: step_id(id) }
}

pub(super) fn by_worker(run: usize, id: &str, status: StepStatus) -> Command {
    let update = StepUpdate { status: Some(status), ..StepUpdate::default() };
    Command::UpdateStep { by: Actor::Worker(run_id(run)), step_id: step_id(id), update }
}

pub(super) fn by_orchestrator(id: &str, status: StepStatus) -> Command {
    let update = StepUpdate { status: Some(status), ..StepUpdate::default() };
    Command::UpdateStep { by: Actor::Orchestrator, step_id: step_id(id), update }
}

/// Operations as JSON, as the model gives them.
#[track_caller]
pub(super) fn update(operations: serde_json::Value) -> Command {
    Command::Update(serde_json::from_value::<Vec<Operation>>(operations).unwrap())
}
