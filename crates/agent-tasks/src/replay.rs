//! A Task made again from the lines of its log (WAL-4, WAL-5, WAL-8).

use agent_protocol::SessionId;
use agent_protocol::task::StepId;

use crate::apply::Misfit;
use crate::event::{Event, Payload};
use crate::line::{LineError, Read};
use crate::task::Task;

/// Folds lines to a Task.
#[derive(Debug, Default)]
pub struct Replay {
    state: Option<Begun>,
    lines: u64,
}

#[derive(Debug)]
struct Begun {
    session_id: SessionId,
    task: Task,
}

/// Why a log makes no Task.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {why}")]
pub struct ReplayError {
    /// The line, counted from 1.
    pub line: u64,
    /// What is wrong with it.
    #[source]
    pub why: ReplayFault,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum ReplayFault {
    /// It cannot be read.
    #[error("{0}")]
    Line(#[from] LineError),
    /// It is not the next one.
    #[error("wal_seq is {found}, and {expected} was expected")]
    Sequence {
        /// The number that it should have.
        expected: u64,
        /// The number that it has.
        found: u64,
    },
    /// The first line makes no Task.
    #[error("the log begins with {0}, and task_created was expected")]
    Beginning(&'static str),
    /// It belongs to another Task or session.
    #[error("it belongs to {kind} {found}, and the log to {expected}")]
    Other {
        /// `task` or `session`.
        kind: &'static str,
        /// Whose log it is.
        expected: String,
        /// Whose line it is.
        found: String,
    },
    /// It cannot have happened then.
    #[error("{event_type}: {why}")]
    Misfit {
        /// The type of the event.
        event_type: &'static str,
        /// Why.
        why: Misfit,
    },
}

impl ReplayFault {
    /// One word for programs: `line`, `sequence`, `beginning`, `other` or `misfit`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Line(_) => "line",
            Self::Sequence { .. } => "sequence",
            Self::Beginning(_) => "beginning",
            Self::Other { .. } => "other",
            Self::Misfit { .. } => "misfit",
        }
    }
}

impl Replay {
    /// Takes the next line, without its line end, and gives what happened.
    ///
    /// # Errors
    /// [`ReplayError`] says which line is wrong and why; the Task is then not to be used.
    pub fn line(&mut self, text: &str) -> Result<Event, ReplayError> {
        let number = self.lines + 1;
        let event = self.fold(text, number).map_err(|why| ReplayError { line: number, why })?;
        self.lines = number;
        Ok(event)
    }

    fn fold(&mut self, text: &str, number: u64) -> Result<Event, ReplayFault> {
        let line = Read::new(text)?;
        if line.wal_seq != number {
            return Err(ReplayFault::Sequence { expected: number, found: line.wal_seq });
        }
        // The ids of steps are in memory once: those of the Task are shared.
        let known = line.step_id().and_then(|id| self.task()?.graph.find_text(id));
        let slot = known.map(|(slot, _)| slot);
        let event = line.event(|id| known.map_or_else(|| StepId::parse(id), |(_, step)| Ok(step.id.clone())))?;
        let event_type = event.payload.event_type().as_str();
        let misfit = |why| ReplayFault::Misfit { event_type, why };
        let Some(begun) = &mut self.state else {
            let Payload::TaskCreated(created) = &event.payload else {
                return Err(ReplayFault::Beginning(event_type));
            };
            same("task", &line.task_id, created.task.task_id.as_str())?;
            let session_id = SessionId::parse(&line.session_id).map_err(LineError::from)?;
            let task = Task::created(&created.task).map_err(misfit)?;
            self.state = Some(Begun { session_id, task });
            return Ok(event);
        };
        same("session", begun.session_id.as_str(), &line.session_id)?;
        same("task", begun.task.id().as_str(), &line.task_id)?;
        begun.task.apply_at(&event, slot).map_err(misfit)?;
        Ok(event)
    }

    /// How many lines were taken: the `wal_seq` of the last one.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The Task so far; none before the first line.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
        Some(&self.state.as_ref()?.task)
    }

    /// The session and the Task; none where there was no line. What a torn log has lost is written by
    /// [`Command::Settle`](crate::Command::Settle).
    #[must_use]
    pub fn finish(self) -> Option<(SessionId, Task)> {
        let Begun { session_id, mut task } = self.state?;
        task.keep();
        Some((session_id, task))
    }
}

fn same(kind: &'static str, expected: &str, found: &str) -> Result<(), ReplayFault> {
    if expected == found {
        return Ok(());
    }
    Err(ReplayFault::Other { kind, expected: expected.to_owned(), found: found.chars().take(128).collect() })
}
