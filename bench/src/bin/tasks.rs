//! Tasks in a process of their own: `tasks memory STEPS` tells what a step takes, `tasks commands FOLDER COUNT` gives so many commands
//! to a Task on disk and does nothing else, so that its calls of the system can be counted.

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::path::Path;

use agent_protocol::{AgentId, EventId, RunId, SessionId};
use agent_task_store::{Actor, NewTask, Stamp, TaskStore};
use agent_tasks::{Command, Moment, PoolId, StepId, StepSpec, StepStatus, StepUpdate, Task, TaskId, WalName, Worker};
use peak_alloc::PeakAlloc;

type Failure = Box<dyn Error>;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Characters of a step's summary and of its result.
const WORDS: usize = 100;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["memory", steps] => Ok(serde_json::to_writer(io::stdout(), &memory(steps.parse()?)?)?),
        ["commands", folder, count] => commands(Path::new(folder), count.parse()?),
        _ => Err("tasks takes memory STEPS, or commands FOLDER COUNT".into()),
    }
}

/// Bytes of a step that is new, and of one that is done.
fn memory(steps: usize) -> Result<BTreeMap<&'static str, f64>, Failure> {
    let new = agent_tasks::NewTask {
        task_id: TaskId::parse("bench")?,
        wal_path: String::new(),
        title: "A task of many steps".to_owned(),
        summary: String::new(),
        steps: specs(steps)?,
        agent_id: None,
        run_id: None,
    };
    let before = HEAP.current_usage();
    let mut task = Task::create(&new, Moment::from_millis(0))?.0;
    let made = HEAP.current_usage();
    let context = agent_tasks::Context { now: Moment::from_millis(0), lease_millis: 300_000 };
    for number in 0..steps {
        for command in of_step(number)?.1 {
            task.prepare(&command, &context)?.commit();
        }
    }
    let done = HEAP.current_usage();
    let each = |bytes: usize| bytes.saturating_sub(before) as f64 / steps as f64;
    Ok(BTreeMap::from([("new", each(made)), ("done", each(done))]))
}

fn commands(folder: &Path, count: usize) -> Result<(), Failure> {
    let event_id = EventId::parse("evt_1")?;
    let new_event_id = move || event_id.clone();
    let stamp = Stamp { now: Moment::from_millis(0), lease_millis: 300_000, new_event_id: &new_event_id };
    let (mut store, _) = TaskStore::open(folder, "tasks", &SessionId::parse("sess_1")?, 20, &stamp)?;
    let task_id = TaskId::parse("bench")?;
    let new = NewTask {
        task_id: task_id.clone(),
        wal_name: WalName::parse("bench")?,
        title: "A task of many steps".to_owned(),
        summary: String::new(),
        steps: specs(1_000)?,
    };
    store.create(new, &Actor::default(), &stamp)?;
    let mut left = count;
    for number in 0.. {
        for command in of_step(number)?.1 {
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            store.execute(&task_id, &command, &Actor::default(), &stamp)?;
        }
    }
    Ok(())
}

/// A claim and an end.
fn of_step(number: usize) -> Result<(StepId, [Command; 2]), Failure> {
    let step_id = StepId::parse(&format!("step-{number}"))?;
    let run_id = RunId::parse(&format!("run_019b2c3d4e5f60718293a4b5{number:08x}"))?;
    let worker = Worker {
        agent_id: AgentId::parse("agent_worker_default_1")?,
        run_id: run_id.clone(),
        pool_id: PoolId::parse("default")?,
        allowed_step_ids: None,
    };
    let result_summary = Some("r".repeat(WORDS));
    let update = StepUpdate { status: Some(StepStatus::Completed), result_summary, ..StepUpdate::default() };
    let end = Command::UpdateStep { by: agent_tasks::Actor::Worker(run_id), step_id: step_id.clone(), update };
    Ok((step_id.clone(), [Command::Claim { worker, step_id }, end]))
}

fn specs(count: usize) -> Result<Vec<StepSpec>, Failure> {
    let spec = |n: usize| {
        Ok(StepSpec {
            step_id: StepId::parse(&format!("step-{n}"))?,
            title: format!("Part {n} of the work"),
            summary: "s".repeat(WORDS),
            depends_on_step_ids: (!n.is_multiple_of(10))
                .then(|| StepId::parse(&format!("step-{}", n - 1)))
                .into_iter()
                .collect::<Result<_, _>>()?,
            required: true,
            worker_pool_id: None,
        })
    };
    (0..count).map(spec).collect()
}
