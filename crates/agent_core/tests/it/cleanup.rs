//! Clearing away (STO-12, ART-3), and that nothing goes by itself (ART-4).

use std::path::{Path, PathBuf};

use agent_core::archive::{ArtifactCleanup, CleanupReason, CleanupResult, TaskCleanup};
use agent_core::error::{ArchiveError, ErrorCode, RuntimeError, StoreError};
use agent_core::event::Timestamp;
use agent_core::id::ArtifactId;
use agent_core::{AgentRuntime, StartOptions};
use agent_testkit::{Protocol, Reply};

use crate::archive::archive;
use crate::stored::{Stored, big_call, big_tool};
use crate::support::{World, run, run_in, whole};

/// Every file below a folder, but what belongs to the database and the locks.
fn files(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![below.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name() != Some("lock".as_ref()) && !path.to_string_lossy().contains("sessions.sqlite") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

async fn opened(world: &World) -> AgentRuntime {
    world.builder().tool(big_tool()).build().await.unwrap()
}

/// STO-12: a session goes with all that is stored of it and its files; others, memory, plans and task WALs stay.
#[tokio::test]
async fn a_session_is_deleted() {
    let world = World::new("deleted", Protocol::OpenAi).await;
    for kept in ["home/memory/facts.md", "home/plans/plan.md", "home/tasks/project/task.jsonl"] {
        world.home.write(kept, "keep me");
    }
    world.server.script([
        big_call(),
        Reply::text("Found."),
        big_call(),
        Reply::text("Found."),
        Reply::text("Still here."),
    ]);
    let runtime = opened(&world).await;
    let doomed = run(&runtime, "Find it.").await;
    let other = run(&runtime, "Find it, too.").await;
    let before = files(&world.home.home);
    let deleted = runtime.delete_session(&doomed.session_id).await.unwrap();
    assert_eq!((deleted.runs, deleted.agents, deleted.nodes, deleted.artifacts), (1, 1, 4, 1));
    assert!(deleted.events > 5 && deleted.bytes > 1000 && deleted.failures.is_empty(), "{deleted:?}");
    let gone = world.home.home.join("sessions").join(doomed.session_id.as_str());
    assert!(!gone.exists());
    let kept: Vec<_> = before.into_iter().filter(|path| !path.starts_with(&gone)).collect();
    assert_eq!(files(&world.home.home), kept);

    let error = runtime.replay_session(&doomed.session_id, None, None, true).await.err().unwrap();
    assert!(matches!(error, RuntimeError::Store(StoreError::SessionNotFound { .. })), "{error}");
    let options = StartOptions { session_id: Some(doomed.session_id.clone()), mode: None };
    assert!(runtime.start("Hello?", options).await.is_err());
    assert_eq!(whole(runtime.list_sessions(10, 0).await.unwrap()).len(), 1);
    run_in(&runtime, &other.session_id, "Still there?").await.assert_completed();
    runtime.close().await;
}

/// STO-12: while a run is at work or queued its session stays, whoever works; the owner is named.
#[tokio::test]
async fn sessions_at_work_stay() {
    let world = World::new("at_work", Protocol::OpenAi).await;
    let stored = Stored::open(&world.home.home).await;
    let kept = stored.session("theirs", "Work.").await;
    let (artifact, file) = stored.artifact(&kept, None, 10).await;
    let (reply, gate) = Reply::text("Slow.").gated();
    world.server.script([reply, Reply::text("Second.")]);
    let runtime = opened(&world).await;
    let first = runtime.start("Slow?", StartOptions::default()).await.unwrap();
    let id = first.session_id().clone();
    let second = runtime.start("Next?", StartOptions { session_id: Some(id.clone()), mode: None }).await.unwrap();

    let busy = runtime.delete_session(&id).await.unwrap_err();
    assert!(matches!(busy, RuntimeError::SessionBusy { .. }) && busy.code() == ErrorCode::SessionActive, "{busy}");
    let mine = archive(&world).await;
    for error in [
        RuntimeError::from(mine.delete_session(&id).await.unwrap_err()),
        mine.delete_session(kept.id()).await.unwrap_err().into(),
        runtime.delete_session(kept.id()).await.unwrap_err(),
        runtime.delete_artifact(&artifact).await.unwrap_err(),
    ] {
        assert_eq!(error.code(), ErrorCode::SessionActive);
        assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    }
    assert!(file.exists());
    gate.release_all();
    for handle in [&first, &second] {
        assert_eq!(handle.wait().await.status.as_str(), "completed");
    }
    runtime.delete_session(&id).await.unwrap();
    let theirs = kept.id().clone();
    stored.die([kept]).await;
    let deleted = runtime.delete_artifact(&artifact).await.unwrap();
    assert_eq!((deleted.deleted, deleted.bytes), (vec![artifact.clone()], 10));
    assert!(!file.exists());
    assert!(matches!(
        runtime.delete_artifact(&artifact).await,
        Err(RuntimeError::Archive(ArchiveError::NotFound { kind: "artifact", .. }))
    ));
    mine.delete_session(&theirs).await.unwrap();
    mine.close().await;
    runtime.close().await;
}

fn chosen(result: &CleanupResult) -> Vec<(Option<&ArtifactId>, CleanupReason)> {
    result.candidates.iter().map(|candidate| (candidate.artifact_id.as_ref(), candidate.reason)).collect()
}

fn moment(seconds: u64) -> Timestamp {
    Timestamp::from_unix_millis(1_790_000_000_000 + seconds * 1000)
}

/// ART-3: a cleanup only looks unless told otherwise, covers what is for debugging unless told otherwise, and is narrowed by
/// age and size, the oldest first.
#[tokio::test]
async fn artifacts_are_cleaned_up() {
    let world = World::new("cleanup", Protocol::OpenAi).await;
    let stored = Stored::open(&world.home.home).await;
    let (one, two) = (stored.session("one", "Hi?").await, stored.session("two", "Hi?").await);
    let mut made = Vec::new();
    // Ten seconds apart, in turn in two sessions: 100, 200, … 600 bytes.
    for (n, kind) in (1..).zip([Some("debug"), None, Some("raw"), None, Some("debug"), Some("output")]) {
        stored.at(n as u64 * 10);
        let session = if n % 2 == 1 { &one } else { &two };
        made.push(stored.artifact(session, kind, n * 100).await);
    }
    let [a, b, c, d, e, f] = [0, 1, 2, 3, 4, 5].map(|n: usize| &made[n].0);
    let first = one.id().clone();
    for kept in [&one, &two] {
        stored.end(kept).await;
    }
    stored.die([one, two]).await;
    let archive = archive(&world).await;
    let (debug, asked) = (CleanupReason::DebugArtifact, CleanupReason::Asked);
    let (older, over) = (CleanupReason::Older, CleanupReason::OverMaxBytes);
    let none = ArtifactCleanup::default();
    assert!(none.dry_run && !none.include_all);
    let all = ArtifactCleanup { include_all: true, ..none.clone() };
    let table = [
        (none.clone(), vec![(a, debug), (c, debug), (e, debug)]),
        (all.clone(), vec![(a, debug), (b, asked), (c, debug), (d, asked), (e, debug), (f, asked)]),
        (ArtifactCleanup { session_id: Some(first), ..all.clone() }, vec![(a, debug), (c, debug), (e, debug)]),
        (ArtifactCleanup { older_than: Some(moment(30)), ..all.clone() }, vec![(a, older), (b, older)]),
        // 2100 bytes together.
        (ArtifactCleanup { max_bytes: Some(1800), ..all.clone() }, vec![(a, over), (b, over)]),
        (ArtifactCleanup { max_bytes: Some(1799), ..all.clone() }, vec![(a, over), (b, over), (c, over)]),
        (ArtifactCleanup { max_bytes: Some(2100), ..all.clone() }, vec![]),
        // 900 bytes of what is covered.
        (ArtifactCleanup { max_bytes: Some(800), ..none.clone() }, vec![(a, over)]),
        (
            ArtifactCleanup { max_bytes: Some(0), older_than: Some(moment(30)), ..all.clone() },
            vec![(a, over), (b, over)],
        ),
    ];
    let before = files(&world.home.home);
    for (options, expected) in table {
        let result = archive.cleanup_artifacts(&options).await.unwrap();
        let expected: Vec<_> = expected.into_iter().map(|(id, reason)| (Some(id), reason)).collect();
        assert_eq!(chosen(&result), expected, "{options:?}");
        assert_eq!((result.removed, result.failures.len(), result.dry_run), (0, 0, true));
        assert_eq!(result.bytes, result.candidates.iter().map(|candidate| candidate.bytes).sum::<u64>());
    }
    assert_eq!(files(&world.home.home), before, "nothing was deleted");

    let real = archive.cleanup_artifacts(&ArtifactCleanup { dry_run: false, ..none.clone() }).await.unwrap();
    assert_eq!((real.removed, real.bytes, real.candidates.len()), (3, 900, 3));
    let left: Vec<_> = made.iter().filter(|(_, file)| file.exists()).map(|(id, _)| id).collect();
    assert_eq!(left, [b, d, f]);
    let rest = archive.cleanup_artifacts(&all).await.unwrap();
    assert_eq!(chosen(&rest), [(Some(b), asked), (Some(d), asked), (Some(f), asked)], "their rows are gone, too");
    archive.close().await;
}

/// ART-1, ART-3: files that no artifact names are found and removed; artifacts whose file is gone are told; sessions in use
/// are passed over and named, and everything else is done all the same.
#[tokio::test]
async fn strays_and_sessions_in_use() {
    let world = World::new("strays", Protocol::OpenAi).await;
    let stored = Stored::open(&world.home.home).await;
    let (idle, used) = (stored.session("idle", "Hi?").await, stored.session("used", "Hi?").await);
    let (lost, file) = stored.artifact(&idle, Some("debug"), 10).await;
    std::fs::remove_file(file).unwrap();
    let (_, theirs) = stored.artifact(&used, Some("debug"), 20).await;
    let (stray, in_use) = (stored.stray(idle.id(), 30), stored.stray(used.id(), 40));
    let (idle_id, used_id) = (idle.id().clone(), used.id().clone());
    drop(idle);
    let archive = archive(&world).await;
    let dry = archive.cleanup_artifacts(&ArtifactCleanup::default()).await.unwrap();
    let reasons: Vec<_> = chosen(&dry).into_iter().map(|(_, reason)| reason).collect();
    assert!(reasons.contains(&CleanupReason::Stray) && reasons.contains(&CleanupReason::FileMissing), "{reasons:?}");
    assert!(stray.exists() && theirs.exists());

    let options = ArtifactCleanup { dry_run: false, ..ArtifactCleanup::default() };
    let real = archive.cleanup_artifacts(&options).await.unwrap();
    assert!(!stray.exists() && in_use.exists() && theirs.exists());
    assert_eq!(real.failures.iter().map(|failure| &failure.session_id).collect::<Vec<_>>(), [&used_id]);
    assert!(real.failures[0].message.contains(&std::process::id().to_string()), "{:?}", real.failures);
    assert_eq!((real.removed, real.bytes), (2, 30), "the row without a file, and the file without a row");
    let of_session = ArtifactCleanup { session_id: Some(idle_id), ..ArtifactCleanup::default() };
    assert!(archive.cleanup_artifacts(&of_session).await.unwrap().candidates.is_empty());
    assert!(matches!(archive.delete_artifact(&lost).await, Err(ArchiveError::NotFound { .. })));
    stored.die([used]).await;
    let rest = archive.cleanup_artifacts(&options).await.unwrap();
    assert_eq!((rest.removed, rest.bytes, rest.failures.len()), (2, 60, 0));
    archive.close().await;
}

/// ART-3: a runtime gives up its own idle sessions for a cleanup and goes on with them afterwards.
#[tokio::test]
async fn own_idle_sessions_are_no_hindrance() {
    let world = World::new("own_idle", Protocol::OpenAi).await;
    world.server.script([big_call(), Reply::text("Found."), Reply::text("On I go.")]);
    let runtime = opened(&world).await;
    let ran = run(&runtime, "Find it.").await;
    for (dry_run, removed) in [(true, 0), (false, 1)] {
        let options = ArtifactCleanup { dry_run, include_all: true, ..ArtifactCleanup::default() };
        let result = runtime.cleanup_artifacts(&options).await.unwrap();
        assert_eq!((result.candidates.len(), result.removed, result.failures.len()), (1, removed, 0));
    }
    run_in(&runtime, &ran.session_id, "Go on.").await.assert_completed();
    runtime.close().await;
}

/// ART-4: nothing goes by itself, whatever happens between two looks.
#[tokio::test]
async fn nothing_goes_by_itself() {
    let world = World::new("by_itself", Protocol::OpenAi).await;
    world.server.script([big_call(), Reply::text("Found."), big_call(), Reply::error(401, "no"), Reply::text("Hm.")]);
    let runtime = opened(&world).await;
    let ran = run(&runtime, "Find it.").await;
    run_in(&runtime, &ran.session_id, "Again.").await;
    let before = files(&world.home.home.join("sessions"));
    assert_eq!(before.len(), 2);
    runtime.close().await;
    drop(runtime);
    let runtime = opened(&world).await;
    run_in(&runtime, &ran.session_id, "And now?").await.assert_completed();
    runtime.list_sessions(10, 0).await.unwrap();
    runtime.replay_session(&ran.session_id, None, None, true).await.unwrap().collect().await.unwrap();
    runtime.cleanup_artifacts(&ArtifactCleanup { include_all: true, ..ArtifactCleanup::default() }).await.unwrap();
    runtime.close().await;
    assert_eq!(files(&world.home.home.join("sessions")), before);
}

/// ART-3: the logs of Tasks are those of the project that is named, whichever the runtime is for; by default nothing goes.
#[tokio::test]
async fn tasks_of_a_project() {
    let world = World::new("cleanup_tasks", Protocol::OpenAi).await;
    let runtime = opened(&world).await;
    for (project, file) in [("project", "sess_a/broken.wal.jsonl"), ("other", "sess_b/broken.wal.jsonl")] {
        world.home.write(format!("{project}/.soong-agent/tasks/{file}"), "no log\n");
        std::fs::create_dir(world.home.root.join(project).join(".soong-agent/tasks/sess_empty")).unwrap();
    }
    for (project, session) in [("project", "sess_a"), ("other", "sess_b")] {
        let project = world.home.root.join(project);
        let empty = project.join(".soong-agent/tasks/sess_empty");
        for dry_run in [true, false] {
            let options = TaskCleanup { dry_run, ..TaskCleanup::default() };
            assert_eq!(options == TaskCleanup::default(), dry_run);
            let result = runtime.cleanup_project_tasks(&project, &options).await.unwrap();
            assert_eq!((result.failures.len(), result.candidates.len()), (1, 1), "{result:?}");
            assert_eq!(result.failures[0].session_id.as_str(), session);
            assert_eq!(
                (result.candidates[0].reason, result.removed),
                (CleanupReason::EmptyFolder, u64::from(!dry_run))
            );
            assert_eq!(empty.exists(), dry_run);
        }
    }
    runtime.close().await;
}
