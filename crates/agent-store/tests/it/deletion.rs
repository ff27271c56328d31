//! Deleting sessions and artifacts (STO-12).

use std::fs;
use std::os::unix::fs::symlink;

use agent_protocol::{ArtifactId, EventDraft, EventType};
use agent_store::{
    ContentHash, ReplayCursor, ReplayPage, ReplayScope, SessionArchive, SessionFilter, SessionStore, SqliteStore,
    StoreError, Write,
};

use crate::child::Child;
use crate::support::{Place, Writing, fact, session_id, whole};

/// Everything a session has, each thing with this word in it.
async fn fill(place: &Place, store: &SqliteStore, name: &str, word: &str) -> Writing {
    let writing = Writing::begin(store, name).await;
    let mut artifact = writing.artifact(place, word);
    artifact.summary = Some(word.to_owned());
    let bytes = word.as_bytes();
    let event = EventDraft::raw(EventType::MessageCompleted, fact("text", word)).node(&writing.run.node(1));
    writing.say(store, 1, &[word, &format!("more {word}").repeat(3_000)]).await;
    let writes = vec![
        Write::Event(event),
        Write::Artifact(artifact),
        Write::Blob { hash: ContentHash::of(bytes), bytes: bytes.into() },
        Write::FileVersion { path: format!("{word}.txt"), hash: word.to_owned(), written: true },
    ];
    store.commit(&writing.lease, writing.commit(writes)).await.unwrap();
    writing
}

async fn everything(store: &SqliteStore, session: &str) -> ReplayPage {
    let scope = ReplayScope::Session { session_id: session_id(session), from_seq: None, to_seq: None, agent_id: None };
    store.replay(&scope, ReplayCursor::default()).await.unwrap()
}

/// The files of the home that contain this text.
fn files_with(place: &Place, text: &str) -> Vec<String> {
    fn walk(folder: &std::path::Path, text: &[u8], found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path(), text, found);
            } else if fs::read(entry.path()).unwrap().windows(text.len()).any(|piece| piece == text) {
                found.push(entry.file_name().into_string().unwrap());
            }
        }
    }
    let mut found = Vec::new();
    walk(&place.folder.join("home"), text.as_bytes(), &mut found);
    found.sort();
    found
}

/// STO-12: all of a session goes, and nothing of another one, its child included; what went is told.
#[tokio::test]
async fn a_session_is_deleted_with_all_that_belongs_to_it() {
    let place = Place::new("delete");
    let store = place.open().await;
    let gone = fill(&place, &store, "gone", "xyzzygoneword").await;
    let kept = fill(&place, &store, "kept", "xyzzykeptword").await;
    let sql = "UPDATE sessions SET parent_session_id = 'sess_gone' WHERE session_id = 'sess_kept'";
    place.raw().execute_batch(sql).unwrap();
    let before = everything(&store, "sess_kept").await;
    fs::write(place.sessions_dir().join("sess_gone/other"), "12345").unwrap();
    let run = gone.run.clone();

    let deleted = store.delete_session(gone.lease).await.unwrap();
    assert_eq!((deleted.nodes, deleted.events, deleted.runs, deleted.agents, deleted.artifacts), (2, 1, 1, 1, 1));
    assert_eq!((deleted.bytes, deleted.failures), (13 + 5, vec![]));
    assert_eq!(deleted.session_id, session_id("sess_gone"));
    let id = session_id("sess_gone");
    assert_eq!(store.session(&id).await.unwrap(), None);
    assert_eq!((store.run(&run).await.unwrap(), store.node(&run.node(1)).await.unwrap()), (None, None));
    assert!(store.events(&id, 0, 9).await.unwrap().is_empty() && whole(store.agents(&id).await.unwrap()).is_empty());
    assert_eq!(store.blob(&id, &ContentHash::of(b"xyzzygoneword")).await.unwrap(), None);
    assert!(store.file_versions(&id, &crate::support::agent_id("sess_gone")).await.unwrap().is_empty());
    assert!(store.written_files(&id).await.unwrap().is_empty());
    assert!(!place.sessions_dir().join("sess_gone").exists());
    let error = store.claim_session(&id, None).await.unwrap_err();
    assert!(matches!(error, StoreError::SessionNotFound { .. }), "{error:?}");

    assert_eq!(everything(&store, "sess_kept").await, before);
    let listed = whole(store.list_sessions(&SessionFilter::default(), 9, 0).await.unwrap());
    assert_eq!(listed.iter().map(|s| s.session.session_id.as_str()).collect::<Vec<_>>(), ["sess_kept"]);
    assert!(listed[0].session.parent_session_id.is_some() && before.artifacts[0].path.exists());
    store.commit(&kept.lease, kept.commit(vec![])).await.unwrap();
}

/// STO-12: no byte of it stays behind: not in the database, not in its log, not in the search index, not in files.
#[tokio::test]
async fn deleted_text_is_nowhere() {
    let place = Place::new("delete-bytes");
    let store = place.open().await;
    let kept = fill(&place, &store, "kept", "xyzzykeptword").await;
    let gone = fill(&place, &store, "gone", "xyzzygoneword").await;
    // Both grow side by side.
    for n in 3..60 {
        for (writing, word) in [(&kept, "xyzzykeptword"), (&gone, "xyzzygoneword")] {
            let text = format!("{word} and {}", "so on ".repeat(n as usize % 9 * 30));
            writing.say(&store, n, &[&text]).await;
        }
    }
    assert_eq!(whole(store.search("xyzzygoneword", &SessionFilter::default(), 9, 0).await.unwrap().hits).len(), 1);
    assert!(files_with(&place, "xyzzygoneword").len() > 1);
    let deleted = store.delete_session(gone.lease).await.unwrap();
    assert_eq!(deleted.failures, []);
    assert_eq!(files_with(&place, "xyzzygoneword"), Vec::<String>::new());
    assert_eq!(files_with(&place, "goneword"), Vec::<String>::new());
    assert_eq!(files_with(&place, "sess_gone"), Vec::<String>::new());
    assert!(files_with(&place, "xyzzykeptword").contains(&"sessions.sqlite".to_owned()));
    assert_eq!(whole(store.search("xyzzykeptword", &SessionFilter::default(), 9, 0).await.unwrap().hits).len(), 1);
    place.raw().execute_batch("INSERT INTO search_text (search_text) VALUES ('integrity-check')").unwrap();
}

/// STO-12: a reader that holds an older state does not keep the session from going.
#[tokio::test]
async fn a_reader_is_no_obstacle() {
    let place = Place::new("delete-reader");
    let store = place.open().await;
    let gone = fill(&place, &store, "gone", "word").await;
    let reader = place.raw();
    reader.execute_batch("BEGIN; SELECT count(*) FROM nodes").unwrap();
    assert_eq!(store.delete_session(gone.lease).await.unwrap().failures, []);
    assert_eq!(store.session(&session_id("sess_gone")).await.unwrap(), None);
    reader.execute_batch("COMMIT").unwrap();
}

/// STO-12: links in the folder are removed, and what they point at is not.
#[tokio::test]
async fn links_lead_nowhere() {
    let place = Place::new("delete-links");
    let store = place.open().await;
    let gone = fill(&place, &store, "gone", "word").await;
    let outside = place.folder.join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "kept").unwrap();
    let folder = place.sessions_dir().join("sess_gone");
    symlink(&outside, folder.join("artifacts/art_link")).unwrap();
    symlink(outside.join("file"), folder.join("link")).unwrap();
    assert_eq!(store.delete_session(gone.lease).await.unwrap().failures, []);
    assert!(!folder.exists() && outside.join("file").exists());
}

/// RUN-4: only the owner deletes; one that was taken over deletes nothing.
#[tokio::test]
async fn a_lost_fence_deletes_nothing() {
    let place = Place::new("delete-fence");
    let store = place.open().await;
    let old = fill(&place, &store, "1", "word").await;
    let before = everything(&store, "sess_1").await;
    fs::remove_file(place.lock_of("sess_1")).unwrap();
    let _heir = store.claim_session(old.session(), None).await.unwrap().lease;
    let ids = before.artifacts.iter().map(|row| row.artifact_id.clone()).collect();
    let error = store.delete_artifacts(&old.lease, ids).await.unwrap_err();
    assert!(matches!(error, StoreError::FenceLost { .. }), "{error:?}");
    let error = store.delete_session(old.lease).await.unwrap_err();
    assert!(matches!(error, StoreError::FenceLost { .. }), "{error:?}");
    assert_eq!(everything(&store, "sess_1").await, before);
    assert!(before.artifacts[0].path.exists());
}

/// While another process owns it, there is no lease to delete with; afterwards there is.
#[tokio::test]
async fn an_owned_session_cannot_be_deleted() {
    let place = Place::new("delete-owned");
    let store = place.open().await;
    drop(fill(&place, &store, "1", "word").await);
    let mut child = Child::start("hold 1", &place.folder);
    child.expect("held");
    let error = store.claim_session(&session_id("sess_1"), None).await.unwrap_err();
    assert!(matches!(error, StoreError::SessionActive { .. }), "{error:?}");
    child.kill();
    let lease = store.claim_session(&session_id("sess_1"), None).await.unwrap().lease;
    store.delete_session(lease).await.unwrap();
}

/// Artifacts go with row and file; those of other sessions and those that are not there are passed over.
#[tokio::test]
async fn artifacts_are_deleted() {
    let place = Place::new("delete-artifacts");
    let store = place.open().await;
    let (one, two) = (fill(&place, &store, "1", "xyzzyone").await, fill(&place, &store, "2", "xyzzytwo").await);
    let id = async |session| everything(&store, session).await.artifacts.remove(0).artifact_id;
    let (mine, other) = (id("sess_1").await, id("sess_2").await);
    let ids = vec![mine.clone(), other.clone(), ArtifactId::parse("art_none").unwrap(), mine.clone()];
    let deleted = store.delete_artifacts(&one.lease, ids).await.unwrap();
    assert_eq!((deleted.deleted, deleted.bytes, deleted.failures), (vec![mine.clone()], 8, vec![]));
    assert_eq!(store.artifact(&mine).await.unwrap(), None);
    assert!(!place.sessions_dir().join("sess_1/artifacts").join(mine.as_str()).exists());
    assert!(store.artifact(&other).await.unwrap().unwrap().path.exists());

    // A file that is gone already is no failure.
    fs::remove_dir_all(place.sessions_dir().join("sess_2/artifacts")).unwrap();
    let deleted = store.delete_artifacts(&two.lease, vec![other.clone()]).await.unwrap();
    assert_eq!((deleted.deleted, deleted.bytes, deleted.failures), (vec![other], 0, vec![]));
}
