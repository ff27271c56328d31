//! `<task_board>`: what of the active Tasks a model should see in each request (TBD-1).
//!
//! It is made from the Tasks in memory and from the last changes, and is the same for the same of both. First come the Tasks, then
//! what cannot go on, what is being done, what the reader holds, what could be begun, and what happened last. It stops where the
//! room ends; what has no place is counted.

mod page;
mod recent;

use std::fmt::Write as _;

use agent_protocol::AgentId;
use agent_protocol::task::{Moment, StepStatus, TaskId};

use crate::command::Worker;
use crate::step::Step;
use crate::task::Task;

use page::{Kind, Page};
pub use recent::{RecentChange, RecentChanges};

/// Most characters of a title.
const TITLE: usize = 100;
/// Most characters of a reason.
const REASON: usize = 160;

/// Who reads a board.
#[derive(Debug, Clone, Copy)]
pub enum Reader<'a> {
    /// The Orchestrator: all Tasks, all pools.
    Orchestrator,
    /// A worker: the Task that it was sent for, and of that the steps it may claim.
    Worker {
        /// Its Task.
        task_id: &'a TaskId,
        /// The worker.
        worker: &'a Worker,
    },
}

/// How a board is made.
#[derive(Clone, Copy)]
pub struct BoardRules<'a> {
    /// Now.
    pub now: Moment,
    /// Most tokens of the text.
    pub room: u64,
    /// What a text takes. Of lines together it must not be more than of each.
    pub count: &'a dyn Fn(&str) -> u64,
    /// Makes one line of at most so many characters of words that somebody else wrote.
    pub line: &'a dyn Fn(&str, usize) -> String,
    /// Most changes that are shown.
    pub changes: usize,
    /// How old a change may be, in milliseconds.
    pub window_millis: u64,
}

/// The board; none where there is nothing to show, or no room for it.
#[must_use]
pub fn board<'a>(
    tasks: impl Iterator<Item = &'a Task> + Clone,
    recent: &RecentChanges,
    reader: Reader<'_>,
    rules: &BoardRules<'_>,
) -> Option<String> {
    let board = Board { reader, rules };
    let whole = board.page(tasks.clone(), recent, rules.room);
    let page = if whole.is_cut() { board.page(tasks, recent, whole.room_beside_note()) } else { whole };
    page.text(rules.room)
}

struct Board<'a> {
    reader: Reader<'a>,
    rules: &'a BoardRules<'a>,
}

impl<'a> Board<'a> {
    fn page<'t>(&self, tasks: impl Iterator<Item = &'t Task> + Clone, recent: &RecentChanges, room: u64) -> Page<'a> {
        let mut page = Page::new(room, self.rules.count);
        let tasks = tasks.filter(|task| self.sees_task(task.id()));
        // Many Tasks do not push their steps off the board.
        page.section("Tasks", room / 3);
        for task in tasks.clone() {
            page.line(Kind::Task, || self.task(task));
        }
        let steps = |statuses: &'static [StepStatus]| {
            let tasks = tasks.clone();
            tasks.flat_map(move |task| {
                statuses.iter().flat_map(|status| task.steps_in(*status)).map(move |step| (task, step))
            })
        };
        let held = &[StepStatus::Running, StepStatus::Claimed];
        page.section("Blocked steps", room);
        for (task, step) in steps(&[StepStatus::Blocked]).filter(|(_, step)| self.sees(step)) {
            page.line(Kind::Step(step.status), || self.blocked(task, step));
        }
        page.section("Steps that others are at work on", room);
        for (task, step) in steps(held).filter(|(_, step)| self.sees(step) && !self.holds(step)) {
            page.line(Kind::Step(step.status), || self.held(task, step));
        }
        page.section("Steps that you hold", room);
        for (task, step) in steps(held).filter(|(_, step)| self.holds(step)) {
            page.line(Kind::Step(step.status), || self.held(task, step));
        }
        page.section(self.ready_title(), room);
        for (task, step) in steps(&[StepStatus::Ready]).filter(|(_, step)| self.sees(step)) {
            page.line(Kind::Step(step.status), || self.ready(task, step));
        }
        page.section("Last changes, the newest first", room);
        for change in recent
            .within(self.rules.now, self.rules.window_millis)
            .filter(|change| self.sees_change(tasks.clone(), change))
            .take(self.rules.changes)
        {
            page.line(Kind::Change, || self.change(change));
        }
        page
    }

    fn ready_title(&self) -> &'static str {
        match self.reader {
            Reader::Orchestrator => "Ready steps",
            Reader::Worker { .. } => "Ready steps that you may claim",
        }
    }

    fn sees_task(&self, id: &TaskId) -> bool {
        match self.reader {
            Reader::Orchestrator => true,
            Reader::Worker { task_id, .. } => task_id == id,
        }
    }

    fn sees(&self, step: &Step) -> bool {
        match self.reader {
            Reader::Orchestrator => true,
            Reader::Worker { worker, .. } => worker.may_claim(step),
        }
    }

    /// What the Orchestrator does itself nobody has claimed.
    fn holds(&self, step: &Step) -> bool {
        match self.reader {
            Reader::Orchestrator => step.claim.is_none(),
            Reader::Worker { worker, .. } => step.claim.as_ref().is_some_and(|claim| claim.agent_id == worker.agent_id),
        }
    }

    fn sees_change<'t>(&self, mut tasks: impl Iterator<Item = &'t Task>, change: &RecentChange) -> bool {
        if matches!(self.reader, Reader::Orchestrator) {
            return true;
        }
        let Some(task) = tasks.find(|task| *task.id() == change.task_id) else { return false };
        // A step that was deleted is nobody's.
        change.step_id.as_ref().is_none_or(|id| task.step(id).is_some_and(|step| self.sees(step) || self.holds(step)))
    }

    fn task(&self, task: &Task) -> String {
        let counts = task.counts();
        let (title, total) = (self.quoted(task.title(), TITLE), counts.total());
        let s = if total == 1 { "" } else { "s" };
        let mut line = format!("{} {title}: {}, {total} step{s}", task.id(), task.status());
        let some = StepStatus::ALL.iter().filter(|status| counts.of(**status) > 0);
        for (status, sign) in some.zip([':'].into_iter().chain(std::iter::repeat(','))) {
            // Writing to a String does not fail.
            let _ = write!(line, "{sign} {} {status}", counts.of(*status));
        }
        if task.is_stalled() {
            line.push_str("; stalled");
        }
        if task.is_completeable() {
            line.push_str("; completeable");
        }
        line
    }

    fn blocked(&self, task: &Task, step: &Step) -> String {
        let why = step.reason.as_deref().map(|reason| format!(", because: {}", self.quoted(reason, REASON)));
        self.step(task, step) + &why.unwrap_or_default()
    }

    fn held(&self, task: &Task, step: &Step) -> String {
        let by = step.claim.as_ref().map(|claim| &claim.agent_id).filter(|_| !self.holds(step));
        let by = by.map(|agent_id: &AgentId| format!(" by {agent_id}")).unwrap_or_default();
        let lease = step.lease().map(|lease| format!(", lease {}", self.until(lease))).unwrap_or_default();
        format!("{}, {}{by}{lease}", self.step(task, step), step.status)
    }

    fn ready(&self, task: &Task, step: &Step) -> String {
        let pool = step.content.worker_pool_id.as_ref().map(|pool| format!(", pool {pool}")).unwrap_or_default();
        let optional = if step.content.required { "" } else { ", optional" };
        format!("{}{pool}{optional}", self.step(task, step))
    }

    fn step(&self, task: &Task, step: &Step) -> String {
        format!("{}/{} {}", task.id(), step.id, self.quoted(&step.content.title, TITLE))
    }

    fn change(&self, change: &RecentChange) -> String {
        let minutes = self.rules.now.millis().saturating_sub(change.at.millis()) / 60_000;
        let ago = if minutes == 0 { "now".to_owned() } else { format!("{minutes} min ago") };
        let step = change.step_id.as_ref().map(|id| format!("/{id}")).unwrap_or_default();
        format!("{ago}: {}{step} {}", change.task_id, change.word())
    }

    fn until(&self, lease: Moment) -> String {
        match lease.millis().saturating_sub(self.rules.now.millis()) {
            0 => "is over".to_owned(),
            left => format!("ends in {} min", left.div_ceil(60_000)),
        }
    }

    /// Words of somebody else, on one line and between quotes that they cannot end.
    fn quoted(&self, text: &str, max: usize) -> String {
        format!("\"{}\"", (self.rules.line)(text, max).replace('"', "'"))
    }
}
