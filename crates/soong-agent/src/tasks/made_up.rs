//! Tasks for tests.

use agent_core::archive::{StepCounts, StepId, StepStatus, StepView, TaskId, TaskStatus, TaskView};
use agent_core::event::Timestamp;

/// Pseudo-random numbers, the same each time.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}

/// A step, written `id<a,b`, with what it depends on.
pub(super) fn step(text: &str, status: StepStatus) -> StepView {
    let (id, on) = text.split_once('<').unwrap_or((text, ""));
    let on = on.split(',').filter(|id| !id.is_empty()).map(|id| StepId::parse(id).unwrap());
    let depends_on_step_ids: Vec<_> = on.collect();
    let waits = status == StepStatus::Pending;
    StepView {
        step_id: StepId::parse(id).unwrap(),
        title: format!("Do {id}"),
        summary: String::new(),
        status,
        waits_for_step_ids: depends_on_step_ids.iter().filter(|_| waits).cloned().collect(),
        depends_on_step_ids,
        required: true,
        worker_pool_id: None,
        claimed_by_agent_id: None,
        claimed_by_run_id: None,
        lease_expires_at: None,
        changed_since_dispatch: false,
        result_summary: None,
        artifact_ids: Vec::new(),
        reason: None,
        updated_at: Timestamp::from_unix_millis(0),
    }
}

pub(super) fn task(steps: Vec<StepView>) -> TaskView {
    let mut counts = StepCounts::default();
    for step in &steps {
        let count = match step.status {
            StepStatus::Pending => &mut counts.pending,
            StepStatus::Ready => &mut counts.ready,
            StepStatus::Claimed => &mut counts.claimed,
            StepStatus::Running => &mut counts.running,
            StepStatus::Blocked => &mut counts.blocked,
            StepStatus::Completed => &mut counts.completed,
            StepStatus::Failed => &mut counts.failed,
            StepStatus::Cancelled => &mut counts.cancelled,
        };
        *count += 1;
    }
    TaskView {
        task_id: TaskId::parse("task").unwrap(),
        title: "A task".to_owned(),
        summary: String::new(),
        status: TaskStatus::Running,
        counts,
        stalled: false,
        completeable: false,
        result_summary: None,
        reason: None,
        created_at: Timestamp::from_unix_millis(0),
        updated_at: Timestamp::from_unix_millis(0),
        steps,
    }
}

/// A Task as models make them: most steps depend on one or two that were added not long before, some on none, some on many.
pub(super) fn random(steps: usize, dice: &mut Dice) -> TaskView {
    let made = (0..steps).map(|at| {
        let near = 2 + steps / 6;
        let count = [0, 1, 1, 1, 2, 2, 3, 5][dice.below(8)].min(at);
        let mut on: Vec<usize> = (0..count).map(|_| at - 1 - dice.below(near.min(at))).collect();
        on.sort_unstable();
        on.dedup();
        let on: Vec<_> = on.iter().map(|on| format!("step-{on}")).collect();
        let mut step = step(&format!("step-{at}<{}", on.join(",")), StepStatus::ALL[dice.below(8)]);
        step.title =
            "Write the tests for what the parser does with a line that never ends, and find out why ".repeat(2);
        let end = 1 + dice.below(step.title.len() - 1);
        step.title.truncate(end);
        step
    });
    task(made.collect())
}
