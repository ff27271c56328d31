//! `scripts/test-runner`, through which cargo starts test programs, and `./test`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use agent_testkit::scratch;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

fn run(program: &Path, limit: &str) -> Output {
    let mut command = Command::new(repository().join("scripts/test-runner"));
    command.arg(program).args(["two words", ""]).env("SOONG_AGENT_TEST_LIMIT", limit).output().unwrap()
}

/// FND-60: cargo starts programs through the runner, from any folder of the repository.
#[test]
fn cargo_uses_it() {
    let config = fs::read_to_string(repository().join(".cargo/config.toml")).unwrap();
    let config: toml::Table = toml::from_str(&config).unwrap();
    let runner = config["target"]["cfg(unix)"]["runner"].as_str().unwrap();
    assert_eq!(runner, "scripts/test-runner");
    let mode = fs::metadata(repository().join(runner)).unwrap().permissions().mode();
    assert_eq!(mode & 0o111, 0o111);
}

/// FND-60, TST-9: a test program that hangs is ended, whatever it does about signals that can be ignored on its behalf.
#[test]
fn a_test_program_has_a_limit() {
    let hangs = scratch("runner-hangs").join("deps/hangs-0123");
    script(&hangs, "exec sleep 600");
    let output = run(&hangs, "0.05");
    assert_eq!(output.status.signal(), Some(14), "{output:?}");
}

/// A program that ends in time is what it would be without: arguments, exit code, ignored and default signals.
#[test]
fn nothing_else_is_changed() {
    let root = scratch("runner-same");
    for (path, limit) in [("deps/same-0123", "300"), ("deps/same-4567", "0"), ("debug/same", "0.001")] {
        script(&root.join(path), "printf '%s|' \"$#\" \"$@\"; grep SigIgn /proc/$$/status; exit 7");
        let output = run(&root.join(path), limit);
        let direct = Command::new(root.join(path)).args(["two words", ""]).output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{path}: {output:?}");
        assert_eq!(output.stdout, direct.stdout, "{path}");
        assert!(output.stdout.starts_with(b"2|two words||"), "{output:?}");
    }
}

/// `./test` with a cargo and a Python of ours, which fail as told and say what was not tried.
fn test_script(name: &str, cargo: &str, python: &str, skips: Option<&str>) -> (Output, PathBuf) {
    let root = scratch(name);
    script(&root.join("bin/cargo"), cargo);
    script(&root.join("bin/python3"), python);
    let path = format!("{}:{}", root.join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(repository().join("test"));
    command.env("PATH", path).env("HOME", &root).args(["-p", "some crate"]);
    for inherited in
        ["SOONG_AGENT_TEST_ROOT", "SOONG_AGENT_TEST_KEEP", "SOONG_AGENT_TEST_NOT_TRIED", "SOONG_AGENT_TEST_SKIPS"]
    {
        command.env_remove(inherited);
    }
    (command.envs(skips.map(|skips| ("SOONG_AGENT_TEST_SKIPS", skips))).output().unwrap(), root)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// FND-67: the suite asks that only what failed tests made is kept, says how much that is, and runs both parts whatever becomes of
/// the first.
#[test]
fn the_suite_says_what_it_left() {
    let cargo = "echo \"$SOONG_AGENT_TEST_KEEP $*\"; mkdir -p ~/.soong-agent/test-runs/run/kept; \
                 head -c 100000 /dev/zero >~/.soong-agent/test-runs/run/kept/data; exit 101";
    let (output, root) = test_script("suite-left", cargo, "echo scripts", None);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(stdout, "failed test --workspace --locked --no-fail-fast -p some crate\nscripts\n");
    let runs = root.join(".soong-agent/test-runs");
    assert!(said(&output).contains(&format!("in {} ", runs.display())), "{}", said(&output));
    assert!(said(&output).contains("run/kept") && said(&output).contains(" kB"), "{}", said(&output));

    let (output, root) = test_script("suite-nothing", "exit 0", "exit 0", None);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let runs = root.join(".soong-agent/test-runs");
    assert!(
        said(&output).ends_with(&format!("test: passed; nothing is left in {}\n", runs.display())),
        "{}",
        said(&output)
    );
    assert_eq!(fs::read_dir(runs).unwrap().count(), 0);
}

/// TST-10: what was not tried is shown at the end, each once; where a number is on record, another one is a failure.
#[test]
fn the_suite_counts_what_was_not_tried() {
    let cargo = "for x in a b a; do echo \"not tried by t: $x\" >>\"$SOONG_AGENT_TEST_NOT_TRIED\"; done";
    for (skips, code) in [(None, 0), (Some("2"), 0), (Some("0"), 1), (Some("3"), 1)] {
        let (output, _) = test_script("suite-skips", cargo, "exit 0", skips);
        assert_eq!(output.status.code(), Some(code), "{skips:?}: {output:?}");
        let told: Vec<_> =
            said(&output).lines().filter(|line| line.contains("not tried by")).map(str::to_owned).collect();
        assert_eq!(told, ["  not tried by t: a", "  not tried by t: b"]);
    }
    let (output, _) = test_script("suite-no-skips", "exit 0", "exit 0", Some("1"));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}
