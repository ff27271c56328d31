//! A home that cannot be written (RUN-21).

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use agent_testkit::{Protocol, TestHome};

use crate::mounts::{Around, Mounts};
use crate::tally::Tally;
use crate::world::World;

/// Something that cannot be written any more: below the home, with or without a session from before, and what the
/// error names.
const CASES: &[(&str, bool, &str)] = &[
    (".", false, "sessions.sqlite"),
    (".", true, "sessions.sqlite"),
    ("sessions", true, "sessions"),
    ("sessions.sqlite", true, "sessions.sqlite"),
];

/// RUN-21, TST-5: without a place to write in, a run fails with one error that names it; the model is not asked,
/// nothing is created or changed anywhere, and once it can be written again everything is as before.
#[test]
fn a_read_only_home() {
    let mut tally = Tally::new("read-only home");
    let mut with = "";
    for (path, used, named) in CASES {
        let mut world = World::new("faults-read-only", Protocol::Ollama);
        let session = used.then(|| world.session());
        let asked = world.server.request_count();
        let before = everything(&world.home.root);
        world.around = lock(&world.home, path);
        with = world.around.name();
        for session in [None, session.as_deref()] {
            tally.round();
            tally.fault();
            let ended = world.run(session, "Round 1.");
            let wrong = ended.unlike_a_failure(&[named]);
            tally.holds(wrong.is_none(), || format!("{path}: {}", wrong.unwrap_or_default()));
        }
        // What was stored before can be looked at all the same.
        if let Some(session) = &session {
            for arguments in [&["sessions"][..], &["replay", session]] {
                let looked = world.looks(arguments);
                let shown = looked.code == 0 && looked.stdout.contains(session.as_str());
                tally.holds(shown, || format!("{path}: {arguments:?}: {looked:#?}"));
            }
        }
        tally.holds(asked == world.server.request_count(), || format!("{path}: the model was asked"));
        world.around = Around::Nothing;
        unlock(&world.home);
        let after = everything(&world.home.root);
        tally.holds(before == after, || format!("{path}: something was changed: {before:?} {after:?}"));
        let ended = world.run(session.as_deref(), "Round 2.");
        tally.holds(ended.code == 0, || format!("{path}: afterwards {ended:#?}"));
    }
    tally.end(with);
}

/// Makes a part of the home read-only: by a mount, or by modes where there can be none.
fn lock(home: &TestHome, path: &str) -> Around {
    let script = format!("mount --bind \"$0/{path}\" \"$0/{path}\"; mount -o remount,ro,bind \"$0/{path}\"");
    Mounts::make(home, &script, "the modes of files").map_or_else(
        || {
            each_below(&home.home.join(path), &|path, is_folder| set_mode(path, if is_folder { 0o500 } else { 0o400 }));
            Around::Powerless
        },
        Around::Mounts,
    )
}

fn unlock(home: &TestHome) {
    each_below(&home.home, &|path, is_folder| set_mode(path, if is_folder { 0o700 } else { 0o600 }));
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// The path and everything below it, folders first on the way up and down.
fn each_below(path: &Path, act: &dyn Fn(&Path, bool)) {
    let is_folder = path.is_dir();
    if is_folder && fs::read_dir(path).is_err() {
        act(path, true);
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        each_below(&entry.path(), act);
    }
    act(path, is_folder);
}

/// Every file below a folder, with its bytes. What SQLite keeps beside a database that it may only read counts only if
/// something is in it.
fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().into_string().unwrap();
        if path.is_dir() {
            found.extend(everything(&path));
            found.insert(path, Vec::new());
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let beside = name.ends_with("-shm") || (name.ends_with("-wal") && bytes.is_empty());
        if !beside {
            found.insert(path, bytes);
        }
    }
    found
}
