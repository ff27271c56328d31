//! Random commands on random Tasks.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;

use super::world::{World, check, kept, lines, replay, run_id, step_id, worker};
use crate::{Actor, Command, Replay, StepStatus, StepUpdate, Task, TaskStatus};

/// A command in numbers; what they mean depends on the state.
type Draw = (u8, u8, u8, u8);

const IDS: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];

fn operation((kind, a, b, c): Draw) -> serde_json::Value {
    let (id, other) = (IDS[a as usize % 8], IDS[b as usize % 8]);
    match kind % 9 {
        0 => json!({ "op": "add_step", "step": { "step_id": id, "title": "Added", "required": c % 2 == 0,
            "depends_on_step_ids": if c % 3 == 0 { vec![other] } else { vec![] } } }),
        1 => json!({ "op": "delete_step", "step_id": id }),
        2 => json!({ "op": "add_dependency", "step_id": id, "depends_on_step_id": other }),
        3 => json!({ "op": "remove_dependency", "step_id": id, "depends_on_step_id": other }),
        4 => json!({ "op": "cancel_step", "step_id": id, "reason": "not needed" }),
        5 => json!({ "op": "reopen_step", "step_id": id }),
        6 => json!({ "op": "update_step", "step_id": id, "fields": { "title": "New", "worker_pool_id":
            if c % 3 == 0 { json!("other") } else { json!(null) } } }),
        7 => json!({ "op": "update_task", "status": if c % 2 == 0 { "blocked" } else { "pending" } }),
        _ => json!({ "op": "update_task", "summary": format!("summary {c}") }),
    }
}

fn command(world: &World, (kind, a, b, c): Draw, operations: &[Draw]) -> Command {
    let id = step_id(IDS[a as usize % 8]);
    let run = b as usize % 24;
    match kind % 16 {
        0..=4 => {
            let mut by = worker(run % 3, run);
            if c % 5 == 0 {
                by.allowed_step_ids = Some(BTreeSet::from([step_id(IDS[c as usize % 8])]));
            }
            Command::Claim { worker: by, step_id: id }
        }
        5..=9 => {
            // Mostly what can succeed: the holder of the step.
            let holder = world.task.step(&id).and_then(|step| Some(step.claim.as_ref()?.run_id.clone()));
            let by = match (c % 4, holder) {
                (0, _) => Actor::Orchestrator,
                (1..=2, Some(run)) => Actor::Worker(run),
                _ => Actor::Worker(run_id(run)),
            };
            let statuses = StepStatus::ALL.iter().copied().map(Some).chain([None]);
            let status = statuses.cycle().nth(b as usize).unwrap();
            let result_summary = (c % 3 > 0).then(|| format!("result {c}"));
            Command::UpdateStep {
                by,
                step_id: id,
                update: StepUpdate { status, result_summary, ..StepUpdate::default() },
            }
        }
        10..=12 => super::world::update(operations.iter().copied().map(operation).collect()),
        13 => Command::RunEnded { run_id: run_id(run), reason: "worker_timeout".to_owned() },
        14 => Command::Settle,
        _ => match c {
            0..=199 => Command::Complete { result_summary: Some("done".to_owned()) },
            200..=227 => Command::Fail { reason: Some("no".to_owned()) },
            _ => Command::Cancel { reason: None },
        },
    }
}

/// What was tried.
#[derive(Default)]
struct Tried {
    sequences: Cell<u64>,
    commands: Cell<u64>,
    refused: Cell<u64>,
    crashes: Cell<u64>,
    /// Hashes of the states that were seen, times included.
    states: RefCell<HashSet<u64>>,
}

fn more(count: &Cell<u64>) {
    count.set(count.get() + 1);
}

fn hash(task: &Task) -> u64 {
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(&task.snapshot()).unwrap().hash(&mut hasher);
    hasher.finish()
}

/// WAL-5, WAL-2, TSK-4, TSK-7, TSK-18: whatever is asked, the state in memory is the state of the log, a refused command leaves nothing, a
/// step has one holder, none is ready that waits, what has ended stays, and every beginning of the log is a legal state to go on
/// from. `PROPTEST_CASES` tries more.
#[test]
fn memory_and_log_agree() {
    let cases = ProptestConfig::default().cases.max(600);
    let config = ProptestConfig { cases, source_file: Some(file!()), ..ProptestConfig::default() };
    let command = (any::<Draw>(), prop::collection::vec(any::<Draw>(), 1..4), 0..400_u64);
    let sequences = (prop::collection::vec(any::<u8>(), 0..6), prop::collection::vec(command, 1..60));
    let tried = Tried::default();
    let outcome = TestRunner::new(config).run(&sequences, |(shape, commands)| sequence(&shape, commands, &tried));
    let Tried { sequences, commands, refused, crashes, states } = tried;
    println!(
        "{} sequences, {} commands ({} refused), {} states, {} crashes between two lines",
        sequences.get(),
        commands.get(),
        refused.get(),
        states.borrow().len(),
        crashes.get()
    );
    outcome.unwrap_or_else(|error| panic!("{error}"));
    assert!(
        commands.get() > 10 * u64::from(cases) && refused.get() * 10 < commands.get() * 9,
        "hardly anything was accepted"
    );
}

fn sequence(shape: &[u8], commands: Vec<(Draw, Vec<Draw>, u64)>, tried: &Tried) -> Result<(), TestCaseError> {
    let steps: Vec<String> = shape
        .iter()
        .enumerate()
        .map(|(n, bits)| {
            let on: Vec<String> = (0..n).filter(|on| bits >> on & 1 == 1).map(|on| format!("s{on}")).collect();
            format!("s{n}{}<{}", if bits & 64 > 0 { "?" } else { "" }, on.join(","))
        })
        .collect();
    let mut world = World::new(&steps.join(" "));
    check(&world.task);
    more(&tried.sequences);
    for (draw, operations, later) in commands {
        world.now += later;
        world.ok(&Command::Settle);
        let before = (world.task.clone(), world.log.len());
        let asked = command(&world, draw, &operations);
        more(&tried.commands);
        if let Err(refusal) = world.run(&asked) {
            more(&tried.refused);
            prop_assert_ne!(refusal.code(), agent_protocol::ErrorCode::InternalError, "{}", refusal);
            prop_assert_eq!(&world.task, &before.0);
        }
        check(&world.task);
        kept(&before.0, &world.task);
        tried.states.borrow_mut().insert(hash(&world.task));
        prop_assert_eq!(&world.replayed(), &world.task);
        if before.0.status().is_terminal() {
            prop_assert_eq!(world.log.len(), before.1, "an ended task writes nothing");
        }
        for cut in before.1 + 1..world.log.len() {
            more(&tried.crashes);
            let mut crashed =
                World { task: replay(&world.log[..cut]).unwrap(), log: world.log[..cut].to_vec(), ..world };
            crashed.ok(&Command::Settle);
            check(&crashed.task);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// WAL-4, WAL-11: a log whose lines were dropped, repeated or swapped is refused, or is a beginning of the true one.
    #[test]
    fn damaged_logs_are_refused(
        commands in prop::collection::vec((any::<Draw>(), prop::collection::vec(any::<Draw>(), 1..3)), 1..40),
        damage in 0..3_u8, at in any::<prop::sample::Index>(),
    ) {
        let mut world = World::new("s0 s1<s0 s2<s0,s1 s3");
        for (draw, operations) in commands {
            let asked = command(&world, draw, &operations);
            let _ = world.run(&asked);
        }
        let mut log = lines(&world.log);
        let at = at.index(log.len());
        match damage {
            0 => drop(log.remove(at)),
            1 => log.insert(at, log[at].clone()),
            _ => log.swap(at, (at + 1) % world.log.len()),
        }
        let mut replay = Replay::default();
        let read = log.iter().take_while(|line| replay.line(line.trim_end()).is_ok()).count();
        prop_assert!(read == at || read == at + 1 || (damage == 2 && read == 0), "{} of {}: {}", read, log.len(), at);
        prop_assert!(read < log.len() || (damage == 0 && at == log.len()));
    }
}

/// TSK-7: the commands of the random test do reach every end of a Task.
#[test]
fn random_commands_reach_the_ends() {
    let mut ends = BTreeSet::new();
    let mut seed: u32 = 1;
    let mut draw = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 24) as u8
    };
    for _ in 0..200 {
        let mut world = World::new("s0 s1<s0");
        for _ in 0..200 {
            let numbers = (draw(), draw() % 2, draw(), draw());
            let asked = command(&world, numbers, &[(draw(), draw(), draw(), draw())]);
            let _ = world.run(&asked);
        }
        ends.insert(world.task.status());
    }
    for end in [TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Cancelled] {
        assert!(ends.contains(&end), "{end} was never reached");
    }
}
