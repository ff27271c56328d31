//! Files that are damaged, foreign or newer (STO-4, STO-5, DB-04).

use std::fs;
use std::time::Duration;

use agent_protocol::ErrorCode;
use agent_store::{SessionStore, StoreError};
use rusqlite::Connection;

use crate::support::{Place, Writing, new_session};

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
    assert!(matches!(error, StoreError::NewerVersion { found: 99, known: 1, .. }), "{error:?}");
    assert_eq!(error.code(), ErrorCode::MigrationFailed);
}

/// A session with data on every kind of page.
async fn filled() -> Vec<u8> {
    let place = Place::new("damage-maker");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    for n in 1..=60 {
        store.commit(&writing.lease, writing.turn(n)).await.unwrap();
    }
    store.close().await;
    fs::read(place.database()).unwrap()
}

/// What a user does with an old session: open, read, go on.
async fn use_it(place: &Place) -> Result<(), StoreError> {
    let store = place.try_open(Duration::from_secs(5)).await?;
    let used = async {
        let (session, lease) = store.claim_session(&agent_protocol::SessionId::parse("sess_1").unwrap()).await?;
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
    const PAGE: usize = 4096;
    let good = filled().await;
    let (mut noticed, pages) = (0, good.len() / PAGE);
    for page in 0..pages {
        let place = Place::new("damage");
        fs::create_dir(place.folder.join("home")).unwrap();
        let mut bytes = good.clone();
        for (at, byte) in bytes[page * PAGE..][..PAGE].iter_mut().enumerate() {
            *byte = (at * 31 + 0xA5) as u8;
        }
        fs::write(place.database(), &bytes).unwrap();
        if let Err(error) = use_it(&place).await {
            assert_eq!(error.code(), ErrorCode::StorageError, "page {page}: {error:?}");
            let named = error.to_string().contains("sessions.sqlite") || matches!(error, StoreError::CorruptRow { .. });
            assert!(named, "page {page}: {error}");
            noticed += 1;
        }
        assert!(fs::metadata(place.database()).unwrap().len() >= good.len() as u64, "page {page}");
        fs::remove_dir_all(&place.folder).unwrap();
    }
    // The pages of what was not asked for (artifacts, blobs, file versions) may well be damaged unnoticed.
    assert!(noticed + 6 >= pages, "{noticed} of {pages} damaged pages were noticed");
}
