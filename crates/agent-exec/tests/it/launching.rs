//! What a program gets when it starts, and what happens when it cannot.

use crate::support::{command, finish, is_alive, sh, text, until, zombies};
use agent_exec::{CALL_MARKER, CommandSpec, ExecError, Exit, Stdin, run};
use agent_testkit::scratch;
use std::{
    fs::{self, OpenOptions, Permissions},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    time::Duration,
};
use tokio_util::sync::CancellationToken;

async fn fail(spec: CommandSpec) -> ExecError {
    run(spec, CancellationToken::new(), None).await.expect_err("the program cannot run")
}

/// EXEC-04: the program sees the end of its input at once, whatever ours is.
#[tokio::test]
async fn stdin_is_closed() {
    let cat = finish(command("/bin/cat", &["cat"])).await;
    assert_eq!((cat.exit, cat.stdout.total_bytes), (Exit::Code(0), 0));
    assert_eq!(text(&finish(sh("read x; echo got:$x")).await.stdout.kept), "got:\n");
}

#[tokio::test]
async fn stdin_can_be_given() {
    let bytes = |bytes: &[u8]| Stdin::Bytes(bytes.to_vec());
    let finished = finish(CommandSpec { stdin: bytes(b"a\xff\nb"), ..command("/bin/cat", &["cat"]) }).await;
    assert_eq!(finished.stdout.kept.joined(), b"a\xff\nb");
    let finished = finish(CommandSpec { stdin: bytes(b""), ..command("/bin/cat", &["cat"]) }).await;
    assert_eq!((finished.exit, finished.stdout.total_bytes), (Exit::Code(0), 0));
    // More than both pipes hold, in both directions at once.
    let much = vec![b'x'; 3 << 20];
    let finished = finish(CommandSpec { stdin: bytes(&much), ..command("/bin/cat", &["cat"]) }).await;
    assert_eq!((finished.exit, finished.stdout.total_bytes), (Exit::Code(0), much.len() as u64));
    // Not read to its end, which is no error.
    let finished = finish(CommandSpec { stdin: bytes(&much), ..sh("head -c 1; exec <&-; echo y") }).await;
    assert_eq!((finished.exit, text(&finished.stdout.kept).as_str()), (Exit::Code(0), "xy\n"));
}

/// COD-7: the environment is exactly what was given, and the marker.
#[tokio::test]
async fn nothing_is_inherited() {
    let env = vec![("B".into(), "2".into()), ("A".into(), "old".into()), ("A".into(), "1 \n".into())];
    let finished = finish(CommandSpec { env, ..command("/usr/bin/env", &["env", "-0"]) }).await;
    let output = text(&finished.stdout.kept);
    let (marker, others): (Vec<&str>, Vec<&str>) =
        output.split_terminator('\0').partition(|entry| entry.starts_with(CALL_MARKER));
    assert_eq!(others, ["A=1 \n", "B=2"]);
    assert_eq!(marker.len(), 1);
}

/// A program of ours inside a program of ours is found by both.
#[tokio::test]
async fn the_marker_is_passed_down() {
    let script = format!("echo ${CALL_MARKER}");
    let outer = text(&finish(sh(&script)).await.stdout.kept).trim().to_owned();
    let mut spec = sh(&script);
    spec.env.push((CALL_MARKER.into(), outer.clone().into()));
    let inner = text(&finish(spec).await.stdout.kept).trim().to_owned();
    let own = inner.strip_prefix(&format!("{outer}/")).expect("the outer id comes first");
    assert!(!own.is_empty() && own != outer);
}

#[tokio::test]
async fn the_program_leads_its_own_session_without_a_terminal() {
    let finished = finish(command("/bin/cat", &["cat", "/proc/self/stat"])).await;
    let stat = text(&finished.stdout.kept);
    let pid = stat.split(' ').next().unwrap();
    let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 1..].split_whitespace().collect();
    assert_eq!((fields[2], fields[3], fields[4]), (pid, pid, "0"), "group, session, terminal");
}

#[tokio::test]
async fn argv_is_passed_as_it_is() {
    let argv = ["not-sh", "-c", r#"printf '%s|' "$0" "$@""#, "own name", "a b", "*", "$HOME", "", "\u{e9}"];
    let finished = finish(command("/bin/sh", &argv)).await;
    assert_eq!(text(&finished.stdout.kept), "own name|a b|*|$HOME||\u{e9}|");
    let finished = finish(command("/bin/sh", &["not-sh", "-c", "echo $0"])).await;
    assert_eq!(text(&finished.stdout.kept), "not-sh\n");
}

/// EXEC-14: no shell is ever added, so a pipe is an argument like any other.
#[tokio::test]
async fn a_pipe_sign_is_an_argument() {
    let finished = finish(command("/bin/ls", &["ls", "-la", "|", "wc"])).await;
    assert_eq!(finished.exit, Exit::Code(2));
    assert!(text(&finished.stderr.kept).contains('|'));
}

/// EXEC-14: a text that is marked executable is not given to a shell, as the C library would; nor is what becomes one.
#[tokio::test]
async fn a_text_is_not_run_by_a_shell() {
    let folder = scratch("text");
    for (name, content) in [("data.csv", "touch ran\n1,2\n"), ("empty", ""), ("blank", "#!\ntouch ran\n")] {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        let error = fail(CommandSpec { cwd: folder.clone(), ..command(path.to_str().unwrap(), &[name]) }).await;
        assert!(matches!(error, ExecError::NoProgram { .. }), "{name}: {error}");
        assert!(error.to_string().contains("has no `#!` line"), "{error}");
    }
    assert!(!folder.join("ran").exists());
}

/// COD-7: the program starts in the very folder that was decided about, even when its path leads elsewhere by then.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_folder_that_is_held_is_the_one() {
    let root = scratch("held-cwd");
    let cwd = root.join("work");
    fs::create_dir(&cwd).unwrap();
    let held_cwd = Some(fs::File::open(&cwd).unwrap().into());
    fs::rename(&cwd, root.join("moved")).unwrap();
    fs::create_dir(&cwd).unwrap();
    let finished = finish(CommandSpec { cwd, held_cwd, ..sh("pwd; touch here") }).await;
    assert_eq!(text(&finished.stdout.kept), format!("{}\n", root.join("moved").display()));
    assert!(root.join("moved/here").exists());
}

/// EXEC-09: a missing working directory is not reported as a missing program.
#[tokio::test]
async fn a_bad_working_directory_is_named() {
    let folder = scratch("bad-cwd");
    let missing = folder.join("missing");
    let error = fail(CommandSpec { cwd: missing.clone(), ..sh("") }).await;
    assert!(matches!(&error, ExecError::Cwd { cwd, .. } if *cwd == missing));
    assert!(error.to_string().contains("working directory"));
    let file = folder.join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(fail(CommandSpec { cwd: file, ..sh("") }).await, ExecError::CwdNotDirectory { .. }));
    assert!(matches!(fail(CommandSpec { cwd: ".".into(), ..sh("") }).await, ExecError::CwdNotAbsolute { .. }));
}

#[tokio::test]
async fn a_bad_request_is_refused() {
    assert!(matches!(fail(command("/bin/sh", &[])).await, ExecError::EmptyArgv));
    assert!(matches!(fail(command("bin/sh", &["sh"])).await, ExecError::ProgramNotAbsolute { .. }));
    for name in ["", "A=B", "A\0"] {
        let env = vec![(name.into(), "1".into())];
        assert!(matches!(fail(CommandSpec { env, ..sh("") }).await, ExecError::EnvName { .. }), "{name:?}");
    }
    let env = vec![("A".into(), "1\0".into())];
    assert!(matches!(fail(CommandSpec { env, ..sh("") }).await, ExecError::Spawn { .. }));
    assert!(matches!(fail(command("/bin/sh", &["sh", "a\0b"])).await, ExecError::Spawn { .. }));
}

fn script(name: &str, first_line: &str) -> PathBuf {
    let path = scratch(name).join("tool");
    fs::write(&path, format!("{first_line}\necho ran\n")).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    path
}

#[tokio::test]
async fn a_missing_interpreter_is_told_from_a_missing_program() {
    let tool = script("no-interpreter", "#!/no/such/interpreter");
    let error = fail(command(tool.to_str().unwrap(), &["tool"])).await;
    assert!(matches!(error, ExecError::InterpreterMissing { .. }), "{error}");
    fs::remove_file(&tool).unwrap();
    let error = fail(command(tool.to_str().unwrap(), &["tool"])).await;
    assert!(matches!(error, ExecError::Spawn { .. }), "{error}");
}

/// A start that fails leaves no process, not even a dead one.
#[tokio::test]
async fn a_failed_start_leaves_nothing() {
    let tool = script("failed-start", "#!/no/such/interpreter");
    for _ in 0..5 {
        fail(command(tool.to_str().unwrap(), &["tool"])).await;
    }
    // Tests beside this one have zombies for a moment; one of ours would stay.
    let mut suspects = zombies();
    until("all zombies are collected", || {
        let now = zombies();
        suspects.retain(|pid| now.contains(pid) && !is_alive(*pid));
        suspects.is_empty()
    })
    .await;
}

/// A script that someone still writes is tried again for a moment.
#[tokio::test]
async fn a_busy_file_is_tried_again() {
    let tool = script("busy", "#!/bin/sh");
    let writer = OpenOptions::new().append(true).open(&tool).unwrap();
    let error = fail(command(tool.to_str().unwrap(), &["tool"])).await;
    assert!(
        matches!(&error, ExecError::Spawn { source, .. } if source.kind() == std::io::ErrorKind::ExecutableFileBusy),
        "{error}"
    );
    let closing = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(30)).await;
        drop(writer);
    });
    let finished = finish(command(tool.to_str().unwrap(), &["tool"])).await;
    assert_eq!(text(&finished.stdout.kept), "ran\n");
    closing.await.unwrap();
}
