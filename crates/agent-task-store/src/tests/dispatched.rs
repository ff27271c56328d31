//! The step that a run claimed, then and now.

use agent_protocol::{AgentId, RunId};
use agent_tasks::{Command, Operation, StepFields, StepId, StepStatus, TaskStatus};

use super::{Place, claim, session, task_id};
use crate::{DispatchedStep, TaskError, dispatched_step};

fn retitled(step: &str, title: &str) -> Command {
    let fields = StepFields { title: Some(title.to_owned()), ..StepFields::default() };
    Command::Update(vec![Operation::UpdateStep { step_id: StepId::parse(step).unwrap(), fields }])
}

fn found(place: &Place, run: &str) -> Option<DispatchedStep> {
    let run = RunId::parse(run).unwrap();
    dispatched_step(&place.folder(), &session(), &task_id("t"), &run).unwrap()
}

/// TSK-11: the step as it was when the run claimed it stands beside the step now, whatever became of both since: edited while it was
/// held and before, ended, failed and reopened, claimed by another run, its Task ended and another one made under its id.
#[test]
fn as_it_was_claimed_and_as_it_is() {
    let place = Place::new();
    let (mut store, _) = place.open();
    place.create(&mut store, "t", "a b");
    place.run(&mut store, "t", &retitled("a", "Before"));
    assert_eq!(found(&place, "run_w1"), None);
    place.run(&mut store, "t", &claim(1, "a"));
    let one = found(&place, "run_w1").unwrap();
    assert_eq!((one.now.as_ref(), one.updated_after_dispatch()), (Some(&one.as_dispatched), false));
    assert_eq!((&*one.as_dispatched.content.title, one.as_dispatched.status), ("Before", StepStatus::Claimed));
    assert_eq!(one.as_dispatched.claim.as_ref().unwrap().agent_id, AgentId::parse("agent_w").unwrap());

    place.run(&mut store, "t", &retitled("a", "After"));
    let ended = Command::RunEnded { run_id: RunId::parse("run_w1").unwrap(), reason: "worker_timeout".to_owned() };
    place.run(&mut store, "t", &ended);
    let one = found(&place, "run_w1").unwrap();
    let now = one.now.clone().unwrap();
    assert!(one.updated_after_dispatch());
    assert_eq!((&*one.as_dispatched.content.title, &*now.content.title), ("Before", "After"));
    assert_eq!((one.as_dispatched.status, now.status), (StepStatus::Claimed, StepStatus::Failed));

    let reopen = Operation::ReopenStep { step_id: StepId::parse("a").unwrap(), reason: None };
    place.run(&mut store, "t", &Command::Update(vec![reopen]));
    place.run(&mut store, "t", &claim(2, "a"));
    let (first, second) = (found(&place, "run_w1").unwrap(), found(&place, "run_w2").unwrap());
    assert_eq!((&*first.as_dispatched.content.title, &*second.as_dispatched.content.title), ("Before", "After"));
    assert_eq!((first.now, second.updated_after_dispatch()), (second.now, false));

    place.run(&mut store, "t", &Command::Cancel { reason: None });
    assert_eq!(store.task(&task_id("t")).map(|task| task.status()), None::<TaskStatus>);
    let mut again = super::new_task("t", "t2", "a");
    again.title = "Again".to_owned();
    place.stamped(|stamp| store.create(again, &super::actor(), stamp)).unwrap();
    let one = found(&place, "run_w1").unwrap();
    assert_eq!(one.now.unwrap().status, StepStatus::Cancelled);
}

/// TSK-11, WAL-4: a log that cannot be read is told where the claim may stand in it, and is in nobody's way where it does not.
#[test]
fn a_damaged_log_is_told() {
    let place = Place::new();
    let (mut store, _) = place.open();
    place.create(&mut store, "t", "a");
    place.run(&mut store, "t", &claim(1, "a"));
    let log = place.log("t");
    let text = std::fs::read_to_string(&log).unwrap();
    std::fs::write(&log, format!("{text}{{}}\n")).unwrap();
    let run = |run: &str| RunId::parse(run).unwrap();
    let error = dispatched_step(&place.folder(), &session(), &task_id("t"), &run("run_w1")).unwrap_err();
    assert!(matches!(&error, TaskError::Unavailable { .. }), "{error}");
    assert!(error.to_string().contains("line "), "{error}");
    let other = dispatched_step(&place.folder(), &session(), &task_id("u"), &run("run_w1"));
    assert_eq!(other.unwrap(), None);
}
