//! Another program that does not give the write lock back (DB-01, RUN-21).

use std::fs;
use std::time::Instant;

use agent_testkit::{Protocol, Reply};
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};

use crate::ledger::{Ledger, read};
use crate::process::{Ended, Running, wait_until};
use crate::tally::Tally;
use crate::world::World;

/// The thread of the command that waits for the lock.
const WRITER: &str = "session-store\n";

/// DB-01, RUN-21: who cannot have the lock fails with one error that says so: at the start, in an old session, and in
/// the middle of a run. Nothing half is stored, and once it is free the session goes on and the run in the middle is
/// ended.
#[test]
fn a_lock_that_is_not_given_back() {
    let mut tally = Tally::new("lock for ever");
    tally.round();
    let world = World::new("faults-locked", Protocol::OpenAi);
    let (middle, old) = (world.session(), world.session());
    let mut ledger = Ledger::default();
    let (reply, gate) = Reply::text("mark-99999: the answer").chunks(3).gated();
    let asked = world.server.request_count();
    world.server.push(reply);
    let in_the_middle = world.start(Some(&middle), "Round 1: think.");
    world.server.wait_for_request_blocking(asked);

    let other = Connection::open(world.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let before = events(&other, &middle);
    let started = Instant::now();
    gate.release_all();
    let mut all = vec![world.start(None, "Round 2."), world.start(Some(&old), "Round 3."), in_the_middle];
    wait_until("nobody waits any more", || {
        all.iter().for_each(shorten_the_wait);
        !all.iter_mut().any(Running::is_alive)
    });
    let waited = started.elapsed();
    let all: Vec<Ended> = all.into_iter().map(Running::ends).collect();
    for ended in &all {
        tally.fault();
        let wrong = ended.unlike_a_failure(&["sessions.sqlite", "locked", "for more than 30s", "try again"]);
        tally.holds(wrong.is_none(), || wrong.unwrap_or_default());
    }
    let after = events(&other, &middle);
    tally.holds(before == after, || format!("half of a commit: {before} events, then {after}"));
    other.execute_batch("ROLLBACK").unwrap();

    tally.lost(ledger.all_losses(&world));
    for session in [&middle, &old] {
        let ended = world.run(Some(session), "Round 4.");
        tally.holds(ended.code == 0, || format!("{session} does not go on: {ended:#?}"));
        tally.lost(ledger.said(Some(session), &ended));
        let stored = read(&world, session);
        tally.holds(stored.unfinished == 0, || format!("{session}: a run never ends"));
    }
    tally.lost(ledger.all_losses(&world));
    let failed = read(&world, &middle).events.iter().filter(|it| it.event_type.as_str() == "loop_failed").count();
    tally.holds(failed == 1, || format!("{failed} runs are stored as failed"));
    tally.end(&format!("shortened to {:.1} s", waited.as_secs_f64()));
}

/// How many events a session has, on the connection that holds the lock.
fn events(other: &Connection, session: &str) -> u64 {
    other.query_row("SELECT count(*) FROM events WHERE session_id = ?1", [session], |row| row.get(0)).unwrap()
}

/// SQLite waits in naps, and counts how long they were to be, not how long they were. A signal that is caught ends a
/// nap, so that half a minute is over in a second and nothing else is changed. Where it does not work, it takes half
/// a minute.
fn shorten_the_wait(process: &Running) {
    let folder = format!("/proc/{}", process.pid().as_raw_nonzero());
    let threads = fs::read_dir(format!("{folder}/task")).into_iter().flatten().flatten();
    for thread in threads.filter(|it| fs::read_to_string(it.path().join("comm")).is_ok_and(|name| name == WRITER)) {
        let id = thread.file_name().to_str().and_then(|id| Pid::from_raw(id.parse().ok()?));
        // The system prefers the thread that is named, also for a signal to its process.
        if let Some(id) = id.filter(|_| catches(&folder, Signal::XFSZ)) {
            let _ = kill_process(id, Signal::XFSZ);
        }
    }
}

fn catches(process: &str, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("{process}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & (1 << (signal.as_raw() - 1)) != 0
}
