//! The first moments of a home: several processes make the database at once, and one of them is killed (STO-4, DB-09).

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use agent_testkit::Protocol;
use rustix::process::Signal;

use crate::dice::Dice;
use crate::ledger::Ledger;
use crate::tally::{Tally, rounds};
use crate::world::World;

/// How long it takes from the start to the first request.
fn startup() -> Duration {
    let world = World::new("faults-startup", Protocol::Ollama);
    let started = Instant::now();
    let mut running = world.start(None, "Round 0.");
    world.server.wait_for_request_blocking(0);
    let startup = started.elapsed();
    running.signal(Signal::KILL);
    running.ends();
    world.end_orphans();
    startup
}

/// STO-4, DB-09, DB-01: one process is killed while the database is made; those beside it, and the next one, find
/// none or a whole one, never half of it.
#[test]
fn killed_while_the_database_is_made() {
    let mut dice = Dice::new("birth");
    let count = rounds(12);
    let mut tally = Tally::new("birth");
    let startup = startup();
    let (mut alone, mut drafts) = (0, 0);
    for part in dice.spread(count) {
        let moment = startup.mul_f64(part);
        tally.round();
        let world = World::new("faults-birth", Protocol::Ollama);
        let beside = dice.below(3);
        alone += usize::from(beside == 0);
        let mut victim = world.start(None, "Round 1.");
        let others: Vec<_> = (0..beside).map(|at| world.start(None, &format!("Round 1{at}."))).collect();
        thread::sleep(moment);
        if victim.signal(Signal::KILL) {
            tally.fault();
        }
        victim.ends();
        let mut ledger = Ledger::default();
        for ended in others.into_iter().map(|other| other.ends()).chain([world.run(None, "Round 2.")]) {
            tally.holds(ended.code == 0, || format!("killed after {moment:?}, beside {beside}: {ended:#?}"));
            tally.lost(ledger.said(None, &ended));
        }
        world.end_orphans();
        // The victim's session too, as far as it came.
        tally.lost(ledger.all_losses(&world));
        let names = fs::read_dir(&world.home.home).unwrap().flatten().map(|entry| entry.file_name());
        drafts += names.filter(|name| name.to_string_lossy().ends_with(".new")).count();
    }
    tally.end(&format!(
        "seed {}, the first request comes after {startup:.0?}; {alone} killed alone, {drafts} empty files left behind",
        dice.seed
    ));
}
