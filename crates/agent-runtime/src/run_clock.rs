//! How long a run has worked: the time that it waits for a place at its model server, or for a person's answer, does not count.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// The clock of one run, for whoever limits its time.
#[derive(Debug)]
pub(crate) struct RunClock(watch::Sender<Reading>);

#[derive(Debug, Clone, Copy)]
struct Reading {
    /// What the run waits for at this moment.
    waits: usize,
    /// Until the clock was stopped last.
    worked: Duration,
    /// Runs since then; absent while it is stopped.
    since: Option<Instant>,
}

impl Reading {
    fn started(now: Instant) -> Self {
        Self { waits: 0, worked: Duration::ZERO, since: Some(now) }
    }

    fn stop(&mut self, now: Instant) {
        if let Some(since) = self.since.take() {
            self.worked += now.saturating_duration_since(since);
        }
        self.waits += 1;
    }

    fn go_on(&mut self, now: Instant) {
        self.waits -= 1;
        if self.waits == 0 {
            self.since = Some(now);
        }
    }

    fn worked(&self, now: Instant) -> Duration {
        self.worked + self.since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since))
    }
}

/// The clock is stopped until this is dropped.
pub(crate) struct Stopped<'c>(&'c RunClock);

impl RunClock {
    /// One that runs from now on.
    pub(crate) fn started() -> Self {
        Self(watch::Sender::new(Reading::started(Instant::now())))
    }

    /// Stops it, while something is waited for that is not the run's own work.
    pub(crate) fn stop(&self) -> Stopped<'_> {
        self.0.send_modify(|reading| reading.stop(Instant::now()));
        Stopped(self)
    }

    /// Waits until the run has worked for so long.
    pub(crate) async fn has_worked(&self, limit: Duration) {
        let mut changes = self.0.subscribe();
        loop {
            let reading = *changes.borrow_and_update();
            let left = limit.saturating_sub(reading.worked(Instant::now()));
            if left.is_zero() {
                return;
            }
            let over = async {
                match reading.since {
                    Some(_) => tokio::time::sleep(left).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // The sender is this clock: it is not gone while it is borrowed.
                _ = changes.changed() => {}
                () = over => {}
            }
        }
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|reading| reading.go_on(Instant::now()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// AGT-C03: waits of any number and order, side by side and one after another, do not count; all other time does, to the
        /// millisecond.
        #[test]
        fn waiting_does_not_count(waits in proptest::collection::vec((0..400_u64, 0..200_u64), 0..8), end in 0..700_u64) {
            let begun = Instant::now();
            let at = |millis: u64| begun + Duration::from_millis(millis);
            let mut changes: Vec<_> =
                waits.iter().flat_map(|(from, long)| [(*from, false), (from + long, true)]).collect();
            // What begins at a moment begins before another ends at it: no wait ends that has not begun.
            changes.sort_unstable();
            let mut reading = Reading::started(begun);
            for (moment, ends) in changes.into_iter().filter(|(moment, _)| *moment <= end) {
                if ends { reading.go_on(at(moment)) } else { reading.stop(at(moment)) }
            }
            let is_waiting = |moment: u64| waits.iter().any(|(from, long)| (*from..from + long).contains(&moment));
            let worked = (0..end).filter(|moment| !is_waiting(*moment)).count() as u64;
            prop_assert_eq!(reading.worked(at(end)), Duration::from_millis(worked));
        }
    }

    /// Time that is over is told at once, and not before; a clock that is stopped is waited for.
    #[tokio::test]
    async fn it_is_told_when_time_is_over() {
        let clock = RunClock::started();
        clock.has_worked(Duration::ZERO).await;
        let begun = Instant::now();
        clock.has_worked(Duration::from_millis(30)).await;
        assert!(begun.elapsed() >= Duration::from_millis(20));
        let stopped = clock.stop();
        let long = Duration::from_millis(60);
        let waited = tokio::time::timeout(Duration::from_millis(200), clock.has_worked(long)).await;
        assert!(waited.is_err(), "it stands still");
        drop(stopped);
        clock.has_worked(long).await;
    }
}
