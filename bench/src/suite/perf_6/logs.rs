//! Tasks of many steps, and the logs of what was done with them.

use agent_protocol::{AgentId, EventId, RunId, SessionId};
use agent_tasks::{
    Actor, Command, Context, Event, Line, Moment, NewTask, Operation, PoolId, Refusal, StepId, StepSpec, StepStatus,
    StepUpdate, Task, TaskId, Worker,
};
use serde_json::json;

use crate::error::BenchError;

/// What a step asks for and what came of it are about as long as a model writes them.
const SUMMARY: &str =
    "Write the tests for this part first, run them, then make them pass without changing what they assert.";
const RESULT: &str =
    "Done: 12 tests, all of them pass; the part is in src/part.rs, and docs/part.md says how it is used.";

fn context() -> Context {
    Context { now: Moment::from_millis(1_796_031_703_120), lease_millis: 300_000 }
}

/// A new Task, and a run for each of its steps.
pub(super) struct New {
    pub(super) task: Task,
    pub(super) log: Vec<Event>,
    steps: Vec<(Worker, StepId)>,
}

impl New {
    /// Chains of ten steps.
    pub(super) fn steps(count: usize) -> Result<Self, BenchError> {
        let specs = specs(count)?;
        let ids: Vec<StepId> = specs.iter().map(|spec| spec.step_id.clone()).collect();
        let new = NewTask {
            task_id: name(TaskId::parse("bench"))?,
            wal_path: ".soong-agent/tasks/sess_bench/bench.wal.jsonl".to_owned(),
            title: "A task of many steps".to_owned(),
            summary: SUMMARY.to_owned(),
            steps: specs,
            agent_id: Some(AgentId::parse("agent_019b2c3d4e5f60718293a4b5c6d7e8f9")?),
            run_id: Some(RunId::parse("run_019b2c3d4e5f60718293a4b5c6d7e8f9")?),
        };
        let (task, log) = Task::create(&new, context().now)?;
        let agent_id = AgentId::parse("agent_worker_default_1")?;
        let pool_id = name(PoolId::parse("default"))?;
        let with_worker = |(n, step_id): (usize, StepId)| {
            let run_id = RunId::parse(&format!("run_019b2c3d4e5f60718293a4b5{n:08x}"))?;
            let worker =
                Worker { agent_id: agent_id.clone(), run_id, pool_id: pool_id.clone(), allowed_step_ids: None };
            Ok::<_, BenchError>((worker, step_id))
        };
        let steps = ids.into_iter().enumerate().map(with_worker).collect::<Result<_, _>>()?;
        Ok(Self { task, log, steps })
    }

    pub(super) fn run(&mut self, command: &Command) -> Result<Vec<Event>, Refusal> {
        Ok(self.task.prepare(command, &context())?.commit())
    }

    /// Each step by a run of its own, in an order that the dependencies allow. Nothing is kept but the Task.
    pub(super) fn claim_and_complete_all(&mut self) -> Result<(), Refusal> {
        for (worker, step_id) in std::mem::take(&mut self.steps) {
            self.run(&claim(&worker, &step_id))?;
            self.run(&update(&worker, &step_id, Some(StepStatus::Completed)))?;
        }
        Ok(())
    }
}

pub(super) fn specs(count: usize) -> Result<Vec<StepSpec>, BenchError> {
    let spec = |n: usize| {
        let before = (!n.is_multiple_of(10)).then(|| StepId::parse(&format!("step-{}", n - 1)));
        Ok(StepSpec {
            step_id: name(StepId::parse(&format!("step-{n}")))?,
            title: format!("Part {n} of the work"),
            summary: SUMMARY.to_owned(),
            depends_on_step_ids: before.into_iter().map(name).collect::<Result<_, _>>()?,
            required: true,
            worker_pool_id: None,
        })
    };
    (0..count).map(spec).collect()
}

pub(super) fn claim(worker: &Worker, step_id: &StepId) -> Command {
    Command::Claim { worker: worker.clone(), step_id: step_id.clone() }
}

pub(super) fn update(worker: &Worker, step_id: &StepId, status: Option<StepStatus>) -> Command {
    let update = StepUpdate { status, result_summary: Some(RESULT.to_owned()), ..StepUpdate::default() };
    Command::UpdateStep { by: Actor::Worker(worker.run_id.clone()), step_id: step_id.clone(), update }
}

/// A Task all of whose steps were claimed, started, reported on twice and completed.
pub(super) fn worked_off(count: usize) -> Result<New, BenchError> {
    let mut new = New::steps(count)?;
    for (worker, step_id) in std::mem::take(&mut new.steps) {
        let claimed = new.run(&claim(&worker, &step_id))?;
        new.log.extend(claimed);
        for status in [Some(StepStatus::Running), None, None, Some(StepStatus::Completed)] {
            let updated = new.run(&update(&worker, &step_id, status))?;
            new.log.extend(updated);
        }
    }
    Ok(new)
}

/// The lines of a log.
pub(super) fn text(log: &[Event]) -> Result<String, BenchError> {
    let (session_id, task_id) =
        (SessionId::parse("sess_019b2c3d4e5f60718293a4b5c6d7e8f9")?, name(TaskId::parse("bench"))?);
    let actor_agent_id = Some(AgentId::parse("agent_worker_default_1")?);
    let actor_run_id = Some(RunId::parse("run_019b2c3d4e5f60718293a4b5c6d7e8f9")?);
    let mut bytes = Vec::new();
    for (wal_seq, event) in (1..).zip(log) {
        let line = Line {
            wal_seq,
            session_id: session_id.clone(),
            event_id: EventId::parse(&format!("evt_019b2c3d4e5f60718293a4b5c6{wal_seq:06x}"))?,
            actor_agent_id: actor_agent_id.clone(),
            actor_run_id: actor_run_id.clone(),
            task_id: task_id.clone(),
            event: event.clone(),
        };
        line.write(&mut bytes);
    }
    String::from_utf8(bytes).map_err(|error| BenchError::Setup { what: error.to_string() })
}

/// Steps added, renamed and made to wait, in turns.
pub(super) fn edit_of_a_hundred() -> Result<Command, BenchError> {
    let operation = |n: usize| {
        let operation = match n % 3 {
            0 => json!({ "op": "add_step", "step": {
                "step_id": format!("added-{n}"), "title": "One more", "depends_on_step_ids": ["step-5"] } }),
            1 => json!({ "op": "update_step", "step_id": format!("step-{n}"), "fields": { "title": "Another title" } }),
            _ => json!({ "op": "add_dependency",
                "step_id": format!("step-{}", 100 + 10 * n), "depends_on_step_id": "step-3" }),
        };
        serde_json::from_value::<Operation>(operation).map_err(|error| BenchError::Setup { what: error.to_string() })
    };
    Ok(Command::Update((0..100).map(operation).collect::<Result<_, _>>()?))
}

pub(super) fn name<T>(parsed: Result<T, agent_tasks::NameError>) -> Result<T, BenchError> {
    parsed.map_err(|error| BenchError::Setup { what: error.to_string() })
}

impl From<Refusal> for BenchError {
    fn from(refusal: Refusal) -> Self {
        Self::Setup { what: refusal.to_string() }
    }
}
