//! How a call comes to its end: by itself, by signal, by timeout, by cancel, by being dropped.

use crate::support::{Running, command, finish, group, is_alive, look, pids, sh, text, until};
use agent_exec::{Exit, Leftovers, run};
use agent_testkit::scratch;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Well below the life of what the tests start, well above what a busy machine needs.
const SOON: Duration = Duration::from_secs(15);

#[tokio::test]
async fn a_code_is_handed_on() {
    for code in [0, 1, 3, 255] {
        let finished = finish(sh(&format!("exit {code}"))).await;
        assert_eq!((finished.exit, finished.leftovers), (Exit::Code(code), Leftovers::None));
    }
}

/// EXEC-07: a death by signal is named and is neither success nor without a code.
#[tokio::test]
async fn a_signal_is_named() {
    for (how, number, name, code) in [("kill -9 $$", 9, "SIGKILL", 137), ("kill -SEGV $$", 11, "SIGSEGV", 139)] {
        let exit = finish(sh(&format!("ulimit -c 0; {how}"))).await.exit;
        assert_eq!(exit, Exit::Signal { number, name: Some(name) });
        assert_eq!((exit.success(), exit.shell_code()), (false, Some(code)));
    }
}

/// EXEC-02, COD-7: a timeout kills the whole pipeline, keeps what was written, and leaves no member of the group.
#[tokio::test]
async fn a_timeout_ends_the_whole_pipeline() {
    let spec = sh("echo $$; echo early; sleep 300 | cat; echo late");
    let finished = finish(agent_exec::CommandSpec { timeout: Duration::from_secs(2), ..spec }).await;
    assert_eq!((finished.exit, finished.leftovers), (Exit::TimedOut, Leftovers::Killed));
    assert!(finished.elapsed >= Duration::from_secs(2) && finished.elapsed < SOON, "{:?}", finished.elapsed);
    let output = text(&finished.stdout.kept);
    assert!(output.ends_with("\nearly\n"), "{output}");
    let leader = pids(&output)[0];
    assert_eq!(group(leader), Vec::<i32>::new());
    assert_eq!(look(leader), None, "the program is collected");
}

/// RUN-18: a cancel kills the whole group and keeps what was captured.
#[tokio::test]
async fn a_cancel_ends_the_whole_pipeline() {
    let mut running = Running::start(sh("echo $$; sleep 300 | cat"));
    let leader = pids(&running.lines(1).await)[0];
    until("sh, sleep and cat run", || group(leader).len() == 3).await;
    let begun = Instant::now();
    running.cancel.cancel();
    let finished = running.finished().await;
    assert_eq!((finished.exit, finished.leftovers), (Exit::Cancelled, Leftovers::Killed));
    assert_eq!(text(&finished.stdout.kept), format!("{leader}\n"));
    assert!(begun.elapsed() < SOON);
    assert_eq!((group(leader), look(leader)), (vec![], None));
}

/// COD-7: TERM first, and there is time to act on it; what is written then still counts.
#[tokio::test]
async fn a_cancelled_program_may_clean_up() {
    let mut running = Running::start(sh("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"));
    running.lines(1).await;
    running.cancel.cancel();
    let finished = running.finished().await;
    assert_eq!(finished.exit, Exit::Cancelled);
    assert_eq!(text(&finished.stdout.kept), "up\nbye\n");
}

/// A stopped process would sleep through SIGTERM.
#[tokio::test]
async fn a_stopped_program_may_clean_up_too() {
    let mut running = Running::start(sh("trap 'echo bye; exit 0' TERM; echo $$; kill -STOP $$"));
    let leader = pids(&running.lines(1).await)[0];
    until("it is stopped", || look(leader).is_some_and(|(state, ..)| state == 'T')).await;
    running.cancel.cancel();
    assert!(text(&running.finished().await.stdout.kept).ends_with("bye\n"));
}

/// COD-7: KILL after the grace, for those that ignore TERM.
#[tokio::test]
async fn a_program_that_ignores_term_is_killed_after_the_grace() {
    let grace = Duration::from_millis(400);
    let spec = sh("trap '' TERM; echo $$; while :; do sleep 1; done");
    let mut running = Running::start(agent_exec::CommandSpec { kill_grace: grace, ..spec });
    let leader = pids(&running.lines(1).await)[0];
    let begun = Instant::now();
    running.cancel.cancel();
    let finished = running.finished().await;
    assert_eq!((finished.exit, finished.leftovers), (Exit::Cancelled, Leftovers::Killed));
    assert!(begun.elapsed() >= grace && begun.elapsed() < SOON);
    assert_eq!((group(leader), look(leader)), (vec![], None));
}

#[tokio::test]
async fn no_grace_is_fine() {
    let spec = sh("trap '' TERM; while :; do sleep 1; done");
    let (timeout, kill_grace) = (Duration::from_millis(100), Duration::ZERO);
    let finished = finish(agent_exec::CommandSpec { timeout, kill_grace, ..spec }).await;
    assert_eq!(finished.exit, Exit::TimedOut);
    assert!(finished.elapsed < SOON);
}

/// Limits that no clock can add up to are just long.
#[tokio::test]
async fn endless_limits_are_fine() {
    let spec =
        agent_exec::CommandSpec { timeout: Duration::MAX, kill_grace: Duration::MAX, ..sh("sleep 300 & exit 4") };
    assert_eq!(finish(spec).await.exit, Exit::Code(4));
    let mut running = Running::start(agent_exec::CommandSpec { kill_grace: Duration::MAX, ..sh("echo up; sleep 300") });
    running.lines(1).await;
    running.cancel.cancel();
    assert_eq!(running.finished().await.exit, Exit::Cancelled);
}

#[tokio::test]
async fn a_cancelled_call_starts_nothing() {
    let folder = scratch("cancelled-before");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let spec = agent_exec::CommandSpec { cwd: folder.clone(), ..command("/usr/bin/touch", &["touch", "started"]) };
    let finished = run(spec, cancel, None).await.unwrap();
    assert_eq!((finished.exit, finished.stdout.total_bytes), (Exit::Cancelled, 0));
    assert!(!folder.join("started").exists());
}

/// A second cancel, and then the loss of patience, while the first is still being gentle.
#[tokio::test]
async fn dropping_a_cancelled_call_kills_at_once() {
    let mut running = Running::start(sh("trap 'echo term' TERM; echo $$; while :; do sleep 0.05; done"));
    let leader = pids(&running.lines(1).await)[0];
    running.cancel.cancel();
    running.cancel.cancel();
    running.lines(2).await;
    assert!(is_alive(leader), "it has five seconds of grace");
    running.task.abort();
    until("the group is gone and collected", || group(leader).is_empty() && look(leader).is_none()).await;
}

/// A dropped call leaves neither the group, nor what left it, nor a zombie.
#[tokio::test]
async fn a_dropped_call_leaves_nothing() {
    let mut running = Running::start(sh("setsid sh -c 'echo $$; exec sleep 300' & echo $$; sleep 300"));
    let started = pids(&running.lines(2).await);
    assert!(started.iter().all(|pid| is_alive(*pid)));
    running.task.abort();
    until("both are gone", || !started.iter().any(|pid| is_alive(*pid))).await;
    let own = i32::try_from(std::process::id()).unwrap();
    let is_our_zombie = |pid: &i32| look(*pid).is_some_and(|(_, parent, _)| parent == own);
    until("and collected", || !started.iter().any(is_our_zombie)).await;
}

/// The clean-up of a dropped call does not need the runtime.
#[test]
fn a_call_dropped_with_its_runtime_leaves_nothing() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let leader = first.block_on(async {
        let mut running = Running::start(sh("echo $$; sleep 300 | cat"));
        pids(&running.lines(1).await)[0]
    });
    assert!(is_alive(leader));
    drop(first);
    runtime().block_on(until("the group is gone and collected", || group(leader).is_empty() && look(leader).is_none()));
}

/// Two calls at once, one of them cancelled: the other one does not notice.
#[tokio::test]
async fn calls_do_not_touch_each_other() {
    let mut bystander = Running::start(sh("echo up; setsid sleep 1; echo done"));
    let mut victim = Running::start(sh("echo up; sleep 300"));
    bystander.lines(1).await;
    victim.lines(1).await;
    victim.cancel.cancel();
    assert_eq!(victim.finished().await.exit, Exit::Cancelled);
    let bystander = bystander.finished().await;
    assert_eq!((bystander.exit, text(&bystander.stdout.kept).as_str()), (Exit::Code(0), "up\ndone\n"));
}

/// A call can move between threads.
#[test]
fn the_future_is_send() {
    fn check(_: impl Send) {}
    check(run(sh(""), CancellationToken::new(), None));
}
