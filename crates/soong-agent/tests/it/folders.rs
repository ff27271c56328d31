//! Where the command is started, and which project it takes that for.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use agent_testkit::Reply;

use crate::process::{Ended, Running};
use crate::support::{BIN, World, calls, read};

const ABOVE: &str = "it lies in the project ~/project";

/// FND-73: in a folder of a project `last` is the project's session, which is said, and a run takes place in the project; with
/// `--path`, and in a repository of its own, it is not.
#[test]
fn the_project_above() {
    let world = World::new("project_above");
    world.home.write("project/sub/deep/a.txt", "x\n");
    let session = world.session("First.", "Well.");
    let deep = world.home.project.join("sub/deep");
    let below = |arguments: &[&str]| -> Ended {
        let mut command = world.agent(arguments);
        command.current_dir(&deep);
        Running::start(command).ends()
    };
    for arguments in
        [&["replay", "last"][..], &["cleanup", "session", "last"], &["cleanup", "artifacts", "--session", "last"]]
    {
        let ended = below(arguments).exits(0).says(&[ABOVE]);
        assert!(ended.stdout.contains(&session) || arguments[1] == "artifacts", "{ended:?}");
    }
    world.server.script([calls(read("sub/deep/a.txt")), Reply::text("Again.")]);
    let ended = below(&["run", "--session-id", "last", "And?"]).exits(0).answers("Again.");
    let ended = ended.says(&[ABOVE, "ok     code.read_file sub/deep/a.txt", "soong-agent run --path "]);
    assert_eq!(ended.session(), session);
    // One of its own is the last one, and nothing is said.
    world.server.push(Reply::text("Own."));
    let own = below(&["run", "Begin here."]).exits(0).session();
    assert!(below(&["replay", "last"]).exits(0).never_says(&[ABOVE]).stdout.contains(&own));
    for arguments in [&["replay", "last", "--path", ".."][..], &["run", "--path", "..", "--session-id", "last", "hi"]] {
        below(arguments).exits(2).one_error().says(&["there is no session of"]);
    }
    fs::create_dir_all(world.home.project.join("other/.git")).unwrap();
    let mut command = world.agent(["replay", "last"]);
    command.current_dir(world.home.project.join("other"));
    Running::start(command).ends().exits(2).one_error().says(&["there is no session of"]);
}

/// FND-72: the words that go on in a project whose path is no UTF-8 can be typed.
#[test]
fn a_project_that_is_no_text() {
    let world = World::new("project_bytes");
    let folder = world.home.root.join(OsStr::from_bytes(b"caf\xe9 it's"));
    fs::create_dir(&folder).unwrap();
    world.server.push(Reply::text("One."));
    let mut command = world.agent(["run", "--path"]);
    command.arg(&folder).arg("hi");
    let ended = Running::start(command).ends().exits(0).answers("One.");
    let typed =
        ended.stderr.lines().find_map(|line| line.strip_prefix("go on with: soong-agent ")).expect("it is said");
    world.server.push(Reply::text("Two."));
    let mut shell = world.home.command("bash");
    shell.args(["-c", &format!("\"$0\" {}", typed.replace('…', "And?")), BIN]);
    Running::start(shell).ends().exits(0).answers("Two.");
    // So can those of a refusal.
    let refused = world.run(&["run", "--session-id", &ended.session(), "hi"]);
    let option = refused.stderr.trim_end().rsplit_once("--path ").expect("it is said").1;
    let option = option.split_once("; to take it along").map_or(option, |(option, _)| option);
    let mut shell = world.home.command("bash");
    shell.args(["-c", &format!("cd {option} && pwd"), BIN]);
    let found = shell.output().unwrap().stdout;
    assert_eq!(found, [folder.as_os_str().as_bytes(), b"\n"].concat(), "{}", refused.stderr);
}
