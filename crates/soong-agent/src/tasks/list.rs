//! Tasks of a project, a line each.

use std::collections::HashMap;

use agent_core::archive::{StepStatus, TaskLog, TaskSession, TaskStatus};
use agent_core::event::Timestamp;
use agent_core::id::SessionId;

use super::logs::Read;
use super::page;
use crate::lines::one_line;
use crate::moment;
use crate::output::{Colour, Columns, GAP, Look, Width, widest};

/// Ids on a terminal have at least so many characters.
const SHOWN: usize = SessionId::PREFIX.len() + 12;
/// The title gets at least this much room; where it would not, other columns give way.
const TITLE: usize = 24;
const UNAVAILABLE: &str = "unavailable";

/// What a list says of a Task.
pub(super) struct Line {
    session_id: SessionId,
    updated_at: Timestamp,
    /// None where the log makes no Task; `words` then says why.
    task: Option<Known>,
    words: String,
}

struct Known {
    id: String,
    status: TaskStatus,
    by_state: String,
    counts: String,
    diagnosis: &'static str,
}

impl Line {
    pub(super) fn of(log: &TaskLog, read: &Read) -> Self {
        let session_id = log.session_id.clone();
        match read {
            Ok(view) => {
                let count = |status: &StepStatus| format!("{status}={}", view.counts.of(*status));
                let known = Known {
                    id: view.task_id.to_string(),
                    status: view.status,
                    by_state: page::by_state(view),
                    counts: StepStatus::ALL.iter().map(count).collect::<Vec<_>>().join(" "),
                    diagnosis: match (view.completeable, view.stalled) {
                        (true, _) => "completeable",
                        (_, true) => "stalled",
                        _ => "-",
                    },
                };
                Self {
                    session_id,
                    updated_at: view.updated_at.clone(),
                    task: Some(known),
                    words: one_line(&view.title),
                }
            }
            Err(damage) => {
                let modified = log.modified.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
                let updated_at = Timestamp::from_unix_millis(u64::try_from(modified.as_millis()).unwrap_or(u64::MAX));
                Self { session_id, updated_at, task: None, words: page::damage(damage) }
            }
        }
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.task.is_none()
    }
}

pub(super) fn page(lines: &[Line], sessions: &[TaskSession], look: Look) -> String {
    match look.width {
        Some(width) => for_people(lines, sessions, width, look),
        None => lines.iter().map(for_scripts).collect(),
    }
}

/// Session, moment of the last change, Task, status, counts, diagnosis, title; separated by tabs.
fn for_scripts(line: &Line) -> String {
    let (session, moment) = (line.session_id.as_str(), line.updated_at.as_str());
    let columns = match &line.task {
        Some(task) => [session, moment, &task.id, task.status.as_str(), &task.counts, task.diagnosis, &line.words],
        None => [session, moment, "-", UNAVAILABLE, "-", "-", &line.words],
    };
    format!("{}\n", columns.join("\t"))
}

fn for_people(lines: &[Line], sessions: &[TaskSession], width: Width, look: Look) -> String {
    let now = moment::now();
    let mut short = HashMap::new();
    for line in lines {
        short.entry(&line.session_id).or_insert_with(|| shortened(&line.session_id, sessions));
    }
    let row = |line: &Line| {
        let (id, status, by_state, colour) = match &line.task {
            Some(task) => {
                let diagnosed = if task.diagnosis == "-" { String::new() } else { format!("{}: ", task.diagnosis) };
                let states = format!("{diagnosed}{}", task.by_state);
                (task.id.clone(), task.status.to_string(), states, page::task_colour(task.status))
            }
            None => ("-".to_owned(), UNAVAILABLE.to_owned(), String::new(), Some(Colour::Red)),
        };
        let session = short.get(&line.session_id).cloned().unwrap_or_default();
        ([session, moment::ago(&line.updated_at, now), id, status, by_state], colour)
    };
    let rows: Vec<_> = lines.iter().map(row).collect();
    let mut columns = [0, 1, 2, 3, 4].map(|at| widest(rows.iter().map(|(row, _)| row[at].as_str()), width));
    let room = |columns: &[usize]| {
        let taken = columns.iter().filter(|columns| **columns > 0).map(|columns| columns + GAP).sum();
        width.usable().saturating_sub(taken)
    };
    let wanted = TITLE.min(widest(lines.iter().map(|line| line.words.as_str()), width));
    for gives_way in [4, 1] {
        if room(&columns) < wanted {
            columns[gives_way] = 0;
        }
    }
    let shown = |((row, colour), line): (&([String; 5], Option<Colour>), &Line)| {
        let mut shown = Columns::new(width, look);
        for (at, text) in row.iter().enumerate().filter(|(at, _)| columns[*at] > 0) {
            shown.add(text, columns[at], colour.filter(|_| at == 3));
        }
        shown.add(&line.words, shown.room(), None);
        shown.line()
    };
    rows.iter().zip(lines).map(shown).collect()
}

/// The beginning of an id with which no other session that has Tasks begins.
fn shortened(id: &SessionId, sessions: &[TaskSession]) -> String {
    let shared = |other: &SessionId| {
        id.as_str().bytes().zip(other.as_str().bytes()).take_while(|(one, other)| one == other).count()
    };
    let others = sessions.iter().map(|session| &session.session_id).filter(|other| *other != id);
    let length = others.map(|other| shared(other) + 1).max().unwrap_or(0).max(SHOWN);
    // Ids are ASCII.
    id.as_str().get(..length).unwrap_or(id.as_str()).to_owned()
}
