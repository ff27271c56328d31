//! Outputs: always drained, kept within bounds, shown live.

use crate::support::{KEEP, Running, finish, sh, text};
use agent_exec::{Capture, CommandSpec, Exit, Leftovers, ProgressSink, run};
use std::{fs, time::Duration};
use tokio_util::sync::CancellationToken;

/// The most memory this process ever used, in bytes.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// EXEC-06: what is beyond the cap is read and counted, so the program comes to its end.
#[tokio::test]
async fn a_program_that_writes_beyond_the_cap_ends() {
    let finished = finish(sh("head -c 500000 /dev/zero; echo END >&2")).await;
    assert_eq!((finished.exit, finished.leftovers), (Exit::Code(0), Leftovers::None));
    assert_eq!(text(&finished.stderr.kept), "END\n");
    assert_eq!((finished.stderr.total_bytes, finished.stderr.kept.omitted), (4, 0));
    let out = finished.stdout;
    assert_eq!((out.total_bytes, out.kept.joined().len(), out.kept.omitted), (500_000, KEEP, 500_000 - KEEP as u64));
    assert_eq!((out.spilled_bytes, out.spill_error.is_none()), (0, true));
}

#[tokio::test]
async fn the_start_and_the_end_are_kept() {
    let spec = CommandSpec { stdout: Capture::in_memory(16), ..sh("seq 1 1000") };
    let kept = finish(spec).await.stdout.kept;
    assert_eq!((kept.head.as_slice(), kept.tail.as_slice()), (&b"1\n2\n3\n4\n"[..], &b"999\n1000\n"[1..]));
    assert_eq!(kept.omitted, 3893 - 16);
}

/// COD-7: bytes are bytes.
#[tokio::test]
async fn bytes_need_not_be_text() {
    let finished = finish(sh(r"printf '\377\376\000\n'; printf '\200' >&2")).await;
    assert_eq!(finished.stdout.kept.joined(), b"\xff\xfe\0\n");
    assert_eq!(finished.stderr.kept.joined(), b"\x80");
}

/// EXEC-12: standard error has the same cap under a flood without end.
#[tokio::test]
async fn a_flood_on_stderr_is_capped() {
    let finished = finish(CommandSpec { timeout: Duration::from_secs(2), ..sh("yes e >&2") }).await;
    assert_eq!(finished.exit, Exit::TimedOut);
    assert_eq!(finished.stderr.kept.joined().len(), KEEP);
    assert!(finished.stderr.kept.omitted > 10 * KEEP as u64, "{} bytes", finished.stderr.total_bytes);
}

/// EXEC-12: a flood comes through to its last byte, and memory stays flat.
#[tokio::test]
async fn a_quarter_of_a_gigabyte_takes_little_memory() {
    let before = peak_memory();
    let finished = finish(sh("(head -c 268435456 /dev/zero; printf END) >&2")).await;
    assert_eq!((finished.exit, finished.stderr.total_bytes), (Exit::Code(0), (256 << 20) + 3));
    assert!(finished.stderr.kept.tail.ends_with(b"\0END"));
    assert!(peak_memory() - before < 32 << 20);
}

/// A flood on one pipe does not starve the other one.
#[tokio::test]
async fn both_pipes_are_drained() {
    let script =
        "yes & for i in 1 2 3 4 5; do head -c 200000 /dev/zero >&2; done; kill $!; wait $! 2>/dev/null; exit 0";
    let finished = finish(sh(script)).await;
    assert_eq!((finished.exit, finished.stderr.total_bytes), (Exit::Code(0), 1_000_000));
}

/// COD-7: the tails of both outputs are shown while the program runs.
#[tokio::test]
async fn progress_shows_the_tails() {
    let mut running = Running::start(sh("echo one; echo two; sleep 300"));
    assert_eq!(running.lines(2).await, "one\ntwo\n");
    running.cancel.cancel();
    running.finished().await;

    let (sink, mut views) = ProgressSink::channel(Duration::ZERO, 4);
    let call = tokio::spawn(run(sh("echo out; echo error >&2; sleep 300"), CancellationToken::new(), Some(sink)));
    let view = views.wait_for(|view| view.stderr_total > 0 && view.stdout_total > 0).await.unwrap().clone();
    assert_eq!((view.stdout_tail.as_slice(), view.stderr_tail.as_slice()), (&b"out\n"[..], &b"ror\n"[..]));
    assert_eq!((view.stdout_total, view.stderr_total), (4, 6));
    call.abort();
    assert!(views.wait_for(|_| false).await.is_err(), "the end of the call closes the channel");
}

/// Views come at their pace, however chatty the program is, and nobody has to look at them.
#[tokio::test]
async fn progress_is_throttled_and_does_not_hold_the_program() {
    let every = Duration::from_millis(200);
    let (sink, mut views) = ProgressSink::channel(every, 1000);
    let counting = tokio::spawn(async move {
        let mut seen = 0;
        while views.changed().await.is_ok() {
            assert!(views.borrow_and_update().stdout_tail.len() <= 1000);
            seen += 1;
        }
        seen
    });
    let spec = CommandSpec { timeout: Duration::from_secs(1), ..sh("yes") };
    let finished = run(spec, CancellationToken::new(), Some(sink)).await.unwrap();
    let at_most = finished.elapsed.as_millis() / every.as_millis() + 1;
    let seen = counting.await.unwrap();
    assert!((2..=at_most).contains(&seen), "{seen} views, at most {at_most}");

    let (sink, views) = ProgressSink::channel(Duration::ZERO, KEEP);
    let finished = run(sh("seq 1 200000"), CancellationToken::new(), Some(sink)).await.unwrap();
    assert_eq!((finished.exit, finished.stdout.total_bytes), (Exit::Code(0), 1_288_895));
    drop(views);
}
