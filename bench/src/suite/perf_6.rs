//! PERF-6: Tasks in memory, their replay, and commands on disk beside a bare loop that writes and syncs the same bytes.

mod commands;
mod cpu;
mod logs;
mod program;

use agent_tasks::{Replay, Task};
use serde::de::IgnoredAny;

use cpu::spent;

use super::definition::Suite;
use super::series::millis;
use crate::bench::Bench;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::stats::Samples;

pub(crate) const SUITE: Suite = Suite {
    name: "perf-6",
    about: "Tasks: replay, edits, and commands in memory and on disk; CPU of the process",
    by_name_only: false,
    measure,
};

/// Its calls of the system need strace to be seen.
pub(crate) const CALLS: Suite = Suite {
    name: "perf-6-calls",
    about: "Tasks: what a command asks of the system, counted by strace over one run",
    by_name_only: true,
    measure: program::calls,
};

const EVENTS_PER_SECOND: f64 = 500_000.0;
const EDIT_MS: f64 = 5.0;
const GROWTH: f64 = 1.3;

fn measure(bench: &Bench) -> Result<Vec<Row>, BenchError> {
    let mut rows = replay(bench.runs)?;
    rows.extend(in_memory(bench.runs)?);
    rows.push(edit(bench.runs)?);
    rows.extend(commands::measure(bench.runs)?);
    rows.extend(program::memory(bench)?);
    Ok(rows)
}

/// The floor parses the same lines as JSON and keeps nothing.
fn replay(runs: u32) -> Result<Vec<Row>, BenchError> {
    let worked = logs::worked_off(10_000)?;
    let text = logs::text(&worked.log)?;
    let lines: Vec<&str> = text.lines().collect();
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for run in 0..=runs {
        let (took, task) = spent(|| fold(&lines))?;
        if task.as_ref() != Some(&worked.task) {
            return Err(BenchError::Setup { what: "the log gives another Task".to_owned() });
        }
        let (bare, _) = spent(|| lines.iter().filter(|line| serde_json::from_str::<IgnoredAny>(line).is_ok()).count())?;
        // The first one is thrown away.
        if run > 0 {
            ours.push(millis(took));
            floor.push(millis(bare));
        }
    }
    let ours = Samples::new(ours)?;
    let speed = Samples::new([lines.len() as f64 * 1e3 / ours.median()])?;
    let budget = lines.len() as f64 * 1e3 / EVENTS_PER_SECOND;
    let what = format!("replay of {} events of 10,000 steps", lines.len());
    let floor = Samples::new(floor)?;
    Ok(vec![
        Row::new(what, Unit::Millis, ours).budget(budget).floor(floor),
        Row::new("the same in events/s", Unit::Count, speed),
    ])
}

fn fold(lines: &[&str]) -> Option<Task> {
    let mut replay = Replay::default();
    for line in lines {
        replay.line(line).ok()?;
    }
    Some(replay.finish()?.1)
}

/// A step taken and completed, without a disk, where there are few and where there are many. In turns, so that both meet the same
/// machine.
fn in_memory(runs: u32) -> Result<Vec<Row>, BenchError> {
    const FEW: usize = 100;
    const MANY: usize = 10_000;
    let (mut few, mut many) = (Vec::new(), Vec::new());
    for run in 0..=runs {
        let (mut tasks, mut large) = (Vec::new(), logs::New::steps(MANY)?);
        for _ in 0..MANY / FEW {
            tasks.push(logs::New::steps(FEW)?);
        }
        let (took_few, done) = spent(|| tasks.iter_mut().try_for_each(logs::New::claim_and_complete_all))?;
        done?;
        let (took_many, done) = spent(|| large.claim_and_complete_all())?;
        done?;
        if run > 0 {
            few.push(took_few.as_secs_f64() * 1e6 / MANY as f64);
            many.push(took_many.as_secs_f64() * 1e6 / MANY as f64);
        }
    }
    let growth = Samples::new(many.iter().zip(&few).map(|(many, few)| many / few))?;
    Ok(vec![
        Row::new("claim and complete, of 100 steps", Unit::Micros, Samples::new(few)?),
        Row::new("claim and complete, of 10,000 steps", Unit::Micros, Samples::new(many)?),
        Row::new("10,000 steps over 100", Unit::Ratio, growth).budget(GROWTH),
    ])
}

fn edit(runs: u32) -> Result<Row, BenchError> {
    let command = logs::edit_of_a_hundred()?;
    let mut took = Vec::new();
    for run in 0..=runs {
        let mut new = logs::New::steps(2_000)?;
        let (time, done) = spent(|| new.run(&command))?;
        done?;
        if run > 0 {
            took.push(millis(time));
        }
    }
    Ok(Row::new("task_update, 100 operations on 2,000 steps", Unit::Millis, Samples::new(took)?).budget(EDIT_MS))
}
