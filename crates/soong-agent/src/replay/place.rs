//! Who a child is: what stands above the timeline of its run.

use agent_core::archive::{self, Archive, ChildPlace, StepView, WorkerPlace};
use agent_core::config::Location;
use agent_core::error::ArchiveError;
use agent_core::id::RunId;
use agent_core::permission::path_from_text;

use crate::exit::Failure;
use crate::lines::{in_line, whole_line};
use crate::output::Look;

/// The rows about a child's run; none where the run is no child's.
pub(super) async fn of(
    archive: &Archive,
    run: &RunId,
    project: &str,
    include_sensitive: bool,
    look: Look,
) -> Result<String, Failure> {
    let mut place = match archive.child_place(run, include_sensitive).await {
        Ok(place) => place,
        Err(ArchiveError::NoChild { .. }) => return Ok(String::new()),
        Err(error) => return Err(error.into()),
    };
    if place.worker.is_some() {
        let tasks = archive::open_tasks(&Location::default().project_dir(path_from_text(project)));
        match tasks {
            Ok(tasks) => place.look_at_step(run, &tasks),
            Err(error) => {
                let unread = place.worker.as_mut().map(|worker| &mut worker.step_unread);
                unread.into_iter().for_each(|why| *why = Some(error.to_string()));
            }
        }
    }
    Ok(rows(&place).iter().flat_map(|(label, line)| look.rows(label, "        ", line)).map(|row| row + "\n").collect())
}

fn rows(place: &ChildPlace) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut row = |label: &str, line: String| rows.push((format!("{label:7} "), line));
    let role = place.role.map_or_else(|| place.agent.agent_type.as_str(), |role| role.as_str());
    let who = place.worker.as_ref().and_then(|worker| worker.worker_id.as_deref());
    let who = who.or(place.agent_definition_id.as_deref()).unwrap_or_else(|| place.agent.agent_id.as_str());
    let made = place.agent_definition_id.as_deref().filter(|definition| *definition != who);
    let made = made.map(|definition| format!(", made from {}", in_line(definition))).unwrap_or_default();
    row("agent", format!("{} ({role} agent{made})", in_line(who)));
    row("for", place.parent_run_id.to_string());
    if let Some(asked) = &place.asked {
        row("asked", in_line(asked));
    }
    if let Some(worker) = &place.worker {
        of_worker(worker, &mut row);
    }
    rows
}

/// The Task, and the step as it was dispatched beside the step now.
fn of_worker(worker: &WorkerPlace, row: &mut impl FnMut(&str, String)) {
    row("task", worker.task_id.to_string());
    if let Some(allowed) = &worker.allowed_step_ids {
        let ids: Vec<_> = allowed.iter().map(|step| step.as_str()).collect();
        row("may", format!("claim only: {}", ids.join(", ")));
    }
    match (&worker.step_id, &worker.step) {
        (None, _) => row("step", "none claimed".to_owned()),
        (Some(step), None) => {
            let why = worker.step_unread.as_deref().unwrap_or("its Task is not there any more");
            row("step", format!("{step}; {}", whole_line(why)));
        }
        (Some(_), Some(step)) if !step.updated_after_dispatch => {
            let now = step.now.as_ref().unwrap_or(&step.as_dispatched);
            row("step", format!("{}; {} now", content(&step.as_dispatched), now.status));
        }
        (Some(_), Some(step)) => {
            row("step", format!("changed since it was claimed. Then: {}", content(&step.as_dispatched)));
            match &step.now {
                Some(now) => row("now", format!("{}; {}", content(now), now.status)),
                None => row("now", "removed".to_owned()),
            }
        }
    }
}

/// What a step asks for.
fn content(step: &StepView) -> String {
    let summary = match step.summary.trim() {
        "" => String::new(),
        summary => format!(": {}", in_line(summary)),
    };
    format!("{} ({}){summary}", step.step_id, in_line(&step.title))
}
