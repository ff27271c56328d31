//! The child agents of a run, as people see them while they work: a line each.

use std::time::{Duration, Instant};

use agent_core::EventType;
use agent_core::RuntimeEvent;
use agent_core::archive::TimelineChildEnd;
use agent_core::event::{
    ChildAgentCancelTimeout, ChildAgentCreated, ModelStarted, PayloadError, TaskEvent, TaskStepClaimed, ToolStarted,
};
use agent_core::id::RunId;
use agent_core::model::Usage;
use agent_core::session::AgentStatus;

use crate::exit::describe;
use crate::lines::{self, counted, in_line};
use crate::output::{Colour, Width};

/// Stands before each of the lines.
const SET_IN: &str = "  ";

/// The children that live, in the order in which they began.
#[derive(Default)]
pub(crate) struct Children {
    living: Vec<Child>,
}

struct Child {
    run_id: RunId,
    who: String,
    step: Option<String>,
    doing: String,
    since: Instant,
}

/// What is to be drawn.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Drawing {
    pub(crate) what: String,
    pub(crate) seconds: u64,
    pub(crate) lines: Vec<String>,
}

impl Children {
    pub(crate) fn is_empty(&self) -> bool {
        self.living.is_empty()
    }

    /// A child begins. What is said of that where its line is not drawn.
    pub(crate) fn begin(&mut self, created: &ChildAgentCreated, now: Instant) -> String {
        let name = in_line(name(created));
        let same = |who: &str| self.living.iter().any(|child| child.who == who);
        let mut who = name.clone();
        let mut number = 1;
        while same(&who) {
            number += 1;
            who = format!("{name} {number}");
        }
        let task = created.task_id.as_ref().map(|task| format!(" for task {task}")).unwrap_or_default();
        let asked = created.asked.as_deref().map(|asked| format!(": {}", in_line(asked))).unwrap_or_default();
        let line = format!("{who} begins{task}{asked}");
        let (run_id, doing) = (created.child_run_id.clone(), "begins".to_owned());
        self.living.push(Child { run_id, who, step: None, doing, since: now });
        line
    }

    /// Something happened in a child.
    ///
    /// # Errors
    /// If the event cannot be read.
    pub(crate) fn happened(&mut self, event: &RuntimeEvent) -> Result<(), PayloadError> {
        let run_id = event.run_id.as_ref();
        let Some(child) = self.living.iter_mut().find(|child| Some(&child.run_id) == run_id) else { return Ok(()) };
        match event.event_type {
            EventType::ModelStarted => {
                child.doing = format!("waits for {}", in_line(&event.read::<ModelStarted>()?.model))
            }
            EventType::ModelRetry => "waits to ask again".clone_into(&mut child.doing),
            EventType::MessageDelta if child.doing != WRITES => WRITES.clone_into(&mut child.doing),
            EventType::ToolStarted => {
                let ToolStarted { tool_name, summary } = event.read()?;
                child.doing = lines::call_line(&tool_name, summary.as_deref());
            }
            EventType::TaskStepClaimed => {
                let claimed: TaskEvent<TaskStepClaimed> = event.read()?;
                child.step = claimed.step_id.map(|step| in_line(step.as_str()));
            }
            EventType::PermissionRequested => "waits for an answer".clone_into(&mut child.doing),
            EventType::CompactStarted => lines::SUMMARISING.clone_into(&mut child.doing),
            _ => {}
        }
        Ok(())
    }

    /// As if all had begun so much earlier.
    #[cfg(test)]
    pub(crate) fn rewind(&mut self, by: Duration) {
        self.living.iter_mut().for_each(|child| child.since -= by);
    }

    /// A child is told to stop.
    pub(crate) fn stops(&mut self, run_id: &RunId) {
        if let Some(child) = self.living.iter_mut().find(|child| child.run_id == *run_id) {
            "stops".clone_into(&mut child.doing);
        }
    }

    /// A child ended, as an event of its parent's tells: the one line that is left of it.
    ///
    /// # Errors
    /// If the event cannot be read.
    pub(crate) fn end(&mut self, event: &RuntimeEvent, now: Instant) -> Result<(Colour, String), PayloadError> {
        let (colour, how, run_id, spent, step) = if event.event_type == EventType::ChildAgentCancelTimeout {
            let late: ChildAgentCancelTimeout = event.read()?;
            let how = "did not stop in time; it can change nothing any more".to_owned();
            (Colour::Yellow, how, late.child_run_id, None, None)
        } else {
            let end = TimelineChildEnd::read(event)?;
            let why = end.error.as_ref().map(|error| format!(": {}", in_line(&describe(error)))).unwrap_or_default();
            let how = format!("{}{why}", end.status.as_str());
            (colour(end.status), how, end.child_run_id, Some((end.turns, end.usage)), end.step_id.zip(end.step_status))
        };
        let at = self.living.iter().position(|child| child.run_id == run_id);
        let child = at.map(|at| self.living.remove(at));
        let seconds = child.as_ref().map(|child| now.duration_since(child.since).as_secs_f64());
        let who = child.as_ref().map_or_else(|| run_id.to_string(), |child| child.who.clone());
        let step = match (step, child.and_then(|child| child.step)) {
            (Some((step, status)), _) => format!("; step {step} is {status}"),
            (None, Some(step)) => format!("; step {step}"),
            (None, None) => String::new(),
        };
        let spent = spent.map(|(turns, usage)| format!("; {}", took(turns, &usage, seconds))).unwrap_or_default();
        Ok((colour, format!("{who} {how}{step}{spent}")))
    }

    /// A line for each, as many as there is room for, the last of which counts the rest; nothing before the first of them has lived for
    /// so long.
    pub(crate) fn drawing(&self, now: Instant, patience: Duration, width: Width, most: usize) -> Option<Drawing> {
        let first = self.living.iter().map(|child| child.since).min()?;
        let age = now.duration_since(first);
        if age < patience {
            return None;
        }
        let count = self.living.len();
        let fit = if count <= most { count } else { most.saturating_sub(1) };
        let mut lines: Vec<_> = self.living.iter().take(fit).map(|child| child.line(now, width)).collect();
        if fit < count && most > 0 {
            let rest = format!("{SET_IN}and {}", counted((count - fit) as u64, "more agent"));
            lines.push(width.head(&rest, width.usable()).into_owned());
        }
        let what = format!("{} at work", counted(count as u64, "agent"));
        Some(Drawing { what, seconds: age.as_secs(), lines })
    }
}

/// What a child does while its model answers.
const WRITES: &str = "writes";

impl Child {
    /// Who, step, what it does and for how long it lives: of what does not fit the end is left out, so that all are seen.
    fn line(&self, now: Instant, width: Width) -> String {
        let time = format!(" {} s", now.duration_since(self.since).as_secs());
        let room = width.usable().saturating_sub(SET_IN.len() + time.len());
        let step = self.step.as_deref().map(|step| format!(" [{step}]")).unwrap_or_default();
        let who = format!("{}{step}", self.who);
        let doing = format!(": {}", self.doing);
        let wanted = width.of_all(&doing);
        // Half of a row is enough to tell who it is, unless there is more.
        let for_who = (room / 2).max(room.saturating_sub(wanted));
        let who = width.head(&who, for_who);
        let left = room.saturating_sub(width.of_all(&who));
        let doing = if left > LEAST { width.head(&doing, left) } else { "".into() };
        format!("{SET_IN}{who}{doing}{time}")
    }
}

/// In fewer columns nothing is recognised.
const LEAST: usize = 5;

/// A worker by its entry in the configuration, any other child by its definition.
pub(crate) fn name(created: &ChildAgentCreated) -> &str {
    let worker = created.worker_id.as_deref();
    worker.or(created.definition_name.as_deref()).unwrap_or(&created.agent_definition_id)
}

/// What the end of a child is shown in.
pub(crate) fn colour(end: AgentStatus) -> Colour {
    match end {
        AgentStatus::Completed => Colour::Green,
        AgentStatus::Failed => Colour::Red,
        _ => Colour::Yellow,
    }
}

/// What a child's run took.
pub(crate) fn took(turns: u32, usage: &Usage, seconds: Option<f64>) -> String {
    let time = seconds.map(|seconds| format!(", {seconds:.1} s")).unwrap_or_default();
    format!("{}, {}{time}", counted(turns.into(), "turn"), lines::tokens(Some(usage), false))
}

#[cfg(test)]
mod tests;
