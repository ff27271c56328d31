//! Random worlds of many agents: what holds whatever they do, whenever they are cancelled, and however their process ends.

mod checks;
mod dice;
mod killed;
mod lives;
mod monkey;
mod tally;
pub(crate) mod tools;

use std::env;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use dice::Dice;
use lives::World;
use tally::Tally;

/// How long worlds are made for, unless the environment says so.
const CI: Duration = Duration::from_secs(12);
/// How much longer, while something has happened in none of them.
const MORE: Duration = Duration::from_secs(6);
/// Worlds that live at the same time.
const AT_ONCE: usize = 4;

/// `SOONG_AGENT_WORLDS_SECONDS`: how long worlds are made for.
fn time() -> Duration {
    let given = env::var("SOONG_AGENT_WORLDS_SECONDS").ok().map(|text| text.parse().expect("seconds are a number"));
    given.map_or(CI, Duration::from_secs)
}

/// `SOONG_AGENT_WORLDS_SEED` makes one world, the one with this seed.
fn seed() -> Option<u64> {
    env::var("SOONG_AGENT_WORLDS_SEED").ok().map(|text| text.parse().expect("the seed is a number"))
}

/// RUN-11, RUN-12, RUN-13, RUN-20, AGT-1, AGT-4, AGT-5, WRK-6, WRK-7, TSK-5, WAL-5, EVT-4: main agents, Orchestrators, sub agents, forks and
/// workers do what comes to their mind, while runs, Tasks and calls are cancelled at any moment, people answer late or not at all, the
/// store fails, and processes end without a close. Every run ends, children before their parents; places are gapless; every result is in
/// its parent's conversation or the loss is told; no step stays held by a dead run; logs of Tasks say what was told of them; no command
/// outlives its owner, and the session can be taken up by anybody.
#[test]
fn random_worlds() {
    let tally = Arc::new(Tally::default());
    let end = Instant::now() + time();
    let seeds = Dice::of_the_moment();
    std::thread::scope(|scope| {
        for lane in 0..AT_ONCE {
            let (tally, mut seeds) = (Arc::clone(&tally), seeds.lane(lane));
            scope.spawn(move || match seed() {
                Some(seed) => {
                    if lane == 0 {
                        World::new(seed, &tally).live();
                    }
                }
                None => {
                    while Instant::now() < end || Instant::now() < end + MORE && tally.lacks().is_some() {
                        World::new(seeds.next(), &tally).live();
                    }
                }
            });
        }
    });
    println!("random worlds: {tally}");
    // Worlds in which nothing happens prove nothing.
    if seed().is_none() && time() > CI {
        assert_eq!(tally.lacks(), None, "{tally}");
    }
    assert!(tally.worlds.load(Ordering::Relaxed) > 0, "{tally}");
}
