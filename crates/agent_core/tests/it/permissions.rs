//! Asking before anything is changed.

use std::sync::Arc;

use agent_core::error::ErrorCode;
use agent_core::permission::{CallbackError, DecisionKind, PermissionCallback};
use agent_core::{EventType, PermissionDecision, PermissionRequest};
use agent_testkit::{Call, Protocol, Reply};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;

use crate::support::{World, run, run_in};

fn write(path: &str, content: &str) -> Call {
    Call::new("code.write_file", json!({"path": path, "content": content}))
}

/// PRM-2, PRM-5, PRM-6: a write asks with everything a person needs; allowed once, it happens once.
#[tokio::test]
async fn a_write_asks() {
    for &protocol in Protocol::ALL {
        let world = World::new("a_write_asks", protocol).await;
        world.server.script([
            Reply::text("").calls([write("one.txt", "1\n")]),
            Reply::text("").calls([write("two.txt", "2\n")]),
            Reply::text("Written."),
        ]);
        let (runtime, person) = world.answering(DecisionKind::AllowOnce).await;
        let ran = run(&runtime, "Write two files.").await;
        ran.assert_completed();
        assert_eq!((world.file("one.txt").as_deref(), world.file("two.txt").as_deref()), (Some("1\n"), Some("2\n")));
        let asked = person.asked();
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[0].tool_name, "code.write_file");
        assert!(asked[0].target_scope.as_ref().unwrap().ends_with("/one.txt"));
        assert!(asked[0].args_summary.contains("+1"), "{}", asked[0].args_summary);
        assert_eq!(ran.of_type(EventType::PermissionRequested).len(), 2);
        runtime.close().await;
    }
}

/// PRM-4, PRM-3: an allow for the session covers its folder for its tool, in memory only.
#[tokio::test]
async fn a_session_grant_is_narrow_and_in_memory() {
    let world = World::new("session_grant", Protocol::OpenAi).await;
    world.server.script([
        Reply::text("").calls([write("one.txt", "1")]),
        Reply::text("").calls([write("two.txt", "2")]),
        Reply::text("").calls([write("sub/three.txt", "3")]),
        Reply::text("Written."),
        Reply::text("").calls([write("four.txt", "4")]),
        Reply::text("Again."),
    ]);
    let (runtime, person) = world.answering(DecisionKind::AllowForSession).await;
    let ran = run(&runtime, "Write.").await;
    ran.assert_completed();
    let targets: Vec<_> = person.asked().iter().map(|asked| asked.target_scope.clone().unwrap()).collect();
    assert_eq!(targets.len(), 2, "{targets:?}");
    assert!(targets[0].ends_with("/one.txt") && targets[1].ends_with("/sub/three.txt"));
    runtime.close().await;
    drop(runtime);
    // PERM-14: after a restart it asks again.
    let (runtime, person) = world.answering(DecisionKind::Deny).await;
    run_in(&runtime, &ran.session_id, "Write four.").await.assert_completed();
    assert_eq!(person.asked().len(), 1);
    assert_eq!(world.file("four.txt"), None);
    runtime.close().await;
}

/// PRM-5, PRM-8, RUN-13: without anybody to ask, a write is denied and the later calls of the reply are skipped.
#[tokio::test]
async fn nobody_to_ask() {
    for &protocol in Protocol::ALL {
        let world = World::new("nobody_to_ask", protocol).await;
        world.server.script([
            Reply::text("").calls([write("a.txt", "a"), Call::new("code.list_dir", json!({"path": "."}))]),
            Reply::text("I may not."),
        ]);
        let runtime = world.runtime().await;
        let ran = run(&runtime, "Write.").await;
        ran.assert_completed();
        assert_eq!(world.file("a.txt"), None);
        let denied = ran.of_type(EventType::ToolDenied);
        assert_eq!(denied[0].payload["error"]["code"], "permission_denied");
        assert_eq!(ran.of_type(EventType::ToolFailed)[0].payload["kind"], "skipped");
        runtime.close().await;
    }
}

/// COD-8, PATH-01, PATH-02, PATH-04: writes outside the roots, by any spelling or link, are not made.
#[tokio::test]
async fn writes_outside_are_not_made() {
    let world = World::new("writes_outside", Protocol::OpenAi).await;
    let outside = world.home.root.join("outside");
    let sibling = world.home.root.join("project2");
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::create_dir_all(&sibling).unwrap();
    let link =
        |from: &str, to: std::path::PathBuf| std::os::unix::fs::symlink(to, world.home.project.join(from)).unwrap();
    link("out", outside.clone());
    link("draft.txt", outside.join("new"));
    let absolute = outside.join("abs.txt").display().to_string();
    let paths = ["../project2/x", "a/../../project2/x", "out/x", "out/new/deep/x", "draft.txt", &absolute];
    for path in paths {
        world.server.push(Reply::text("").calls([write(path, "x")]));
    }
    world.server.push(Reply::text("Enough."));
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Write outside.").await;
    ran.assert_completed();
    let codes: Vec<_> =
        ran.of_type(EventType::ToolDenied).iter().map(|event| event.payload["error"]["code"].clone()).collect();
    assert_eq!(codes, vec![json!(ErrorCode::WriteOutsideAllowedRoots.as_str()); paths.len()]);
    for folder in [outside, sibling] {
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "{}", folder.display());
    }
    runtime.close().await;
}

/// PATH-09, COD-8: our own home is never written, even inside the project and whatever is answered.
#[tokio::test]
async fn our_home_is_never_written() {
    let world = World::new("our_home", Protocol::OpenAi).await;
    let config = world.home.home.join("config.toml");
    let before = std::fs::read(&config).unwrap();
    let targets = ["config.toml", "hooks.json", "sessions.sqlite", "tools/x.json"];
    for target in targets {
        let path = world.home.home.join(target).display().to_string();
        let call = Call::new("code.write_file", json!({"path": path, "content": "evil", "overwrite": true}));
        world.server.push(Reply::text("").calls([call]));
    }
    world.server.push(Reply::text("No."));
    let person = Arc::new(AllowAll);
    let runtime = world.builder().project_dir(&world.home.root).permission_callback(person).build().await.unwrap();
    let ran = run(&runtime, "Write home.").await;
    ran.assert_completed();
    // The database is not even looked at; the others are denied.
    assert_eq!(ran.of_type(EventType::ToolDenied).len(), targets.len() - 1);
    assert!(ran.of_type(EventType::ToolStarted).is_empty());
    assert_eq!(std::fs::read(&config).unwrap(), before);
    assert!(!world.home.home.join("hooks.json").exists() && !world.home.home.join("tools").exists());
    runtime.close().await;
}

struct AllowAll;

impl PermissionCallback for AllowAll {
    fn decide(&self, _: PermissionRequest) -> BoxFuture<'_, Result<PermissionDecision, CallbackError>> {
        async { Ok(PermissionDecision::new(DecisionKind::AllowForSession)) }.boxed()
    }
}

/// PRM-2, PATH-07, SRCH-07: secrets ask; a search that was not about them skips them.
#[tokio::test]
async fn secrets_ask() {
    let world = World::new("secrets_ask", Protocol::OpenAi).await;
    world.home.write("project/.env", "STRIPE=sk_live_x\n");
    world.home.write("project/a.txt", "STRIPE is a company\n");
    world.server.script([
        Reply::text("").calls([Call::new("code.read_file", json!({"path": ".env"}))]),
        Reply::text("").calls([Call::new("code.search", json!({"query": "STRIPE"}))]),
        Reply::text("").calls([Call::new("code.read_file", json!({"path": "/proc/self/environ"}))]),
        Reply::text("Done."),
    ]);
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Look for STRIPE.").await;
    ran.assert_completed();
    assert_eq!(ran.of_type(EventType::ToolDenied).len(), 2);
    let bodies: String = world.server.requests().iter().map(|request| request.body.to_string()).collect();
    assert!(!bodies.contains("sk_live_x") && bodies.contains("is a company"));
    runtime.close().await;
}

/// PRM-5: a callback that fails is a denial, and the timeline says so.
#[tokio::test]
async fn a_failing_callback_denies() {
    struct Broken;
    impl PermissionCallback for Broken {
        fn decide(&self, _: PermissionRequest) -> BoxFuture<'_, Result<PermissionDecision, CallbackError>> {
            async { Err(CallbackError("no window".into())) }.boxed()
        }
    }
    let world = World::new("failing_callback", Protocol::OpenAi).await;
    world.server.script([Reply::text("").calls([write("a.txt", "a")]), Reply::text("No.")]);
    let runtime = world.builder().permission_callback(Arc::new(Broken)).build().await.unwrap();
    let ran = run(&runtime, "Write.").await;
    ran.assert_completed();
    assert_eq!(ran.of_type(EventType::PermissionFailed).len(), 1);
    assert_eq!(world.file("a.txt"), None);
    runtime.close().await;
}

/// RUN-13: the command's exit code is a result, and a failed command does not stop later calls.
#[tokio::test]
async fn commands_and_exit_codes() {
    for &protocol in Protocol::ALL {
        let world = World::new("commands", protocol).await;
        let command = |argv: &[&str]| Call::new("code.run_command", json!({"argv": argv}));
        world.server.script([
            Reply::text("").calls([command(&["sh", "-c", "echo out; exit 3"]), command(&["sh", "-c", "echo second"])]),
            Reply::text("Ran."),
        ]);
        let (runtime, _) = world.answering(DecisionKind::AllowOnce).await;
        let ran = run(&runtime, "Run.").await;
        ran.assert_completed();
        assert_eq!(ran.of_type(EventType::ToolCompleted).len(), 2);
        let second = world.server.requests()[1].body.to_string();
        assert!(second.contains("exit_code") && second.contains("second"), "{second}");
        runtime.close().await;
    }
}

/// EVT-2, RUN-11: questions beside parallel calls: every event comes once and in order, and the run ends.
#[tokio::test]
async fn questions_beside_parallel_calls() {
    let world = World::new("questions_beside", Protocol::OpenAi).await;
    world.home.write("project/.env", "A=1\n");
    let mut calls = vec![Call::new("code.read_file", json!({"path": ".env"}))];
    for n in 0..10 {
        world.home.write(format!("project/f{n}"), "x\n");
        calls.push(Call::new("code.read_file", json!({"path": format!("f{n}")})));
    }
    for _ in 0..10 {
        world.server.script([Reply::text("").calls(calls.clone()), Reply::text("Read.")]);
        let (runtime, person) = world.answering(DecisionKind::AllowOnce).await;
        let ran = run(&runtime, "Read all.").await;
        ran.assert_completed();
        assert_eq!(person.asked().len(), 1);
        let seqs: Vec<_> = ran.events.iter().filter_map(|event| event.run_seq).collect();
        assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
        assert_eq!(ran.of_type(EventType::ToolCompleted).len(), 11);
        runtime.close().await;
    }
}
