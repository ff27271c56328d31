use agent_core::archive::{StepStatus, TaskStatus};
use agent_core::event::Timestamp;
use agent_core::id::{AgentId, RunId};

use super::*;
use crate::output::Width;
use crate::tasks::made_up::{Dice, random, step, task};

const PLAIN: Look = Look { width: None, colour: false };

fn held(text: &str, status: StepStatus) -> StepView {
    let mut step = step(text, status);
    step.claimed_by_agent_id = Some(AgentId::parse("agent_w").unwrap());
    step.claimed_by_run_id = Some(RunId::parse("run_w").unwrap());
    step.lease_expires_at = Some(Timestamp::from_unix_millis(1_790_000_000_000));
    step
}

/// CLI-5: what a step waits for, after what it came, who holds it and what came of it stand beside it; what the lines say is not said again.
#[test]
fn steps_of_a_task() {
    let mut done = step("a", StepStatus::Completed);
    done.result_summary = Some("It is\ndone.".to_owned());
    done.claimed_by_agent_id = Some(AgentId::parse("agent_w").unwrap());
    let mut waits = step("d<b,c", StepStatus::Pending);
    waits.required = false;
    let mut failed = step("e", StepStatus::Failed);
    failed.reason = Some("worker_timeout".to_owned());
    let view = task(vec![done, held("b<a", StepStatus::Running), step("c<a", StepStatus::Ready), waits, failed]);
    let text = steps(&view, &|_| true, false, Leases::Until, PLAIN);
    let expected = "\
completed  a     Do a (by agent_w)
                 result: It is done.
running    |- b  Do b (held by agent_w, lease until 2026-09-21T14:13:20.000Z)
ready      `- c  Do c
pending       d  Do d (waits for b, c; optional)
failed     e     Do e
                 reason: its worker ran out of time
";
    assert_eq!(text, expected);
    let verbose = steps(&view, &|_| true, true, Leases::Until, PLAIN);
    assert!(
        verbose.contains("held by agent_w in run_w,") && verbose.contains("result: It is\n                   done.\n"),
        "{verbose}"
    );
}

/// TSK-8: that a Task is stalled or could be completed is said, and how many steps are in which state.
#[test]
fn how_a_task_stands() {
    let mut view = task(vec![step("a", StepStatus::Completed), step("b", StepStatus::Failed)]);
    let said = head(&view, false, PLAIN);
    assert!(said.starts_with("running  task  A task\n  2 steps: 1 completed, 1 failed; made 1970-01-01"), "{said}");
    assert!(!said.contains("stalled") && !said.contains("completeable"));
    view.stalled = true;
    assert!(head(&view, false, PLAIN).contains("\n  stalled: "));
    (view.stalled, view.completeable, view.status) = (false, true, TaskStatus::Blocked);
    let said = head(&view, false, PLAIN);
    assert!(said.starts_with("blocked  ") && said.contains("\n  completeable: "), "{said}");
}

/// CLI-2: no row of a Task of a hundred steps is wider than the terminal, at any width, and none is lost.
#[test]
fn rows_fit() {
    let view = random(100, &mut Dice(4));
    for columns in [40, 60, 80, 120, 200] {
        let width = Width::new(columns, false);
        let look = Look { width: Some(width), colour: false };
        let text = steps(&view, &|_| true, false, Leases::Until, look);
        for row in text.lines() {
            assert!(width.of_all(row) < columns, "{columns}: {row:?}");
        }
        for step in &view.steps {
            let named = |row: &str| {
                row.split([' ', '-', '`', '|']).collect::<String>().starts_with(&format!("{}step", step.status))
            };
            assert!(text.lines().any(|row| named(row) && row.contains(step.step_id.as_str())), "{}", step.step_id);
        }
    }
}

/// CLI-01: escapes in what models wrote are shown, not done, and a line break begins no line of ours.
#[test]
fn hostile_text() {
    let mut bad = step("a", StepStatus::Completed);
    bad.title = "\u{1b}[2J\ncompleted  b  Fine".to_owned();
    bad.result_summary = Some("\u{9b}31m\nrunning  x\r\u{7}".to_owned());
    let mut view = task(vec![bad]);
    view.title = "\u{1b}]0;t\u{7}\nfailed".to_owned();
    view.reason = Some("\u{1b}[31m".to_owned());
    for verbose in [false, true] {
        let text = of(&Ok(view.clone()), verbose, Leases::Left, PLAIN);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        assert!(
            !text.lines().any(|line| line.starts_with("running  x")
                || line.starts_with("failed")
                || line.starts_with("completed  b")),
            "{text}"
        );
    }
}
