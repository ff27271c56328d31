//! A Task as a page.

use agent_core::archive::{StepStatus, StepView, TaskDamage, TaskStatus, TaskView};
use agent_core::text::{escape_for_terminal, shorten};

use super::logs::Read;
use super::tree::{Node, nodes};
use crate::lines::{counted, one_line, whole_line};
use crate::moment;
use crate::output::{Colour, Look, widest};
use crate::stored::below_home;

/// A result in short.
const SHORT: usize = 160;
/// So many ids are named of those that a step depends on, unless all is asked for.
const NAMED: usize = 8;
/// States have a column of this width: the longest is `completed`.
const STATE: usize = 9;
/// Where no terminal says how wide it is, ids are lined up to this width.
const IDS: usize = 40;

/// How a lease is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leases {
    /// For how long it holds from now on.
    Left,
    /// Until when: a page that stays for a while stays right.
    Until,
}

/// A Task with its steps, or why its log makes none.
pub(super) fn of(read: &Read, verbose: bool, leases: Leases, look: Look) -> String {
    match read {
        Ok(view) => format!("{}{}", head(view, verbose, look), steps(view, &|_| true, verbose, leases, look)),
        Err(damage) => {
            let line = format!("unavailable  {}", self::damage(damage));
            paint_first(look.rows("", "  ", &line), "unavailable", Some(Colour::Red), look)
        }
    }
}

/// Why a log makes no Task.
pub(super) fn damage(TaskDamage { path, why }: &TaskDamage) -> String {
    format!("{}: {}", whole_line(&below_home(&path.to_string_lossy())), one_line(why))
}

/// What the Task is, and how it stands.
pub(super) fn head(view: &TaskView, verbose: bool, look: Look) -> String {
    let now = moment::now();
    let status = view.status.as_str();
    let first = format!("{status}  {}  {}", view.task_id, one_line(&view.title));
    let mut page = paint_first(look.rows("", "  ", &first), status, task_colour(view.status), look);
    let mut line = |text: &str| {
        let rows = look.rows("  ", "  ", text);
        page.extend(rows.into_iter().map(|row| row + "\n"));
    };
    let times = format!("made {}, changed {}", moment::ago(&view.created_at, now), moment::ago(&view.updated_at, now));
    line(&format!("{}; {times}", counts(view)));
    if let Some(note) = diagnosis(view) {
        line(note);
    }
    if verbose {
        escape_for_terminal(&view.summary).lines().for_each(&mut line);
    }
    for (name, text) in [("result", view.result_summary.as_deref()), ("reason", view.reason.as_deref().map(reason))] {
        if let Some(text) = text {
            told(name, text, verbose).iter().for_each(|text| line(text));
        }
    }
    page
}

/// `12 steps: 3 completed, 1 running`.
pub(super) fn counts(view: &TaskView) -> String {
    let steps = counted(view.counts.total() as u64, "step");
    format!("{steps}{}{}", if view.counts.total() > 0 { ": " } else { "" }, by_state(view))
}

/// `3 completed, 1 running`, in the order in which steps go.
pub(super) fn by_state(view: &TaskView) -> String {
    let states = [
        StepStatus::Completed,
        StepStatus::Running,
        StepStatus::Claimed,
        StepStatus::Ready,
        StepStatus::Pending,
        StepStatus::Blocked,
        StepStatus::Failed,
        StepStatus::Cancelled,
    ];
    let some = states.into_iter().map(|state| (state, view.counts.of(state))).filter(|(_, count)| *count > 0);
    some.map(|(state, count)| format!("{count} {state}")).collect::<Vec<_>>().join(", ")
}

/// What the Task needs of whoever steers it (TSK-8).
pub(super) fn diagnosis(view: &TaskView) -> Option<&'static str> {
    if view.completeable {
        return Some("completeable: every required step is completed and nobody is at work");
    }
    view.stalled.then_some("stalled: no step is ready or at work, and the Task cannot be completed")
}

/// The steps, as a tree; only those that are asked for.
pub(super) fn steps(
    view: &TaskView,
    wanted: &dyn Fn(&StepView) -> bool,
    verbose: bool,
    leases: Leases,
    look: Look,
) -> String {
    let nodes: Vec<_> = nodes(&view.steps).into_iter().filter(|node| wanted(node.step)).collect();
    let ids: Vec<_> = nodes.iter().map(|node| format!("{}{}", node.before, node.step.step_id)).collect();
    let longest = ids.iter().map(String::len).max().unwrap_or(0);
    let room = look.width.map_or(IDS, |width| widest(ids.iter().map(String::as_str), width).min(width.usable() / 2));
    let width = longest.min(room);
    nodes.iter().zip(&ids).map(|(node, id)| row(node, id, width, verbose, leases, look)).collect()
}

fn row(node: &Node<'_>, id: &str, width: usize, verbose: bool, leases: Leases, look: Look) -> String {
    let step = node.step;
    let state = step.status.as_str();
    let first = format!("{state:STATE$}  {id:width$}  ");
    let lanes = format!("{:STATE$}  {:width$}  ", "", node.below);
    let mut details = details(node, verbose, leases);
    details.retain(|detail| !detail.is_empty());
    let mut text = one_line(&step.title);
    if !details.is_empty() {
        text.push_str(&format!(" ({})", details.join("; ")));
    }
    let rows = match first.len() > lanes.len() {
        // An id that is longer than its column has a row for itself.
        true => [vec![first.trim_end().to_owned()], look.rows(&lanes, &lanes, &text)].concat(),
        false => look.rows(&first, &lanes, &text),
    };
    let mut page = paint_first(rows, state, step_colour(step.status), look);
    let mut line = |text: &str| page.extend(look.rows(&lanes, &lanes, text).into_iter().map(|row| row + "\n"));
    if verbose {
        escape_for_terminal(&step.summary).lines().for_each(&mut line);
    }
    for (name, text) in [("result", step.result_summary.as_deref()), ("reason", step.reason.as_deref().map(reason))] {
        if let Some(text) = text {
            told(name, text, verbose).iter().for_each(|text| line(text));
        }
    }
    if verbose && !step.artifact_ids.is_empty() {
        let ids: Vec<_> = step.artifact_ids.iter().map(|id| id.as_str()).collect();
        line(&format!("artifacts: {}", ids.join(", ")));
    }
    page
}

/// What is to be known about a step besides its title.
fn details(node: &Node<'_>, verbose: bool, leases: Leases) -> Vec<String> {
    let step = node.step;
    let (waits_for, depends_on) = (&step.waits_for_step_ids, &step.depends_on_step_ids);
    let others: Vec<_> = depends_on.iter().filter(|id| !waits_for.contains(id)).collect();
    let named = |word: &str, ids: &[&agent_core::archive::StepId]| match ids {
        [] => String::new(),
        ids => {
            let most = if verbose { ids.len() } else { NAMED };
            let shown: Vec<_> = ids.iter().take(most).map(|id| id.as_str()).collect();
            let more = ids.len().saturating_sub(most);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{word} {}{more}", shown.join(", "))
        }
    };
    let mut details = vec![named("waits for", &waits_for.iter().collect::<Vec<_>>())];
    if !node.is_told {
        details.push(named("after", &others));
    }
    details.push(holder(step, verbose, leases));
    if !step.required {
        details.push("optional".to_owned());
    }
    if let Some(pool) = step.worker_pool_id.as_ref().filter(|_| verbose) {
        details.push(format!("pool {pool}"));
    }
    if step.changed_since_dispatch {
        details.push("changed since it was claimed".to_owned());
    }
    details
}

/// Who is at work on a step, and for how long that holds.
fn holder(step: &StepView, verbose: bool, leases: Leases) -> String {
    let Some(agent) = &step.claimed_by_agent_id else { return String::new() };
    if !step.status.is_held() {
        return format!("by {agent}");
    }
    let run = step.claimed_by_run_id.as_ref().filter(|_| verbose).map(|run| format!(" in {run}")).unwrap_or_default();
    let lease = match (&step.lease_expires_at, leases) {
        (None, _) => String::new(),
        (Some(end), Leases::Until) => format!(", lease until {end}"),
        (Some(end), Leases::Left) => {
            let (end, now) = (moment::millis(end).unwrap_or(0), moment::now());
            match end.checked_sub(now) {
                Some(left) => format!(", lease {} left", moment::into(left)),
                None => format!(", lease over for {}", moment::into(now - end)),
            }
        }
    };
    format!("held by {agent}{run}{lease}")
}

/// What core gives as a reason, in words; what people and models wrote stays as it is.
pub(super) fn reason(text: &str) -> &str {
    match text {
        "task_completed" => "the Task was completed without it",
        "task_failed" => "the Task failed before it was done",
        "task_cancelled" => "the Task was cancelled before it was done",
        "worker_finished_without_terminal_step_status" => "its worker ended without saying what became of it",
        "worker_cancelled" => "its worker was cancelled",
        "worker_timeout" => "its worker ran out of time",
        "worker_failed" => "its worker failed",
        other => other,
    }
}

/// A text of others behind its name: in one line, or whole.
fn told(name: &str, text: &str, whole: bool) -> Vec<String> {
    if !whole {
        return vec![format!("{name}: {}", shorten(&one_line(text), SHORT))];
    }
    let text = escape_for_terminal(text);
    let lines = text.lines().enumerate();
    lines.map(|(at, line)| if at == 0 { format!("{name}: {line}") } else { format!("  {line}") }).collect()
}

/// Rows as a page, with the word that the first begins with in its colour.
fn paint_first(rows: Vec<String>, word: &str, colour: Option<Colour>, look: Look) -> String {
    let mut rows = rows.into_iter();
    let first = rows.next().unwrap_or_default();
    let first = match (colour, first.strip_prefix(word)) {
        (Some(colour), Some(rest)) => format!("{}{rest}", look.paint(word, colour)),
        _ => first,
    };
    std::iter::once(first).chain(rows).map(|row| row.trim_end().to_owned() + "\n").collect()
}

pub(super) fn task_colour(status: TaskStatus) -> Option<Colour> {
    match status {
        TaskStatus::Running | TaskStatus::Completed => Some(Colour::Green),
        TaskStatus::Blocked => Some(Colour::Yellow),
        TaskStatus::Failed => Some(Colour::Red),
        TaskStatus::Pending | TaskStatus::Cancelled => None,
    }
}

fn step_colour(status: StepStatus) -> Option<Colour> {
    match status {
        StepStatus::Completed => Some(Colour::Green),
        StepStatus::Claimed | StepStatus::Running => Some(Colour::Yellow),
        StepStatus::Blocked | StepStatus::Failed => Some(Colour::Red),
        StepStatus::Pending | StepStatus::Cancelled => Some(Colour::Dim),
        StepStatus::Ready => None,
    }
}

#[cfg(test)]
mod tests;
