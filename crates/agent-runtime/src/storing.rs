//! Since when a run waits for the store, for who waits for the run.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// When each commit that is under way began, oldest first. There are few: one of the driver and one of each job.
#[derive(Default)]
pub(crate) struct Storing(Mutex<Vec<Instant>>);

/// A commit under way, until this is dropped.
pub(crate) struct UnderWay<'s> {
    storing: &'s Storing,
    since: Instant,
}

impl Storing {
    pub(crate) fn begin(&self) -> UnderWay<'_> {
        let since = Instant::now();
        self.since().push(since);
        UnderWay { storing: self, since }
    }

    /// For how long the oldest of them has been waited for.
    pub(crate) fn waiting(&self) -> Option<Duration> {
        self.since().first().map(Instant::elapsed)
    }

    fn since(&self) -> MutexGuard<'_, Vec<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut since = self.storing.since();
        if let Some(at) = since.iter().position(|since| *since == self.since) {
            since.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FND-72: of several commits under way the one that began first counts, until it is over.
    #[test]
    fn the_oldest_counts() {
        let storing = Storing::default();
        assert_eq!(storing.waiting(), None);
        let mut first = storing.begin();
        // As if it had begun an hour ago.
        let hour = Duration::from_secs(3600);
        first.since = first.since.checked_sub(hour).unwrap();
        storing.since()[0] = first.since;
        let second = storing.begin();
        assert!(storing.waiting().unwrap() >= hour);
        drop(first);
        assert!(storing.waiting().unwrap() < hour);
        drop(second);
        assert_eq!(storing.waiting(), None);
    }
}
