//! Rounds of one kind of trouble in one home, and what must hold after each.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use agent_testkit::Protocol;
use rustix::process::Signal;

use crate::dice::Dice;
use crate::ledger::{Ledger, read, untold_calls};
use crate::model::marks;
use crate::process::Ended;
use crate::record::{Record, Stored, text};
use crate::tally::Tally;
use crate::world::World;

/// Sessions grow with every run; after so many they are left alone.
const RUNS_OF_A_SESSION: usize = 6;
/// Runs are not equally long: moments are spread over a little more than one's time.
pub(crate) const BEYOND: f64 = 1.05;
/// Drafts of files that are being written begin so.
const DRAFT: &str = ".soong-agent-";

/// A loop of rounds: a run is started, gets signals at some moment, and everything is looked at.
pub(crate) struct Loop {
    pub(crate) world: World,
    pub(crate) tally: Tally,
    ledger: Ledger,
    /// Sessions that are still used, and how many runs they had.
    sessions: Vec<(String, usize)>,
    /// All sessions, and how many events they had when they were last looked at.
    known: BTreeMap<String, usize>,
    /// How far runs had come when they were hit, by the last thing they stored.
    phases: [(&'static str, usize); 5],
    orphans: usize,
    messages: usize,
    /// How long the last run took that nobody disturbed.
    length: Duration,
}

/// What became of a round.
pub(crate) struct Round {
    pub(crate) ended: Ended,
    /// None if it was over before there was one.
    pub(crate) session: Option<String>,
    /// Processes that were left at work.
    pub(crate) orphans: usize,
}

impl Loop {
    pub(crate) fn new(kind: &str, protocol: Protocol) -> Self {
        Self {
            world: World::new(&format!("faults {kind}"), protocol),
            ledger: Ledger::default(),
            tally: Tally::new(kind),
            sessions: Vec::new(),
            known: BTreeMap::new(),
            phases: ["start", "stream", "tool", "commit", "end"].map(|phase| (phase, 0)),
            orphans: 0,
            messages: 0,
            length: Duration::ZERO,
        }
    }

    /// A run that nobody disturbs, to know how long one takes.
    pub(crate) fn measure(&mut self) {
        let message = self.next_message();
        let started = Instant::now();
        let ended = self.world.run(None, &message);
        self.length = started.elapsed();
        assert_eq!(ended.code, 0, "{ended:#?}");
        let session = self.find_session();
        self.look(session.as_deref(), &ended);
    }

    /// One run that gets these signals when this part of its time is over (a little more than 1 is its end).
    /// Afterwards all that was acknowledged is stored.
    pub(crate) fn round(&mut self, dice: &mut Dice, part: f64, signals: &[Signal]) -> Round {
        self.tally.round();
        let old = !self.sessions.is_empty() && !dice.one_in(4);
        let session = old.then(|| self.sessions[dice.below(self.sessions.len())].0.clone());
        let message = self.next_message();
        let mut running = self.world.start(session.as_deref(), &message);
        thread::sleep(self.length.mul_f64(part));
        let sent = signals.iter().filter(|signal| running.signal(**signal)).count();
        if sent > 0 {
            self.tally.fault();
        }
        running.dies();
        let orphans = self.world.end_orphans();
        self.orphans += orphans;
        let ended = running.ends();
        let session = session.or_else(|| self.find_session());
        let before = session.as_ref().map_or(0, |id| self.known[id]);
        let stored = self.look(session.as_deref(), &ended);
        self.note_phase(stored.as_ref(), before);
        Round { ended, session, orphans }
    }

    /// The session takes a message and does all of its work.
    pub(crate) fn goes_on(&mut self, session: &str) {
        let message = self.next_message();
        let started = Instant::now();
        let ended = self.world.run(Some(session), &message);
        self.length = started.elapsed();
        let fine = ended.code == 0 && ended.stdout.contains("That is all");
        self.tally.holds(fine, || format!("{session} does not go on: {ended:#?}"));
        let Some(stored) = self.look(Some(session), &ended) else { return };
        self.tally.holds(stored.unfinished == 0, || format!("{session}: {} runs never end", stored.unfinished));
        let unpaired = stored.unpaired();
        self.tally.holds(unpaired.is_empty(), || format!("{session}: calls without one result: {unpaired:?}"));
        if let Some(at) = self.sessions.iter().position(|(id, _)| id == session) {
            self.sessions[at].1 += 1;
            if self.sessions[at].1 >= RUNS_OF_A_SESSION {
                self.sessions.swap_remove(at);
            }
        }
    }

    fn look(&mut self, session: Option<&str>, ended: &Ended) -> Option<Stored> {
        self.tally.holds(!ended.stderr.contains("panicked"), || format!("a panic: {}", ended.stderr));
        self.tally.lost(self.ledger.said(session, ended));
        let (losses, stored) = self.ledger.look(&self.world, session);
        self.tally.lost(losses);
        if let (Some(session), Some(stored)) = (session, &stored) {
            self.tally.lost(untold_calls(ended, stored));
            let before = self.known.insert(session.to_owned(), stored.events.len()).unwrap_or(0);
            let fewer = stored.events.len() < before;
            self.tally.holds(!fewer, || format!("{session} had {before} events and has {}", stored.events.len()));
        }
        stored
    }

    fn next_message(&mut self) -> String {
        self.messages += 1;
        format!("Round {}.", self.messages)
    }

    /// The session that has come since the last time, if one has.
    fn find_session(&mut self) -> Option<String> {
        let record = Record::open(&self.world.database()).ok().filter(Record::has_schema)?;
        let new = record.sessions().into_iter().find(|id| !self.known.contains_key(id))?;
        self.known.insert(new.clone(), 0);
        self.sessions.push((new.clone(), 1));
        Some(new)
    }

    fn note_phase(&mut self, stored: Option<&Stored>, before: usize) {
        let events = stored.map_or(&[][..], |stored| &stored.events);
        let types = events.iter().skip(before).map(|event| event.event_type.as_str());
        let phase = match types.take_while(|kind| *kind != "run_cancelled").last() {
            None => "start",
            Some("loop_started" | "message_created" | "context_built" | "model_started") => "stream",
            Some("tool_started") => "tool",
            Some("loop_completed") => "end",
            Some(_) => "commit",
        };
        self.phases.iter_mut().filter(|(name, _)| *name == phase).for_each(|(_, count)| *count += 1);
    }

    /// The commands that look back show every session, and everything that the model said in it (STO-9).
    fn look_back(&mut self) {
        let list = self.world.looks(&["sessions", "--all"]);
        for session in self.known.keys() {
            let replay = self.world.looks(&["replay", session]);
            let said: Vec<_> = read(&self.world, session).path.iter().flat_map(|node| marks(&text(node))).collect();
            let hidden: Vec<_> = said.iter().filter(|mark| !replay.stdout.contains(mark.as_str())).collect();
            let fine = replay.code == 0 && hidden.is_empty();
            self.tally.holds(fine, || format!("replay {session} does not show {hidden:?}: {}", replay.stderr));
            let listed = list.code == 0 && list.stdout.contains(session.as_str());
            self.tally.holds(listed, || format!("{session} is not listed: {list:#?}"));
        }
    }

    /// Every session goes on, whatever was done to it, and holds everything that was ever acknowledged.
    pub(crate) fn end(mut self, dice: &Dice) {
        for (session, _) in self.sessions.clone() {
            self.goes_on(&session);
        }
        self.tally.lost(self.ledger.all_losses(&self.world));
        self.look_back();
        let interrupted: usize = self.known.keys().map(|id| read(&self.world, id).interrupted()).sum();
        let phases = self.phases.map(|(name, count)| format!("{count} at {name}")).join(", ");
        let drafts = drafts(&self.world);
        let (seed, orphans) = (dice.seed, self.orphans);
        let behind = format!("{orphans} processes and {drafts} drafts left behind");
        self.tally.end(&format!("seed {seed}: {phases}; {interrupted} calls interrupted, {behind}"));
    }
}

/// Drafts of files that the killed were writing. They hide nothing and lose nothing, but somebody has to clear them
/// away.
fn drafts(world: &World) -> usize {
    let files = fs::read_dir(&world.home.project).unwrap().flatten();
    files.filter(|file| file.file_name().to_string_lossy().starts_with(DRAFT)).count()
}
