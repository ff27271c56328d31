//! What the Tasks must be: worked out from what the killed processes said, without their files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use agent_protocol::SessionId;
use agent_tasks::{Command, Event, NewTask, Replay, Task, TaskId};

use crate::work::{Asked, Number, SHOWN, session};

/// All Tasks that there are, those that have ended as well.
#[derive(Clone, Default)]
pub(crate) struct Model {
    tasks: BTreeMap<TaskId, Task>,
}

/// What of the command in flight was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InFlight {
    /// There was none, or it writes nothing.
    Nothing,
    /// Nothing of it.
    Lost,
    /// Some of its lines.
    Part,
    /// All of it.
    Whole,
}

/// What a log holds.
struct Found {
    events: Vec<Event>,
    task: Option<Task>,
    /// Bytes behind the last whole line.
    torn: usize,
}

impl Model {
    fn active(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values().filter(|task| !task.status().is_terminal())
    }

    /// A command that was acknowledged.
    pub(crate) fn done(&mut self, number: Number) {
        let (task_id, task, _) = self.after(number);
        self.tasks.extend(task.map(|task| (task_id, task)));
    }

    /// The Task that a command is given to, as it is after it (none where it is refused), and the events.
    fn after(&self, number: Number) -> (TaskId, Option<Task>, Vec<Event>) {
        match number.asked(self.active()) {
            Asked::New(new) => {
                let made = Task::create(
                    &NewTask {
                        task_id: new.task_id.clone(),
                        wal_path: format!("{SHOWN}/{}.wal.jsonl", new.wal_name),
                        title: new.title,
                        summary: new.summary,
                        steps: new.steps,
                        agent_id: None,
                        run_id: None,
                    },
                    number.now(),
                );
                let (task, events) = made.unwrap();
                (new.task_id, Some(task), events)
            }
            Asked::Of(task_id, command) => {
                let mut task = self.tasks[&task_id].clone();
                let events = task.prepare(&command, &number.context()).map(|change| change.commit());
                let is_done = events.is_ok();
                (task_id, is_done.then_some(task), events.unwrap_or_default())
            }
        }
    }

    /// Compares the folder with what was acknowledged, and takes over what else is there. Besides that nothing may be there but the
    /// beginning of what the command in flight writes, or of what taking up the Tasks does.
    pub(crate) fn check(
        &mut self,
        folder: &Path,
        in_flight: Option<Number>,
        opening: Number,
    ) -> Result<(InFlight, usize), String> {
        let after = in_flight.map(|number| self.after(number));
        let (mut result, mut torn) = (
            if after.as_ref().is_some_and(|(_, _, events)| !events.is_empty()) {
                InFlight::Lost
            } else {
                InFlight::Nothing
            },
            0,
        );
        let mut found = logs(folder)?;
        let mut names: Vec<TaskId> = self.tasks.keys().cloned().collect();
        names.extend(
            after.iter().map(|(task_id, ..)| task_id.clone()).filter(|task_id| !self.tasks.contains_key(task_id)),
        );
        for task_id in names {
            let known = self.tasks.get(&task_id);
            let Some(log) = found.remove(&task_id) else {
                if known.is_some() {
                    return Err(format!("the log of {task_id} is gone"));
                }
                continue;
            };
            torn += log.torn;
            let expected = match &after {
                Some((of, _, events)) if *of == task_id => events.clone(),
                Some(_) => Vec::new(),
                None => settled(known, opening),
            };
            let is_of_command = after.as_ref().is_some_and(|(of, ..)| *of == task_id);
            if log.torn > 0 && expected.is_empty() {
                return Err(format!("{task_id}: {} torn bytes, and nothing was being written", log.torn));
            }
            // What was acknowledged comes first; the model has no log, so its Task says where that ends.
            let more = log.events.len() - acknowledged(&log.events, known, &task_id)?;
            if log.events[log.events.len() - more..] != expected[..more.min(expected.len())] || more > expected.len() {
                return Err(format!(
                    "{task_id}: behind what was acknowledged there are other lines than were being written"
                ));
            }
            if is_of_command && more > 0 {
                result = if more == expected.len() { InFlight::Whole } else { InFlight::Part };
            }
            self.tasks.extend(log.task.map(|task| (task_id, task)));
        }
        // A log without a whole line was being made once, and was never acknowledged.
        match found.iter().find(|(_, log)| !log.events.is_empty()) {
            Some((stranger, _)) => Err(format!("nobody made {stranger}")),
            None => Ok((result, torn)),
        }
    }

    /// The Tasks are taken up: what a crash had kept from being written is written.
    pub(crate) fn opened(&mut self, number: Number) {
        for task in self.tasks.values_mut() {
            task.prepare(&Command::Settle, &number.context()).unwrap().commit();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.tasks.len()
    }
}

fn settled(task: Option<&Task>, number: Number) -> Vec<Event> {
    let settle = |mut task: Task| task.prepare(&Command::Settle, &number.context()).unwrap().commit();
    task.cloned().map(settle).unwrap_or_default()
}

/// How many events give the Task that is known: the most that do.
fn acknowledged(events: &[Event], known: Option<&Task>, task_id: &TaskId) -> Result<usize, String> {
    let Some(known) = known else { return Ok(0) };
    let mut replay = Replay::default();
    let mut at = None;
    for (number, line) in (1..).zip(lines(events, task_id)) {
        replay.line(line.trim_end()).map_err(|error| format!("{task_id}: {error}"))?;
        if replay.task() == Some(known) {
            at = Some(number);
        }
    }
    at.ok_or_else(|| format!("{task_id}: no beginning of its log gives what was acknowledged"))
}

fn lines(events: &[Event], task_id: &TaskId) -> Vec<String> {
    let line = |(wal_seq, event): (u64, &Event)| {
        let mut out = Vec::new();
        agent_tasks::Line {
            wal_seq,
            session_id: session(),
            event_id: agent_protocol::EventId::parse("evt_1").unwrap(),
            actor_agent_id: None,
            actor_run_id: None,
            task_id: task_id.clone(),
            event: event.clone(),
        }
        .write(&mut out);
        String::from_utf8(out).unwrap()
    };
    (1..).zip(events).map(line).collect()
}

/// The logs of a folder, read without anything of the store.
fn logs(folder: &Path) -> Result<BTreeMap<TaskId, Found>, String> {
    let mut logs = BTreeMap::new();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(logs) };
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(name) = name.strip_suffix(".wal.jsonl") else {
            assert!(name.contains(".wal.jsonl.torn-"), "{name}");
            continue;
        };
        let bytes = fs::read(&path).unwrap();
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text = std::str::from_utf8(&bytes[..end]).map_err(|error| format!("{name}: {error}"))?;
        let mut replay = Replay::default();
        let events: Result<Vec<Event>, _> = text.lines().map(|line| replay.line(line)).collect();
        let events = events.map_err(|error| format!("{name}: {error}"))?;
        let finished: Option<(SessionId, Task)> = replay.finish();
        logs.insert(
            TaskId::parse(name).unwrap(),
            Found { events, task: finished.map(|(_, task)| task), torn: bytes.len() - end },
        );
    }
    Ok(logs)
}
