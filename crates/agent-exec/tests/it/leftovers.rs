//! What outlives its program does not outlive the call.

use crate::support::{DEADLINE, Running, finish, group, is_alive, pids, sh, text};
use agent_exec::{CommandSpec, Exit, Leftovers};
use std::time::Duration;

/// Far below the life of the background processes, which would hold the call if it waited for them.
const SOON: Duration = Duration::from_secs(10);

/// The program ends at once, by itself; whatever it left is gone when the call returns.
#[track_caller]
fn check(script: &'static str) -> impl Future<Output = String> {
    let place = std::panic::Location::caller();
    async move {
        let finished = finish(sh(script)).await;
        assert_eq!((finished.exit, finished.leftovers), (Exit::Code(0), Leftovers::Killed), "{place}: {finished:?}");
        assert!(finished.elapsed < SOON, "{place}: took {:?}", finished.elapsed);
        let output = text(&finished.stdout.kept);
        assert!(!pids(&output).is_empty(), "{place}: {output}");
        for pid in pids(&output) {
            assert!(!is_alive(pid), "{place}: {pid} still runs");
            assert_eq!(group(pid), Vec::<i32>::new(), "{place}");
        }
        output
    }
}

/// EXEC-01: a background child that keeps the pipe open, silent or chatty, does not hold the call.
#[tokio::test]
async fn a_background_child_does_not_hold_the_call() {
    let output = check("sleep 600 & echo done; echo $!").await;
    assert!(output.starts_with("done\n"));
    let output = check("echo done; echo $$; (while :; do echo x; sleep 0.1; done) & :").await;
    assert!(output.starts_with("done\n"));
    let output = check("echo done; echo $$; yes & :").await;
    assert!(output.starts_with("done\n"));
    assert_eq!(text(&finish(sh("echo next")).await.stdout.kept), "next\n");
}

/// A child that gave the pipes back is left over all the same.
#[tokio::test]
async fn a_silent_background_child_is_found() {
    check("sleep 600 >/dev/null 2>&1 & echo $!").await;
}

#[tokio::test]
async fn a_background_child_that_ignores_term_is_killed() {
    check("(trap '' TERM; while :; do sleep 1; done) >/dev/null 2>&1 & echo $!").await;
}

/// COD-7: out of the group, but in the session.
#[tokio::test]
async fn a_job_with_its_own_group_is_found() {
    check("set -m; sleep 600 >/dev/null 2>&1 & echo $!").await;
}

/// COD-7: out of the session, but with the marker of the call; holding its pipe, and not.
#[tokio::test]
async fn a_process_that_left_the_session_is_found() {
    check("exec 3>&1; { setsid sh -c 'echo $$; exec sleep 600 >&3' & } | head -n 1").await;
    check("{ setsid sh -c 'echo $$; exec >/dev/null 2>&1; setsid sleep 600 & sleep 600' & } | head -n 1").await;
}

/// COD-7: the same when it floods the pipe, ignores TERM, and its parent is there to be stopped.
#[tokio::test]
async fn a_process_that_left_the_session_does_not_survive_a_cancel() {
    let spec = sh("setsid sh -c 'trap \"\" TERM; echo $$; yes' & wait");
    let mut running = Running::start(CommandSpec { kill_grace: Duration::from_millis(200), ..spec });
    running.lines(1).await;
    running.cancel.cancel();
    let finished = running.finished().await;
    assert_eq!((finished.exit, finished.leftovers), (Exit::Cancelled, Leftovers::Killed));
    let escaped = pids(&String::from_utf8_lossy(&finished.stdout.kept.head))[0];
    assert!(finished.elapsed < SOON && !is_alive(escaped));
}

/// Without session and marker there is still the chain of parents, as long as it stands.
#[tokio::test]
async fn a_process_that_cleared_its_environment_is_found_through_its_parents() {
    let script = "env -i /usr/bin/setsid /bin/sh -c 'echo $$; trap \"\" TERM; while :; do /bin/sleep 1; done' & wait";
    let mut running = Running::start(CommandSpec { kill_grace: Duration::from_millis(300), ..sh(script) });
    let escaped = pids(&running.lines(1).await)[0];
    running.cancel.cancel();
    let finished = running.finished().await;
    assert_eq!((finished.exit, finished.leftovers), (Exit::Cancelled, Leftovers::Killed));
    assert!(!is_alive(escaped), "its parent died of TERM before it, but it was known by then");
}

/// A program that ends before the call is cancelled keeps its code, even if the runtime hears of both at once.
#[tokio::test]
async fn the_end_comes_before_the_cancel() {
    let mut running = Running::start(sh("sleep 600 & echo $$; sleep 0.2; exit 7"));
    let leader = pids(&running.lines(1).await)[0];
    // Not a pause of the test alone: the one thread of the runtime must not see the end before the cancel.
    while is_alive(leader) {
        std::thread::sleep(Duration::from_millis(1));
    }
    running.cancel.cancel();
    let finished = tokio::time::timeout(DEADLINE, running.task).await.unwrap().unwrap();
    assert_eq!(finished.exit, Exit::Code(7));
}
