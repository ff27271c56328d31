//! A disk that is full, or nearly (RUN-21, STO-3).

use agent_testkit::Protocol;

use crate::dice::Dice;
use crate::ledger::{Ledger, read};
use crate::mounts::Disk;
use crate::process::Ended;
use crate::tally::{Tally, rounds};
use crate::world::{World, session_of};

const SIZE: u64 = 4 << 20;
const PAGE: usize = 4096;
/// A small disk fills up without help: after so many rounds there is another one.
const ROUNDS_OF_A_DISK: usize = 8;

/// RUN-21, TST-5: however little room is left, a run either does its work or fails with one error that a person
/// understands; what was acknowledged is stored, nothing half, and with room the session goes on.
#[test]
fn a_full_disk() {
    let mut dice = Dice::new("full disk");
    let mut tally = Tally::new("full disk");
    let (mut left, mut with, mut back) = (rounds(16), "", (0, 0));
    while left > 0 {
        let mut full = Filled::new();
        with = full.world.around.name();
        for _ in 0..left.min(ROUNDS_OF_A_DISK) {
            full.round(&mut dice, &mut tally);
        }
        left = left.saturating_sub(ROUNDS_OF_A_DISK);
        back = (back.0 + full.shown_back, back.1 + full.asked_back);
    }
    assert!(tally.faults() > 0, "there was always room");
    tally.end(&format!("{with}, seed {}; {} of {} replays went without room", dice.seed, back.0, back.1));
}

/// A home on a disk that is filled.
struct Filled {
    world: World,
    disk: Disk,
    ledger: Ledger,
    sessions: Vec<String>,
    messages: usize,
    /// How often a session was looked at while there was no room, and how often it was shown.
    asked_back: usize,
    shown_back: usize,
}

impl Filled {
    fn new() -> Self {
        let mut world = World::new("faults-full-disk", Protocol::OpenAi);
        let (disk, around) = Disk::under(&world.home, SIZE);
        world.around = around;
        let (ledger, sessions) = (Ledger::default(), Vec::new());
        Self { world, disk, ledger, sessions, messages: 0, asked_back: 0, shown_back: 0 }
    }

    /// One run with hardly any room, and half of the time one afterwards with enough of it.
    fn round(&mut self, dice: &mut Dice, tally: &mut Tally) {
        tally.round();
        // Most of what can happen happens within the room for a few pages.
        let pages = *dice.pick(&[12, 100, 400]);
        let room = dice.below(PAGE * pages) as u64;
        let session = self.sessions.get(dice.below(4)).cloned();
        self.disk.leave(&mut self.world.around, &self.world.home, room);
        let ended = self.run(session.as_deref(), tally);
        if let Some(session) = self.sessions.first() {
            self.asked_back += 1;
            self.shown_back += usize::from(self.world.looks(&["replay", session]).code == 0);
        }
        self.disk.free(&mut self.world.around, &self.world.home);
        if ended.code != 0 {
            tally.fault();
            let wrong = ended.unlike_a_failure(&["sessions"]);
            tally.holds(wrong.is_none(), || format!("with room for {room} bytes: {}", wrong.unwrap_or_default()));
            tally.holds(understood(&ended), || format!("with room for {room} bytes, unclear: {ended:#?}"));
        }
        let Some(session) = session.or_else(|| session_of(&ended).map(str::to_owned)) else {
            return tally.lost(self.ledger.losses(&self.world, None));
        };
        tally.lost(self.ledger.losses(&self.world, Some(&session)));
        if dice.one_in(2) {
            self.goes_on(&session, tally);
        }
        if !self.sessions.contains(&session) {
            self.sessions.push(session);
        }
    }

    fn goes_on(&mut self, session: &str, tally: &mut Tally) {
        let ended = self.run(Some(session), tally);
        tally.holds(ended.code == 0, || format!("{session} does not go on: {ended:#?}"));
        tally.lost(self.ledger.losses(&self.world, Some(session)));
        let stored = read(&self.world, session);
        let tidy = stored.unfinished == 0 && stored.unpaired().is_empty();
        tally.holds(tidy, || format!("{session} has {} runs without an end", stored.unfinished));
    }

    fn run(&mut self, session: Option<&str>, tally: &mut Tally) -> Ended {
        self.messages += 1;
        let ended = self.world.run(session, &format!("Round {}.", self.messages));
        tally.lost(self.ledger.said(session, &ended));
        ended
    }
}

/// Whether a person is told what is wrong.
fn understood(ended: &Ended) -> bool {
    let words = ["is full", "No space left", "File too large", "limit on the size of files"];
    ended.errors().iter().any(|line| words.iter().any(|word| line.contains(word)))
}
