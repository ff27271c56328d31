//! Commands on a log of the disk.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use agent_protocol::{AgentId, EventId, RunId, SessionId};
use agent_task_store::{Actor, NewTask, Stamp, TaskStore};
use agent_tasks::{Moment, PoolId, StepStatus, TaskId, WalName, Worker};
use agent_testkit::scratch;

use super::cpu::spent;
use super::logs;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::stats::Samples;

const COMMAND_US: f64 = 30.0;
/// 90 % of the speed of the bare loop.
const OVER_BARE: f64 = 1.0 / 0.9;
/// Steps of the Task, each claimed and completed.
const STEPS: usize = 500;
const COMMANDS: f64 = 2.0 * STEPS as f64;

/// Commands beside writing and syncing the very bytes that each of them wrote, in turns: so both meet the same disk.
pub(super) fn measure(runs: u32) -> Result<Vec<Row>, BenchError> {
    let folder = scratch("task-commands");
    let mut all = Vec::new();
    // A run takes some seconds: each command waits for the disk.
    for run in 0..=runs.min(10) {
        let took = one_run(&folder.join(run.to_string()))?;
        // The first one is thrown away.
        all.extend((run > 0).then_some(took));
    }
    std::fs::remove_dir_all(&folder).map_err(BenchError::file("remove", &folder))?;
    let each = |took: Duration| took.as_secs_f64() * 1e6 / COMMANDS;
    let samples = |figure: &dyn Fn(&Took) -> f64| Samples::new(all.iter().map(figure));
    let beside = samples(&|took| each(took.ours.cpu.saturating_sub(took.bare.cpu)))?;
    let over = samples(&|took| took.ours.wall.as_secs_f64() / took.bare.wall.as_secs_f64())?;
    let cpu = Row::new("a command on disk, CPU", Unit::Micros, samples(&|took| each(took.ours.cpu))?);
    Ok(vec![
        cpu.floor(samples(&|took| each(took.bare.cpu))?),
        Row::new("beside its write and its sync, CPU", Unit::Micros, beside).budget(COMMAND_US),
        Row::new("start to end, over the bare loop", Unit::Ratio, over).budget(OVER_BARE),
    ])
}

#[derive(Default)]
struct Took {
    ours: Spent,
    bare: Spent,
}

#[derive(Default)]
struct Spent {
    cpu: Duration,
    wall: Duration,
}

impl Spent {
    fn on<T>(&mut self, work: impl FnOnce() -> T) -> Result<T, BenchError> {
        let began = Instant::now();
        let (cpu, result) = spent(work)?;
        self.wall += began.elapsed();
        self.cpu += cpu;
        Ok(result)
    }
}

/// Claims and completes each step.
fn one_run(folder: &Path) -> Result<Took, BenchError> {
    let failed = |error: agent_task_store::TaskError| BenchError::Setup { what: error.to_string() };
    let event_id = EventId::parse("evt_019b2c3d4e5f60718293a4b5c6d7e8f9")?;
    let new_event_id = move || event_id.clone();
    let stamp =
        Stamp { now: Moment::from_millis(1_796_031_703_120), lease_millis: 300_000, new_event_id: &new_event_id };
    let session_id = SessionId::parse("sess_019b2c3d4e5f60718293a4b5c6d7e8f9")?;
    let (mut store, _) = TaskStore::open(folder, "tasks", &session_id, 20, &stamp).map_err(failed)?;
    let task_id = logs::name(TaskId::parse("bench"))?;
    let new = NewTask {
        task_id: task_id.clone(),
        wal_name: logs::name(WalName::parse("bench"))?,
        title: "A task of many steps".to_owned(),
        summary: String::new(),
        steps: logs::specs(STEPS)?,
    };
    store.create(new, &Actor::default(), &stamp).map_err(failed)?;
    let (log, bare) = (folder.join("bench.wal.jsonl"), folder.join("bare"));
    let mut written = File::open(&log).map_err(BenchError::file("open", &log))?;
    written.seek(SeekFrom::End(0)).map_err(BenchError::file("read", &log))?;
    let mut copy =
        OpenOptions::new().append(true).create_new(true).open(&bare).map_err(BenchError::file("make", &bare))?;
    let (mut took, mut group) = (Took::default(), Vec::new());
    for (actor, command) in commands()? {
        took.ours.on(|| store.execute(&task_id, &command, &actor, &stamp))?.map_err(failed)?;
        group.clear();
        written.read_to_end(&mut group).map_err(BenchError::file("read", &log))?;
        // The unavoidable part: one write and one sync.
        let done = took.bare.on(|| copy.write_all(&group).and_then(|()| copy.sync_data()))?;
        done.map_err(BenchError::file("write", &bare))?;
    }
    Ok(took)
}

fn commands() -> Result<Vec<(Actor, agent_tasks::Command)>, BenchError> {
    let mut commands = Vec::new();
    for (n, spec) in logs::specs(STEPS)?.into_iter().enumerate() {
        let worker = Worker {
            agent_id: AgentId::parse("agent_worker_default_1")?,
            run_id: RunId::parse(&format!("run_019b2c3d4e5f60718293a4b5{n:08x}"))?,
            pool_id: logs::name(PoolId::parse("default"))?,
            allowed_step_ids: None,
        };
        let actor = Actor { agent_id: Some(worker.agent_id.clone()), run_id: Some(worker.run_id.clone()) };
        commands.push((actor.clone(), logs::claim(&worker, &spec.step_id)));
        commands.push((actor, logs::update(&worker, &spec.step_id, Some(StepStatus::Completed))));
    }
    Ok(commands)
}
