//! The last changes of a session's Tasks.

use std::collections::VecDeque;

use agent_protocol::EventType;
use agent_protocol::task::{Moment, StepId, TaskId};

use crate::event::Event;

/// A change, in short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentChange {
    /// When.
    pub at: Moment,
    /// The Task.
    pub task_id: TaskId,
    /// The step; none where it was the Task.
    pub step_id: Option<StepId>,
    /// What.
    pub event_type: EventType,
}

impl RecentChange {
    /// What happened, in a word or two: `completed`, `lease expired`.
    pub(super) fn word(&self) -> String {
        let name = self.event_type.as_str();
        let word = name.strip_prefix("task_step_").or_else(|| name.strip_prefix("task_")).unwrap_or(name);
        word.replace('_', " ")
    }
}

/// The last changes, up to a number of them.
#[derive(Debug, Clone, Default)]
pub struct RecentChanges {
    /// In the order of their times, the oldest first.
    changes: VecDeque<RecentChange>,
    most: usize,
}

impl RecentChanges {
    /// Keeps so many.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { changes: VecDeque::new(), most }
    }

    /// None yet, and room for as many.
    #[must_use]
    pub fn empty(&self) -> Self {
        Self::new(self.most)
    }

    /// Takes in those of another log.
    pub fn add(&mut self, other: Self) {
        other.changes.into_iter().for_each(|change| self.push(change));
    }

    /// Takes in what was stored.
    pub fn note<'a>(&mut self, task_id: &TaskId, events: impl IntoIterator<Item = &'a Event>) {
        for event in events {
            self.push(RecentChange {
                at: event.at,
                task_id: task_id.clone(),
                step_id: event.step_id.clone(),
                event_type: event.payload.event_type(),
            });
        }
    }

    /// Logs that are read one after the other overlap in time; among those of one moment the order is that of the calls.
    fn push(&mut self, change: RecentChange) {
        let at = self.changes.iter().rposition(|known| known.at <= change.at).map_or(0, |at| at + 1);
        if at == 0 && self.changes.len() >= self.most {
            return;
        }
        self.changes.insert(at, change);
        if self.changes.len() > self.most {
            self.changes.pop_front();
        }
    }

    /// Those that are not older than that, the newest first.
    pub fn within(&self, now: Moment, millis: u64) -> impl Iterator<Item = &RecentChange> {
        self.changes.iter().rev().filter(move |change| now.millis().saturating_sub(change.at.millis()) <= millis)
    }
}
