//! The index of the log has its blocks before it is used (FND-10).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

use agent_store::SessionStore;

use crate::support::{Place, Writing};

const REGION: u64 = 32 * 1024;

fn index(place: &Place) -> PathBuf {
    place.folder.join("home/sessions.sqlite-shm")
}

/// Bytes of the index, and bytes of the disk that it has.
fn sizes(place: &Place) -> (u64, u64) {
    let meta = fs::metadata(index(place)).unwrap();
    (meta.len(), meta.blocks() * 512)
}

#[track_caller]
fn has_no_holes(place: &Place, least: u64) {
    let (len, blocks) = sizes(place);
    assert!(len >= least && blocks >= len, "{blocks} of {len} bytes have their blocks, {least} are needed");
}

/// FND-10: however small the disk's blocks are, no part of the index is a hole that would get its block only when it is
/// written through memory: as it is made, as the log grows, and when another store comes.
#[tokio::test]
async fn the_index_has_its_blocks() {
    let place = Place::new("wal-index");
    let store = place.open().await;
    has_no_holes(&place, 6 * REGION);
    let writing = Writing::begin(&store, "1").await;
    // Whoever reads an older state keeps the log growing.
    let reader = place.raw();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM nodes", [], |row| row.get::<_, u64>(0)).unwrap();
    let text = "x".repeat(8 << 20);
    for n in 1..=5 {
        writing.say(&store, n, &[&text]).await;
        let log = fs::metadata(place.folder.join("home/sessions.sqlite-wal")).unwrap().len();
        // Room for as much again as one transaction may add.
        has_no_holes(&place, (log / 4120 / 4096 + 1) * REGION);
    }
    assert!(sizes(&place).0 > 6 * REGION, "the log outgrew what there was room for at first");
    let other = place.open().await;
    has_no_holes(&place, 6 * REGION);
    // Closing one store gives up no lock of the other.
    other.close().await;
    store.commit(&writing.lease, writing.turn(6)).await.unwrap();
}

/// FND-10: holes that another program left in an index in use are filled before this one uses it.
#[tokio::test]
async fn holes_of_others_are_filled() {
    let place = Place::new("wal-index-holes");
    place.open().await.close().await;
    let other = place.raw();
    other.query_row("SELECT count(*) FROM nodes", [], |row| row.get::<_, u64>(0)).unwrap();
    // By a process of its own: closing the file here would give up the locks of `other`.
    let longer = Command::new("truncate").arg("--size=+196608").arg(index(&place)).status().unwrap();
    assert!(longer.success());
    let (len, blocks) = sizes(&place);
    assert!(blocks < len, "the index has holes");
    let store = place.open().await;
    Writing::begin(&store, "1").await;
    has_no_holes(&place, 6 * REGION);
    drop(other);
}

/// FND-10: an index that a process left behind is emptied by the next one, as SQLite does, and no database that is none of
/// ours gets one.
#[tokio::test]
async fn what_others_left_is_no_index() {
    let place = Place::new("wal-index-left");
    place.open().await.close().await;
    assert!(!index(&place).exists(), "the last one removes it");
    fs::write(index(&place), vec![0xa5; 300_000]).unwrap();
    let store = place.open().await;
    Writing::begin(&store, "1").await;
    store.close().await;
    let foreign = Place::new("wal-index-foreign");
    fs::create_dir(foreign.folder.join("home")).unwrap();
    foreign.raw().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(foreign.try_open(std::time::Duration::from_secs(5)).await.is_err());
    assert!(!index(&foreign).exists());
}
