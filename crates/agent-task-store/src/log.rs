//! One Task with its log.

use std::path::Path;

use agent_journal::{Journal, JournalError, ReadError, Torn};
use agent_protocol::{AgentId, EventId, RunId, SessionId};
use agent_tasks::{Command, Context, Event, Line, Moment, RecentChanges, Replay, ReplayError, Task};

use crate::error::TaskError;
use crate::folder;

/// Who gives a command. Nobody: core itself, without a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Actor {
    /// The agent.
    pub agent_id: Option<AgentId>,
    /// The run.
    pub run_id: Option<RunId>,
}

/// What is handed in from outside: the time, and new ids.
#[derive(Clone, Copy)]
pub struct Stamp<'a> {
    /// Now.
    pub now: Moment,
    /// How long a worker keeps a step without a sign of life, in milliseconds.
    pub lease_millis: u64,
    /// Makes an id that was never given before.
    pub new_event_id: &'a dyn Fn() -> EventId,
}

/// A line that is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Its number.
    pub wal_seq: u64,
    /// The event's id.
    pub event_id: EventId,
    /// What happened.
    pub event: Event,
}

/// A Task that is open for commands.
#[derive(Debug)]
pub(crate) struct TaskLog {
    session_id: SessionId,
    pub(crate) task: Task,
    journal: Journal,
    last_seq: u64,
}

/// A log that was opened.
pub(crate) struct OpenedLog {
    pub(crate) log: TaskLog,
    pub(crate) torn: Option<Torn>,
    /// The last of its changes.
    pub(crate) recent: RecentChanges,
}

/// Why a log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error(transparent)]
    Read(#[from] ReadError<ReplayError>),
    #[error("{0}")]
    NotAFile(String),
    #[error("it has no whole line")]
    Empty,
    #[error("it belongs to session {0}")]
    OtherSession(SessionId),
}

impl OpenError {
    /// One word for programs, the line where it is one's fault, and whether another process holds the log.
    pub(crate) fn details(&self) -> (&'static str, Option<u64>) {
        match self {
            Self::Read(ReadError::Refused(error)) => (error.why.kind(), Some(error.line)),
            Self::Read(ReadError::Line { line, .. }) => ("line", Some(*line)),
            Self::Read(ReadError::Journal(JournalError::Locked { .. })) => ("locked", None),
            Self::Read(ReadError::Journal(_)) | Self::NotAFile(_) => ("file", None),
            Self::Empty => ("empty", None),
            Self::OtherSession(_) => ("other", Some(1)),
        }
    }
}

impl TaskLog {
    /// Makes the log of a new Task.
    pub(crate) fn create(
        path: &Path,
        session_id: &SessionId,
        task: Task,
        events: Vec<Event>,
        actor: &Actor,
        stamp: &Stamp<'_>,
    ) -> Result<(Self, Vec<Recorded>), JournalError> {
        let recorded = number(0, &events, stamp);
        let journal = Journal::create(path, &lines(session_id, &task, &recorded, actor))?;
        let last_seq = recorded.len() as u64;
        Ok((Self { session_id: session_id.clone(), task, journal, last_seq }, recorded))
    }

    /// Opens a log of this session and makes its Task again. Nothing is written but what mends a torn end.
    pub(crate) fn open(path: &Path, session_id: &SessionId, mut recent: RecentChanges) -> Result<OpenedLog, OpenError> {
        if let Some(why) = folder::not_a_file(path) {
            return Err(OpenError::NotAFile(why));
        }
        let mut replay = Replay::default();
        // A log without a whole line was never acknowledged. It is not touched: whoever sees it can judge.
        let opened = Journal::open(path, |line| {
            let event = replay.line(line)?;
            if let Some(task) = replay.task() {
                recent.note(task.id(), [&event]);
            }
            Ok(())
        })?;
        let last_seq = replay.lines();
        let (of, task) = replay.finish().ok_or(OpenError::Empty)?;
        if of != *session_id {
            return Err(OpenError::OtherSession(of));
        }
        Ok(OpenedLog {
            log: Self { session_id: of, task, journal: opened.journal, last_seq },
            torn: opened.torn,
            recent,
        })
    }

    /// Does it: the lines are on disk when this returns, and the Task has changed only then.
    pub(crate) fn execute(
        &mut self,
        command: &Command,
        actor: &Actor,
        stamp: &Stamp<'_>,
    ) -> Result<Vec<Recorded>, TaskError> {
        if self.journal.is_broken() {
            let why = "writing its log failed, and it could not be taken back: open the session again".to_owned();
            return Err(TaskError::Unavailable { task_id: self.task.id().clone(), why });
        }
        let task_id = self.task.id().clone();
        let context = Context { now: stamp.now, lease_millis: stamp.lease_millis };
        let change = self.task.prepare(command, &context)?;
        if change.events().is_empty() {
            return Ok(Vec::new());
        }
        let recorded = number(self.last_seq, change.events(), stamp);
        let bytes = lines(&self.session_id, change.task(), &recorded, actor);
        self.journal.append(&bytes).map_err(|source| TaskError::Log { task_id, source })?;
        self.last_seq += recorded.len() as u64;
        change.commit();
        Ok(recorded)
    }

    /// Whether the log is still the one that was opened, as it was left.
    pub(crate) fn is_in_place(&self) -> Result<(), TaskError> {
        let unavailable = |why| TaskError::Unavailable { task_id: self.task.id().clone(), why };
        self.journal.check_place().map_err(|error| unavailable(error.to_string()))
    }

    /// How many lines it has.
    pub(crate) fn lines(&self) -> u64 {
        self.last_seq
    }

    pub(crate) fn path(&self) -> &Path {
        self.journal.path()
    }
}

fn number(after: u64, events: &[Event], stamp: &Stamp<'_>) -> Vec<Recorded> {
    let numbered = (after + 1..).zip(events);
    let recorded =
        |(wal_seq, event): (u64, &Event)| Recorded { wal_seq, event_id: (stamp.new_event_id)(), event: event.clone() };
    numbered.map(recorded).collect()
}

fn lines(session_id: &SessionId, task: &Task, recorded: &[Recorded], actor: &Actor) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(512 * recorded.len());
    for recorded in recorded {
        let line = Line {
            wal_seq: recorded.wal_seq,
            session_id: session_id.clone(),
            event_id: recorded.event_id.clone(),
            actor_agent_id: actor.agent_id.clone(),
            actor_run_id: actor.run_id.clone(),
            task_id: task.id().clone(),
            event: recorded.event.clone(),
        };
        line.write(&mut bytes);
    }
    bytes
}
