//! Two processes on one session (RUN-4, DEC-4, DB-06).

use std::fs;

use agent_testkit::{Gate, Protocol, Reply};
use rustix::process::Signal;

use crate::ledger::{Ledger, read};
use crate::process::Running;
use crate::tally::{Tally, rounds};
use crate::world::World;

/// A process that owns a session and waits for the model, until its gate opens.
fn owner(world: &World, session: &str) -> (Running, Gate) {
    let (reply, gate) = Reply::text("I have thought about it.").chunks(5).gated();
    let asked = world.server.request_count();
    world.server.push(reply);
    let owner = world.start(Some(session), "Round 1: think.");
    world.server.wait_for_request_blocking(asked);
    (owner, gate)
}

/// The refusal of a session that this process owns.
fn refused(tally: &mut Tally, world: &World, session: &str, owner: &Running) {
    let (asked, before) = (world.server.request_count(), read(world, session).events.len());
    let ended = world.run(Some(session), "Round 2.");
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let pid = format!("process {} on {} since 20", owner.pid().as_raw_nonzero(), host.trim());
    let wrong = ended.unlike_a_failure(&[session, "in use", &pid]);
    tally.holds(wrong.is_none(), || format!("the second is not refused: {}", wrong.unwrap_or_default()));
    tally.holds(asked == world.server.request_count(), || "the second has asked the model".to_owned());
    let after = read(world, session).events.len();
    tally.holds(before == after, || format!("the second has stored {} events", after - before));
}

/// RUN-4, DEC-4, DB-06: the second process is refused and told who has the session, also while the owner is stopped;
/// a stopped owner that goes on finishes as if nothing had been; a killed one, stopped or not, has given the session
/// free at once.
#[test]
fn a_session_has_one_owner() {
    let mut tally = Tally::new("owners");
    let world = World::new("faults-owners", Protocol::Anthropic);
    let mut session = world.session();
    let mut ledger = Ledger::default();
    for round in 0..rounds(3) {
        tally.round();
        // A session that does not outgrow the context window shows its whole history.
        if round % 20 == 19 {
            session = world.session();
        }
        let (mut first, gate) = owner(&world, &session);
        refused(&mut tally, &world, &session, &first);
        if round % 3 != 0 {
            tally.fault();
            first.signal(Signal::STOP);
            refused(&mut tally, &world, &session, &first);
        }
        if round % 3 == 1 {
            first.signal(Signal::CONT);
            gate.release_all();
            let ended = first.ends();
            let fine = ended.code == 0 && ended.stdout == "I have thought about it.\n";
            tally.holds(fine, || format!("the owner does not finish: {ended:#?}"));
        } else {
            tally.fault();
            first.signal(Signal::KILL);
            first.ends();
        }
        let ended = world.run(Some(&session), &format!("Round 3{round}."));
        tally.holds(ended.code == 0, || format!("the session is not free: {ended:#?}"));
        tally.lost(ledger.said(Some(&session), &ended));
        tally.lost(ledger.all_losses(&world));
        let stored = read(&world, &session);
        tally.holds(stored.unfinished == 0, || "a run never ends".to_owned());
    }
    tally.end("");
}
