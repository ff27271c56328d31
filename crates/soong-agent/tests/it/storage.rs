//! A disk that is full, a home that cannot be written, a database that is none (RUN-21, STO-5).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use agent_testkit::{Call, Reply, not_tried};
use serde_json::json;

use crate::process::Running;
use crate::support::{BIN, World, calls};

/// No file may grow beyond this many blocks of 512 bytes. Works for everybody, where a small disk needs root's help.
fn limited(world: &World, blocks: usize, arguments: &str) -> Command {
    let mut command = world.home.command("sh");
    command.args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" {arguments}"), BIN]);
    command
}

/// A result of more than a quarter of a megabyte.
fn much(world: &World) -> Reply {
    world.configure("model.context_window = 400000");
    world.home.write("project/much.txt", format!("{}\n", "much ".repeat(60)).repeat(1000));
    calls(Call::new("code.read_file", json!({"path": "much.txt", "max_lines": 1000})))
}

/// RUN-21: no room for anything: exit 1, one sentence that names the file; with room it works, whatever was begun.
#[test]
fn no_room_at_all() {
    for world in World::each("no_room_at_all") {
        for blocks in [0, 8, 64] {
            let ended = Running::start(limited(&world, blocks, "run hi")).ends().exits(1).one_error().answers("");
            assert!(ended.stderr.contains("sessions"), "{}", ended.stderr);
            assert_eq!(world.server.request_count(), 0);
        }
        world.server.push(Reply::text("Hello."));
        let session = world.run(&["run", "hi"]).exits(0).answers("Hello.").session();
        world.goes_on(&session);
    }
}

/// RUN-21, STO-3: no room in the middle of a run: it fails with what happened, what was stored stays, the session goes on.
#[test]
fn no_more_room() {
    for world in World::each("no_more_room") {
        world.server.push(Reply::text("I shall remember."));
        let session = world.run(&["run", "Remember the word mango."]).exits(0).session();
        world.server.push(much(&world));
        let arguments = format!("run --session-id {session} 'Read much.'");
        let ended = Running::start(limited(&world, 512, &arguments)).ends().exits(1).one_error().answers("");
        ended.says(&["sessions.sqlite"]);
        world.goes_on(&session);
        let last = world.server.requests().pop().unwrap().body.to_string();
        assert!(last.contains("mango") && last.contains("Are you there?") && !last.contains("much much"));
    }
}

/// RUN-21 on a disk that is full indeed. Needs a mount of its own; where nobody may have one, that is told, and the limits above
/// stand for it.
#[test]
fn a_full_disk() {
    let world = World::new("full_disk");
    let Some(mut alone) = own_mounts(&world) else {
        return not_tried(
            "a full disk (`unshare --mount` does not work here); no_more_room has limits on files instead",
        );
    };
    world.server.script([Reply::text("Hello."), much(&world), Reply::text("Still here.")]);
    alone.args(["-c", FULL_DISK, BIN]);
    let ended = Running::start(alone).ends().exits(0);
    assert_eq!(ended.stdout, "Hello.\n|0|1|Still here.\n|0|", "{}", ended.stderr);
    ended.one_error().says(&["is full", "Make room"]);
}

const FULL_DISK: &str = r#"
set -e
cp "$SOONG_AGENT_HOME/config.toml" "$HOME/config.toml"
mount -t tmpfs -o size=1m,mode=0700 none "$SOONG_AGENT_HOME"
cp "$HOME/config.toml" "$SOONG_AGENT_HOME/config.toml"
set +e
"$0" run hi; printf "|$?|"
session=$(ls "$SOONG_AGENT_HOME/sessions")
head -c 2000000 /dev/zero >"$SOONG_AGENT_HOME/filler" 2>/dev/null
truncate -s -128K "$SOONG_AGENT_HOME/filler"
"$0" run --session-id "$session" "Read much."; printf "$?|"
rm "$SOONG_AGENT_HOME/filler"
"$0" run --session-id "$session" "Are you there?"; printf "|$?|"
"#;

/// STO-12: on a full disk a session is removed all the same where its files free enough; where they do not, the error says what to do,
/// and with room the same command works.
#[test]
fn a_session_is_removed_from_a_full_disk() {
    let world = World::new("full_cleanup");
    let Some(mut alone) = own_mounts(&world) else {
        return not_tried("removing a session from a full disk (`unshare --mount` does not work here)");
    };
    world.server.script([Reply::text("Hello."), Reply::text("Hello.")]);
    alone.args(["-c", FULL_CLEANUP, BIN]);
    let ended = Running::start(alone).ends().exits(0);
    let codes: Vec<_> = ended.stdout.split('|').skip(1).step_by(2).collect();
    assert_eq!(codes, ["0", "0", "0", "1", "0"], "{}\n{}", ended.stdout, ended.stderr);
    ended.says(&[
        "the disk is full: the files of the session went first",
        "removing a session writes before it frees room",
    ]);
}

const FULL_CLEANUP: &str = r#"
set -e
cp "$SOONG_AGENT_HOME/config.toml" "$HOME/config.toml"
mount -t tmpfs -o size=2m,mode=0700 none "$SOONG_AGENT_HOME"
cp "$HOME/config.toml" "$SOONG_AGENT_HOME/config.toml"
set +e
fill() { head -c 4000000 /dev/zero >"$SOONG_AGENT_HOME/filler" 2>/dev/null; }
"$0" run one; printf "|$?|"
with=$(ls "$SOONG_AGENT_HOME/sessions")
"$0" run two; printf "|$?|"
without=$(ls "$SOONG_AGENT_HOME/sessions" | grep -v "$with")
mkdir -p "$SOONG_AGENT_HOME/sessions/$with/artifacts/art_1"
head -c 900000 /dev/zero >"$SOONG_AGENT_HOME/sessions/$with/artifacts/art_1/out"
fill
"$0" cleanup session "$with" --yes; printf "|$?|"
rm "$SOONG_AGENT_HOME/filler"
fill
"$0" cleanup session "$without" --yes; printf "|$?|"
rm "$SOONG_AGENT_HOME/filler"
"$0" cleanup session "$without" --yes; printf "|$?|"
"#;

/// A shell with mounts of its own, if there can be one.
fn own_mounts(world: &World) -> Option<Command> {
    let ways: [&[&str]; 2] = [&["--mount"], &["--user", "--map-root-user", "--mount"]];
    ways.into_iter().find_map(|way| {
        let shell = || {
            let mut command = world.home.command("unshare");
            command.args(way).arg("sh");
            command
        };
        let mut probe = shell();
        probe.args(["-c", "mount -t tmpfs none \"$HOME\""]).stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success()).then(shell)
    })
}

/// FND-72: that another program has the database locked is said, long before that is given up.
#[test]
fn a_locked_database_is_said() {
    let world = World::new("locked_said");
    world.session("hi", "Hello.");
    let other = rusqlite::Connection::open(world.home.home.join("sessions.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    world.server.push(Reply::text("Hello again."));
    let running = Running::start(world.agent(["run", "hi"]));
    running.says("waiting for the session database");
    other.execute_batch("ROLLBACK").unwrap();
    running.ends().exits(0).answers("Hello again.");
}

/// FND-72: the same in the middle of a run: once for each time, and the run goes on when the lock is gone.
#[test]
fn a_database_locked_in_the_middle() {
    let world = World::new("locked_middle");
    world.session("hi", "Hello.");
    let (reply, gate) = Reply::text("Hello again.").chunks(3).gated();
    world.server.push(reply);
    let running = Running::start(world.agent(["run", "hi"]));
    world.is_answering(1);
    let other = rusqlite::Connection::open(world.home.home.join("sessions.sqlite")).unwrap();
    other.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    gate.release(100);
    running.says("waiting for the session database");
    other.execute_batch("ROLLBACK").unwrap();
    let ended = running.ends().exits(0).answers("Hello again.");
    assert_eq!(ended.stderr.matches("waiting for the session database").count(), 1, "{}", ended.stderr);
}

/// RUN-21: a home that cannot be written.
#[test]
fn a_home_that_cannot_be_written() {
    let world = World::new("readonly_home");
    let mode = |mode| fs::set_permissions(&world.home.home, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    let ended = Running::start(world.powerless(["run", "hi"])).ends();
    mode(0o700);
    ended.exits(1).one_error().answers("").says(&["sessions.sqlite"]);
    assert_eq!((world.left_in_home(), world.server.request_count()), (Vec::new(), 0));

    world.server.push(Reply::text("Hello."));
    let session = world.run(&["run", "hi"]).exits(0).session();
    for name in world.left_in_home() {
        let mode = if name == "sessions" { 0o500 } else { 0o400 };
        fs::set_permissions(world.home.home.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    Running::start(world.powerless(["run", "--session-id", &session, "hi"])).ends().exits(1).one_error().answers("");
    for name in world.left_in_home() {
        fs::set_permissions(world.home.home.join(name), fs::Permissions::from_mode(0o700)).unwrap();
    }
    world.goes_on(&session);
}

/// STO-5: what is no database of ours is left as it is, byte for byte.
#[test]
fn a_database_that_is_none() {
    let world = World::new("no_database");
    let path = world.home.home.join("sessions.sqlite");
    let rubbish = b"My novel, chapter one. ".repeat(500);
    fs::write(&path, &rubbish).unwrap();
    world.run(&["run", "hi"]).exits(1).one_error().answers("").says(&["sessions.sqlite", "left as it"]);
    assert_eq!(fs::read(&path).unwrap(), rubbish);
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    world.run(&["run", "hi"]).exits(1).one_error().answers("").says(&["sessions.sqlite"]);
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    fs::remove_dir(&path).unwrap();
    world.configure("context.session_db_path = \"/dev/full\"");
    world.run(&["run", "hi"]).exits(1).one_error().answers("").says(&["/dev/full"]);
    assert_eq!(world.server.request_count(), 0);
    world.configure("");
    fs::write(world.home.home.join("sessions"), "a file").unwrap();
    world.run(&["run", "hi"]).exits(1).one_error().answers("").says(&["sessions"]);
    fs::remove_file(world.home.home.join("sessions")).unwrap();
    world.server.push(Reply::text("Hello."));
    world.run(&["run", "hi"]).exits(0).answers("Hello.");
}
