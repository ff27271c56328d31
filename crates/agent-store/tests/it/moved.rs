//! A database that is not where it was, or not whole where it is (FND-04, FND-05).

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use agent_protocol::ErrorCode;
use agent_store::{Clock, SessionStore, SqliteStore, StoreError, StoreSettings};

use crate::support::{NOW, Place, Writing};

fn beside(place: &Place, suffix: &str) -> PathBuf {
    let mut path = place.database().into_os_string();
    path.push(suffix);
    path.into()
}

/// A place with a log of committed pages, as a killed process leaves it.
async fn killed(name: &str) -> (Place, Vec<u8>) {
    let living = Place::new(&format!("{name}-living"));
    let store = living.open().await;
    let writing = Writing::begin(&store, "1").await;
    store.commit(&writing.lease, writing.turn(1)).await.unwrap();
    let place = Place::new(name);
    fs::create_dir(place.folder.join("home")).unwrap();
    for suffix in ["", "-wal"] {
        fs::copy(beside(&living, suffix), beside(&place, suffix)).unwrap();
    }
    let log = fs::read(beside(&place, "-wal")).unwrap();
    assert!(log.len() > 4096, "the commits are in the log");
    (place, log)
}

/// FND-04: a log without its database is refused, by whoever runs and whoever looks, and stays as it is; with the database back
/// it is read.
#[tokio::test]
async fn a_log_without_its_database_stays() {
    let (place, log) = killed("log-alone").await;
    let away = place.folder.join("away.sqlite");
    for step in ["moved away", "gone through a link", "cut to nothing"] {
        match step {
            "moved away" => fs::rename(place.database(), &away).unwrap(),
            "gone through a link" => {
                // SQLite puts a log beside the file, not beside links to it.
                let real = place.folder.join("real");
                fs::create_dir_all(&real).unwrap();
                fs::rename(beside(&place, "-wal"), real.join("sessions.sqlite-wal")).unwrap();
                fs::write(real.join("sessions.sqlite"), "").unwrap();
                std::os::unix::fs::symlink(real.join("sessions.sqlite"), place.database()).unwrap();
            }
            _ => {
                fs::remove_file(place.database()).unwrap();
                fs::rename(place.folder.join("real/sessions.sqlite-wal"), beside(&place, "-wal")).unwrap();
                fs::write(place.database(), "").unwrap();
            }
        }
        assert!(!SqliteStore::is_unused(&place.database()), "{step}");
        let settings = StoreSettings {
            database: place.database(),
            sessions_dir: place.sessions_dir(),
            busy_timeout: Duration::from_secs(5),
            clock: Clock::new(|| NOW),
        };
        let errors = [
            place.try_open(Duration::from_secs(5)).await.unwrap_err(),
            SqliteStore::open_to_look(settings).await.unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.code(), ErrorCode::StorageError, "{step}");
            let kind = error.payload().details["kind"].clone();
            assert_eq!(kind, if step == "moved away" { "log_alone" } else { "corrupt_file" }, "{step}: {error}");
        }
        let at = if step == "gone through a link" {
            place.folder.join("real/sessions.sqlite-wal")
        } else {
            beside(&place, "-wal")
        };
        assert_eq!(fs::read(at).unwrap(), log, "{step}");
    }
    fs::remove_file(place.database()).unwrap();
    fs::rename(&away, place.database()).unwrap();
    let store = place.open().await;
    assert!(store.node(&crate::support::run_id("run_1").node(1)).await.unwrap().is_some());
}

/// FND-04: a log that holds nothing is no reason to refuse.
#[tokio::test]
async fn an_empty_log_alone_is_nothing() {
    let place = Place::new("empty-log-alone");
    fs::create_dir(place.folder.join("home")).unwrap();
    fs::write(beside(&place, "-wal"), "").unwrap();
    assert!(SqliteStore::is_unused(&place.database()));
    Writing::begin(&place.open().await, "1").await;
}

/// What is done to a database in use.
type Move = (&'static str, fn(&Place));

const MOVES: &[Move] = &[
    ("the database moved", |place| fs::rename(place.database(), place.folder.join("x")).unwrap()),
    ("the database removed", |place| fs::remove_file(place.database()).unwrap()),
    ("its folder moved", |place| fs::rename(place.folder.join("home"), place.folder.join("x")).unwrap()),
    ("its folder removed", |place| fs::remove_dir_all(place.folder.join("home")).unwrap()),
    ("all above it moved", |place| {
        fs::rename(&place.folder, place.folder.with_extension("moved")).unwrap();
    }),
    ("the log removed", |place| fs::remove_file(beside(place, "-wal")).unwrap()),
    ("the index removed", |place| fs::remove_file(beside(place, "-shm")).unwrap()),
    ("another file in its place", |place| {
        fs::rename(place.database(), place.folder.join("x")).unwrap();
        fs::copy(place.folder.join("x"), place.database()).unwrap();
    }),
    ("another folder in its place", |place| {
        fs::rename(place.folder.join("home"), place.folder.join("x")).unwrap();
        fs::create_dir(place.folder.join("home")).unwrap();
    }),
    ("a link elsewhere", |place| {
        fs::rename(place.folder.join("home"), place.folder.join("x")).unwrap();
        fs::create_dir(place.folder.join("y")).unwrap();
        std::os::unix::fs::symlink(place.folder.join("y"), place.folder.join("home")).unwrap();
    }),
];

/// FND-05: whatever is moved or removed during a run, the next commit is a `storage_error` that says so.
#[tokio::test]
async fn the_next_commit_notices() {
    for (what, done) in MOVES {
        let place = Place::new("moved");
        let moved = place.folder.with_extension("moved");
        let store = place.open().await;
        let writing = Writing::begin(&store, "1").await;
        store.commit(&writing.lease, writing.turn(1)).await.unwrap();
        done(&place);
        for _ in 0..2 {
            let error = store.commit(&writing.lease, writing.turn(2)).await.unwrap_err();
            assert_eq!(error.code(), ErrorCode::StorageError, "{what}");
            assert!(matches!(error, StoreError::Moved { .. }), "{what}: {error:?}");
            assert!(error.to_string().contains("moved, replaced or removed"), "{what}: {error}");
        }
        store.close().await;
        for left in [&place.folder, &moved] {
            // Only one of them is there.
            let _ = fs::remove_dir_all(left);
        }
    }
}

/// FND-05: what comes back to its place is stored to again, and a folder that was renamed through a link is none that moved.
#[tokio::test]
async fn what_is_in_its_place_is_stored() {
    let place = Place::new("moved-back");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    fs::rename(place.folder.join("home"), place.folder.join("x")).unwrap();
    assert!(store.commit(&writing.lease, writing.turn(1)).await.is_err());
    std::os::unix::fs::symlink(place.folder.join("x"), place.folder.join("home")).unwrap();
    store.commit(&writing.lease, writing.turn(1)).await.unwrap();
}
