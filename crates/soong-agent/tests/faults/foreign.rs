//! Something else where the database should be (STO-4, STO-5, DB-04).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rusqlite::Connection;
use rustix::fs::{CWD, FileType, Mode};

use crate::tally::Tally;
use crate::used::{Used, changed, files, nothing_at};

const PAGE: usize = 4096;

/// Something else in the place of a file, and what the error says.
type Foreign = (&'static str, fn(&Used), &'static [&'static str]);

fn instead(used: &Used, bytes: impl AsRef<[u8]>) {
    fs::write(used.database(), bytes).unwrap();
}

fn make(path: &Path, kind: FileType) {
    rustix::fs::mknodat(CWD, path, kind, Mode::from_raw_mode(0o600), 0).unwrap();
}

fn sql(used: &Used, sql: &str) {
    let raw = Connection::open(used.database()).unwrap();
    raw.execute_batch(sql).unwrap();
    raw.close().unwrap();
}

const FOREIGN: &[Foreign] = &[
    ("a text", |used| instead(used, "My novel, chapter one. ".repeat(900)), &["sessions.sqlite", "left as it is"]),
    ("one byte", |used| instead(used, "x"), &["sessions.sqlite", "left as it is"]),
    ("zeros", |used| instead(used, [0; 3 * PAGE]), &["sessions.sqlite", "left as it is"]),
    ("half a header", |used| instead(used, b"SQLite format 3\0and so on"), &["sessions.sqlite"]),
    (
        "another program's database",
        |used| {
            nothing_at(&used.database());
            sql(used, "CREATE TABLE sessions (id TEXT); INSERT INTO sessions VALUES ('mine')");
        },
        &["sessions.sqlite", "not a session database", "left as it is"],
    ),
    (
        "a newer version's database",
        |used| sql(used, "INSERT INTO schema_migrations VALUES (99, 'later', 'then')"),
        &["sessions.sqlite", "newer version", "left as it is"],
    ),
    (
        "a folder",
        |used| {
            nothing_at(&used.database());
            fs::create_dir(used.database()).unwrap();
        },
        &["sessions.sqlite"],
    ),
    (
        "a pipe",
        |used| {
            nothing_at(&used.database());
            make(&used.database(), FileType::Fifo);
        },
        &["sessions.sqlite"],
    ),
    (
        "a socket",
        |used| {
            nothing_at(&used.database());
            make(&used.database(), FileType::Socket);
        },
        &["sessions.sqlite"],
    ),
    (
        "a link to nothing",
        |used| {
            nothing_at(&used.database());
            symlink(used.home().join("no/such.sqlite"), used.database()).unwrap();
        },
        &["sessions.sqlite"],
    ),
    (
        "a link to itself",
        |used| {
            nothing_at(&used.database());
            symlink(used.database(), used.database()).unwrap();
        },
        &["sessions.sqlite"],
    ),
    (
        "a file as the folder of sessions",
        |used| {
            nothing_at(&used.home().join("sessions"));
            fs::write(used.home().join("sessions"), "mine").unwrap();
        },
        &["sessions"],
    ),
];

/// How errors begin to say what to do.
const ADVICE: &[&str] = &["choose", "move", "use the newer version", "Check"];

/// STO-4, STO-5, DB-04: whatever lies where the database should be: one error that names it and, exit code 1, the
/// model is not asked, and not a byte of any file is changed.
#[test]
fn something_else_in_its_place() {
    let mut tally = Tally::new("foreign files");
    let used = Used::new("faults-foreign");
    let mut advised = 0;
    for (what, put, words) in FOREIGN {
        used.mend();
        put(&used);
        let before = files(used.home());
        let asked = used.world.server.request_count();
        for session in [Some(used.session.as_str()), None] {
            tally.round();
            tally.fault();
            let ended = used.world.run(session, "Round 2.");
            advised += usize::from(ended.errors().iter().any(|line| ADVICE.iter().any(|word| line.contains(word))));
            let wrong = ended.unlike_a_failure(words);
            tally.holds(wrong.is_none(), || format!("{what}: {}", wrong.unwrap_or_default()));
        }
        tally.holds(asked == used.world.server.request_count(), || format!("{what}: the model was asked"));
        let changed = changed(&before, &files(used.home()));
        tally.holds(changed.is_empty(), || format!("{what}: {changed:?} changed"));
    }
    used.mend();
    let ended = used.world.run(Some(&used.session), "Round 3.");
    tally.holds(ended.code == 0, || format!("put back, it does not go on: {ended:#?}"));
    tally.end(&format!("{advised} errors say what to do"));
}
