//! A log that is damaged in its middle (FND-16).

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use agent_store::{SessionStore, StoreError};

use crate::support::{Place, Writing, run_id};

fn log(place: &Place) -> PathBuf {
    place.folder.join("home/sessions.sqlite-wal")
}

/// The files of a process that was killed after some commits.
async fn left(name: &str) -> (Place, Vec<u8>) {
    let living = Place::new(&format!("{name}-living"));
    let store = living.open().await;
    let writing = Writing::begin(&store, "1").await;
    for n in 1..=6 {
        store.commit(&writing.lease, writing.turn(n)).await.unwrap();
    }
    let place = Place::new(name);
    fs::create_dir(place.folder.join("home")).unwrap();
    fs::copy(living.database(), place.database()).unwrap();
    fs::copy(log(&living), log(&place)).unwrap();
    let bytes = fs::read(log(&place)).unwrap();
    (place, bytes)
}

/// FND-16: wherever the log is damaged, no commit behind the damage vanishes without a word; what was cut off at its end, as a
/// killed process may leave it, is no damage.
#[tokio::test]
async fn commits_behind_damage_are_told() {
    const FRAME: usize = 4096 + 24;
    let (place, good) = left("damaged-log").await;
    let frames = (good.len() - 32) / FRAME;
    assert!(frames > 12);
    let last = run_id("run_1").node(6);
    let (mut refused, mut opened) = (0, 0);
    for frame in 0..frames {
        // Its number, its checksum, its page.
        for at in [1, 17, 24 + 2000] {
            let mut bytes = good.clone();
            bytes[32 + frame * FRAME + at] ^= 0x55;
            fs::write(log(&place), &bytes).unwrap();
            match place.try_open(Duration::from_secs(5)).await {
                Ok(store) => {
                    // Damage of the last commit is like one that was never finished.
                    assert!(frame > frames - 8, "frame {frame} of {frames}");
                    assert!(store.node(&last).await.unwrap().is_none());
                    store.close().await;
                    opened += 1;
                    (_, _) = (fs::remove_file(log(&place)), fs::remove_file(place.database()));
                    let (again, _) = left("damaged-log-again").await;
                    fs::copy(again.database(), place.database()).unwrap();
                }
                Err(error) => {
                    let StoreError::DamagedLog { commits, .. } = &error else { panic!("{error:?}") };
                    assert!(*commits > 0 && error.to_string().contains("a repair copies"), "{error}");
                    assert_eq!(fs::read(log(&place)).unwrap(), bytes, "nothing is changed");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 3 * frames / 2 && opened > 0, "{refused} refused, {opened} opened");
    for cut in [0, 31, 32, good.len() - 1, good.len() - FRAME, good.len() - FRAME - 5] {
        fs::write(log(&place), &good[..cut]).unwrap();
        let store = place.try_open(Duration::from_secs(5)).await;
        store.unwrap_or_else(|error| panic!("cut at {cut}: {error}")).close().await;
        let (again, _) = left("damaged-log-cut").await;
        fs::copy(again.database(), place.database()).unwrap();
    }
    // Its very beginning.
    let mut bytes = good.clone();
    bytes[20] ^= 1;
    fs::write(log(&place), &bytes).unwrap();
    let error = place.try_open(Duration::from_secs(5)).await.unwrap_err();
    assert!(matches!(error, StoreError::DamagedLog { commits: 0, .. }), "{error:?}");
    fs::write(log(&place), &good).unwrap();
    assert!(place.open().await.node(&last).await.unwrap().is_some());
}
