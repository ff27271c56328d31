//! What a run came to, as text: who worked on what and when, and how that compares with the longest way through the Task.

use std::fs;
use std::time::Duration;

use agent_core::archive::TaskView;
use agent_core::task::StepId;
use serde_json::Value;

use super::crew::{Failure, Job, Report};

/// A column of the chart.
const COLUMN: Duration = Duration::from_millis(100);

/// Wave by wave, a bar for each job.
pub(crate) fn timeline(report: &Report) -> String {
    let mut text = String::new();
    for (at, wave) in waves(&report.task).iter().enumerate() {
        for job in jobs_of(report, wave) {
            let columns = |time: Duration| (time.as_millis() / COLUMN.as_millis()) as usize;
            let (from, length) = (columns(job.from), columns(job.to - job.from).max(1));
            let step = job.step.as_ref().map_or("", StepId::as_str);
            let bar = format!("{}{}", " ".repeat(from), "=".repeat(length));
            text.push_str(&format!("wave {}  {step:10} {:6} {bar}\n", at + 1, job.worker));
        }
    }
    text
}

/// The steps of a Task in waves: each only needs steps of the waves before it.
pub(crate) fn waves(task: &TaskView) -> Vec<Vec<StepId>> {
    let mut waves: Vec<Vec<StepId>> = Vec::new();
    let mut left: Vec<_> = task.steps.iter().collect();
    while !left.is_empty() {
        let has_come = |id: &StepId| waves.iter().flatten().any(|done| done == id);
        let (next, later): (Vec<_>, Vec<_>) =
            left.into_iter().partition(|it| it.depends_on_step_ids.iter().all(has_come));
        if next.is_empty() {
            break;
        }
        waves.push(next.into_iter().map(|step| step.step_id.clone()).collect());
        left = later;
    }
    waves
}

fn jobs_of<'a>(report: &'a Report, wave: &[StepId]) -> impl Iterator<Item = &'a Job> {
    report.jobs.iter().filter(|job| job.step.as_ref().is_some_and(|step| wave.contains(step)))
}

/// How many turns have to come one after the other: those of the Orchestrator, and of each wave those of the worker with most of them.
pub(crate) fn turns_in_a_row(report: &Report) -> u32 {
    let waves = waves(&report.task);
    let longest = waves.iter().map(|wave| jobs_of(report, wave).map(|job| job.turns).max().unwrap_or_default());
    report.turns + longest.sum::<u32>()
}

/// The lines of the Task's log, in short.
pub(crate) fn log(report: &Report) -> Result<String, Failure> {
    let mut text = String::new();
    for line in fs::read_to_string(&report.log)?.lines() {
        let line: Value = serde_json::from_str(line)?;
        let word = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let time = word("created_at");
        text.push_str(&format!("{:>3}  {time}  {:24} {}\n", line["wal_seq"], word("event_type"), word("step_id")));
    }
    Ok(text)
}
