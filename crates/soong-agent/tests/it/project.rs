//! The folder a run works on.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use agent_testkit::Reply;

use crate::process::Running;
use crate::support::{World, calls, read};

/// API-11: a folder, a file in it, a link to either and every relative spelling name the same project; a session of one
/// spelling goes on under another. The named file is not read.
#[test]
fn spellings_of_a_project() {
    for world in World::each("spellings") {
        world.home.write("project/sub/note.txt", "WHAT THE NOTE SAYS");
        symlink(world.home.project.join("sub"), world.home.root.join("link")).unwrap();
        let mut session = None;
        for path in ["sub", "sub/note.txt", "./sub/../sub/", "../link", "../link/note.txt"] {
            world.server.script([calls(read("note.txt")), Reply::text("Read.")]);
            let mut arguments = vec!["run", "--path", path, "What does the note say?"];
            arguments.extend(session.iter().flat_map(|session: &String| ["--session-id", session.as_str()]));
            let ended = world.run(&arguments).exits(0).says(&["ok     code.read_file note.txt"]).answers("Read.");
            assert_eq!(*session.get_or_insert(ended.session()), ended.session());
        }
        assert!(!world.server.requests()[0].body.to_string().contains("WHAT THE NOTE SAYS"));
    }
}

/// API-11: a folder that does not exist or cannot be read is a wrong argument; nothing is created.
#[test]
fn unusable_projects() {
    let world = World::new("unusable_projects");
    let locked = world.home.root.join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    for (path, reason) in [("no/such/folder", "No such file"), ("../locked", "Permission denied"), ("", "--path")] {
        let command = world.powerless(["run", "--path", path, "hi"]);
        Running::start(command).ends().exits(2).says(&[path, "--path", reason]);
    }
    assert_eq!(world.left_in_home(), Vec::<String>::new());
    assert_eq!(world.server.request_count(), 0);
}

/// COD-10: a session belongs to its project.
#[test]
fn a_session_of_another_project() {
    let world = World::new("other_project");
    fs::create_dir(world.home.root.join("other")).unwrap();
    world.server.push(Reply::text("Hello."));
    let session = world.run(&["run", "hi"]).exits(0).session();
    let project = world.home.project.display().to_string();
    world.run(&["run", "--path", "../other", "--session-id", &session, "hi"]).exits(2).one_error().says(&[&project]);
    assert_eq!(world.server.request_count(), 1);
    world.goes_on(&session);
}

/// API-11: nothing in a project is configuration, and no variable is taken from it (PATH-07, CFG-3).
#[test]
fn a_project_configures_nothing() {
    for world in World::each("project_configures_nothing") {
        world.configure("model.api_key_env = \"KEY_OF_THE_PROJECT\"");
        world.home.write("project/.env", "KEY_OF_THE_PROJECT=sk-from-dot-env\nSOONG_AGENT_HOME=/nowhere\n");
        for file in ["config.toml", "hooks.json", "mcp.json", "tools/x.json"] {
            world.home.write(format!("project/.soong-agent/{file}"), "rubbish {");
        }
        let ended = world.run(&["run", "hi"]).exits(1).one_error();
        let session = ended.says(&["KEY_OF_THE_PROJECT is not set", "model.api_key_env"]).session();
        assert_eq!(world.server.request_count(), 0);
        world.configure("");
        world.goes_on(&session);
    }
}

/// FND-15: a temporary file that a killed process left in the project is removed by the next run, whatever it is about.
#[test]
fn what_a_killed_run_left_goes() {
    let world = World::new("killed_left");
    let name = ".soong-agent-0123456789abcdef.tmp";
    world.home.write(format!("project/sub/{name}"), "half of it");
    world.home.write("project/sub/.soong-agent-0123456789abcdee.tmp", "of somebody else");
    let draft = world.home.project.join("sub").join(name);
    let found = fs::metadata(&draft).unwrap();
    let folder = fs::canonicalize(draft.parent().unwrap()).unwrap();
    let drafts = world.home.home.join("drafts");
    fs::create_dir_all(&drafts).unwrap();
    fs::write(drafts.join(name), format!("{} {}\n{}\n", found.dev(), found.ino(), folder.display())).unwrap();
    world.server.push(Reply::text("Hello."));
    world.run(&["run", "hi"]).exits(0).answers("Hello.");
    assert!(!draft.exists() && !drafts.exists());
    assert!(world.file("sub/.soong-agent-0123456789abcdee.tmp").is_some());
}
