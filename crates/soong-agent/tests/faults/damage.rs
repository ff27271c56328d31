//! Files that are damaged (STO-5, DB-04).

use std::fs;
use std::path::PathBuf;

use crate::dice::Dice;
use crate::ledger::shows_all;
use crate::process::{Ended, wait_until};
use crate::tally::{Tally, rounds};
use crate::used::{Used, nothing_at};

const PAGE: usize = 4096;

/// How a run on damaged files went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    /// It noticed nothing and needed nothing of what is damaged.
    Works,
    /// One error that names what is damaged.
    Refused,
    /// The log that held the session is gone.
    Unknown,
    Bad,
}

/// What is left of a session may be shorter only if its log is gone.
fn verdict(used: &Used, ended: &Ended, asked: usize, whole: bool) -> Verdict {
    let names = |line: &&str| line.contains("sessions.sqlite") || line.contains(" of table ");
    let errors = ended.errors();
    match ended.code {
        _ if ended.stderr.contains("panicked") => Verdict::Bad,
        0 => {
            let shown = used.world.server.wait_for_request_blocking(asked);
            if !whole || shows_all(&shown, &used.path) { Verdict::Works } else { Verdict::Bad }
        }
        1 if errors.len() == 1 && errors.iter().all(names) => Verdict::Refused,
        2 if !whole && errors.len() == 1 && errors[0].contains("there is no session") => Verdict::Unknown,
        _ => Verdict::Bad,
    }
}

/// STO-5, DB-04: a page of the database that is overwritten, or a file that is cut, anywhere: either nothing of it
/// was needed and the whole history is there, or one error says so; never a shorter history, never a new file, and
/// what is damaged is not written over.
#[test]
fn damaged_databases() {
    let mut dice = Dice::new("damaged databases");
    let mut tally = Tally::new("damaged databases");
    let used = Used::new("faults-damage");
    let good = fs::read(used.database()).unwrap();
    let pages = good.len() / PAGE;
    let mut verdicts = [0; 4];
    let count = rounds(20);
    for (round, part) in dice.spread(count).into_iter().enumerate() {
        tally.round();
        tally.fault();
        used.mend();
        let page = ((pages as f64 * part) as usize).min(pages - 1);
        let mut bytes = good.clone();
        if round % 4 == 3 {
            bytes.truncate(page * PAGE + dice.below(PAGE) + 1);
        } else {
            bytes[page * PAGE..][..PAGE].copy_from_slice(&dice.bytes(PAGE));
        }
        fs::write(used.database(), &bytes).unwrap();
        let asked = used.world.server.request_count();
        let ended = used.world.run(Some(&used.session), "Round 2.");
        let how = verdict(&used, &ended, asked, true);
        verdicts[how as usize] += 1;
        tally.holds(how != Verdict::Bad, || format!("page {page} of {pages}: {ended:#?}"));
        let after = fs::read(used.database()).unwrap();
        let end = bytes.len().min((page + 1) * PAGE);
        let same = after.get(page * PAGE..end) == bytes.get(page * PAGE..end);
        tally.holds(how != Verdict::Refused || same, || format!("page {page}: what was damaged was written over"));
    }
    tally.end(&format!("seed {}; {verdicts:?} worked, refused, unknown, bad", dice.seed));
}

/// What can become of the files that SQLite keeps beside a database.
type Beside = (&'static str, fn(&Used, &mut Dice));

fn beside(used: &Used, end: &str) -> PathBuf {
    used.home().join(format!("sessions.sqlite{end}"))
}

fn change(used: &Used, end: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(beside(used, end)).unwrap();
    change(&mut bytes);
    fs::write(beside(used, end), bytes).unwrap();
}

const BESIDE: &[Beside] = &[
    ("nothing", |_, _| {}),
    ("the log is gone", |used, _| nothing_at(&beside(used, "-wal"))),
    ("the log and its index are gone", |used, _| {
        nothing_at(&beside(used, "-wal"));
        nothing_at(&beside(used, "-shm"));
    }),
    ("the index is gone", |used, _| nothing_at(&beside(used, "-shm"))),
    ("the index is empty", |used, _| change(used, "-shm", Vec::clear)),
    ("the index is garbage", |used, dice| {
        let garbage = dice.bytes(8 * PAGE);
        change(used, "-shm", |bytes| *bytes = garbage);
    }),
    ("the log is garbage", |used, dice| {
        let garbage = dice.bytes(9 * PAGE);
        change(used, "-wal", |bytes| *bytes = garbage);
    }),
    ("the log's header is garbage", |used, dice| {
        let garbage = dice.bytes(32);
        change(used, "-wal", |bytes| bytes[..32].copy_from_slice(&garbage));
    }),
    ("the log is cut", |used, dice| change(used, "-wal", |bytes| bytes.truncate(dice.below(bytes.len())))),
    ("a bit of the log is turned", |used, dice| {
        change(used, "-wal", |bytes| {
            let at = dice.below(bytes.len());
            bytes[at] ^= 1 << dice.below(8);
        })
    }),
    ("the database is empty", |used, _| fs::write(used.database(), "").unwrap()),
];

/// STO-5: whatever becomes of the log of a killed process: what SQLite can recover is there and valid, and otherwise
/// one error says so.
#[test]
fn damaged_logs() {
    let mut dice = Dice::new("damaged logs");
    let mut tally = Tally::new("damaged logs");
    let used = Used::killed("faults-logs");
    let mut verdicts = [0; 4];
    for round in 0..rounds(BESIDE.len()) {
        tally.round();
        tally.fault();
        used.mend();
        let (what, damage) = BESIDE[round % BESIDE.len()];
        damage(&used, &mut dice);
        let asked = used.world.server.request_count();
        let ended = used.world.run(Some(&used.session), "Round 2.");
        let whole = what == "nothing" || what.starts_with("the index");
        let how = verdict(&used, &ended, asked, whole);
        verdicts[how as usize] += 1;
        tally.holds(how != Verdict::Bad, || format!("{what}: {ended:#?}"));
    }
    wait_until("nothing is at work", || used.world.at_work().is_empty());
    tally.end(&format!("seed {}; {verdicts:?} worked, refused, unknown, bad", dice.seed));
}
