//! Many processes on one database (DB-01, DB-09).

use std::thread;
use std::time::{Duration, Instant};

use agent_testkit::Protocol;
use rusqlite::Connection;

use crate::dice::Dice;
use crate::ledger::{Ledger, read};
use crate::process::{Ended, wait_until};
use crate::tally::{Tally, rounds};
use crate::world::{World, session_of};

const PROCESSES: usize = 8;
/// Well within the patience of a commit, which is 30 s.
const HELD: Duration = Duration::from_secs(3);

/// Everybody has done all of their work, and all of it is stored.
fn all_is_there(tally: &mut Tally, world: &World, all: &[Ended]) {
    let mut ledger = Ledger::default();
    for ended in all {
        tally.holds(ended.code == 0, || format!("{ended:#?}"));
        tally.lost(ledger.said(None, ended));
        let Some(session) = session_of(ended) else { continue };
        let stored = read(world, session);
        // A message, four replies with six calls, and the answer.
        tally.holds(stored.path.len() == 12, || format!("{session} has {} nodes on its path", stored.path.len()));
        let done = stored.told("tool_completed", "tool_name").len();
        tally.holds(done == 6, || format!("{session} has {done} calls done"));
    }
    tally.lost(ledger.all_losses(world));
}

/// DB-01: eight processes at once, on a home that is new for all of them, finish, and no node of any is lost.
#[test]
fn eight_processes_at_once() {
    let mut tally = Tally::new("eight processes");
    for _ in 0..rounds(1) {
        tally.round();
        let world = World::new("faults-crowd", Protocol::OpenAi);
        let crowd: Vec<_> = (0..PROCESSES).map(|at| world.start(None, &format!("Round {at}."))).collect();
        tally.fault();
        let all: Vec<_> = crowd.into_iter().map(|process| process.ends()).collect();
        all_is_there(&mut tally, &world, &all);
    }
    tally.end("");
}

/// DB-01: another program that holds the write lock for three seconds, at any moment, only delays them.
#[test]
fn a_lock_for_three_seconds() {
    let mut dice = Dice::new("lock for 3 s");
    let mut tally = Tally::new("lock for 3 s");
    tally.round();
    let world = World::new("faults-lock", Protocol::OpenAi);
    world.run(None, "Round 10.");
    let started = Instant::now();
    let crowd: Vec<_> = (0..PROCESSES).map(|at| world.start(None, &format!("Round 2{at}."))).collect();
    let asked = world.server.request_count() + dice.below(PROCESSES * 3);
    wait_until("they are at work", || world.server.request_count() > asked);
    let other = Connection::open(world.database()).unwrap();
    other.busy_timeout(HELD).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    tally.fault();
    thread::sleep(HELD);
    other.execute_batch("ROLLBACK").unwrap();
    let all: Vec<_> = crowd.into_iter().map(|process| process.ends()).collect();
    assert!(started.elapsed() > HELD, "nobody had to wait");
    all_is_there(&mut tally, &world, &all);
    tally.end(&format!("seed {}", dice.seed));
}
