use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug, Default)]
struct Counter {
    line: Line<Self>,
    idle: AtomicUsize,
}

impl HasLine for Counter {
    fn line(&self) -> &Line<Self> {
        &self.line
    }

    fn idle(self: &Arc<Self>) {
        assert!(self.line.is_free());
        self.idle.fetch_add(1, Ordering::Relaxed);
    }
}

fn waiting(place: Option<Place<Counter>>) -> (usize, oneshot::Receiver<Turn<Counter>>) {
    match place {
        Some(Place::Waiting { position, turn }) => (position, turn),
        other => panic!("{other:?}"),
    }
}

/// RUN-1: first come, first served; who leaves is passed over; the last one leaves it idle.
#[test]
fn first_come_first_served() {
    let counter = Arc::new(Counter::default());
    let Some(Place::First(turn)) = join(&counter) else { panic!() };
    let (position, mut second) = waiting(join(&counter));
    let (_, third) = waiting(join(&counter));
    let (last, mut fourth) = waiting(join(&counter));
    assert_eq!((position, last), (1, 3));
    drop(third);
    drop(turn);
    assert!(fourth.try_recv().is_err());
    let turn = second.try_recv().unwrap();
    assert_eq!(counter.idle.load(Ordering::Relaxed), 0);
    drop(turn);
    let turn = fourth.try_recv().unwrap();
    assert!(!counter.line.is_free());
    drop(turn);
    assert_eq!(counter.idle.load(Ordering::Relaxed), 1);
    assert!(matches!(join(&counter), Some(Place::First(_))));
}

/// A turn that was sent to somebody who left at that moment goes on to the next one.
#[test]
fn a_turn_that_nobody_takes_goes_on() {
    let counter = Arc::new(Counter::default());
    let Some(Place::First(turn)) = join(&counter) else { panic!() };
    let (_, second) = waiting(join(&counter));
    let (_, mut third) = waiting(join(&counter));
    drop(turn);
    // The turn is inside the channel when its receiver goes.
    drop(second);
    assert!(third.try_recv().is_ok());
}

/// Memory is bounded: a line has an end, and those that left make room.
#[test]
fn a_line_has_an_end() {
    let counter = Arc::new(Counter::default());
    let _turn = join(&counter).unwrap();
    let mut all: Vec<_> = (0..MAX_WAITING).map(|_| join(&counter).unwrap()).collect();
    assert!(join(&counter).is_none());
    all.pop();
    assert!(join(&counter).is_some());
}
