//! Reading back what was stored, and rows that cannot be read.

use std::io::Write as _;
use std::sync::Arc;

use agent_protocol::{
    AgentId, AgentStatus, AgentType, ContentBlock, EndReason, ErrorCode, ErrorPayload, NodeId, Object, RunPatch,
    RunStatus, ToolCallId, Usage,
};
use agent_store::{ArtifactWriter, ContentHash, NewAgent, SessionStatus, SessionStore, StoreError, Write};
use serde_json::json;

use crate::support::{Place, Writing, node, session_id};

fn object(value: serde_json::Value) -> Object {
    value.as_object().unwrap().clone()
}

/// STO-7: a path is its own nodes only, root first; siblings and other sessions' nodes never join it.
#[tokio::test]
async fn a_path_has_no_siblings() {
    let place = Place::new("siblings");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let writes = vec![
        writing.node(1, 0),
        writing.node(2, 1),
        writing.node(3, 1),
        writing.node(4, 2),
        writing.node(5, 3),
        writing.node(6, 0),
    ];
    store.commit(&writing.lease, writing.commit(writes)).await.unwrap();
    for (leaf, expected) in [(5, vec![1, 3, 5]), (4, vec![1, 2, 4]), (1, vec![1]), (6, vec![6])] {
        let path = store.load_path(writing.session(), &writing.run.node(leaf)).await.unwrap();
        let seqs: Vec<_> = path.iter().map(|node| node.node_seq).collect();
        assert_eq!(seqs, expected);
        assert_eq!(path.last().unwrap().content[0], ContentBlock::text(format!("text {leaf}")));
    }
    let other = Writing::begin(&store, "2").await;
    for (session, leaf) in [(other.session(), writing.run.node(5)), (writing.session(), other.run.node(1))] {
        let error = store.load_path(session, &leaf).await.unwrap_err();
        assert!(matches!(error, StoreError::NotInSession { .. }), "{error:?}");
        assert_eq!(error.code(), ErrorCode::ValidationError);
    }
}

/// A path of pieces that lie far apart is whole all the same.
#[tokio::test]
async fn a_path_may_have_wide_gaps() {
    let place = Place::new("gaps");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let path = [1, 2, 40, 41, 45, 90];
    let parent = |n: u64| path.iter().rev().copied().find(|before| *before < n).unwrap_or(0);
    let writes = (1..=90).map(|n| writing.node(n, parent(n))).collect();
    store.commit(&writing.lease, writing.commit(writes)).await.unwrap();
    let loaded = store.load_path(writing.session(), &writing.run.node(90)).await.unwrap();
    assert_eq!(loaded.iter().map(|node| node.node_seq).collect::<Vec<_>>(), path);
}

/// STO-2: agents, runs and their changes.
#[tokio::test]
async fn agents_and_runs_change() {
    let place = Place::new("agents-runs");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let child = AgentId::parse("agent_child").unwrap();
    let new = NewAgent {
        agent_id: child.clone(),
        parent_agent_id: Some(writing.agent()),
        agent_type: AgentType::Fork,
        created_by_run_id: Some(writing.run.clone()),
        fork_from_node_id: Some(writing.run.node(1)),
        status: AgentStatus::Running,
        metadata: object(json!({"purpose": "compact"})),
    };
    let status = |status, result| Write::AgentStatus { agent_id: child.clone(), status, result };
    let error = ErrorPayload::new(ErrorCode::InternalError, "boom");
    let patch = RunPatch {
        status: RunStatus::Failed,
        end_reason: Some(EndReason::Failed),
        end_node_id: Some(writing.run.node(1)),
        turn_count: 3,
        usage: Usage { input_tokens: Some(5), ..Usage::default() },
        error: Some(error.clone()),
    };
    let writes = vec![
        Write::Agent(new.clone()),
        status(AgentStatus::Completed, Some(json!({"summary": "ok"}))),
        status(AgentStatus::Idle, None),
        Write::RunPatch(patch),
    ];
    assert_eq!(store.unfinished_runs(writing.session()).await.unwrap().len(), 1);
    store.commit(&writing.lease, writing.commit(writes)).await.unwrap();

    let agent = store.agent(&child).await.unwrap().unwrap();
    assert_eq!((agent.status, agent.result), (AgentStatus::Idle, Some(json!({"summary": "ok"}))));
    assert_eq!((agent.agent_type, agent.parent_agent_id), (AgentType::Fork, new.parent_agent_id));
    assert_eq!((agent.created_by_run_id, agent.fork_from_node_id), (new.created_by_run_id, new.fork_from_node_id));
    assert_eq!(agent.metadata, new.metadata);
    let run = store.run(&writing.run).await.unwrap().unwrap();
    assert_eq!((run.status, run.end_reason, run.turn_count), (RunStatus::Failed, Some(EndReason::Failed), 3));
    assert_eq!((run.start_node_id, run.end_node_id), (Some(writing.run.node(1)), Some(writing.run.node(1))));
    assert_eq!((run.usage.input_tokens, run.error), (Some(5), Some(error)));
    assert_eq!(store.unfinished_runs(writing.session()).await.unwrap(), []);
    let root = store.agent(&writing.agent()).await.unwrap().unwrap();
    assert_eq!((root.status, root.agent_type), (AgentStatus::Idle, AgentType::Main));
    assert_eq!(store.agent(&AgentId::parse("agent_none").unwrap()).await.unwrap(), None);
}

/// STO-13: bytes are stored once per session under their hash. COD-5: the last version of a file counts.
#[tokio::test]
async fn blobs_and_file_versions_are_kept() {
    let place = Place::new("blobs");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let bytes: Arc<[u8]> = b"system block"[..].into();
    let hash = ContentHash::of(&bytes);
    let blob = || Write::Blob { hash: hash.clone(), bytes: Arc::clone(&bytes) };
    let version = |path: &str, hash: &str| Write::FileVersion { path: path.into(), hash: hash.into(), written: false };
    let writes = vec![blob(), blob(), version("b.txt", "1"), version("a.txt", "2"), version("b.txt", "3")];
    store.commit(&writing.lease, writing.commit(writes)).await.unwrap();
    store.commit(&writing.lease, writing.commit(vec![blob()])).await.unwrap();
    assert_eq!(store.blob(writing.session(), &hash).await.unwrap().unwrap(), bytes);
    assert_eq!(store.blob(writing.session(), &ContentHash::of(b"")).await.unwrap(), None);
    assert_eq!(store.blob(&session_id("sess_2"), &hash).await.unwrap(), None);
    let versions = store.file_versions(writing.session(), &writing.agent()).await.unwrap();
    let versions: Vec<_> = versions.iter().map(|v| (v.path.as_str(), v.hash.as_str())).collect();
    assert_eq!(versions, [("a.txt", "2"), ("b.txt", "3")]);
}

/// ART-1: file and row find each other, also after the home has moved.
#[tokio::test]
async fn an_artifacts_row_leads_to_its_file() {
    let place = Place::new("artifact-row");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let mut file = ArtifactWriter::new(place.sessions_dir()).begin_artifact(writing.session(), "out.log").unwrap();
    file.write_all(b"all of it").unwrap();
    let mut new = file.finish();
    let id = new.artifact_id.clone();
    new.summary = Some("the output".into());
    new.mime_type = Some("text/plain".into());
    new.tool_call_id = Some(ToolCallId::parse("call_1").unwrap());
    store.commit(&writing.lease, writing.commit(vec![Write::Artifact(new)])).await.unwrap();
    let row = store.artifact(&id).await.unwrap().unwrap();
    assert_eq!(std::fs::read(&row.path).unwrap(), b"all of it");
    assert_eq!((row.filename.as_str(), row.size_bytes), ("out.log", 9));
    assert_eq!((row.agent_id, row.run_id), (Some(writing.agent()), Some(writing.run.clone())));
    store.close().await;

    let moved = Place { folder: place.folder.join("moved") };
    std::fs::create_dir(&moved.folder).unwrap();
    std::fs::rename(place.folder.join("home"), moved.folder.join("home")).unwrap();
    let row = moved.open().await.artifact(&id).await.unwrap().unwrap();
    assert_eq!(std::fs::read(&row.path).unwrap(), b"all of it");
}

/// Sessions are read with their status, and whoever has none is told so.
#[tokio::test]
async fn a_session_is_read_back() {
    let place = Place::new("session-row");
    let store = place.open().await;
    let mut new = crate::support::new_session("sess_1");
    new.metadata = object(json!({"title": "Ünïcode", "n": 1.5}));
    let _lease = store.create_session(new.clone()).await.unwrap();
    let session = store.session(&new.session_id).await.unwrap().unwrap();
    assert_eq!((session.status, session.cwd.as_str()), (SessionStatus::Active, "/project"));
    assert_eq!((session.root_agent_id, session.metadata), (new.root_agent_id, new.metadata));
    assert_eq!((session.active_node_id, session.parent_session_id), (None, None));
    assert_eq!(store.session(&session_id("sess_2")).await.unwrap(), None);
}

/// Contents of any size and kind come back as they were.
#[tokio::test]
async fn large_contents_come_back_whole() {
    let place = Place::new("large");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let text = "\u{0}line\u{1F600}\n".repeat(100_000);
    let id = NodeId::parse("node_big").unwrap();
    let big = Write::Node(node(id.clone(), None, &text));
    let committed = store.commit(&writing.lease, writing.commit(vec![big])).await.unwrap();
    assert_eq!(store.load_path(writing.session(), &id).await.unwrap(), committed.nodes);
}
