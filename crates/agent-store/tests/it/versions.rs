//! Versions of files, each agent's own (COD-5), and what all of them wrote (INS-6).

use agent_protocol::RunStatus;
use agent_store::{FileVersion, SessionStore, Write};

use crate::support::{Internal, Place, Writing};

fn version(path: &str, hash: &str, written: bool) -> Write {
    Write::FileVersion { path: path.into(), hash: hash.into(), written }
}

fn short(versions: &[FileVersion]) -> Vec<(&str, &str, &str, bool)> {
    versions.iter().map(|v| (v.path.as_str(), v.agent_id.as_str(), v.hash.as_str(), v.written)).collect()
}

/// COD-5: what one agent has seen says nothing about what another one has.
#[tokio::test]
async fn versions_are_each_agents_own() {
    let place = Place::new("versions");
    let store = place.open().await;
    let root = Writing::begin(&store, "1").await;
    let child = Internal::new(&root, "child", RunStatus::Running);
    store.commit(&root.lease, child.commit(child.rows.clone())).await.unwrap();
    let seen = vec![version("b", "1", false), version("a", "1", false)];
    store.commit(&root.lease, root.commit(seen)).await.unwrap();
    store.commit(&root.lease, child.commit(vec![version("a", "2", true)])).await.unwrap();

    let of_root = store.file_versions(root.session(), &root.agent()).await.unwrap();
    assert_eq!(short(&of_root), [("a", "agent_of_sess_1", "1", false), ("b", "agent_of_sess_1", "1", false)]);
    let of_child = store.load_agent(root.session(), &child.agent).await.unwrap().file_versions;
    assert_eq!(short(&of_child), [("a", "agent_child", "2", true)]);
    assert_eq!(store.written_files(root.session()).await.unwrap(), of_child);
    let other = Writing::begin(&store, "2").await;
    assert_eq!(store.written_files(other.session()).await.unwrap(), []);
    assert_eq!(store.file_versions(other.session(), &root.agent()).await.unwrap(), []);
}

/// What an agent wrote stays written by it as long as it sees nothing else there.
#[tokio::test]
async fn what_was_written_stays_written_until_it_changes() {
    let place = Place::new("versions-written");
    let store = place.open().await;
    let root = Writing::begin(&store, "1").await;
    for (hash, written, expected) in [
        ("1", false, false),
        ("1", true, true),
        ("1", false, true),
        ("2", false, false),
        ("1", false, false),
        ("3", true, true),
        ("4", true, true),
        ("4", false, true),
    ] {
        store.commit(&root.lease, root.commit(vec![version("a", hash, written)])).await.unwrap();
        let versions = store.file_versions(root.session(), &root.agent()).await.unwrap();
        assert_eq!(short(&versions), [("a", "agent_of_sess_1", hash, expected)]);
        let listed = store.written_files(root.session()).await.unwrap();
        assert_eq!(listed.len(), usize::from(expected), "{hash} {written}");
    }
}

/// What agents wrote is found whoever of them did, each with its own.
#[tokio::test]
async fn all_writers_of_a_file_are_told() {
    let place = Place::new("versions-writers");
    let store = place.open().await;
    let root = Writing::begin(&store, "1").await;
    let child = Internal::new(&root, "child", RunStatus::Running);
    store.commit(&root.lease, child.commit(child.rows.clone())).await.unwrap();
    store.commit(&root.lease, root.commit(vec![version("b", "2", true), version("a", "1", true)])).await.unwrap();
    let both = vec![version("a", "3", true), version("c", "1", false)];
    store.commit(&root.lease, child.commit(both)).await.unwrap();
    let written = store.written_files(root.session()).await.unwrap();
    let expected = [("a", "agent_child", "3"), ("a", "agent_of_sess_1", "1"), ("b", "agent_of_sess_1", "2")];
    assert_eq!(short(&written), expected.map(|(path, agent, hash)| (path, agent, hash, true)));
}
