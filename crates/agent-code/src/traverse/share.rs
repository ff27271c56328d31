//! Work that makes more work, shared among threads.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

/// More than this is not kept for later: a tree so wide is not gone through whole.
const MAX_WAITING: usize = 256 * 1024;

/// What is still to be done.
#[derive(Debug)]
pub(crate) struct Pile<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    /// Last in, first out, so that a tree is gone through in depth and little waits.
    waiting: Vec<T>,
    /// How many pieces are being worked on.
    taken: usize,
    /// How many threads have nothing to do.
    idle: usize,
}

/// Does the first piece, and all that come of it, on up to so many threads, this one included. Each has a worker of its own.
pub(crate) fn share<T: Send, W: FnMut(T, &Pile<T>)>(first: T, threads: usize, worker: impl Fn() -> W + Sync) {
    let state = State { waiting: vec![first], taken: 0, idle: 0 };
    let pile = Pile { state: Mutex::new(state), changed: Condvar::new() };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where no more threads are to be had, fewer do it.
            let _ = thread::Builder::new().spawn_scoped(scope, || pile.work(worker()));
        }
        pile.work(worker());
    });
}

impl<T> Pile<T> {
    /// Leaves a piece to whoever has time. False if there are too many.
    #[must_use]
    pub(crate) fn add(&self, piece: T) -> bool {
        let mut state = self.lock();
        if state.waiting.len() >= MAX_WAITING {
            return false;
        }
        state.waiting.push(piece);
        if state.idle > 0 {
            self.changed.notify_one();
        }
        true
    }

    /// Whether somebody waits for something to do.
    pub(crate) fn is_wanted(&self) -> bool {
        let state = self.lock();
        state.idle > state.waiting.len()
    }

    fn work(&self, mut worker: impl FnMut(T, &Self)) {
        while let Some(piece) = self.take() {
            let _taken = Taken(self);
            worker(piece, self);
        }
    }

    /// The next piece; nothing once there is none and none can come.
    fn take(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if let Some(piece) = state.waiting.pop() {
                state.taken += 1;
                return Some(piece);
            }
            if state.taken == 0 {
                return None;
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A piece under work; given back even by a worker that panics, so that no other waits for ever.
struct Taken<'p, T>(&'p Pile<T>);

impl<T> Drop for Taken<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.taken -= 1;
        if state.taken == 0 && state.waiting.is_empty() {
            self.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind},
        sync::atomic::{AtomicU64, Ordering},
    };

    use super::*;

    /// All that comes of the first piece is done, once, however many do it.
    #[test]
    fn everything_is_done_once() {
        for threads in [1, 2, 8] {
            let done = AtomicU64::new(0);
            share(12u64, threads, || {
                |n, pile: &Pile<u64>| {
                    done.fetch_add(1, Ordering::Relaxed);
                    assert!((0..n).filter(|smaller| n - smaller <= 2).all(|smaller| pile.add(smaller)));
                }
            });
            // As many pieces as calls of a naive Fibonacci.
            assert_eq!(done.into_inner(), 609, "{threads}");
        }
    }

    /// A worker that panics takes nobody with it, and is heard of.
    #[test]
    fn a_panic_ends_it() {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            share(3u64, 4, || {
                |n, pile: &Pile<u64>| {
                    assert!(n > 0, "meant");
                    assert!(pile.add(n - 1));
                }
            });
        }));
        assert!(ended.is_err());
    }
}
