//! `soong-agent tools`.

use crate::support::World;

fn stdout(world: &World, arguments: &[&str]) -> (i32, String, String) {
    let output = world.agent(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// TOL-4: every tool is listed, with whether it asks, or why it is not available.
#[test]
fn every_tool_is_listed() {
    let world = World::new("tools_listed");
    world.configure(
        "[tools]\ndisabled = [\"code.run_command\"]\n[tools.overrides.\"code.search\"]\npermission = \"write\"\n",
    );
    let (code, out, err) = stdout(&world, &["tools"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let line = |name: &str| out.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name}: {out}"));
    for (name, state) in [
        ("code.edit_file", "asks first"),
        ("code.list_dir", "no asking"),
        ("code.read_file", "no asking"),
        ("code.run_command", "not available: tools.disabled names it"),
        ("code.search", "asks first"),
        ("code.write_file", "asks first"),
    ] {
        assert!(line(name).contains(state), "{}", line(name));
    }
    // What other modes and parts have says whose it is.
    for (name, whose) in [
        ("agent.task_create", "for the Orchestrator (run --orchestrator)"),
        ("agent.task_get", "for the Orchestrator (run --orchestrator) and its workers"),
        ("agent.task_claim_step", "for workers of an Orchestrator (run --orchestrator)"),
    ] {
        assert!(line(name).trim_end().ends_with(whose), "{}", line(name));
    }
    assert!(!out.contains("this mode"), "{out}");
    // PRM-11: what the permissions deny in every case is not available either.
    world.configure("[permissions]\nreadonly_default = \"deny\"\n");
    let (_, out, _) = stdout(&world, &["tools"]);
    assert_eq!(out.matches("not available: [permissions] deny every call of it").count(), 3, "{out}");
    assert!(!world.home.home.join("sessions.sqlite").exists(), "looking creates nothing");
}

#[test]
fn one_tool_has_a_page() {
    let world = World::new("tools_page");
    let (code, out, _) = stdout(&world, &["tools", "code.read_file"]);
    assert_eq!(code, 0);
    for part in ["## code.read_file", "- `path` (string, required)", "1 to 1000, default 200", "runs unasked"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert_eq!(stdout(&world, &["tools", "read_file"]).1, out, "the short name is enough");
    let (code, out, err) = stdout(&world, &["tools", "code.raed\u{1b}[2J"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("there is no tool") && err.contains("code.read_file") && !err.contains('\u{1b}'), "{err}");
}
