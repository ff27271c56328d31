//! Files that no row names (ART-1).

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use agent_store::{SessionArchive, SessionStore, SqliteStore, StrayFile, Write};

use crate::child::Child;
use crate::support::{Place, Writing, session_id};

/// Makes everything in a folder two minutes old, or as young as this.
fn age(path: &Path, age: Duration) {
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| self::age(&entry.unwrap().path(), age));
    }
    File::open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
}

const OLD: Duration = Duration::from_secs(120);

fn names(place: &Place, strays: &[StrayFile]) -> Vec<String> {
    let name = |stray: &StrayFile| stray.path.strip_prefix(place.sessions_dir()).unwrap().display().to_string();
    strays.iter().map(name).collect()
}

async fn strays(store: &SqliteStore) -> Vec<StrayFile> {
    store.stray_files(None).await.unwrap()
}

/// A file of a home, with its folders.
fn put(place: &Place, path: &str, content: &str) {
    let path = place.sessions_dir().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// ART-1: what a killed process left is found: artifacts without a row, folders without a session. Nothing else is.
#[tokio::test]
async fn strays_are_found() {
    let place = Place::new("strays");
    let store = place.open().await;
    assert_eq!(strays(&store).await, []);
    let free = Writing::begin(&store, "free").await;
    let (kept, lost) = (free.artifact(&place, "kept"), free.artifact(&place, "lost!"));
    store.commit(&free.lease, free.commit(vec![Write::Artifact(kept)])).await.unwrap();
    drop(free);
    let owned = Writing::begin(&store, "owned").await;
    let _ = owned.artifact(&place, "about to get its row");
    put(&place, "sess_free/artifacts/notes.txt", "not ours");
    put(&place, "sess_old/artifacts/art_1/x", "123");
    put(&place, "sess_old/lock", "");
    put(&place, "sess_young/lock", "");
    put(&place, "sess_future/lock", "");
    put(&place, "other/x", "not ours");
    age(&place.sessions_dir().join("sess_old"), OLD);
    age(&place.sessions_dir().join("sess_young"), Duration::from_secs(30));
    let future = File::open(place.sessions_dir().join("sess_future")).unwrap();
    future.set_modified(SystemTime::now() + OLD).unwrap();

    let found = strays(&store).await;
    let lost = format!("sess_free/artifacts/{}", lost.artifact_id);
    assert_eq!(names(&place, &found), [lost.as_str(), "sess_old"]);
    assert_eq!(found.iter().map(|stray| stray.bytes).collect::<Vec<_>>(), [5, 3]);
    assert_eq!(found.iter().map(|stray| stray.session_id.as_str()).collect::<Vec<_>>(), ["sess_free", "sess_old"]);
    assert_eq!(store.stray_files(Some(&session_id("sess_old"))).await.unwrap(), found[1..]);
    assert_eq!(store.stray_files(Some(&session_id("sess_none"))).await.unwrap(), []);

    for stray in &found {
        assert!(store.delete_stray(stray).await.unwrap());
        assert!(!stray.path.exists());
        assert!(!store.delete_stray(stray).await.unwrap(), "it is gone");
    }
    assert_eq!(strays(&store).await, []);
    for kept in ["sess_free/artifacts/notes.txt", "sess_free/lock", "sess_young/lock", "sess_future/lock", "other/x"] {
        assert!(place.sessions_dir().join(kept).exists(), "{kept}");
    }
    assert!(store.claim_session(&session_id("sess_free"), None).await.is_ok());
}

/// ART-1: what has an owner or a row by the time it is to be removed stays; so does everything that is no stray file.
#[tokio::test]
async fn what_is_no_stray_is_not_removed() {
    let place = Place::new("strays-kept");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let new = writing.artifact(&place, "x");
    let path = place.sessions_dir().join("sess_1/artifacts").join(new.artifact_id.as_str());
    drop(writing);
    let stray = strays(&store).await.remove(0);
    assert_eq!(stray.path, path);
    let mut child = Child::start("hold 1", &place.folder);
    child.expect("held");
    assert!(strays(&store).await.is_empty() && !store.delete_stray(&stray).await.unwrap(), "somebody owns it");
    child.kill();
    let lease = store.claim_session(&session_id("sess_1"), None).await.unwrap().lease;
    let writing = Writing { lease, run: crate::support::run_id("run_1") };
    store.commit(&writing.lease, writing.commit(vec![Write::Artifact(new)])).await.unwrap();
    drop(writing);
    assert!(!store.delete_stray(&stray).await.unwrap(), "it has a row");

    put(&place, "sess_2/artifacts/art_1/x", "1");
    let home = place.folder.join("home");
    for wrong in
        ["sess_1", "sess_1/lock", "sess_1/artifacts", "sess_2", "sess_2/artifacts/art_1", ".", "../sessions.sqlite"]
    {
        for session in ["sess_1", "sess_2"] {
            let path = place.sessions_dir().join(wrong);
            let stray = StrayFile { path, session_id: session_id(session), ..stray.clone() };
            assert!(!store.delete_stray(&stray).await.unwrap(), "{wrong} of {session}");
        }
    }
    assert!(path.exists() && place.sessions_dir().join("sess_2/artifacts/art_1/x").exists());
    assert!(home.join("sessions.sqlite").exists() && place.lock_of("sess_1").exists());
}

/// STO-12: a deletion that was killed between rows and files leaves a folder that is found as stray and can be removed.
#[tokio::test]
async fn a_half_deleted_session_is_stray() {
    let place = Place::new("strays-half");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let _ = writing.artifact(&place, "x");
    let folder = place.sessions_dir().join("sess_1");
    let aside = place.folder.join("aside");
    // The folder stays, as if the process had been killed before it came to it.
    fs::rename(&folder, &aside).unwrap();
    store.delete_session(writing.lease).await.unwrap();
    fs::rename(&aside, &folder).unwrap();
    age(&folder, OLD);
    let found = strays(&store).await;
    assert_eq!(names(&place, &found), ["sess_1"]);
    assert!(store.delete_stray(&found[0]).await.unwrap());
    assert!(!folder.exists());
}
