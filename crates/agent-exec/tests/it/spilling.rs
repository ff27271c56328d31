//! Outputs that are too big to keep go to a file.

use crate::support::{DEADLINE, KEEP, Running, finish, is_alive, pids, sh, until};
use agent_exec::{Capture, CommandSpec, Exit, Spill};
use agent_testkit::scratch;
use std::{
    fs::{self, File},
    io::{self, Write},
    path::PathBuf,
    sync::mpsc,
    time::Duration,
};

/// Writes to `whole`, and renames it to `whole.done` at the end.
struct ToFile {
    file: File,
    path: PathBuf,
}

impl Spill for ToFile {
    fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.file.write_all(chunk)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        fs::rename(&self.path, self.path.with_extension("done"))
    }
}

fn to_file(path: PathBuf, max_bytes: u64) -> Capture {
    Capture::spilling(KEEP, max_bytes, move || Ok(Box::new(ToFile { file: File::create(&path)?, path })))
}

/// ART-2: a small output touches no file.
#[tokio::test]
async fn a_small_output_makes_no_file() {
    let folder = scratch("spill-small");
    let spec = CommandSpec { stdout: to_file(folder.join("whole"), 1 << 30), ..sh("head -c 65536 /dev/zero") };
    let out = finish(spec).await.stdout;
    assert_eq!((out.total_bytes, out.spilled_bytes, out.kept.omitted), (65_536, 0, 0));
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
}

/// ART-2: a big one is stored whole; both outputs at once.
#[tokio::test]
async fn a_big_output_is_stored_whole() {
    let folder = scratch("spill-whole");
    let (one, two) = (folder.join("one"), folder.join("two"));
    let spec = CommandSpec {
        stdout: to_file(one.clone(), 1 << 30),
        stderr: to_file(two.clone(), 1 << 30),
        ..sh("seq 1 300000 & seq 300001 600000 >&2; wait")
    };
    let finished = finish(spec).await;
    for (output, path, numbers) in [(&finished.stdout, one, 1..=300_000), (&finished.stderr, two, 300_001..=600_000)] {
        let whole = fs::read_to_string(path.with_extension("done")).expect("finished");
        assert!(whole.lines().map(|line| line.parse::<u32>().unwrap()).eq(numbers));
        assert_eq!((output.spilled_bytes, output.total_bytes), (whole.len() as u64, whole.len() as u64));
        assert!(whole.as_bytes().starts_with(&output.kept.head) && whole.as_bytes().ends_with(&output.kept.tail));
        assert!(output.spill_error.is_none());
    }
}

/// ART-2: up to the limit; the rest is drained and counted.
#[tokio::test]
async fn a_spill_has_a_limit() {
    let path = scratch("spill-limit").join("whole");
    let spec = CommandSpec { stdout: to_file(path.clone(), 100_000), ..sh("head -c 5000000 /dev/zero; printf END") };
    let finished = finish(spec).await;
    assert_eq!((finished.exit, finished.stdout.total_bytes), (Exit::Code(0), 5_000_003));
    assert_eq!(finished.stdout.spilled_bytes, 100_000);
    assert!(finished.stdout.kept.tail.ends_with(b"END"));
    assert_eq!(fs::metadata(path.with_extension("done")).unwrap().len(), 100_000);
}

/// RUN-18: what was captured until a timeout is stored and finished too.
#[tokio::test]
async fn a_timeout_finishes_the_spill() {
    let path = scratch("spill-timeout").join("whole");
    let spec = sh("head -c 300000 /dev/zero; sleep 300");
    let spec = CommandSpec { stdout: to_file(path.clone(), 1 << 30), timeout: Duration::from_secs(2), ..spec };
    let finished = finish(spec).await;
    assert_eq!((finished.exit, finished.stdout.spilled_bytes), (Exit::TimedOut, 300_000));
    assert_eq!(fs::metadata(path.with_extension("done")).unwrap().len(), 300_000);
}

#[tokio::test]
async fn a_file_that_cannot_be_made_does_not_disturb_the_program() {
    let path = scratch("spill-refused").join("missing/whole");
    let finished = finish(CommandSpec { stdout: to_file(path, 1 << 30), ..sh("head -c 3000000 /dev/zero") }).await;
    assert_eq!((finished.exit, finished.stdout.total_bytes), (Exit::Code(0), 3_000_000));
    assert_eq!(finished.stdout.spill_error.unwrap().kind(), io::ErrorKind::NotFound);
}

/// Hangs until the test lets go.
struct Stuck(mpsc::Receiver<()>);

impl Spill for Stuck {
    fn write(&mut self, _chunk: &[u8]) -> io::Result<()> {
        self.0.recv_timeout(DEADLINE).map_err(|_| io::ErrorKind::TimedOut.into())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

/// A disk that hangs stalls neither the runtime (one thread here) nor the other pipe nor the timeout.
#[tokio::test]
async fn a_stuck_disk_stalls_only_its_own_pipe() {
    let (gate, gated) = mpsc::channel();
    let pid = scratch("spill-stuck").join("pid");
    let spec = CommandSpec {
        stdout: Capture::spilling(10, 1 << 30, move || Ok(Box::new(Stuck(gated)))),
        timeout: Duration::from_secs(1),
        ..sh(&format!("echo $$ > '{}'; yes & head -c 1000000 /dev/zero >&2; wait", pid.display()))
    };
    let mut running = Running::start(spec);
    running.shows("all of standard error", |view| view.stderr_total == 1_000_000).await;
    let leader = pids(&fs::read_to_string(pid).unwrap())[0];
    until("the time is up for the program", || !is_alive(leader)).await;
    // Nothing was written to the disk so far.
    assert!(!running.task.is_finished());
    for _ in 0..1000 {
        // It takes as many as it has writes to make.
        let _ = gate.send(());
    }
    let finished = running.finished().await;
    assert_eq!((finished.exit, finished.stderr.total_bytes), (Exit::TimedOut, 1_000_000));
    assert!(finished.stdout.total_bytes < 4 << 20, "the pipe was held: {}", finished.stdout.total_bytes);
    assert!(finished.stdout.spill_error.is_none() && finished.stdout.spilled_bytes == finished.stdout.total_bytes);
}

/// Takes its time, but takes everything.
struct Slow;

impl Spill for Slow {
    fn write(&mut self, _chunk: &[u8]) -> io::Result<()> {
        std::thread::sleep(Duration::from_millis(20));
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

/// What is in the pipe when the program ends still comes, though the disk is behind.
#[tokio::test]
async fn a_slow_disk_loses_nothing() {
    for _ in 0..5 {
        let spec = CommandSpec {
            stdout: Capture::spilling(10, 1 << 30, || Ok(Box::new(Slow))),
            ..sh("head -c 600000 /dev/zero")
        };
        let finished = finish(spec).await;
        assert_eq!((finished.exit, finished.stdout.total_bytes), (Exit::Code(0), 600_000));
        assert_eq!(finished.stdout.spilled_bytes, 600_000);
    }
}
