//! Limits of the system on a process (FND-12, FND-72).

use std::process::Command;

use agent_testkit::Reply;

use crate::process::Running;
use crate::support::{BIN, World};

/// The command under a limit of the shell's.
fn under(world: &World, limit: &str, arguments: &str) -> Command {
    let mut command = world.home.command("sh");
    command.args(["-c", &format!("{limit}; exec \"$0\" {arguments}"), BIN]);
    command
}

/// The command where no thread can be started. Nothing limits root's threads, so it is another user's, who may read all files.
fn without_threads(world: &World, arguments: &str) -> Command {
    const CAPABILITIES: &str = "+dac_override,+dac_read_search";
    let mut command;
    if rustix::process::geteuid().is_root() {
        command = world.home.command("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.args(["--inh-caps", CAPABILITIES, "--ambient-caps", CAPABILITIES, "prlimit"]);
    } else {
        command = world.home.command("prlimit");
    }
    command.args(["--nproc=1:1", BIN]).args(arguments.split(' '));
    command
}

/// FND-12: however few files may be open, a command says so by the limit's name, or does its work; it never panics.
#[test]
fn few_descriptors() {
    let world = World::new("few_descriptors");
    world.session("hi", "Hello.");
    let mut told = 0;
    for limit in 4..60 {
        for arguments in ["run hi", "sessions", "replay last"] {
            if limit > 12 && limit % 8 != 0 {
                continue;
            }
            // A run that could not begin has used none.
            if arguments == "run hi" && world.server.unused_replies() == 0 {
                world.server.push(Reply::text("Hello again."));
            }
            let ended = Running::start(under(&world, &format!("ulimit -n {limit}"), arguments)).ends();
            let what = format!("ulimit -n {limit}, {arguments}: {ended:?}");
            assert!(!ended.stderr.contains("panicked") && (ended.code == 0 || ended.code == 1), "{what}");
            if ended.code == 1 {
                assert!(ended.stderr.contains("ulimit -n") || ended.stderr.contains("Too many open files"), "{what}");
                told += usize::from(ended.stderr.contains("ulimit -n"));
            }
        }
    }
    assert!(told > 20, "only {told} were told by the limit's name");
    if world.server.unused_replies() == 0 {
        world.server.push(Reply::text("Hello again."));
    }
    world.run(&["run", "hi"]).exits(0).answers("Hello again.");
}

/// FND-12: no thread can be started: exit 1 and the limit's name.
#[test]
fn no_threads() {
    let world = World::new("no_threads");
    world.session("hi", "Hello.");
    for arguments in ["run hi", "sessions", "replay last", "sessions repair"] {
        let ended = Running::start(without_threads(&world, arguments)).ends();
        assert!(!ended.stderr.contains("panicked"), "{arguments}: {}", ended.stderr);
        ended.exits(1).one_error().says(&["ulimit -u"]);
    }
}

/// FND-72: a limit on the size of files is called by its name, and no disk is called full for it, nor a migration failed.
#[test]
fn small_files() {
    for blocks in [0, 1, 8, 64, 100, 300, 400] {
        let world = World::new("small_files");
        world.server.push(Reply::text("Hello."));
        let ended = Running::start(under(&world, &format!("ulimit -f {blocks}"), "run hi")).ends();
        if ended.code != 0 {
            ended.exits(1).one_error().says(&["ulimit -f"]).never_says(&["is full", "migration"]);
        } else {
            assert!(blocks >= 300, "{blocks} blocks were enough");
        }
    }
}
