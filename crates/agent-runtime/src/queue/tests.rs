use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug, Default)]
struct Counter {
    queue: RunQueue<Self>,
    idle: AtomicUsize,
}

impl HasQueue for Counter {
    fn queue(&self) -> &RunQueue<Self> {
        &self.queue
    }

    fn idle(self: &Arc<Self>) {
        assert!(self.queue.is_free());
        self.idle.fetch_add(1, Ordering::Relaxed);
    }
}

fn waiting(place: Option<QueuePosition<Counter>>) -> (usize, oneshot::Receiver<SessionPermit<Counter>>) {
    match place {
        Some(QueuePosition::Waiting { position, permit }) => (position, permit),
        other => panic!("{other:?}"),
    }
}

/// RUN-1: first come, first served; who leaves is passed over; the last one leaves it idle.
#[test]
fn first_come_first_served() {
    let counter = Arc::new(Counter::default());
    let Some(QueuePosition::First(permit)) = join(&counter) else { panic!() };
    let (position, mut second) = waiting(join(&counter));
    let (_, third) = waiting(join(&counter));
    let (last, mut fourth) = waiting(join(&counter));
    assert_eq!((position, last), (1, 3));
    drop(third);
    drop(permit);
    assert!(fourth.try_recv().is_err());
    let permit = second.try_recv().unwrap();
    assert_eq!(counter.idle.load(Ordering::Relaxed), 0);
    drop(permit);
    let permit = fourth.try_recv().unwrap();
    assert!(!counter.queue.is_free());
    drop(permit);
    assert_eq!(counter.idle.load(Ordering::Relaxed), 1);
    assert!(matches!(join(&counter), Some(QueuePosition::First(_))));
}

/// A permit that was sent to somebody who left at that moment goes on to the next one.
#[test]
fn a_permit_that_nobody_takes_goes_on() {
    let counter = Arc::new(Counter::default());
    let Some(QueuePosition::First(permit)) = join(&counter) else { panic!() };
    let (_, second) = waiting(join(&counter));
    let (_, mut third) = waiting(join(&counter));
    drop(permit);
    // The permit is inside the channel when its receiver goes.
    drop(second);
    assert!(third.try_recv().is_ok());
}

/// Memory is bounded: a queue has an end, and those that left make room.
#[test]
fn a_queue_has_an_end() {
    let counter = Arc::new(Counter::default());
    let _permit = join(&counter).unwrap();
    let mut all: Vec<_> = (0..MAX_WAITING).map(|_| join(&counter).unwrap()).collect();
    assert!(join(&counter).is_none());
    all.pop();
    assert!(join(&counter).is_some());
}
