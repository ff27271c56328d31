use super::Pump;
use crate::{
    Capture, ProgressSink,
    progress::Reporter,
    stream::{Feed, OutputStream, READ_BYTES},
};
use std::{
    io::{PipeWriter, Read, Write, pipe},
    time::{Duration, Instant},
};
use tokio::time::timeout;

const DEADLINE: Duration = Duration::from_secs(20);

/// A pump without a program: standard output and standard error are ours to write.
fn pump() -> (Pump, PipeWriter, PipeWriter) {
    let stream = || {
        let (reader, writer) = pipe().unwrap();
        (OutputStream::new(reader.into(), Capture::in_memory(100)).unwrap(), writer)
    };
    let ((stdout, out), (stderr, err)) = (stream(), stream());
    (Pump { stdin: None, stdout, stderr, reporter: None }, out, err)
}

/// A pipe that is ready whenever one looks does not keep the other one from being read.
#[tokio::test]
async fn a_flood_does_not_starve_the_other_pipe() {
    for flooded_first in [true, false] {
        let (mut pump, mut out, mut err) = pump();
        let (flood, other) = if flooded_first { (&mut out, &mut err) } else { (&mut err, &mut out) };
        other.write_all(b"x").unwrap();
        let mut flooded = 0;
        for _ in 0..200 {
            let keeper = if flooded_first { pump.stdout.keeper() } else { pump.stderr.keeper() };
            if keeper.total() == flooded {
                // Less than the reader asks for would tell the runtime that there is no more for now.
                flood.write_all(&[0; READ_BYTES]).unwrap();
                flooded += READ_BYTES as u64;
            }
            pump.turn().await;
        }
        assert!(pump.stdout.keeper().total() > 0 && pump.stderr.keeper().total() > 0);
    }
}

#[tokio::test]
async fn draining_ends_with_both_outputs_and_not_before() {
    let (mut pump, mut out, err) = pump();
    out.write_all(b"abc").unwrap();
    drop(out);
    timeout(Duration::from_millis(50), pump.drain()).await.expect_err("standard error is open");
    drop(err);
    timeout(DEADLINE, pump.drain()).await.expect("both have ended");
    assert_eq!(pump.finish().await.0.kept.joined(), b"abc");
}

/// A program may close its outputs and read on.
#[tokio::test]
async fn the_input_is_fed_after_the_end_of_the_outputs() {
    let (mut pump, out, err) = pump();
    drop((out, err));
    let (mut reader, writer) = pipe().unwrap();
    pump.stdin = Some(Feed::new(writer.into(), vec![b'x'; 1 << 20]).unwrap());
    let reading = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map(|_| bytes.len())
    });
    tokio::select! {
        never = pump.run() => match never {},
        read = timeout(DEADLINE, reading) => assert_eq!(read.unwrap().unwrap().unwrap(), 1 << 20),
    }
}

/// The last bytes before the end of the outputs are shown, even if nothing comes any more.
#[tokio::test]
async fn the_last_view_is_shown() {
    let (mut pump, mut out, err) = pump();
    let (sink, mut views) = ProgressSink::channel(Duration::from_millis(50), 100);
    pump.reporter = Some(Reporter::new(sink, Instant::now()));
    out.write_all(b"last words").unwrap();
    drop((out, err));
    tokio::select! {
        never = pump.run() => match never {},
        view = timeout(DEADLINE, views.wait_for(|view| view.stdout_tail == b"last words")) => { view.unwrap().unwrap(); }
    }
}
