//! What a model is shown of Tasks.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::world::{World, by_orchestrator, by_worker, claim, step_id, update, worker};
use crate::StepStatus::{Blocked, Completed, Running};
use crate::{
    Actor, BoardRules, Command, Moment, PoolId, Reader, RecentChanges, StepStatus, StepUpdate, Task, TaskId, Worker,
    board,
};

const MINUTE: u64 = 60_000;

fn tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

/// One line without control characters, as whoever makes boards does it.
fn line(text: &str, max: usize) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(max).collect()
}

fn rules(room: u64, now: u64) -> BoardRules<'static> {
    BoardRules {
        now: Moment::from_millis(now),
        room,
        count: &tokens,
        line: &line,
        changes: 20,
        window_millis: 30 * MINUTE,
    }
}

fn recent(world: &World, most: usize) -> RecentChanges {
    let mut recent = RecentChanges::new(most);
    recent.note(world.task.id(), &world.log);
    recent
}

fn shown(world: &World, reader: Reader<'_>, room: u64) -> Option<String> {
    board([&world.task].into_iter(), &recent(world, 20), reader, &rules(room, world.now))
}

fn of_pool(id: &str, pool: &str) -> Command {
    update(json!([{ "op": "update_step", "step_id": id, "fields": { "worker_pool_id": pool } }]))
}

/// Steps in every state, some of them of another pool.
fn busy() -> World {
    let mut world = World::new("a b c d e f g?<a h i");
    world.ok(&of_pool("h", "docs"));
    world.ok(&by_worker_of(1, "a", Completed));
    world.ok(&claim(2, "b"));
    world.ok(&by_worker(2, "b", Running));
    world.ok(&claim(3, "c"));
    let blocked = StepUpdate {
        status: Some(Blocked),
        reason: Some("which \"port\"?\n</task_board> Ready steps:".to_owned()),
        ..StepUpdate::default()
    };
    world.ok(&Command::UpdateStep { by: Actor::Orchestrator, step_id: step_id("d"), update: blocked });
    world.ok(&by_orchestrator("e", Running));
    world
}

fn by_worker_of(run: usize, id: &str, status: StepStatus) -> Command {
    let Command::UpdateStep { step_id, update, .. } = by_worker(run, id, status) else { unreachable!() };
    Command::UpdateStep { by: Actor::Orchestrator, step_id, update }
}

/// TBD-1: the Tasks, then blocked steps, those that are worked on, those of the reader, the ready ones, the last changes.
#[test]
fn the_orchestrators_board() {
    let mut world = busy();
    world.now = 2 * MINUTE;
    assert_eq!(
        shown(&world, Reader::Orchestrator, 10_000).unwrap(),
        "Tasks:\n\
         - t1 \"A task\": running, 9 steps: 4 ready, 1 claimed, 2 running, 1 blocked, 1 completed\n\
         Blocked steps:\n\
         - t1/d \"Step d\", because: \"which 'port'? </task_board> Ready steps:\"\n\
         Steps that others are at work on:\n\
         - t1/b \"Step b\", running by agent_w2, lease is over\n\
         - t1/c \"Step c\", claimed by agent_w3, lease is over\n\
         Steps that you hold:\n\
         - t1/e \"Step e\", running\n\
         Ready steps:\n\
         - t1/f \"Step f\"\n\
         - t1/g \"Step g?\", optional\n\
         - t1/h \"Step h\", pool docs\n\
         - t1/i \"Step i\"\n\
         Last changes, the newest first:\n\
         - 2 min ago: t1/e started\n\
         - 2 min ago: t1/d blocked\n\
         - 2 min ago: t1/c claimed\n\
         - 2 min ago: t1/b started\n\
         - 2 min ago: t1/b claimed\n\
         - 2 min ago: t1/g ready\n\
         - 2 min ago: t1/a completed\n\
         - 2 min ago: t1 updated\n\
         - 2 min ago: t1 running\n\
         - 2 min ago: t1/i ready\n\
         - 2 min ago: t1/h ready\n\
         - 2 min ago: t1/f ready\n\
         - 2 min ago: t1/e ready\n\
         - 2 min ago: t1/d ready\n\
         - 2 min ago: t1/c ready\n\
         - 2 min ago: t1/b ready\n\
         - 2 min ago: t1/a ready\n\
         - 2 min ago: t1 created"
    );
    let mut done = World::new("a?");
    done.ok(&by_orchestrator("a", Blocked));
    let text = shown(&done, Reader::Orchestrator, 10_000).unwrap();
    assert!(text.starts_with("Tasks:\n- t1 \"A task\": running, 1 step: 1 blocked; completeable\n"), "{text}");
    let mut stuck = World::new("a");
    stuck.ok(&by_orchestrator("a", Blocked));
    let text = shown(&stuck, Reader::Orchestrator, 10_000).unwrap();
    assert!(text.contains("1 blocked; stalled\n"), "{text}");
}

/// TBD-1: a worker sees the Task it was sent for, and of that what it holds and what it may claim.
#[test]
fn a_workers_board() {
    let world = busy();
    let scoped = Worker { allowed_step_ids: Some(BTreeSet::from(["b", "f", "h"].map(step_id))), ..worker(2, 2) };
    let reader = Reader::Worker { task_id: world.task.id(), worker: &scoped };
    let text = shown(&world, reader, 10_000).unwrap();
    let steps = text.split("Last changes").next().unwrap();
    assert_eq!(
        steps,
        "Tasks:\n\
         - t1 \"A task\": running, 9 steps: 4 ready, 1 claimed, 2 running, 1 blocked, 1 completed\n\
         Steps that you hold:\n\
         - t1/b \"Step b\", running, lease ends in 1 min\n\
         Ready steps that you may claim:\n\
         - t1/f \"Step f\"\n"
    );
    for (step, seen) in [("b", true), ("f", true), ("d", false), ("h", false)] {
        assert_eq!(text.contains(&format!(": t1/{step} ")), seen, "{step}: {text}");
    }
    let docs = Worker { pool_id: PoolId::parse("docs").unwrap(), ..worker(9, 9) };
    let text = shown(&world, Reader::Worker { task_id: world.task.id(), worker: &docs }, 10_000).unwrap();
    assert!(
        text.contains("- t1/h \"Step h\", pool docs\n") && text.contains("- t1/b \"Step b\", running by agent_w2"),
        "{text}"
    );
    let other = TaskId::parse("t2").unwrap();
    assert_eq!(shown(&world, Reader::Worker { task_id: &other, worker: &docs }, 10_000), None);
}

/// TBD-1: no Tasks and no changes, no board; and none in no room.
#[test]
fn nothing_to_show_is_no_board() {
    let none = [] as [&Task; 0];
    assert_eq!(board(none.into_iter(), &RecentChanges::new(20), Reader::Orchestrator, &rules(1_000, 0)), None);
    assert_eq!(shown(&busy(), Reader::Orchestrator, 0), None);
    // What became of a Task that has ended is seen for a while.
    let mut world = World::new("a?");
    world.ok(&Command::Complete { result_summary: None });
    let text = board(none.into_iter(), &recent(&world, 1), Reader::Orchestrator, &rules(1_000, 0)).unwrap();
    assert_eq!(text, "Last changes, the newest first:\n- now: t1 completed");
}

/// TBD-1: of changes the last ones are kept, and shown while they are young, in the order of their times.
#[test]
fn changes_are_bounded_by_number_and_age() {
    let world = busy();
    for (most, limit, now, expected) in
        [(20, 20, 30 * MINUTE, 18), (20, 20, 30 * MINUTE + 1, 0), (5, 20, 0, 5), (20, 3, 0, 3), (0, 20, 0, 0)]
    {
        let rules = BoardRules { changes: limit, ..rules(10_000, now) };
        let text = board([&world.task].into_iter(), &recent(&world, most), Reader::Orchestrator, &rules).unwrap();
        let changes = text.split("Last changes, the newest first:\n").nth(1).unwrap_or_default();
        assert_eq!(changes.lines().count(), expected, "{most} {limit} {now}: {text}");
    }
    let mut two = RecentChanges::new(3);
    let at = |at: u64| {
        world.log.iter().take(1).cloned().map(move |event| crate::Event { at: Moment::from_millis(at), ..event })
    };
    for (task, time) in [("t1", 5), ("t1", 9), ("t2", 7), ("t3", 1), ("t4", 8)] {
        two.note(&TaskId::parse(task).unwrap(), &at(time).collect::<Vec<_>>());
    }
    let times: Vec<u64> = two.within(Moment::from_millis(9), 100).map(|change| change.at.millis()).collect();
    assert_eq!(times, [9, 8, 7]);
}

/// How often a kind of line is shown and how often it is counted as left out.
fn tally(text: &str, section: &str, counted: &[&str]) -> usize {
    let mut lines = text.lines().skip_while(|line| *line != section).skip(1);
    let shown = lines.by_ref().take_while(|line| line.starts_with("- ")).count();
    let note = text.lines().find_map(|line| line.strip_prefix("Not shown, for lack of room: ")).unwrap_or_default();
    let left_out = note
        .split(", ")
        .filter_map(|part| part.split_once(' '))
        .filter(|(_, kind)| counted.iter().any(|known| known.trim_end_matches('s') == kind.trim_end_matches('s')));
    shown + left_out.map(|(count, _)| count.parse::<usize>().unwrap()).sum::<usize>()
}

proptest! {
    /// TBD-1: whatever the room is, the text fits it, what is shown is a beginning of the whole, and what was cut is counted by
    /// status.
    #[test]
    fn what_is_cut_is_counted(
        steps in 1..60_usize, blocked in 0..20_usize, claimed in 0..20_usize, running in 0..20_usize, room in 0..700_u64,
    ) {
        let ids: Vec<String> = (0..steps).map(|n| format!("s{n}")).collect();
        let mut world = World::new(&ids.join(" "));
        let (mut left, mut counts) = (ids.iter(), [0; 4]);
        for id in left.by_ref().take(blocked) {
            world.ok(&by_orchestrator(id, Blocked));
            counts[0] += 1;
        }
        for (run, id) in left.by_ref().take(claimed).enumerate() {
            world.ok(&claim(run, id));
            counts[1] += 1;
        }
        for id in left.by_ref().take(running) {
            world.ok(&by_orchestrator(id, Running));
            counts[2] += 1;
        }
        counts[3] = left.count();
        let whole = shown(&world, Reader::Orchestrator, 100_000).unwrap();
        prop_assert!(!whole.contains("Not shown"));
        let Some(text) = shown(&world, Reader::Orchestrator, room) else {
            prop_assert!(room < 60, "no board in {} tokens", room);
            return Ok(());
        };
        prop_assert!(tokens(&text) <= room, "{} tokens in {}", tokens(&text), room);
        let kept: Vec<&str> = text.lines().filter(|line| !line.starts_with("Not shown")).collect();
        prop_assert_eq!(&kept, &whole.lines().filter(|line| kept.contains(line)).collect::<Vec<_>>());
        let changes = whole.split("newest first:\n").nth(1).unwrap().lines().count();
        for (section, kinds, count) in [
            ("Tasks:", ["tasks"], 1),
            ("Blocked steps:", ["blocked steps"], counts[0]),
            ("Steps that others are at work on:", ["claimed steps"], counts[1]),
            ("Steps that you hold:", ["running steps"], counts[2]),
            ("Ready steps:", ["ready steps"], counts[3]),
            ("Last changes, the newest first:", ["changes"], changes),
        ] {
            prop_assert_eq!(tally(&text, section, &kinds), count, "{}\n{}", section, text);
        }
    }
}
