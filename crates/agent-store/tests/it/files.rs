//! What lies on disk.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use agent_protocol::ErrorCode;
use agent_store::{Clock, SessionStore, SqliteStore, StoreError, StoreSettings};

use crate::child::Child;
use crate::support::{Place, Writing, session_id};

fn modes(folder: &Path, found: &mut Vec<(String, bool, u32)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let meta = entry.metadata().unwrap();
        found.push((entry.path().display().to_string(), meta.is_dir(), meta.permissions().mode() & 0o777));
        if meta.is_dir() {
            modes(&entry.path(), found);
        }
    }
}

#[track_caller]
fn check_modes(umask: &str) {
    let place = Place::new(&format!("umask-{umask}"));
    let mut child = Child::start(&format!("make {umask}"), &place.folder);
    child.expect("made");
    let mut found = Vec::new();
    modes(&place.folder, &mut found);
    for (path, is_dir, mode) in &found {
        assert_eq!(*mode, if *is_dir { 0o700 } else { 0o600 }, "{path} under umask {umask}");
    }
    for name in ["sessions.sqlite", "sessions.sqlite-wal", "sessions.sqlite-shm", "lock", "out.log"] {
        assert!(found.iter().any(|(path, ..)| path.ends_with(&format!("/{name}"))), "{name} is missing");
    }
    child.finish();
}

/// CFG-12: folders 0700, files 0600, the database's companions too, under an open umask and under a strict one.
#[test]
fn only_the_owner_can_read_what_is_made() {
    check_modes("000");
    check_modes("277");
}

/// STO-1: the journal mode, and what the last to leave leaves behind.
#[tokio::test]
async fn the_database_uses_a_write_ahead_log() {
    let place = Place::new("wal-mode");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    store.session(writing.session()).await.unwrap();
    let mode: String = place.raw().query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
    store.close().await;
    assert!(!place.database().with_extension("sqlite-wal").exists());
    store.close().await;
    let error = store.session(writing.session()).await.unwrap_err();
    assert!(matches!(error, StoreError::Closed), "{error:?}");
    assert_eq!(error.code(), ErrorCode::StorageError);
}

/// A database that exists keeps its mode and its data.
#[tokio::test]
async fn opening_again_changes_nothing() {
    let place = Place::new("reopen");
    let store = place.open().await;
    drop(Writing::begin(&store, "1").await);
    store.close().await;
    fs::set_permissions(place.database(), fs::Permissions::from_mode(0o640)).unwrap();
    let before = fs::read(place.database()).unwrap();
    let store = place.open().await;
    assert!(store.session(&session_id("sess_1")).await.unwrap().is_some());
    store.close().await;
    assert!(fs::read(place.database()).unwrap() == before, "opening wrote to the file");
    assert_eq!(fs::metadata(place.database()).unwrap().permissions().mode() & 0o777, 0o640);
}

/// Settings that depend on the current folder are refused.
#[tokio::test]
async fn relative_paths_are_refused() {
    for (database, sessions_dir) in [("sessions.sqlite", "/s"), ("file:/s", "/s"), ("/s.sqlite", "sessions")] {
        let settings = StoreSettings {
            database: database.into(),
            sessions_dir: sessions_dir.into(),
            busy_timeout: std::time::Duration::ZERO,
            clock: Clock::system(),
        };
        let error = SqliteStore::open(settings).await.unwrap_err();
        assert!(matches!(error, StoreError::RelativePath { .. }), "{error:?}");
        assert_eq!(error.code(), ErrorCode::ConfigError);
    }
}

/// A folder that cannot be made is named.
#[tokio::test]
async fn a_home_that_cannot_be_made_is_an_error() {
    let place = Place::new("no-home");
    fs::write(place.folder.join("home"), "a file").unwrap();
    let error = place.try_open(std::time::Duration::ZERO).await.unwrap_err();
    assert!(matches!(error, StoreError::File { .. }), "{error:?}");
    assert_eq!(error.code(), ErrorCode::StorageError);
    assert!(error.to_string().contains("home"), "{error}");
}

/// The locks this process holds on the database, as the kernel lists them.
#[cfg(target_os = "linux")]
fn locks_on(database: &Path) -> usize {
    use std::os::unix::fs::MetadataExt;
    let (process, inode) =
        (format!(" {} ", std::process::id()), format!(":{} ", fs::metadata(database).unwrap().ino()));
    let locks = fs::read_to_string("/proc/locks").unwrap();
    locks.lines().filter(|line| line.contains("POSIX") && line.contains(&process) && line.contains(&inode)).count()
}

/// On Unix, closing a file gives up all locks that a process has on it: opening a second store must not do that to the
/// first, or another process would take the database for unused.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_second_store_does_not_free_the_locks_of_the_first() {
    let place = Place::new("posix-locks");
    let first = place.open().await;
    let writing = Writing::begin(&first, "1").await;
    let held = locks_on(&place.database());
    assert!(held > 0, "an open database is locked");
    let second = place.open().await;
    assert_eq!(locks_on(&place.database()), held);
    second.session(writing.session()).await.unwrap();
    second.close().await;
    assert_eq!(locks_on(&place.database()), held);
}
