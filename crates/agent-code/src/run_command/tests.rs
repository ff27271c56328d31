mod grants;
mod reach;
mod secrets;
mod session;
mod ties;

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    sync::Arc,
    time::{Duration, Instant},
};

use agent_protocol::ErrorCode;
use agent_redact::KnownSecrets;
use agent_tool::{ProgressSink, Tool, testing::Shelf};
use serde_json::{Value, json};

use super::*;
use crate::{
    testing::{self, Tree, block_on, data},
    tool::Blocking,
};

/// What a call takes that waits for a child it should not wait for, and far less than that, for a machine at work.
const LONG_MS: u64 = 60_000;
const SOON: Duration = Duration::from_secs(20);

const SECRET: &str = "sk-QWERTYUIOPasdfghjkl";

fn run(tree: &Tree, argv: &[&str]) -> Value {
    tree.ok(RunCommand, json!({"argv": argv}))
}

fn output(tree: &Tree, arguments: Value) -> ToolOutput {
    block_on(tree.call(RunCommand, arguments))
}

fn sh(script: &str) -> Value {
    json!({"argv": ["sh", "-c", script]})
}

fn with_shelf(name: &str) -> (Tree, Arc<Shelf>) {
    let shelf = Arc::new(Shelf::default());
    let mut tree = Tree::new(name);
    tree.context = testing::context_with(Arc::clone(&shelf));
    tree.context.secrets = KnownSecrets::new([("API_KEY", SECRET)]).unwrap();
    (tree, shelf)
}

/// COD-7: the contract's result; the project is the working directory, and nothing goes through a shell.
#[test]
fn the_contracts_result() {
    let tree = Tree::new("run");
    assert_eq!(
        run(&tree, &["printf", "%s|", "$HOME", "a b", "*"]),
        json!({
            "exit_code": 0, "stdout": "$HOME|a b|*|", "stderr": "", "stdout_artifact_id": null,
            "stderr_artifact_id": null, "truncated": false,
        })
    );
    assert_eq!(run(&tree, &["pwd"])["stdout"], format!("{}\n", tree.project().display()));
    tree.file("sub/x", "");
    let there = tree.ok(RunCommand, json!({"argv": ["pwd"], "cwd": "sub"}));
    assert_eq!(there["stdout"], format!("{}/sub\n", tree.project().display()));
}

/// RUN-13: a code other than 0 is a result.
#[test]
fn a_failing_command_is_a_result() {
    let tree = Tree::new("run-code");
    let ran = tree.ok(RunCommand, sh("echo out; echo err >&2; exit 3"));
    assert_eq!((&ran["exit_code"], &ran["stdout"], &ran["stderr"]), (&json!(3), &json!("out\n"), &json!("err\n")));
}

/// COD-7: the environment is what was handed in, and git asks nobody.
#[test]
fn the_environment_is_what_was_handed_in() {
    let tree = Tree::new("run-env");
    let ran = run(&tree, &["env"]);
    let mut names: Vec<&str> =
        ran["stdout"].as_str().unwrap().lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    let editors_and_pagers =
        ["EDITOR", "GIT_EDITOR", "GIT_PAGER", "GIT_SEQUENCE_EDITOR", "MANPAGER", "PAGER", "SYSTEMD_PAGER", "VISUAL"];
    let ours = ["GIT_TERMINAL_PROMPT", "PATH", agent_exec::CALL_MARKER];
    let mut expected = [&ours[..], &editors_and_pagers].concat();
    expected.sort_unstable();
    assert_eq!(names, expected);
    let facts = tree.facts(RunCommand, json!({"argv": ["env"]}));
    assert_eq!(facts.command.unwrap().env_names.len(), expected.len() - 1);
}

/// EXEC-01: a child that stays neither holds the call nor stays, and the next call does not notice.
#[test]
fn background_children_do_not_hold_the_call() {
    let tree = Tree::new("run-background");
    for script in ["(while :; do echo x; sleep 0.1; done) & echo done", "sleep 600 & echo done"] {
        let started = Instant::now();
        let ran = tree.ok(RunCommand, json!({"argv": ["sh", "-c", script], "timeout_ms": LONG_MS}));
        assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
        assert_eq!(ran["exit_code"], 0);
        let stdout = ran["stdout"].as_str().unwrap();
        // The loop may be faster than the shell.
        assert!(stdout.trim_start_matches("x\n").starts_with("done\n"), "{ran}");
        assert_eq!(ran["note"], "processes it had left running were ended");
        let next = run(&tree, &["echo", "next"]);
        assert_eq!((&next["stdout"], &next["note"]), (&json!("next\n"), &Value::Null));
    }
}

/// EXEC-02, ERR-6: a timeout is a failure that keeps what was printed, and ends the whole group.
#[cfg(target_os = "linux")]
#[test]
fn a_timeout_keeps_what_was_printed() {
    let tree = Tree::new("run-timeout");
    let script = "echo $$; echo begun >&2; sleep 300 | cat";
    let started = Instant::now();
    let output = output(&tree, json!({"argv": ["sh", "-c", script], "timeout_ms": 1000}));
    assert!(started.elapsed() >= Duration::from_secs(1) && started.elapsed() < SOON, "{:?}", started.elapsed());
    let error = output.error.clone().unwrap();
    assert_eq!((error.code, &error.details["timeout_ms"]), (ErrorCode::Timeout, &json!(1000)));
    let ran = data(&output);
    assert_eq!((&ran["exit_code"], &ran["stderr"]), (&Value::Null, &json!("begun\n")));
    assert_eq!(running_in_group(ran["stdout"].as_str().unwrap().trim()), [""; 0]);
}

/// The processes of a group that are not merely waiting to be collected by whoever adopted them.
#[cfg(target_os = "linux")]
fn running_in_group(group: &str) -> Vec<String> {
    let stats =
        fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let in_group = |stat: &String| {
        // After the name, which is in parentheses: state, parent, group.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        fields.get(2) == Some(&group) && fields.first().is_some_and(|state| !matches!(*state, "Z" | "X"))
    };
    stats.filter(in_group).collect()
}

/// RUN-18: a cancelled command is an error with what was captured.
#[test]
fn a_cancelled_command_keeps_what_was_printed() {
    let mut tree = Tree::new("run-cancel");
    let (sink, mut views) = ProgressSink::channel();
    tree.context.progress = sink;
    let output = block_on(async {
        let cancel = tree.context.cancel.clone();
        let call = tree.call(RunCommand, sh("echo begun; sleep 300"));
        let watch = async {
            while !views.borrow_and_update().get("stdout_tail").is_some_and(|tail| tail == "begun\n") {
                views.changed().await.unwrap();
            }
            cancel.cancel();
        };
        futures::join!(call, watch).0
    });
    assert_eq!(output.error.as_ref().unwrap().code, ErrorCode::Cancelled);
    assert_eq!(data(&output)["stdout"], "begun\n");
    assert_eq!((&output.metadata["aborted"], &output.metadata["partial"]), (&json!(true), &json!(true)));
}

/// EXEC-04: there is nothing to read.
#[test]
fn nothing_is_read() {
    let tree = Tree::new("run-stdin");
    let ran = run(&tree, &["cat"]);
    assert_eq!((&ran["exit_code"], &ran["stdout"]), (&json!(0), &json!("")));
    assert_eq!(tree.ok(RunCommand, sh("read x; echo got:$x"))["stdout"], "got:\n");
}

/// EXEC-06, ART-2: beyond the limit an output goes on into an artifact; the result keeps head and tail.
#[test]
fn big_outputs_become_artifacts() {
    let (mut tree, shelf) = with_shelf("run-big");
    tree.limits.stdout_bytes = 1000;
    let output = output(&tree, sh("echo HEAD; head -c 500000 /dev/zero | tr '\\0' x; echo TAIL; echo END >&2"));
    let ran = data(&output);
    assert_eq!((&ran["exit_code"], &ran["stderr"], &ran["truncated"]), (&json!(0), &json!("END\n"), &json!(true)));
    let text = ran["stdout"].as_str().unwrap();
    assert!(text.len() <= 1000 && text.starts_with("HEAD\n") && text.ends_with("TAIL\n"), "{text}");
    assert!(text.contains("bytes omitted"));
    assert!(ran["stdout_omitted_bytes"].as_u64().unwrap() > 499_000);
    let id = ran["stdout_artifact_id"].as_str().unwrap();
    let (name, whole) = shelf.get(id);
    assert_eq!((name.as_str(), whole.len()), ("stdout.txt", 500_010));
    assert_eq!(output.artifacts().map(|artifact| artifact.artifact_id.as_str()).collect::<Vec<_>>(), [id]);
    assert_eq!(shelf.count(), 1);
}

/// ART-2: an output that is only a little too big is stored and cut just the same.
#[test]
fn outputs_a_little_too_big_are_stored() {
    let (mut tree, shelf) = with_shelf("run-little");
    tree.limits.stdout_bytes = 1000;
    let ran = tree.ok(RunCommand, sh("head -c 3000 /dev/zero | tr '\\0' x"));
    assert!(ran["stdout"].as_str().unwrap().len() <= 1000);
    assert_eq!(shelf.get(ran["stdout_artifact_id"].as_str().unwrap()).1.len(), 3000);
}

/// ART-2: what an artifact does not take is counted and told.
#[test]
fn artifacts_are_bounded() {
    let (mut tree, shelf) = with_shelf("run-bounded");
    tree.limits.stdout_bytes = 1000;
    tree.limits.artifact_max_bytes = 100_000;
    let ran = tree.ok(RunCommand, sh("head -c 500000 /dev/zero | tr '\\0' x"));
    assert_eq!(shelf.get(ran["stdout_artifact_id"].as_str().unwrap()).1.len(), 100_000);
    assert_eq!(ran["note"], "stdout.txt holds the first 100000 bytes");
}

/// EXEC-12: standard error is bounded like standard output.
#[test]
fn standard_error_is_bounded() {
    let (mut tree, _) = with_shelf("run-stderr");
    tree.limits.artifact_max_bytes = 1_000_000;
    let output = output(&tree, json!({"argv": ["sh", "-c", "yes e >&2"], "timeout_ms": 1000}));
    let ran = data(&output);
    assert_eq!((output.error.unwrap().code, &ran["truncated"]), (ErrorCode::Timeout, &json!(true)));
    assert!(ran["stderr"].as_str().unwrap().len() <= 65_536);
}

/// EXEC-07: death by a signal is a failure that names it.
#[test]
fn death_by_a_signal_is_a_failure() {
    let tree = Tree::new("run-signal");
    for (signal, code, name) in [("KILL", 137, "SIGKILL"), ("SEGV", 139, "SIGSEGV")] {
        let output = output(&tree, sh(&format!("ulimit -c 0; kill -{signal} $$")));
        let ran = data(&output);
        assert_eq!((&ran["exit_code"], &ran["signal"]), (&json!(code), &json!(name)));
        let error = output.error.unwrap();
        assert!(error.message.contains(name), "{error}");
        assert_eq!(error.details["kind"], "signal");
    }
}

/// EXEC-09, COD-11: commands start in the project or a write root, by whole components and after all links; unasked.
#[test]
fn working_directories_are_bounded() {
    let tree = Tree::new("run-cwd");
    fs::create_dir(tree.root.join("ws-evil")).unwrap();
    tree.file("sub/x", "");
    tree.link("/etc", "link");
    let evil = tree.root.join("ws-evil").display().to_string();
    let marker = tree.root.join("ran");
    let touch = |cwd: &str| json!({"argv": ["touch", marker], "cwd": cwd});
    for cwd in [evil.as_str(), "../ws-evil", "sub/../..", "link", "../ws-evil/missing"] {
        tree.refused(RunCommand, touch(cwd), ErrorCode::WriteOutsideAllowedRoots);
        assert!(!marker.exists(), "{cwd}: nothing was started");
    }
    let message = tree.refused(RunCommand, touch("missing"), ErrorCode::FileNotFound);
    assert!(!marker.exists());
    assert!(message.starts_with("the working directory missing does not exist"), "{message}");
    tree.refused(RunCommand, touch("sub/x"), ErrorCode::ValidationError);
    assert!(!marker.exists());
}

/// EXEC-14: no shell is ever added, and whoever meant one is told.
#[test]
fn no_shell_is_added() {
    let tree = Tree::new("run-argv");
    let message = tree.refused(RunCommand, json!({"argv": ["ls -la"]}), ErrorCode::ValidationError);
    assert!(message.contains("contains a space") && message.contains("\"sh\", \"-c\""), "{message}");
    for argv in [json!([]), json!([""]), json!(["ls", "a\0b"])] {
        tree.refused(RunCommand, json!({"argv": argv}), ErrorCode::ValidationError);
    }
    assert_eq!(run(&tree, &["ls", "-la", "|", "wc"])["exit_code"], 2);
    let data = tree.file("data.csv", "touch ran\n1,2\n");
    fs::set_permissions(data, fs::Permissions::from_mode(0o755)).unwrap();
    let message = tree.refused(RunCommand, json!({"argv": ["./data.csv"]}), ErrorCode::ValidationError);
    assert!(message.contains("has no `#!` line"), "{message}");
    assert!(!tree.project().join("ran").exists());
    let message = tree.refused(RunCommand, json!({"argv": ["no-such-program"]}), ErrorCode::FileNotFound);
    assert!(message.contains("was not found"), "{message}");
}

/// COD-11: times beyond the configured one are refused.
#[test]
fn times_are_bounded() {
    let mut tree = Tree::new("run-times");
    tree.limits.max_timeout = Duration::from_secs(1);
    tree.limits.default_timeout = Duration::from_millis(500);
    let arguments = json!({"argv": ["true"], "timeout_ms": 1001});
    tree.refused(RunCommand, arguments, ErrorCode::ValidationError);
    tree.refused(RunCommand, json!({"argv": ["sleep", "60"]}), ErrorCode::Timeout);
}

/// COD-7: a search path that means the folder a command is in would run what lies there.
#[test]
fn only_absolute_folders_are_searched() {
    let tree = Tree::new("run-path");
    let planted = tree.file("ls", "#!/bin/sh\ntouch ran\n");
    fs::set_permissions(planted, fs::Permissions::from_mode(0o755)).unwrap();
    for path in [":/usr/bin:/bin", ".:/usr/bin:/bin", "/usr/bin::/bin", "/usr/bin:/bin:", "ws:/usr/bin:/bin", ":"] {
        let mut settings = tree.settings();
        settings.path_var = path.into();
        settings.env = vec![("PATH".into(), path.into()), ("PWD".into(), "/".into())];
        let tool = Blocking::new(RunCommand(Workspace::new(settings)));
        for argv in [["/bin/sh", "-c", "ls"], ["/usr/bin/env", "ls", "."], ["/bin/sh", "-c", "echo $PATH"]] {
            let arguments = testing::object(json!({"argv": argv}));
            let output =
                block_on(async { tool.prepare(arguments, tree.context.clone()).await.unwrap().call.run().await });
            let ran = data(&output);
            assert_eq!(ran["exit_code"], 0, "{path} {argv:?}: {ran}");
            assert!(!tree.project().join("ran").exists(), "{path} {argv:?}");
        }
    }
}

/// COD-7: what is printed is seen while the command runs, without secrets.
#[test]
fn output_is_seen_live() {
    let (mut tree, _) = with_shelf("run-live");
    let (sink, mut views) = ProgressSink::channel();
    tree.context.progress = sink;
    let gate = tree.project().join("go");
    let view = block_on(async {
        let script = format!("echo {SECRET}; until [ -e go ]; do sleep 0.05; done");
        let call = tree.call(RunCommand, sh(&script));
        let watch = async {
            views.changed().await.unwrap();
            fs::write(&gate, "").unwrap();
            views.borrow().clone()
        };
        let (output, view) = futures::join!(call, watch);
        assert_eq!(output.error, None);
        view
    });
    assert_eq!((&view["stdout_tail"], &view["stdout_bytes"]), (&json!("[secret API_KEY]\n"), &json!(SECRET.len() + 1)));
}

/// PRM-4: the facts hold what a grant is tied to: the program's content, that of files the model may have written, and the state of
/// files elsewhere.
#[test]
fn the_facts_name_the_code() {
    let tree = Tree::new("run-facts");
    let script = tree.file("bin/run.sh", "#!/bin/sh\necho $1\n");
    let config = tree.file("c.toml", "x");
    fs::write(tree.root.join("outside/lib"), "x").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let outside = tree.root.join("outside/lib").display().to_string();
    let argv = ["bin/run.sh", "plain", "--config=c.toml", "c.toml", &outside, "bin"];
    let facts = tree.facts(RunCommand, json!({"argv": argv}));
    let command = facts.command.unwrap();
    assert_eq!((&command.program, &command.cwd), (&script, &tree.project()));
    let code: Vec<_> = command.code.iter().map(|file| (file.path.clone(), file.writable)).collect();
    let folder = script.parent().unwrap().to_owned();
    let (shell, lib) = (fs::canonicalize("/bin/sh").unwrap(), tree.root.join("outside/lib"));
    assert_eq!(code, [(script, true), (shell, false), (config, true), (lib, false), (folder, true)]);
    let named: Vec<_> = command.named.iter().map(|target| target.requested.as_str()).collect();
    assert_eq!(named, ["/bin/sh", "c.toml", outside.as_str(), "bin"]);
    assert_eq!(command.untied, None);
    assert_eq!(command.code[2].hash, blake3::hash(b"x").to_string());
    assert!(facts.preview.starts_with("bin/run.sh plain --config=c.toml"), "{}", facts.preview);
    let facts = tree.facts(RunCommand, json!({"argv": ["sh", "-c", "true"]}));
    let command = facts.command.unwrap();
    assert_eq!(command.program, fs::canonicalize("/bin/sh").unwrap());
    assert_eq!(
        command.code.iter().map(|file| (&file.path, file.writable)).collect::<Vec<_>>(),
        [(&command.program, false)]
    );
}

/// TOL-9: what was decided about is what runs: a script, a link or a folder that changes meanwhile does not.
#[test]
fn a_swap_between_the_phases_runs_nothing() {
    let tree = Tree::new("run-swap");
    let evil = "touch ../outside/ran\n";
    let script = tree.file("s.sh", "echo fine\n");
    tree.file("evil.sh", format!("#!/bin/sh\n{evil}"));
    for name in ["evil.sh", "s.sh"] {
        fs::set_permissions(tree.project().join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    tree.file("d/x", "");
    tree.link("s.sh", "link.sh");
    let check = |arguments: Value, swap: &dyn Fn()| {
        let output = block_on(async {
            let prepared = tree.prepare(RunCommand, arguments.clone()).await.unwrap();
            swap();
            prepared.call.run().await
        });
        assert_eq!(output.error.unwrap().code, ErrorCode::PathConflict, "{arguments}");
        assert!(!tree.root.join("outside/ran").exists());
    };
    check(json!({"argv": ["./link.sh"]}), &|| {
        fs::remove_file(tree.project().join("link.sh")).unwrap();
        symlink("evil.sh", tree.project().join("link.sh")).unwrap();
    });
    check(json!({"argv": ["sh", "s.sh"]}), &|| fs::write(&script, evil).unwrap());
    check(json!({"argv": ["pwd"], "cwd": "d"}), &|| {
        fs::rename(tree.project().join("d"), tree.project().join("e")).unwrap();
        symlink(tree.root.join("outside"), tree.project().join("d")).unwrap();
    });
    let elsewhere = tree.root.join("outside/there.sh");
    fs::write(&elsewhere, "echo fine\n").unwrap();
    check(json!({"argv": ["sh", elsewhere]}), &|| fs::write(&elsewhere, evil).unwrap());
}

/// RUN-12: after the end of its run a command does not start.
#[test]
fn a_late_command_does_not_start() {
    let tree = Tree::new("run-late");
    let output = block_on(async {
        let prepared = tree.prepare(RunCommand, json!({"argv": ["touch", "ran"]})).await.unwrap();
        tree.context.fence.close();
        prepared.call.run().await
    });
    assert_eq!(output.error.unwrap().code, ErrorCode::Cancelled);
    assert!(!tree.project().join("ran").exists());
}

/// A program that cannot be executed says so, and is no result.
#[test]
fn what_cannot_be_started_is_a_failure() {
    let tree = Tree::new("run-broken");
    let path = tree.file("no-interpreter", "#!/no/such/program\n");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    let error = tree.err(RunCommand, json!({"argv": ["./no-interpreter"]}));
    assert_eq!((error.code, &error.details["kind"]), (ErrorCode::FileNotFound, &json!("spawn")), "{error}");
    tree.file("plain", "x");
    tree.refused(RunCommand, json!({"argv": ["./plain"]}), ErrorCode::PermissionDenied);
}

/// FND-21: each output keeps its beginning and its end, however little room a result has; the rest is named with the way to
/// it.
#[test]
fn both_outputs_keep_their_ends() {
    let (mut tree, shelf) = with_shelf("run-both");
    let script = "i=0; while [ $i -lt 200 ]; do echo \"out line $i of a test run\"; echo \"err line $i of a build\" >&2; \
        i=$((i+1)); done; echo 'test result: FAILED'";
    let script = format!("echo 'error[E0425]: first' >&2; {script}");
    for room in [400, 1200, 3000, 8000, 65_536] {
        tree.context.result_bytes = room;
        let output = output(&tree, sh(&script));
        let ran = data(&output);
        let (stdout, stderr) = (ran["stdout"].as_str().unwrap(), ran["stderr"].as_str().unwrap());
        assert!(stdout.ends_with("test result: FAILED\n") && stdout.starts_with("out line 0 "), "{room}: {stdout}");
        assert!(
            stderr.starts_with("error[E0425]: first\n") && stderr.ends_with("err line 199 of a build\n"),
            "{stderr}"
        );
        assert!(stdout.len() + stderr.len() <= room, "{room}");
        assert_eq!(ran["truncated"], room < 8000 + 2000, "{room}");
        for artifact in output.artifacts() {
            let summary = artifact.summary.clone().unwrap();
            assert!(
                summary.contains(&format!("code.read_file {{\"path\":\"{}\",\"start_line\":", artifact.artifact_id)),
                "{summary}"
            );
            // The line it names is the first one that is not shown.
            let (name, whole) = shelf.get(artifact.artifact_id.as_str());
            let line: usize = summary.rsplit(':').next().unwrap().trim_end_matches('}').parse().unwrap();
            let shown = if name == "stdout.txt" { stdout } else { stderr };
            let whole = String::from_utf8(whole).unwrap();
            let before: String = whole.split_inclusive('\n').take(line - 1).collect();
            let (head, _) = shown.split_once("[…").unwrap();
            assert!(head.starts_with(&before) && head.lines().count() <= line, "{name} {line}: {shown}");
        }
        assert_eq!(output.artifacts().count() > 0, ran["truncated"] == true);
    }
}

/// FND-21: progress that was printed over does not crowd out the rest.
#[test]
fn progress_is_collapsed() {
    let (mut tree, shelf) = with_shelf("run-frames");
    tree.context.result_bytes = 1000;
    let script = "i=0; while [ $i -lt 500 ]; do printf '\\r%s of 500' $i; i=$((i+1)); done; printf '\\ndone\\n'";
    let ran = tree.ok(RunCommand, sh(script));
    assert_eq!((&ran["stdout"], &ran["truncated"]), (&json!("499 of 500\ndone\n"), &json!(false)));
    assert_eq!(ran["note"], "stdout without what was printed over (499 times)");
    assert_eq!(shelf.count(), 0);
}

/// FND-29: bytes that are no text, and control characters, are flagged.
#[test]
fn what_is_no_text_is_told() {
    let tree = Tree::new("run-lossy");
    let ran = run(&tree, &["printf", "a\\377b"]);
    assert_eq!((&ran["stdout"], &ran["lossy"]), (&json!("a\u{FFFD}b"), &json!(true)));
    assert!(ran["note"].as_str().unwrap().contains("stdout is not valid UTF-8"), "{ran}");
    let ran = tree.ok(RunCommand, sh("head -c 65536 /dev/zero"));
    assert_eq!((&ran["stdout"], &ran["truncated"]), (&json!("[␀ × 65536]"), &json!(false)));
    assert!(ran.to_string().len() < 400 && ran["note"].as_str().unwrap().contains("control characters"), "{ran}");
}

/// FND-64: of a command that failed, whichever way, people get the last lines; of one that did not, none.
#[test]
fn a_failed_command_has_a_tail_for_people() {
    let tree = Tree::new("run-tail");
    let lines = "i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); done";
    for (end, timeout) in [("exit 3", LONG_MS), ("kill -9 $$", LONG_MS), ("sleep 60", 4000)] {
        let arguments = json!({"argv": ["sh", "-c", format!("{lines}; echo why >&2; {end}")], "timeout_ms": timeout});
        let output = output(&tree, arguments);
        let tail = output.metadata["stdout_tail"].as_str().unwrap();
        assert!(tail.ends_with("line 299") && tail.lines().count() == 20 && tail.len() <= 2048, "{end}: {tail}");
        assert_eq!(output.metadata["stderr_tail"], "why");
    }
    let output = output(&tree, sh(lines));
    assert!(!output.metadata.contains_key("stdout_tail"), "{:?}", output.metadata);
}

/// FND-30: what was written for a shell is told, whether or not the program minded.
#[test]
fn words_for_a_shell_are_told() {
    let tree = Tree::new("run-no-shell");
    let ran = run(&tree, &["echo", "hello", ">", "out.txt"]);
    assert_eq!((&ran["exit_code"], &ran["stdout"]), (&json!(0), &json!("hello > out.txt\n")));
    assert!(ran["note"].as_str().unwrap().contains(r#"["sh","-c","echo hello > out.txt"]"#), "{ran}");
    assert!(!tree.project().join("out.txt").exists());
    for (argv, part) in [
        (json!(["export", "A=1"]), "a variable lasts for one command"),
        (json!(["A=1", "ls"]), r#"["env","A=1","ls"]"#),
    ] {
        let message = tree.refused(RunCommand, json!({"argv": argv}), ErrorCode::FileNotFound);
        assert!(message.contains("no shell is there") && message.contains(part), "{message}");
    }
}

/// FND-30: an unusable working directory is told by its parameter.
#[test]
fn the_working_directory_is_named() {
    let tree = Tree::new("run-cwd-name");
    tree.file("source/x", "");
    for (cwd, part) in [("", "cwd is empty"), ("a\0b", "cwd: the path holds a NUL"), ("sorce", "did you mean source?")]
    {
        let error = tree.err(RunCommand, json!({"argv": ["true"], "cwd": cwd}));
        assert!(error.message.contains(part), "{cwd:?}: {error}");
    }
}

/// FND-30: a line end that nobody sees is named where it keeps a script from starting.
#[test]
fn a_windows_line_end_of_a_script_is_named() {
    let tree = Tree::new("run-crlf");
    let script = tree.file("s.sh", "#!/bin/sh\r\necho hi\r\n");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).unwrap();
    let message = tree.refused(RunCommand, json!({"argv": ["./s.sh"]}), ErrorCode::FileNotFound);
    assert!(message.contains("carriage return") && message.contains("/bin/sh\\r"), "{message}");
}

/// FND-31: nothing waits in an editor or a pager.
#[test]
fn no_editor_is_started() {
    let tree = Tree::new("run-editor");
    let started = Instant::now();
    let ran =
        tree.ok(RunCommand, json!({"argv": ["sh", "-c", "sh -c \"$GIT_EDITOR\" editor file"], "timeout_ms": LONG_MS}));
    assert_eq!(ran["exit_code"], 1);
    assert!(ran["stderr"].as_str().unwrap().contains("no editor is started here"), "{ran}");
    for variable in ["EDITOR", "VISUAL"] {
        assert_eq!(tree.ok(RunCommand, sh(&format!("${variable} x")))["exit_code"], 1);
    }
    for variable in ["PAGER", "GIT_PAGER", "MANPAGER"] {
        assert_eq!(tree.ok(RunCommand, sh(&format!("echo text | ${variable}")))["stdout"], "text\n");
    }
    assert!(started.elapsed() < SOON);
}

/// FND-32: a program that is not there brings the names that were probably meant, or its words as they should have come.
#[test]
fn a_missing_program_names_the_next_call() {
    let tree = Tree::new("run-near");
    let message = tree.refused(RunCommand, json!({"argv": ["lss"]}), ErrorCode::FileNotFound);
    assert!(message.contains("did you mean") && message.contains("ls"), "{message}");
    let message = tree.refused(RunCommand, json!({"argv": ["ls -la src"]}), ErrorCode::ValidationError);
    assert!(message.contains(r#"["ls","-la","src"]"#), "{message}");
    let message = tree.refused(RunCommand, json!({"argv": ["sleep", "60"], "timeout_ms": 200}), ErrorCode::Timeout);
    assert!(message.contains("timeout_ms"), "{message}");
}
