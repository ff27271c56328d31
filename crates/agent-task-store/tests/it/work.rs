//! What the killed processes do: commands that follow from their number and the state, so that whoever looks on can work out the same.

use std::path::Path;

use agent_protocol::{AgentId, EventId, RunId, SessionId};
use agent_task_store::{Actor, NewTask, Stamp, TaskError, TaskStore};
use agent_tasks::{
    Command, Context, Moment, Operation, PoolId, StepId, StepSpec, StepStatus, StepUpdate, Task, TaskId, WalName,
    Worker,
};
use serde_json::json;

pub(crate) const LEASE: u64 = 1 << 40;
pub(crate) const SHOWN: &str = "tasks/sess_kill";

/// Numbers that look random (SplitMix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// The number of a command: what it is, when it is given, and what it is called all follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) u64);

pub(crate) enum Asked {
    New(NewTask),
    Of(TaskId, Command),
}

impl Number {
    pub(crate) fn now(self) -> Moment {
        Moment::from_millis(self.0)
    }

    pub(crate) fn context(self) -> Context {
        Context { now: self.now(), lease_millis: LEASE }
    }

    fn dice(self) -> Dice {
        Dice(self.0 << 20)
    }

    /// What is asked of the active Tasks.
    pub(crate) fn asked<'a>(self, active: impl Iterator<Item = &'a Task>) -> Asked {
        let mut dice = self.dice();
        let tasks: Vec<&Task> = active.collect();
        let most = if dice.below(8) == 0 { 3 } else { 2 };
        if tasks.len() < most {
            return Asked::New(self.new_task(&mut dice));
        }
        let task = tasks[dice.below(tasks.len() as u64) as usize];
        Asked::Of(task.id().clone(), self.command(task, &mut dice))
    }

    fn new_task(self, dice: &mut Dice) -> NewTask {
        let spec = |n: u64| StepSpec {
            step_id: step_id(n),
            title: format!("Step {n}"),
            summary: "x".repeat((self.0 % 7 * 300) as usize),
            depends_on_step_ids: (!n.is_multiple_of(3)).then(|| step_id(n - 1)).into_iter().collect(),
            required: !n.is_multiple_of(4),
            worker_pool_id: None,
        };
        NewTask {
            task_id: TaskId::parse(&format!("task-{}", self.0)).unwrap(),
            wal_name: WalName::parse(&format!("task-{}", self.0)).unwrap(),
            title: format!("Task {}", self.0),
            summary: String::new(),
            steps: (0..4 + dice.below(8)).map(spec).collect(),
        }
    }

    fn command(self, task: &Task, dice: &mut Dice) -> Command {
        let held = [StepStatus::Claimed, StepStatus::Running];
        let held: Vec<_> = held
            .into_iter()
            .flat_map(|status| task.steps_in(status))
            .filter_map(|step| Some((step.id.clone(), step.claim.as_ref()?.run_id.clone())))
            .collect();
        let ready = task.steps_in(StepStatus::Ready).next().map(|step| step.id.clone());
        let stopped = [StepStatus::Failed, StepStatus::Blocked];
        let stopped = stopped.into_iter().flat_map(|status| task.steps_in(status)).next().map(|step| step.id.clone());
        match (dice.below(10), ready, held.first(), stopped) {
            (0, ..) => self.edit(json!([{ "op": "add_step", "step": {
                "step_id": format!("added-{}", self.0), "title": "One more", "required": false } }, { "op": "update_task", "summary": "s".repeat(900) }])),
            (1..=4, Some(step_id), ..) => Command::Claim { worker: self.worker(), step_id },
            (1..=3, _, _, Some(id)) => self.edit(json!([{ "op": "reopen_step", "step_id": id.as_str(), "reason": "again" }])),
            (_, _, Some((id, run_id)), _) => {
                let status = [Some(StepStatus::Running), None, Some(StepStatus::Completed), Some(StepStatus::Completed), Some(StepStatus::Failed)];
                let status = status[dice.below(5) as usize];
                let result_summary = Some(format!("result {} {}", self.0, "r".repeat((self.0 % 11 * 500) as usize)));
                let update = StepUpdate { status, result_summary, ..StepUpdate::default() };
                Command::UpdateStep { by: agent_tasks::Actor::Worker(run_id.clone()), step_id: id.clone(), update }
            }
            (_, Some(step_id), ..) => Command::Claim { worker: self.worker(), step_id },
            _ if task.is_completeable() => Command::Complete { result_summary: Some("done".to_owned()) },
            _ if dice.below(2) == 0 => Command::Fail { reason: Some("stuck".to_owned()) },
            _ => Command::Cancel { reason: None },
        }
    }

    fn edit(self, operations: serde_json::Value) -> Command {
        Command::Update(serde_json::from_value::<Vec<Operation>>(operations).unwrap())
    }

    fn worker(self) -> Worker {
        Worker {
            agent_id: AgentId::parse(&format!("agent_w{}", self.0 % 3)).unwrap(),
            run_id: RunId::parse(&format!("run_{}", self.0)).unwrap(),
            pool_id: PoolId::parse("default").unwrap(),
            allowed_step_ids: None,
        }
    }
}

fn step_id(n: u64) -> StepId {
    StepId::parse(&format!("step-{n}")).unwrap()
}

pub(crate) fn session() -> SessionId {
    SessionId::parse("sess_kill").unwrap()
}

pub(crate) fn stamped<T>(number: Number, work: impl FnOnce(&Stamp<'_>) -> T) -> T {
    let new_event_id = || EventId::parse(&format!("evt_{}", number.0)).unwrap();
    work(&Stamp { now: number.now(), lease_millis: LEASE, new_event_id: &new_event_id })
}

/// Takes up the Tasks of a folder.
pub(crate) fn open(folder: &Path, number: Number) -> TaskStore {
    stamped(number, |stamp| TaskStore::open(folder, SHOWN, &session(), 20, stamp)).unwrap().0
}

/// Does what the number stands for.
pub(crate) fn execute(store: &mut TaskStore, number: Number) {
    let asked = number.asked(store.active());
    stamped(number, |stamp| match asked {
        Asked::New(new) => drop(store.create(new, &Actor::default(), stamp).unwrap()),
        Asked::Of(task_id, command) => match store.execute(&task_id, &command, &Actor::default(), stamp) {
            // A refusal is an answer as well, and changes nothing.
            Ok(_) | Err(TaskError::Refused(_)) => {}
            Err(error) => panic!("{error}"),
        },
    });
}
