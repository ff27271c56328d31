//! How many requests one model server works on at the same time (`model.parallel_requests`).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

/// Lets so many requests at once to one server; the others wait in the order in which they came. All models that lead to the server
/// share one.
#[derive(Debug)]
pub struct RequestGate {
    free: Arc<Semaphore>,
    places: Mutex<usize>,
    /// Places that are taken and go as they come back, since there are to be fewer.
    surplus: AtomicUsize,
}

/// A request's place at its server, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    permit: Option<OwnedSemaphorePermit>,
    gate: Arc<RequestGate>,
}

impl RequestGate {
    /// One with so many places, at least one.
    #[must_use]
    pub fn new(places: u32) -> Self {
        let places = count(places);
        Self { free: Arc::new(Semaphore::new(places)), places: Mutex::new(places), surplus: AtomicUsize::new(0) }
    }

    /// Takes places away until there are at most so many: the server is said to work on no more. Requests at work go on.
    pub fn at_most(&self, places: u32) {
        let wanted = count(places);
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let over = places.saturating_sub(wanted);
        *places -= over;
        self.surplus.fetch_add(over, Ordering::AcqRel);
        while self.take_surplus() {
            let Ok(free) = self.free.try_acquire() else {
                self.surplus.fetch_add(1, Ordering::AcqRel);
                break;
            };
            free.forget();
        }
    }

    fn take_surplus(&self) -> bool {
        let less = |surplus: usize| surplus.checked_sub(1);
        self.surplus.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
    }

    /// A place, if one is free and nobody waits.
    pub(crate) fn try_enter(self: &Arc<Self>) -> Option<Place> {
        match Arc::clone(&self.free).try_acquire_owned() {
            Ok(permit) => Some(self.place(Some(permit))),
            Err(TryAcquireError::NoPermits) => None,
            // It is never closed.
            Err(TryAcquireError::Closed) => Some(self.place(None)),
        }
    }

    /// Waits for a place. Dropping the future gives up the turn.
    pub(crate) async fn enter(self: &Arc<Self>) -> Place {
        let permit = Arc::clone(&self.free).acquire_owned().await;
        self.place(permit.ok())
    }

    fn place(self: &Arc<Self>, permit: Option<OwnedSemaphorePermit>) -> Place {
        Place { permit, gate: Arc::clone(self) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(permit) = self.permit.take() else { return };
        if self.gate.take_surplus() {
            permit.forget();
        }
    }
}

fn count(places: u32) -> usize {
    usize::try_from(places).unwrap_or(Semaphore::MAX_PERMITS).clamp(1, Semaphore::MAX_PERMITS)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    /// Takes all places that are free.
    fn fill(gate: &Arc<RequestGate>) -> Vec<Place> {
        std::iter::from_fn(|| gate.try_enter()).collect()
    }

    /// There are as many places as said, at least one, and those that were given back are there again.
    #[test]
    fn so_many_places() {
        for (said, places) in [(0, 1), (1, 1), (3, 3), (256, 256)] {
            let gate = Arc::new(RequestGate::new(said));
            assert_eq!(fill(&gate).len(), places, "{said}");
            assert_eq!(fill(&gate).len(), places, "{said}, again");
        }
    }

    /// Whoever came first is let in first, whoever went away in between is passed over, and nobody slips past those who wait.
    #[test]
    fn first_come_first_served() {
        let gate = Arc::new(RequestGate::new(1));
        let at_work = gate.try_enter().unwrap();
        let mut waiting: Vec<_> = (0..5).map(|_| gate.enter().boxed()).collect();
        assert!(waiting.iter_mut().all(|place| place.now_or_never().is_none()));
        drop(waiting.remove(1));
        drop(at_work);
        assert!(gate.try_enter().is_none(), "the place is the first waiter's");
        for _ in 0..4 {
            let later = waiting[1..].iter_mut().filter_map(|place| place.now_or_never()).count();
            assert_eq!(later, 0, "not before the first");
            drop(waiting.remove(0).now_or_never().unwrap());
        }
        assert!(gate.try_enter().is_some());
    }

    /// Where a smaller number is said later, free places go at once and taken ones as they come back; a bigger number changes nothing.
    #[test]
    fn the_smallest_number_counts() {
        for places in 1..6_u32 {
            for taken in 0..=places {
                for wanted in 1..8_u32 {
                    let gate = Arc::new(RequestGate::new(places));
                    let mut at_work: Vec<_> = (0..taken).map(|_| gate.try_enter().unwrap()).collect();
                    gate.at_most(wanted);
                    let left = wanted.min(places);
                    assert_eq!(fill(&gate).len(), left.saturating_sub(taken) as usize, "{places} {taken} {wanted}");
                    while at_work.pop().is_some() {
                        let free = fill(&gate).len() + at_work.len();
                        assert!(free <= (left as usize).max(at_work.len()), "{places} {taken} {wanted}");
                    }
                    assert_eq!(fill(&gate).len(), left as usize, "{places} {taken} {wanted}");
                }
            }
        }
    }
}
