//! Every state of small Tasks: at most three steps, two workers, and a crash between any two lines.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::table::{Transition, Who, transitions};
use super::world::{
    LEASE, World, by_orchestrator, by_worker, check, claim, fold, kept, new_task, run_id, spec, update,
};
use crate::{Command, Event, Moment, Payload, StepSpec, StepStatus, Task, TaskStatus};

/// What tells two states apart: times, ids of runs and texts do not.
fn key(task: &Task) -> String {
    let mut key = format!("{}", task.status());
    for step in task.steps() {
        let holder = step.claim.as_ref().map_or("", |claim| claim.agent_id.as_str());
        let holder = if step.status.is_held() { holder } else { "" };
        key.push_str(&format!(" {}:{}{}", step.id, step.status, holder.trim_start_matches("agent_")));
        key.extend(step.content.depends_on.iter().map(|id| format!("<{id}")));
        key.push(if step.content.required { '!' } else { '?' });
    }
    key
}

/// All that anybody can ask for in a state.
fn commands(task: &Task, edits: bool) -> Vec<Command> {
    let mut all = vec![
        Command::Complete { result_summary: None },
        Command::Fail { reason: None },
        Command::Cancel { reason: None },
        update(serde_json::json!([{ "op": "update_task", "status": "blocked" }])),
        update(serde_json::json!([{ "op": "update_task", "status": "pending" }])),
        Command::Settle,
    ];
    let ids: Vec<String> = task.steps().map(|step| step.id.to_string()).collect();
    // A new run for each claim: a run that has claimed before has a test of its own.
    let next_run = task.claims.len() * 2 + 10;
    for step in task.steps() {
        let id = step.id.as_str();
        for worker in [1, 2] {
            let Command::Claim { worker: mut by, step_id } = claim(worker, id) else { unreachable!() };
            by.run_id = run_id(next_run + worker);
            all.push(Command::Claim { worker: by, step_id });
        }
        for status in StepStatus::ALL {
            all.push(by_orchestrator(id, *status));
            if let Some(claim) = &step.claim {
                let run: usize = claim.run_id.as_str().trim_start_matches("run_").parse().unwrap();
                all.push(by_worker(run, id, *status));
            }
        }
        if let Some(claim) = &step.claim {
            all.push(Command::RunEnded { run_id: claim.run_id.clone(), reason: "worker_cancelled".to_owned() });
        }
        for op in ["cancel_step", "reopen_step"] {
            all.push(update(serde_json::json!([{ "op": op, "step_id": id }])));
        }
        if edits {
            all.push(update(serde_json::json!([{ "op": "delete_step", "step_id": id }])));
            for other in &ids {
                for op in ["add_dependency", "remove_dependency"] {
                    all.push(update(serde_json::json!([{ "op": op, "step_id": id, "depends_on_step_id": other }])));
                }
            }
        }
    }
    all
}

fn who(command: &Command, payload: &Payload, (from, to): (StepStatus, StepStatus)) -> Who {
    let demoted = from == StepStatus::Ready && to == StepStatus::Pending;
    match (command, payload) {
        (_, Payload::TaskStepReady(_)) => Who::Core,
        (Command::Update(_), _) if demoted => Who::Core,
        (Command::Settle | Command::RunEnded { .. }, _) => Who::Core,
        (Command::Claim { .. }, _) => Who::Worker,
        (Command::UpdateStep { by: crate::Actor::Worker(_), .. }, _) => Who::Holder,
        _ => Who::Orchestrator,
    }
}

/// The transitions of a command, event by event.
fn seen(before: &Task, command: &Command, events: &[Event], all: &mut BTreeSet<Transition>) {
    let mut task = before.clone();
    for event in events {
        let statuses: HashMap<_, _> = task.steps().map(|step| (step.id.clone(), step.status)).collect();
        task.apply(event).unwrap();
        for step in task.steps() {
            let Some(from) = statuses.get(&step.id).copied().filter(|from| *from != step.status) else { continue };
            all.insert((from, step.status, who(command, &event.payload, (from, step.status))));
        }
    }
}

#[derive(Default)]
struct Explored {
    states: usize,
    steps: usize,
    crashes: usize,
    transitions: BTreeSet<Transition>,
}

fn explore(steps: &[StepSpec], edits: bool, explored: &mut Explored) {
    let (task, log) = Task::create(&new_task(steps), Moment::from_millis(0)).unwrap();
    let mut known = BTreeSet::from([key(&task)]);
    let mut open = VecDeque::from([World { task, log, now: 0 }]);
    while let Some(world) = open.pop_front() {
        explored.states += 1;
        for command in commands(&world.task, edits) {
            // Everything happens at once, but for leases: they end by themselves.
            for now in [0, LEASE] {
                if now > 0 && command != Command::Settle {
                    continue;
                }
                let mut next = world.clone();
                next.now = now;
                if next.run(&command).is_err() {
                    assert_eq!(next.task, world.task, "{command:?}");
                    continue;
                }
                explored.steps += 1;
                check(&next.task);
                transition(&world.task, &next.task);
                let events = &next.log[world.log.len()..];
                seen(&world.task, &command, events, &mut explored.transitions);
                assert_eq!(fold(&next.log), next.task, "{command:?} in {}", key(&world.task));
                for cut in 1..events.len() {
                    explored.crashes += 1;
                    let mut crashed = World { log: next.log[..world.log.len() + cut].to_vec(), ..next.clone() };
                    crashed.task = fold(&crashed.log);
                    crashed.now = 0;
                    crashed.ok(&Command::Settle);
                    check(&crashed.task);
                    assert_eq!(crashed.ok(&Command::Settle), [""; 0], "settled twice");
                    if known.insert(key(&crashed.task)) {
                        open.push_back(crashed);
                    }
                }
                if known.insert(key(&next.task)) {
                    open.push_back(next);
                }
            }
        }
    }
}

/// What no command of one operation may do.
fn transition(before: &Task, after: &Task) {
    kept(before, after);
    assert!(after.status() != TaskStatus::Pending || before.status() != TaskStatus::Running, "running to pending");
    for step in before.steps() {
        match after.step(&step.id) {
            None => {
                assert!(!matches!(step.status, StepStatus::Failed | StepStatus::Blocked), "{} was deleted", step.id)
            }
            Some(now) if step.status == StepStatus::Cancelled => assert_eq!(now.status, step.status, "{}", step.id),
            Some(_) => {}
        }
    }
}

/// TSK-3, TSK-4, TSK-6, TSK-7, WAL-2, WAL-5: in every state that Tasks of at most three steps can reach, each command leaves a state
/// that is legal and that its log gives again, a refused one leaves nothing, and a crash between any two lines does no harm. The
/// transitions that happened are those of the table in the rules: none beside it, and each of them.
#[test]
fn every_state_of_small_tasks() {
    let mut explored = Explored::default();
    for shape in ["a", "a?", "a b", "a b<a", "a? b<a", "a b?<a"] {
        let steps: Vec<StepSpec> = shape.split_whitespace().map(spec).collect();
        explore(&steps, true, &mut explored);
    }
    for shape in
        ["a b c", "a b<a c", "a b c<a", "a b c<b", "a b<a c<a", "a b<a c<b", "a b c<a,b", "a b<a c<a,b", "a b? c<b"]
    {
        let steps: Vec<StepSpec> = shape.split_whitespace().map(spec).collect();
        explore(&steps, false, &mut explored);
    }
    let Explored { states, steps, crashes, transitions: found } = explored;
    println!("{states} states, {steps} commands, {crashes} crashes between two lines");
    assert!(states > 3_000 && crashes > 10_000, "{states} {steps} {crashes}");
    let allowed = transitions();
    assert_eq!(found.difference(&allowed).collect::<Vec<_>>(), [] as [&Transition; 0], "not in the table");
    assert_eq!(allowed.difference(&found).collect::<Vec<_>>(), [] as [&Transition; 0], "never seen");
}
