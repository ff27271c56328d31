//! What a `main` may change about its whole process; each test has one of its own.

use crate::support::{DEADLINE, Running, block_on, finish, in_own_process, is_alive, pids, sh, text, zombies};
use agent_exec::{Exit, Leftovers, adopt_orphans, keep_descriptors_private, kill_all, run};
use agent_testkit::scratch;
use std::{fs, time::Duration};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// COD-7: what this process was started with is not passed on, and stays usable for this process.
#[test]
fn descriptors_are_not_passed_on() {
    let secret = scratch("descriptors").join("secret");
    fs::write(&secret, "private").unwrap();
    let redirection = format!("7<'{}' 9<&7", secret.display());
    if !in_own_process("own_process::descriptors_are_not_passed_on", &redirection) {
        return;
    }
    let peek = || sh("cat /proc/self/fd/7 /proc/self/fd/9; :");
    let before = block_on(finish(peek()));
    assert_eq!(text(&before.stdout.kept), "privateprivate", "the test would notice");
    keep_descriptors_private();
    let after = block_on(finish(peek()));
    assert_eq!((after.exit, text(&after.stdout.kept).as_str()), (Exit::Code(0), ""));
    assert_eq!(fs::read("/proc/self/fd/9").unwrap(), b"private");
}

/// Leaves a process that nothing ties to its call: no session, no marker, no parent. Prints its id.
const ESCAPE: &str = "env -i /usr/bin/setsid /bin/sh -c '(/bin/sleep 600 >/dev/null 2>&1 & echo $!)'";

/// DEC-27: nothing outlives its call, not even what got rid of every tie to it.
#[test]
fn orphans_are_ended() {
    if !in_own_process("own_process::orphans_are_ended", "") {
        return;
    }
    adopt_orphans().unwrap();
    let finished = block_on(finish(sh(&format!("{ESCAPE} & wait"))));
    assert_eq!((finished.exit, finished.leftovers), (Exit::Code(0), Leftovers::Killed));
    let orphan = pids(&text(&finished.stdout.kept))[0];
    assert!(!is_alive(orphan));
    assert_eq!(zombies(), [0; 0], "and collected");
}

/// DEC-27: an orphan that may be of either of two calls ends with the second of them; neither program is disturbed.
#[test]
fn orphans_of_calls_side_by_side_are_ended_with_the_last() {
    if !in_own_process("own_process::orphans_of_calls_side_by_side_are_ended_with_the_last", "") {
        return;
    }
    adopt_orphans().unwrap();
    let go = scratch("side-by-side").join("go");
    block_on(async {
        let waiting = format!("echo up; until [ -e '{}' ]; do sleep 0.05; done; echo done", go.display());
        let mut bystander = Running::start(sh(&waiting));
        bystander.lines(1).await;
        let first = finish(sh(&format!("{ESCAPE} & wait"))).await;
        let orphan = pids(&text(&first.stdout.kept))[0];
        assert!(is_alive(orphan), "it may be the bystander's");
        fs::write(&go, "").unwrap();
        let bystander = bystander.finished().await;
        assert_eq!((bystander.exit, text(&bystander.stdout.kept).as_str()), (Exit::Code(0), "up\ndone\n"));
        assert!(!is_alive(orphan));
        assert_eq!(zombies(), [0; 0], "and collected");
    });
}

/// CLI-4, DEC-42: a process that ends before its calls do leaves nothing of them: what is deaf to SIGTERM, left the session,
/// or has no tie at all. Nothing is started after that, and no call returns.
#[test]
fn everything_is_killed_at_once() {
    if !in_own_process("own_process::everything_is_killed_at_once", "") {
        return;
    }
    adopt_orphans().unwrap();
    block_on(async {
        let deaf = "trap '' TERM; setsid sleep 3600 & echo $!; sleep 3600 & echo $!; echo $$";
        let mut one = Running::start(sh(&format!("{deaf}; wait")));
        let mut other = Running::start(sh(&format!("{ESCAPE}; sleep 3600")));
        let started = [one.lines(3).await, other.lines(1).await].concat();
        let started = pids(&started);
        assert_eq!(started.iter().filter(|pid| is_alive(**pid)).count(), 4, "{started:?}");
        // Nothing else runs on this thread meanwhile, so it is not the calls that end them.
        kill_all(DEADLINE);
        assert_eq!(started.into_iter().filter(|pid| is_alive(*pid)).collect::<Vec<_>>(), [0; 0]);
        let refused = timeout(Duration::from_millis(300), run(sh("true"), CancellationToken::new(), None)).await;
        assert!(refused.is_err(), "nothing is started, and nobody told: {refused:?}");
        assert!(!one.task.is_finished() && !other.task.is_finished(), "nobody goes on from a killed program");
    });
}
