//! `kill -9` at random moments, again and again, in one home (RUN-20, STO-3, STRM-09).

use agent_testkit::Protocol;
use rusqlite::Connection;
use rustix::process::Signal;

use crate::dice::Dice;
use crate::ledger::Ledger;
use crate::rounds::{BEYOND, Loop};
use crate::tally::{Tally, rounds};
use crate::world::World;

/// RUN-20, TST-5, STO-3, RUN-14, STRM-09 (2): whatever the command was doing when it was killed, everything it had
/// acknowledged is stored, places are gapless, the file is sound, no call takes place unannounced or twice, and the
/// session goes on. Every second session is killed once more before anybody can clear up.
#[test]
fn killed_at_any_moment() {
    let mut dice = Dice::new("kill -9");
    let count = rounds(40);
    let mut kills = Loop::new("kill -9", Protocol::OpenAi);
    kills.measure();
    for part in dice.spread(count) {
        let round = kills.round(&mut dice, part * BEYOND, &[Signal::KILL]);
        match round.session {
            Some(session) if dice.one_in(2) => kills.goes_on(&session),
            _ => {}
        }
    }
    assert!(kills.tally.faults() * 2 > count, "hardly anything was killed");
    kills.end(&dice);
}

/// The harness notices what it is there for: whatever row goes missing, somebody misses it.
#[test]
fn a_missing_row_is_noticed() {
    let mut tally = Tally::new("rows taken away");
    for (what, sql) in [
        ("the answer", "DELETE FROM nodes WHERE node_seq = (SELECT max(node_seq) FROM nodes)"),
        (
            "a word of a node",
            "UPDATE nodes SET content_json = replace(content_json, 'word', 'work') WHERE node_seq = 2",
        ),
        ("a result", "UPDATE nodes SET content_json = replace(content_json, 'so far', 'so') WHERE role = 'tool'"),
        ("an event", "DELETE FROM events WHERE seq = 4"),
        ("an announcement", "UPDATE events SET event_type = 'tool_progress' WHERE event_type = 'tool_started'"),
        ("the session", "PRAGMA foreign_keys = OFF; DELETE FROM sessions"),
    ] {
        tally.round();
        let world = World::new("faults-noticed", Protocol::OpenAi);
        let mut ledger = Ledger::default();
        let ended = world.run(None, "Round 0.");
        let session = crate::world::session_of(&ended).unwrap().to_owned();
        ledger.said(Some(&session), &ended);
        let raw = Connection::open(world.database()).unwrap();
        raw.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        raw.execute_batch(sql).unwrap();
        drop(raw);
        tally.fault();
        let noticed = ledger.losses(&world, Some(&session));
        tally.holds(!noticed.is_empty(), || format!("{what} is not missed"));
    }
    tally.end("");
}
