//! Live views of a running program.

use crate::keeper::Keeper;
use std::time::{Duration, Instant};
use tokio::{
    sync::watch,
    time::{Interval, MissedTickBehavior, interval},
};

/// More than this is no live view any more; also bounds the copy made for each one.
const TAIL_MAX: usize = 64 * 1024;
/// Keeps the views of a chatty program from being the load.
const EVERY_MIN: Duration = Duration::from_millis(50);

/// What a running program has written so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// Since the call began.
    pub elapsed: Duration,
    /// The last bytes of standard output.
    pub stdout_tail: Vec<u8>,
    /// The last bytes of standard error.
    pub stderr_tail: Vec<u8>,
    /// All bytes of standard output so far, whether kept or not.
    pub stdout_total: u64,
    /// All bytes of standard error so far, whether kept or not.
    pub stderr_total: u64,
}

/// Where a run shows its [`Progress`]: a place for the latest view only, so a slow or absent reader costs nothing and
/// never holds the program.
#[derive(Debug)]
pub struct ProgressSink {
    latest: watch::Sender<Progress>,
    every: Duration,
    tail_bytes: usize,
}

impl ProgressSink {
    /// A sink and the place to watch. The receiver sees a change at most once per `every` (at least 50 ms) and only
    /// when something was written; it sees the channel closed when the run is over. Tails have at most `tail_bytes`
    /// (at most 64 KiB, and not more than the run keeps in memory).
    pub fn channel(every: Duration, tail_bytes: usize) -> (Self, watch::Receiver<Progress>) {
        let (latest, receiver) = watch::channel(Progress::default());
        (Self { latest, every: every.max(EVERY_MIN), tail_bytes: tail_bytes.min(TAIL_MAX) }, receiver)
    }
}

/// Publishes to a sink at its pace.
pub(crate) struct Reporter {
    sink: ProgressSink,
    ticks: Interval,
    started: Instant,
}

impl Reporter {
    pub(crate) fn new(sink: ProgressSink, started: Instant) -> Self {
        let mut ticks = interval(sink.every);
        // Late ticks must not come in a burst.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { sink, ticks, started }
    }

    /// Waits for the next time a view is due. Cancel safe.
    pub(crate) async fn due(&mut self) {
        self.ticks.tick().await;
    }

    /// Shows what is there, if it is news.
    pub(crate) fn publish(&self, stdout: &Keeper, stderr: &Keeper) {
        self.sink.latest.send_if_modified(|view| {
            let totals = (stdout.total(), stderr.total());
            let news = totals != (view.stdout_total, view.stderr_total);
            if news {
                *view = Progress {
                    elapsed: self.started.elapsed(),
                    stdout_tail: stdout.last(self.sink.tail_bytes),
                    stderr_tail: stderr.last(self.sink.tail_bytes),
                    stdout_total: totals.0,
                    stderr_total: totals.1,
                };
            }
            news
        });
    }
}
