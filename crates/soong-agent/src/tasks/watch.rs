//! Tasks as they change.
//!
//! What is looked at again and again is the folder: names, sizes and times. A log is read again only where one of these changed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use agent_core::archive::{StepStatus, StepView, TaskArchive, TaskLog, TaskView};
use agent_core::id::SessionId;

use super::logs::{Read, all_of_it, sessions_of};
use super::{list, page};
use crate::exit::{Exit, Failure, Outcome};
use crate::limits;
use crate::lines::{counted, one_line, whole_line};
use crate::moment;
use crate::output::{Look, Output};
use crate::signals::Signals;

/// How often the folder is looked at.
const EVERY: Duration = Duration::from_millis(500);

/// What is watched: a session, or all but some; one Task, or all.
#[derive(Default)]
pub(super) struct Wanted<'w> {
    pub(super) session: Option<&'w SessionId>,
    pub(super) but: HashSet<SessionId>,
    pub(super) task: Option<&'w str>,
}

/// A log, and what it said when it was read.
struct Seen {
    log: TaskLog,
    read: Read,
}

/// The logs that were read, and those of them that are of no concern.
#[derive(Default)]
struct Logs {
    seen: BTreeMap<PathBuf, Seen>,
    others: BTreeMap<PathBuf, TaskLog>,
}

pub(super) fn run(archive: &TaskArchive, wanted: &Wanted<'_>, output: &mut Output) -> Outcome {
    limits::runtime()?.block_on(async {
        let mut signals =
            Signals::new().map_err(|error| Failure::failed(format!("cannot watch for signals: {error}")))?;
        let live = output.begin_screen();
        let mut logs = Logs::default();
        let mut drawn = None;
        let ended = loop {
            let changes = match look(archive, wanted, &mut logs) {
                Ok(changes) => changes,
                Err(failure) => {
                    output.end_screen();
                    return Err(failure);
                }
            };
            let size = output.screen_size();
            if live && (drawn != Some(size) || !changes.is_empty()) {
                let look = output.page_look();
                output.screen(&on_screen(&logs, wanted, size.1, look));
                drawn = Some(size);
            } else if !live {
                changes.iter().for_each(|line| output.page(line));
            }
            let all_ended = !logs.seen.is_empty() && logs.seen.values().all(|seen| has_ended(&seen.read));
            if all_ended || output.is_gone() {
                break None;
            }
            tokio::select! {
                number = signals.next() => break Some(number),
                () = tokio::time::sleep(EVERY) => {}
            }
        };
        output.end_screen();
        if live {
            let look = output.page_look();
            output.page(&in_full(&logs, wanted, look));
        }
        match ended {
            Some(number) => Ok(Exit::Signal(number)),
            None => all_of_it(logs.seen.values().filter(|seen| seen.read.is_err()).count() as u64),
        }
    })
}

/// A log that makes no Task does not come to one by waiting.
fn has_ended(read: &Read) -> bool {
    read.as_ref().map_or(true, |view| view.status.is_terminal())
}

/// Reads what has changed, and says what: a line each.
fn look(archive: &TaskArchive, wanted: &Wanted<'_>, logs: &mut Logs) -> Result<Vec<String>, Failure> {
    let sessions = sessions_of(archive, wanted.session)?.into_iter();
    let sessions = sessions.filter(|session| !wanted.but.contains(&session.session_id));
    let there: BTreeMap<PathBuf, TaskLog> =
        sessions.flat_map(|session| session.logs).map(|log| (log.path.clone(), log)).collect();
    let mut lines = Vec::new();
    logs.others.retain(|path, _| there.contains_key(path));
    logs.seen.retain(|path, seen| {
        let stays = there.contains_key(path);
        if !stays {
            lines.push(line(&seen.log, name(&seen.read), "-", "the log is gone"));
        }
        stays
    });
    for (path, log) in there {
        let before = logs.seen.get(&path);
        if before.is_some_and(|seen| seen.log == log) || logs.others.get(&path) == Some(&log) {
            continue;
        }
        let read = archive.read(&log);
        if wanted.task.is_some_and(|task| read.as_ref().is_ok_and(|view| view.task_id.as_str() != task)) {
            logs.others.insert(path, log);
            continue;
        }
        lines.extend(changes(&log, before.map(|seen| &seen.read), &read));
        logs.seen.insert(path, Seen { log, read });
    }
    Ok(lines)
}

fn name(read: &Read) -> &str {
    read.as_ref().map_or("-", |view| view.task_id.as_str())
}

/// What is different about a Task: first its steps, then itself.
fn changes(log: &TaskLog, before: Option<&Read>, now: &Read) -> Vec<String> {
    let view = match now {
        Ok(view) => view,
        Err(damage) => return vec![line(log, "-", "-", &format!("unavailable: {}", page::damage(damage)))],
    };
    let of = |step: &str, what: &str| line(log, view.task_id.as_str(), step, what);
    let Some(Ok(before)) = before else {
        let first = of("-", &format!("{}, {}: {}", view.status, page::counts(view), one_line(&view.title)));
        return vec![first];
    };
    let old: BTreeMap<_, _> = before.steps.iter().map(|step| (step.step_id.as_str(), step)).collect();
    let new: BTreeMap<_, _> = view.steps.iter().map(|step| (step.step_id.as_str(), step)).collect();
    let mut lines = Vec::new();
    for step in &view.steps {
        match old.get(step.step_id.as_str()) {
            None => {
                lines.push(of(step.step_id.as_str(), &format!("added, {}: {}", step.status, one_line(&step.title))))
            }
            Some(old) if is_other(old, step) => lines.push(of(step.step_id.as_str(), &changed(old, step))),
            Some(_) => {}
        }
    }
    for step in before.steps.iter().filter(|step| !new.contains_key(step.step_id.as_str())) {
        lines.push(of(step.step_id.as_str(), "deleted"));
    }
    if view.status != before.status {
        lines.push(of("-", &format!("{} -> {}", before.status, view.status)));
    } else if lines.is_empty() && view != before {
        lines.push(of("-", &format!("changed: {}", one_line(&view.title))));
    }
    if let Some(diagnosis) = page::diagnosis(view).filter(|now| page::diagnosis(before) != Some(now)) {
        lines.push(of("-", diagnosis));
    }
    lines
}

/// What a step waits for changes with other steps, which have lines of their own.
fn is_other(old: &StepView, new: &StepView) -> bool {
    let mut new = new.clone();
    new.waits_for_step_ids.clone_from(&old.waits_for_step_ids);
    new != *old
}

fn changed(old: &StepView, new: &StepView) -> String {
    let mut what = match old.status == new.status {
        true => format!("{}, updated", new.status),
        false => format!("{} -> {}", old.status, new.status),
    };
    if let Some(agent) = new.claimed_by_agent_id.as_ref().filter(|_| new.status.is_held()) {
        what.push_str(&format!(" by {agent}"));
    }
    for (name, text) in [("result", new.result_summary.as_deref()), ("reason", new.reason.as_deref().map(page::reason))]
    {
        if let Some(text) = text {
            what.push_str(&format!("; {name}: {}", one_line(text)));
        }
    }
    what
}

/// Moment, session, Task, step, what; separated by tabs.
fn line(log: &TaskLog, task: &str, step: &str, what: &str) -> String {
    let now = agent_core::event::Timestamp::from_unix_millis(moment::now());
    format!("{now}\t{}\t{task}\t{step}\t{}\n", log.session_id, whole_line(what))
}

/// What fits on a screen. A Task that does not is shown without the steps that wait or are done.
fn on_screen(logs: &Logs, wanted: &Wanted<'_>, rows: usize, look: Look) -> String {
    let full = in_full(logs, wanted, look);
    if full.lines().count() < rows || wanted.session.is_none() {
        return full;
    }
    let moves =
        |step: &StepView| !matches!(step.status, StepStatus::Pending | StepStatus::Completed | StepStatus::Cancelled);
    let short = |view: &TaskView| {
        let hidden = view.steps.iter().filter(|step| !moves(step)).count() as u64;
        let steps = page::steps(view, &moves, false, page::Leases::Until, look);
        format!(
            "{}{steps}  {} that wait or are done are not shown\n",
            page::head(view, false, look),
            counted(hidden, "step")
        )
    };
    let shown = in_order(logs).into_iter().map(|seen| match &seen.read {
        Ok(view) => short(view),
        damaged => page::of(damaged, false, page::Leases::Until, look),
    });
    shown.collect::<Vec<_>>().join("\n")
}

fn in_full(logs: &Logs, wanted: &Wanted<'_>, look: Look) -> String {
    let seen = in_order(logs);
    if seen.is_empty() {
        return "no Task yet\n".to_owned();
    }
    if wanted.session.is_none() {
        let lines: Vec<_> = seen.iter().map(|seen| list::Line::of(&seen.log, &seen.read)).collect();
        return list::page(&lines, &[], look);
    }
    let pages = seen.iter().map(|seen| page::of(&seen.read, false, page::Leases::Until, look));
    pages.collect::<Vec<_>>().join("\n")
}

/// What changed last comes first.
fn in_order(logs: &Logs) -> Vec<&Seen> {
    let mut seen: Vec<_> = logs.seen.values().collect();
    seen.sort_by_key(|it| Reverse(it.log.modified));
    seen
}
