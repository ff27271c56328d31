//! Files that are damaged, foreign or newer (STO-4, STO-5, DB-04).

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::time::Duration;

use agent_protocol::{ArtifactId, ErrorCode};
use agent_store::{
    ClaimedSession, ContentHash, ReplayCursor, ReplayScope, SessionArchive, SessionFilter, SessionStore, SqliteStore,
    StoreError, Write,
};
use rusqlite::Connection;

use crate::support::{Place, Writing, new_session, run_id, session_id};

/// Of the database.
const PAGE: usize = 4096;

/// Opens `bytes` as a database, expects a refusal, and that the file is byte for byte what it was.
async fn refused(name: &str, bytes: &[u8]) -> StoreError {
    let place = Place::new(name);
    fs::create_dir(place.folder.join("home")).unwrap();
    fs::write(place.database(), bytes).unwrap();
    let error = place.try_open(Duration::from_millis(100)).await.unwrap_err();
    assert!(fs::read(place.database()).unwrap() == bytes, "the file was changed");
    assert!(error.to_string().contains(&place.database().display().to_string()), "{error}");
    let left: Vec<_> =
        fs::read_dir(place.folder.join("home")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["sessions.sqlite"]);
    error
}

/// STO-5, DB-04: what is no database of ours is refused and never overwritten.
#[tokio::test]
async fn foreign_files_are_refused() {
    let text = "# notes\n".repeat(2_000);
    for (name, bytes) in [("text", text.as_bytes()), ("short", b"x"), ("zeros", &[0; 8192]), ("cut", b"SQLite form")] {
        let error = refused(name, bytes).await;
        assert!(matches!(error, StoreError::ForeignFile { .. }), "{name}: {error:?}");
        assert_eq!(error.code(), ErrorCode::StorageError);
    }
}

/// STO-5: another program's database too, even if its tables have our names.
#[tokio::test]
async fn another_programs_database_is_refused() {
    for (name, sql) in [
        (
            "foreign-tables",
            "CREATE TABLE schema_migrations (version INTEGER); INSERT INTO schema_migrations VALUES (1)",
        ),
        ("foreign-id", "PRAGMA application_id = 7"),
    ] {
        let maker = Place::new(name).folder.join("made.sqlite");
        Connection::open(&maker).unwrap().execute_batch(sql).unwrap();
        let error = refused(name, &fs::read(maker).unwrap()).await;
        assert!(matches!(error, StoreError::ForeignFile { .. }), "{name}: {error:?}");
    }
}

/// DB-04: an empty file is a new database.
#[tokio::test]
async fn an_empty_file_is_a_new_database() {
    let place = Place::new("empty");
    fs::create_dir(place.folder.join("home")).unwrap();
    fs::write(place.database(), "").unwrap();
    Writing::begin(&place.open().await, "1").await;
}

/// STO-4: a newer version's database is refused with both versions named, and left as it is.
#[tokio::test]
async fn a_newer_database_is_refused() {
    let place = Place::new("newer-maker");
    place.open().await.close().await;
    let raw = place.raw();
    raw.execute_batch("INSERT INTO schema_migrations VALUES (99, 'later', 'then')").unwrap();
    raw.close().unwrap();
    let error = refused("newer", &fs::read(place.database()).unwrap()).await;
    assert!(matches!(error, StoreError::NewerVersion { found: 99, known: 6, .. }), "{error:?}");
    assert_eq!(error.code(), ErrorCode::MigrationFailed);
}

/// A session with data on every kind of page, and its artifact.
async fn filled() -> (Vec<u8>, ArtifactId) {
    let place = Place::new("damage-maker");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    for n in 1..=60 {
        store.commit(&writing.lease, writing.turn(n)).await.unwrap();
    }
    let bytes = b"bytes"[..].into();
    let artifact = writing.artifact(&place, "x");
    let artifact_id = artifact.artifact_id.clone();
    let writes = vec![
        Write::Artifact(artifact),
        Write::Blob { hash: ContentHash::of(b"bytes"), bytes },
        Write::FileVersion { path: "a.txt".into(), hash: "1".into(), written: false },
    ];
    store.commit(&writing.lease, writing.commit(writes)).await.unwrap();
    store.search("text", &SessionFilter::default(), 9, 0).await.unwrap();
    store.close().await;
    (fs::read(place.database()).unwrap(), artifact_id)
}

/// The file with one page overwritten, in a place of its own.
fn damaged(name: &str, good: &[u8], page: usize) -> Place {
    let place = Place::new(name);
    fs::create_dir(place.folder.join("home")).unwrap();
    let mut bytes = good.to_vec();
    for (at, byte) in bytes[page * PAGE..][..PAGE].iter_mut().enumerate() {
        *byte = (at * 31 + 0xA5) as u8;
    }
    fs::write(place.database(), &bytes).unwrap();
    place
}

/// What a user does with an old session: open, read, go on.
async fn use_it(place: &Place) -> Result<(), StoreError> {
    let store = place.try_open(Duration::from_secs(5)).await?;
    let used = async {
        let ClaimedSession { row: session, lease, .. } =
            store.claim_session(&agent_protocol::SessionId::parse("sess_1").unwrap(), None).await?;
        let writing = Writing { lease, run: crate::support::run_id("run_1") };
        let path = store.load_path(&session.session_id, &writing.run.node(60)).await?;
        assert_eq!(path.len(), 60, "a damaged file must not look like a shorter session");
        assert_eq!(store.events(&session.session_id, 0, 100).await?.len(), 60);
        store.run(&writing.run).await?;
        store.commit(&writing.lease, writing.turn(61)).await?;
        store.create_session(new_session("sess_2")).await?;
        Ok(())
    };
    let used = used.await;
    store.close().await;
    used
}

/// DB-04, STO-5: whichever page of the file is overwritten, the answer is one `storage_error`, never an empty or a
/// shortened session, and the file is still there.
#[tokio::test]
async fn every_damaged_page_is_noticed() {
    let (good, _) = filled().await;
    let (mut noticed, pages) = (0, good.len() / PAGE);
    for page in 0..pages {
        let place = damaged("damage", &good, page);
        if let Err(error) = use_it(&place).await {
            assert_eq!(error.code(), ErrorCode::StorageError, "page {page}: {error:?}");
            let named = error.to_string().contains("sessions.sqlite") || matches!(error, StoreError::CorruptRow { .. });
            assert!(named, "page {page}: {error}");
            noticed += 1;
        }
        assert!(fs::metadata(place.database()).unwrap().len() >= good.len() as u64, "page {page}");
        fs::remove_dir_all(&place.folder).unwrap();
    }
    // The pages of what was not asked for (artifacts, blobs, file versions, children, lists, search, checkpoints) may well be damaged
    // unnoticed.
    assert!(noticed + 18 >= pages, "{noticed} of {pages} damaged pages were noticed");
}

/// What the archive does, by name; what it brings as text. Those at the end change the session.
async fn look_back(
    place: &Place,
    store: &SqliteStore,
    artifact: &ArtifactId,
) -> Vec<(&'static str, Result<String, StoreError>)> {
    fn text<T: Debug>(result: Result<T, StoreError>) -> Result<String, StoreError> {
        result.map(|value| format!("{value:?}"))
    }
    let (id, all) = (session_id("sess_1"), SessionFilter::default());
    let scope = ReplayScope::Session { session_id: id.clone(), from_seq: None, to_seq: None, agent_id: None };
    let run = run_id("run_1");
    let start = ReplayCursor::default();
    let mut done = vec![
        ("list_sessions", text(store.list_sessions(&all, 9, 0).await)),
        ("search", text(store.search("text", &all, 9, 0).await)),
        ("node", text(store.node(&run.node(60)).await)),
        ("runs", text(store.runs(&id, 9, 0).await)),
        ("agents", text(store.agents(&id).await)),
        ("load_agent", text(store.load_agent(&id, &crate::support::agent_id("sess_1")).await)),
        ("children", text(store.children(&run).await)),
        ("sessions_beginning", text(store.sessions_beginning("sess", 9).await)),
        ("last_question", text(store.last_question(&run).await)),
        ("replay", text(store.replay(&scope, start).await)),
        ("replay of a run", text(store.replay(&ReplayScope::Run(run.clone()), start).await)),
        ("artifacts", text(store.artifacts(&id, None, 9).await.map(|placed| placed.len()))),
        ("stray_files", text(store.stray_files(None).await)),
    ];
    let changing = async {
        let lease = store.claim_session(&id, None).await?.lease;
        let owner = store.owner(&id).await.map(|owner| owner.is_some());
        let activated = store.activate(&lease, &run.node(1)).await;
        let artifacts = store.delete_artifacts(&lease, vec![artifact.clone()]).await.map(|done| done.deleted.len());
        let session = store.delete_session(lease).await.map(|done| (done.nodes, done.events, done.failures));
        Ok::<_, StoreError>([
            ("owner", text(owner)),
            ("activate", text(activated)),
            ("delete_artifacts", text(artifacts)),
            ("delete_session", text(session)),
        ])
    };
    done.extend(changing.await.into_iter().flatten());
    // Artifacts' paths.
    let home = place.folder.display().to_string();
    done.into_iter().map(|(name, done)| (name, done.map(|value| value.replace(&home, "")))).collect()
}

/// DB-04: whichever page is damaged, each operation of the archive gives what it always gave, or one error that says so:
/// `corrupt_file`, or `corrupt_row` where the row is what cannot be read. Never an empty list.
#[tokio::test]
async fn the_archive_never_shows_less() {
    let (good, artifact) = filled().await;
    let whole = {
        let place = Place::new("archive-whole");
        fs::create_dir(place.folder.join("home")).unwrap();
        fs::write(place.database(), &good).unwrap();
        look_back(&place, &place.open().await, &artifact).await
    };
    assert_eq!(whole.len(), 17);
    let mut noticed = BTreeMap::new();
    for page in 0..good.len() / PAGE {
        let place = damaged("archive-damage", &good, page);
        let Ok(store) = place.try_open(Duration::from_secs(5)).await else { continue };
        for (name, done) in look_back(&place, &store, &artifact).await {
            let (_, expected) = whole.iter().find(|(whole, _)| *whole == name).unwrap();
            match done {
                Ok(value) if value == *expected.as_ref().unwrap() => {}
                Ok(value) => {
                    // FND-09: what is damaged is named beside what is not. Of a deleted session, that its traces are not gone.
                    let names_it =
                        ["CorruptFile", "CorruptRow", "is damaged"].iter().any(|words| value.contains(words));
                    let may = ["delete_session", "list_sessions", "search", "agents", "replay", "replay of a run"];
                    assert!(may.contains(&name) && names_it, "page {page}: {name}: {value:.300}");
                    *noticed.entry(name).or_insert(0) += usize::from(name != "delete_session");
                }
                Err(error) => {
                    let kind = error.payload().details["kind"].clone();
                    assert!(kind == "corrupt_file" || kind == "corrupt_row", "page {page}: {name}: {error:?}");
                    *noticed.entry(name).or_insert(0) += usize::from(kind == "corrupt_file");
                }
            }
        }
        store.close().await;
        fs::remove_dir_all(&place.folder).unwrap();
    }
    for name in [
        "list_sessions",
        "search",
        "node",
        "runs",
        "agents",
        "load_agent",
        "children",
        "sessions_beginning",
        "last_question",
        "replay",
        "replay of a run",
        "artifacts",
        "activate",
        "delete_artifacts",
        "delete_session",
    ] {
        assert!(noticed.get(name).is_some_and(|times| *times > 0), "{name} never met a damaged page: {noticed:?}");
    }
}
