//! Tasks and steps as a model is shown them. What is null, empty or as usual (`required`) is left out: a small window is soon full.

use agent_protocol::Object;
use agent_tasks::{Payload, Step, StepStatus, TaskSummary};
use agent_tool::{ListedTask, StepQuery, TaskHeader, TaskList, TaskQuery, TaskSteps, TaskWritten, UnavailableTask};
use serde_json::{Value, json};

use super::fit::Shown;
use crate::tools::room::{Room, json_len};

/// The line for people.
pub(super) fn line(task: &TaskSummary) -> String {
    format!("{}: {} of {} steps completed", task.status, task.steps.completed, task.steps.total())
}

/// A Task in short (TSK-15), with what can be done about it (TSK-8).
fn summary(task: &TaskSummary) -> Object {
    let counted = StepStatus::ALL.iter().map(|status| (status.as_str(), task.steps.of(*status)));
    let counts: Object =
        counted.filter(|(_, count)| *count > 0).map(|(word, count)| (word.to_owned(), count.into())).collect();
    let mut shown = Object::from_iter([
        ("task_id".to_owned(), task.task_id.as_str().into()),
        ("title".to_owned(), task.title.as_str().into()),
        ("status".to_owned(), task.status.as_str().into()),
        ("steps".to_owned(), counts.into()),
        ("stalled".to_owned(), task.stalled.into()),
        ("completeable".to_owned(), task.completeable.into()),
    ]);
    let next = match (task.stalled, task.completeable) {
        (_, true) => "all required steps are completed: agent.task_complete ends the task",
        (true, _) => "no step can go on: reopen or replace steps with agent.task_update, or end the task",
        _ => return shown,
    };
    shown.insert("next".to_owned(), next.into());
    shown
}

/// What a write tool returns: the Task's summary and the ids of the lines.
pub(super) fn written(written: &TaskWritten, room: Room) -> Object {
    let mut result = Object::from_iter([("task".to_owned(), summary(&written.task).into())]);
    let share = room.beside(json_len(&json!(result))).share(6);
    let mut list = |key: &str, ids: Vec<String>, always: bool| {
        let (shown, left_out) = share.ids(ids);
        if always || !shown.is_empty() || left_out > 0 {
            result.insert(key.to_owned(), shown.into());
        }
        if left_out > 0 {
            result.insert(format!("{key}_left_out"), left_out.into());
        }
    };
    list("wal_event_ids", written.lines.iter().map(|line| line.event_id.to_string()).collect(), true);
    let ready = written.lines.iter().filter(|line| matches!(line.event.payload, Payload::TaskStepReady(_)));
    list("ready_step_ids", ready.filter_map(|line| Some(line.event.step_id.as_ref()?.to_string())).collect(), false);
    for line in &written.lines {
        let (key, ids) = match &line.event.payload {
            Payload::TaskUpdated(it) => ("updated_after_dispatch_step_ids", &it.updated_after_dispatch_step_ids),
            Payload::TaskCompleted(it) => ("cancelled_optional_step_ids", &it.cancelled_optional_step_ids),
            Payload::TaskFailed(it) => ("failed_step_ids", &it.failed_step_ids),
            Payload::TaskCancelled(it) => ("cancelled_step_ids", &it.cancelled_step_ids),
            _ => continue,
        };
        list(key, ids.iter().map(ToString::to_string).collect(), false);
    }
    list("workers_not_stopped", written.workers_left.iter().map(ToString::to_string).collect(), false);
    result
}

/// The same with the step as it is now, in short.
pub(super) fn with_status(written_: &TaskWritten, room: Room) -> Object {
    let mut result = written(written_, room);
    if let Some(step) = &written_.step {
        let mut shown = Object::from_iter([
            ("step_id".to_owned(), step.id.as_str().into()),
            ("status".to_owned(), step.status.as_str().into()),
        ]);
        if let Some(lease) = step.lease() {
            shown.insert("lease_expires_at".to_owned(), json!(lease));
        }
        result.insert("step".to_owned(), shown.into());
    }
    result
}

/// The same with all of the step.
pub(super) fn with_step(written_: &TaskWritten, room: Room) -> Shown {
    let mut result = written(written_, room.share(3));
    let rest = room.beside(json_len(&json!(result)));
    let filled = fill(written_.step.as_slice(), &rest);
    let whole = filled.cut.then(|| json!({ "steps": written_.step.as_slice().iter().map(whole).collect::<Vec<_>>() }));
    if let Some(step) = filled.shown.into_iter().next() {
        result.insert("step".to_owned(), step);
    }
    Shown { result, whole }
}

/// A Task with as many of its steps as there is room for; the tool `lists_more` lists the others.
pub(super) fn with_task(found: &TaskSteps, include_terminal: bool, lists_more: &str, room: Room) -> Shown {
    let (task, head_cut) = header(&found.task, &room.share(2));
    let mut result = Object::from_iter([("task".to_owned(), task.into())]);
    let filled = fill(&found.steps, &room.beside(json_len(&json!(result))));
    let shown = filled.shown.len();
    let whole = (head_cut || filled.cut).then(|| {
        let (head, _) = header(&found.task, &Room::unlimited());
        json!({ "task": head, "steps": found.steps.iter().take(shown).map(whole).collect::<Vec<_>>() })
    });
    result.insert("steps".to_owned(), filled.shown.into());
    result.insert("total".to_owned(), found.total.into());
    if shown < found.total {
        let all = if include_terminal { ", include_terminal_steps true" } else { "" };
        result.insert("next_offset".to_owned(), shown.into());
        result.insert("next".to_owned(), format!("{lists_more}, offset {shown}{all}").into());
    }
    Shown { result, whole }
}

/// A page of steps.
pub(super) fn steps(found: &TaskSteps, query: &StepQuery, room: Room) -> Shown {
    let filled = fill(&found.steps, &room);
    let end = query.offset + filled.shown.len();
    let whole = filled.cut.then(|| json!({ "steps": found.steps.iter().take(1).map(whole).collect::<Vec<_>>() }));
    let mut result = Object::from_iter([
        ("task_id".to_owned(), found.task.task.task_id.as_str().into()),
        ("task_status".to_owned(), found.task.task.status.as_str().into()),
        ("total".to_owned(), found.total.into()),
        ("offset".to_owned(), query.offset.into()),
        ("steps".to_owned(), filled.shown.into()),
    ]);
    if end < found.total {
        result.insert("next_offset".to_owned(), end.into());
    }
    if found.no_step_claimed {
        result.insert("no_step_claimed".to_owned(), true.into());
        result.insert("next".to_owned(), "no step is ready for you: end your run and say so".into());
    } else if !query.include_terminal && query.statuses.iter().any(|status| status.is_terminal()) {
        let next = "completed, failed and cancelled steps come only with include_terminal_steps true";
        result.insert("next".to_owned(), next.into());
    }
    Shown { result, whole }
}

/// A page of Tasks.
pub(super) fn tasks(found: &TaskList, query: TaskQuery, room: Room) -> Object {
    let half = room.bytes() / 2;
    let unavailable = found.unavailable.iter().map(|log| unavailable(log, &room.share(8)));
    let (unavailable, left_out) = bounded(unavailable, half);
    let rest = room.bytes().saturating_sub(json_len(&json!(unavailable)));
    let (mut tasks, not_shown) = bounded(found.tasks.iter().map(listed), rest);
    if tasks.is_empty() {
        // One is always shown, or there would be no way on.
        tasks.extend(found.tasks.first().map(listed));
    }
    let end = query.offset + tasks.len();
    let more = found.more || not_shown > 0 && tasks.len() < found.tasks.len();
    let mut result = Object::from_iter([("tasks".to_owned(), tasks.into())]);
    if more {
        result.insert("next_offset".to_owned(), end.into());
    }
    if !unavailable.is_empty() || left_out > 0 {
        result.insert("unavailable".to_owned(), unavailable.into());
    }
    if left_out > 0 {
        result.insert("unavailable_left_out".to_owned(), left_out.into());
    }
    result
}

fn listed(task: &ListedTask) -> Value {
    let mut shown = summary(&task.task);
    shown.remove("next");
    shown.insert("wal_path".to_owned(), task.wal_path.as_str().into());
    shown.insert("updated_at".to_owned(), json!(task.updated_at));
    shown.into()
}

fn unavailable(log: &UnavailableTask, room: &Room) -> Value {
    let mut shown = Object::from_iter([
        ("wal_path".to_owned(), log.wal_path.as_str().into()),
        ("reason".to_owned(), room.text(&log.reason).text.into()),
    ]);
    if let Some(task_id) = &log.task_id {
        shown.insert("task_id".to_owned(), task_id.as_str().into());
    }
    if let Some(line) = log.line {
        shown.insert("line".to_owned(), line.into());
    }
    shown.into()
}

/// The first of some values, and how many were left out.
fn bounded(values: impl Iterator<Item = Value>, bytes: usize) -> (Vec<Value>, usize) {
    let (mut shown, mut used, mut left_out) = (Vec::new(), 2, 0);
    for value in values {
        used += json_len(&value) + 1;
        if left_out > 0 || used > bytes {
            left_out += 1;
        } else {
            shown.push(value);
        }
    }
    (shown, left_out)
}

/// A Task without its steps; whether texts of it were cut.
fn header(task: &TaskHeader, room: &Room) -> (Object, bool) {
    let mut shown = summary(&task.task);
    let share = room.share(4);
    let mut cut = false;
    let mut text = |shown: &mut Object, key: &str, text: Option<&str>| {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            let text = share.text(text);
            cut |= text.cut;
            shown.insert(key.to_owned(), text.text.into());
        }
    };
    text(&mut shown, "summary", Some(&task.summary));
    text(&mut shown, "result_summary", task.result_summary.as_deref());
    text(&mut shown, "reason", task.reason.as_deref());
    let few = room.share(16);
    for (key, list) in [
        ("root_step_ids", &task.root_step_ids),
        ("updated_after_dispatch_step_ids", &task.updated_after_dispatch_step_ids),
    ] {
        let (ids, left_out) = few.ids(list);
        if !list.is_empty() {
            shown.insert(key.to_owned(), ids.into());
        }
        if left_out > 0 {
            shown.insert(format!("{key}_left_out"), left_out.into());
        }
    }
    shown.insert("wal_path".to_owned(), task.wal_path.as_str().into());
    shown.insert("created_at".to_owned(), json!(task.created_at));
    shown.insert("updated_at".to_owned(), json!(task.updated_at));
    (shown, cut)
}

/// Steps that there was room for.
struct Filled {
    shown: Vec<Value>,
    /// The only one of them was too big, and its texts were cut.
    cut: bool,
}

fn fill(steps: &[Step], room: &Room) -> Filled {
    let mut used = 0;
    let mut shown = Vec::new();
    for one in steps {
        let value = whole(one);
        used += json_len(&value) + 1;
        if used > room.bytes() {
            if shown.is_empty() {
                return Filled { shown: vec![step(one, &room.share(5)).into()], cut: true };
            }
            break;
        }
        shown.push(value);
    }
    Filled { shown, cut: false }
}

/// All of a step.
fn whole(one: &Step) -> Value {
    step(one, &Room::unlimited()).into()
}

/// A step, each of its texts and lists within this room.
fn step(step: &Step, room: &Room) -> Object {
    let mut shown = Object::from_iter([
        ("step_id".to_owned(), step.id.as_str().into()),
        ("title".to_owned(), room.text(&step.content.title).text.into()),
        ("status".to_owned(), step.status.as_str().into()),
    ]);
    let mut put = |key: &str, value: Value| drop(shown.insert(key.to_owned(), value));
    for (key, text) in [
        ("summary", Some(&step.content.summary)),
        ("result_summary", step.result_summary.as_ref()),
        ("reason", step.reason.as_ref()),
    ] {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            put(key, room.text(text).text.into());
        }
    }
    let few = room.share(2);
    for (key, (ids, left_out)) in
        [("depends_on_step_ids", few.ids(&step.content.depends_on)), ("artifact_ids", few.ids(&step.artifact_ids))]
    {
        if !ids.is_empty() || left_out > 0 {
            put(key, ids.into());
        }
        if left_out > 0 {
            put(&format!("{key}_left_out"), left_out.into());
        }
    }
    if !step.content.required {
        put("required", false.into());
    }
    if let Some(pool) = &step.content.worker_pool_id {
        put("worker_pool_id", pool.as_str().into());
    }
    if let Some(claim) = &step.claim {
        put("claimed_by_agent_id", claim.agent_id.as_str().into());
        put("claimed_by_run_id", claim.run_id.as_str().into());
    }
    if let Some(lease) = step.lease() {
        put("lease_expires_at", json!(lease));
    }
    if step.changed_since_dispatch() {
        put("updated_after_dispatch", true.into());
    }
    put("created_at", json!(step.created_at));
    put("updated_at", json!(step.updated_at));
    shown
}
