//! RUN-24: the machine in random worlds ([`super::world_testing`]).
//!
//! A world performs effects in any order a real one could: calls end in any order, the user cancels at any moment, commits
//! fail, alone or two as one, streams break, prompts overflow, summaries come late, fail or are none, late and foreign inputs
//! arrive. After each
//! world: the run ended, nothing came after `Finish`, and no request that was sent and no path that was left behind holds a
//! call without its result or a result without its call.

use agent_protocol::EndReason;

use super::world_testing::{Dice, Figures, Rates, World};
use crate::Path;

/// Calls on a path that have no result.
fn orphans(path: &Path) -> usize {
    path.unanswered().len()
}

/// RUN-24, RUN-14: every run ends, nothing follows `Finish`, and no request or path left behind has an orphan call or result.
/// RUN-21: whatever fails, the path is what is stored, also where a driver stores two commits as one.
/// RUN-19: the session is usable at once, whatever happened to the run before.
#[test]
fn random_worlds() {
    let worlds: u64 = if cfg!(debug_assertions) { 12_000 } else { 60_000 };
    let mut figures = Figures::default();
    for number in 0..worlds {
        let mut dice = Dice::of_world(number);
        let hostile = |dice: &mut Dice, n| if dice.one_in(2) { n } else { u64::MAX };
        let rates = Rates {
            cancel: hostile(&mut dice, 25),
            failed_commit: hostile(&mut dice, 40),
            broken_stream: 2 + dice.roll(20),
            overflow: 2 + dice.roll(30),
            cut: if dice.one_in(5) { 2 } else { 12 },
            crash: u64::MAX,
        };
        let mut world = World::new(dice, Path::new(), number, rates);
        world.live(&mut figures);
        let dice = Dice(world.dice.0);
        let store_failed = figures.failed_commits;
        let open = world.run.open_compaction().map(|(_, plan)| plan.clone());
        let (path, _) = world.run.into_path();
        if rates.failed_commit == u64::MAX {
            assert_eq!(orphans(&path), 0, "world {number} left a call without its result");
        }
        // The next run on the same path: whatever the first one left, its requests are valid (checked as they are sent),
        // and it leaves nothing open.
        let calm = Rates { cancel: u64::MAX, failed_commit: u64::MAX, ..rates };
        let mut next = World::new(dice, path, number + worlds, calm);
        next.live_on(open, &mut figures);
        assert_eq!(orphans(next.run.path()), 0, "world {number}, second run");
        assert_eq!(figures.failed_commits, store_failed);
    }
    assert!(figures.summaries > 100 && figures.adopted > 10, "{figures:?}: too few summaries");
    assert!(figures.failed_merged > 0, "no commit failed that was two");
    for end in EndReason::ALL {
        assert!(figures.ends.contains_key(end.as_str()), "no world ended with {end:?}");
    }
    println!("{worlds} worlds, {figures:?}");
}
