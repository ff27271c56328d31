//! What is moved or removed while it is used, or before (FND-05, FND-50, FND-71).

use std::fs;

use agent_testkit::Reply;

use crate::process::Running;
use crate::support::{BIN, World};

/// FND-04: a killed run's log without its database: refused with what to do, and kept; with the database back the session goes on.
#[test]
fn a_log_alone() {
    let world = World::new("log_alone");
    let (reply, gate) = Reply::text("Half an answer.").chunks(3).gated();
    world.server.push(reply);
    let running = Running::start(world.agent(["run", "Remember the word mango."]));
    world.is_answering(0);
    gate.release(1);
    running.signal(rustix::process::Signal::KILL);
    running.ends();
    let (database, log) = (world.home.home.join("sessions.sqlite"), world.home.home.join("sessions.sqlite-wal"));
    let (away, bytes) = (world.home.root.join("away"), fs::read(&log).unwrap());
    assert!(!bytes.is_empty());
    fs::rename(&database, &away).unwrap();
    for arguments in [&["run", "hi"][..], &["sessions"], &["replay", "last"], &["sessions", "repair"]] {
        world.run(arguments).exits(1).one_error().says(&["sessions.sqlite-wal", "put the database back"]);
        assert_eq!(fs::read(&log).unwrap(), bytes, "{arguments:?}");
        assert!(!database.exists(), "{arguments:?}");
    }
    fs::rename(&away, &database).unwrap();
    world.goes_on(&world.sessions()[0]);
}

/// FND-05: the home is moved away while the model answers: the run fails, and no way is named that cannot work.
#[test]
fn a_home_that_goes() {
    for world in World::each("home_goes") {
        for goes in ["sessions.sqlite", ""] {
            world.session("hi", "Hello.");
            let at = world.server.request_count();
            let (reply, gate) = Reply::text("An answer in pieces.").chunks(4).gated();
            world.server.push(reply);
            let running = Running::start(world.agent(["run", "Tell me."]));
            world.is_answering(at);
            let away = world.home.root.join("away");
            fs::rename(world.home.home.join(goes), &away).unwrap();
            gate.release(100);
            let ended = running.ends().exits(1).one_error().says(&["moved, replaced or removed"]);
            ended.never_says(&["go on with"]);
            if goes.is_empty() {
                // What the run may have made in its place.
                let _ = fs::remove_dir_all(&world.home.home);
            } else {
                let _ = fs::remove_file(world.home.home.join(goes));
            }
            fs::rename(&away, world.home.home.join(goes)).unwrap();
        }
    }
}

/// FND-50: a project that was moved: the refusal names the command that takes its session along, and that command does.
#[test]
fn a_project_that_was_moved() {
    let world = World::new("moved_project");
    let session = world.session("Remember the word mango.", "I shall.");
    let now = world.home.root.join("elsewhere; a new one");
    fs::rename(&world.home.project, &now).unwrap();
    let refused = Running::start(in_folder(&world, &now, &["run", "--session-id", &session, "Which word?"])).ends();
    let refused = refused.exits(2).one_error().says(&["sessions move", &session]);
    let at = refused.stderr.find("soong-agent sessions move").unwrap();
    let command = refused.stderr[at..].lines().next().unwrap().split("; its folder").next().unwrap().trim().to_owned();
    // As it is printed, in a shell.
    let mut shell = world.home.command("sh");
    shell.args(["-c", &command.replacen("soong-agent", "\"$0\"", 1), BIN]).current_dir(&now);
    Running::start(shell).ends().exits(0).says(&["belongs to", "go on with: soong-agent run --path"]);
    world.server.push(Reply::text("Mango."));
    let ended = Running::start(in_folder(&world, &now, &["run", "--session-id", &session[..14], "Which word?"])).ends();
    ended.exits(0).answers("Mango.");
    assert!(world.server.requests().pop().unwrap().body.to_string().contains("mango"));
    let again = in_folder(&world, &now, &["sessions", "move", &session, "."]);
    Running::start(again).ends().exits(0).says(&["already"]);
    for (arguments, says) in [
        (["sessions", "move", "last", "."], "name the session"),
        (["sessions", "move", &session, "nowhere"], "does not exist"),
        (["sessions", "move", "sess_none", "."], "sess_none"),
    ] {
        Running::start(in_folder(&world, &now, &arguments)).ends().exits(2).one_error().says(&[says]);
    }
}

fn in_folder(world: &World, folder: &std::path::Path, arguments: &[&str]) -> std::process::Command {
    let mut command = world.agent(arguments);
    command.current_dir(folder);
    command
}

/// FND-71: in a current folder that is gone, what needs no project works.
#[test]
fn a_current_folder_that_is_gone() {
    let world = World::new("gone_folder");
    let session = world.session("hi", "Hello.");
    let gone = |arguments: &str| {
        let mut shell = world.home.command("sh");
        let script = format!("mkdir gone && cd gone && rmdir ../gone && exec \"$0\" {arguments}");
        shell.args(["-c", &script, BIN]);
        Running::start(shell).ends()
    };
    for arguments in [
        "sessions",
        &format!("replay {session}"),
        &format!("replay {session} --context"),
        "tools",
        "tools read_file",
        "config check",
        "config path",
        "memory list",
        &format!("cleanup session {session}"),
        "cleanup artifacts",
    ] {
        let ended = gone(arguments);
        assert_eq!(ended.code, 0, "{arguments}: {}", ended.stderr);
    }
    for arguments in ["run hi", "replay last"] {
        gone(arguments).exits(2).one_error().says(&["--path"]);
    }
}

/// FND-50: a project that was moved, and is named where it was: how the session is taken along is said, and only where one is to go on.
#[test]
fn a_path_that_is_gone() {
    let world = World::new("path_gone");
    let session = world.session("Remember the word mango.", "I shall.");
    let was = world.home.project.to_str().unwrap();
    fs::rename(was, world.home.root.join("elsewhere")).unwrap();
    let run = |arguments: &[&str]| {
        let arguments = [&["run", "--path", was], arguments, &["Which word?"]].concat();
        Running::start(in_folder(&world, &world.home.root, &arguments)).ends().exits(2).one_error()
    };
    run(&["--session-id", &session]).says(&[&format!("soong-agent sessions move {session} NEW-PATH")]);
    run(&["--session-id", "last"])
        .says(&["soong-agent sessions move SESSION NEW-PATH", "`soong-agent sessions` lists"]);
    run(&[]).says(&["name an existing folder"]).never_says(&["sessions move"]);
    let moved = in_folder(&world, &world.home.root, &["sessions", "move", &session, "elsewhere"]);
    Running::start(moved).ends().exits(0).says(&["belongs to"]);
}
