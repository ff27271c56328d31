//! Output of a process, kept as it comes, so that a test can wait for it instead of sleeping.

use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The time after which something that should have happened did not. Only failing tests take it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// Everything that came out of a pipe or a terminal so far.
#[derive(Clone, Default)]
pub(crate) struct Watched(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    ended: bool,
}

impl Watched {
    /// Reads on a thread of its own, to the end. A terminal without programs reports an error there.
    pub(crate) fn new(mut from: impl Read + Send + 'static) -> Self {
        let watched = Self::default();
        let writer = watched.clone();
        thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = from.read(&mut chunk) {
                writer.change(|state| state.bytes.extend(&chunk[..read]));
            }
            drop(from);
            writer.change(|state| state.ended = true);
        });
        watched
    }

    /// Waits until `text` stands somewhere after `from`, and returns where it ends.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str, from: usize) -> usize {
        let found = |state: &State| {
            let at = memchr::memmem::find(&state.bytes[from..], text.as_bytes())?;
            Some(from + at + text.len())
        };
        self.wait(&format!("{text:?}"), found)
    }

    /// Everything, once nobody can write any more.
    #[track_caller]
    pub(crate) fn whole(&self) -> Vec<u8> {
        self.wait("the end of the output", |state| state.ended.then(|| state.bytes.clone()))
    }

    pub(crate) fn so_far(&self) -> Vec<u8> {
        self.state().bytes.clone()
    }

    #[track_caller]
    fn wait<T>(&self, what: &str, found: impl Fn(&State) -> Option<T>) -> T {
        let end = Instant::now() + DEADLINE;
        let mut state = self.state();
        loop {
            if let Some(found) = found(&state) {
                return found;
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero() && !state.ended,
                "waited in vain for {what}; there was:\n{}",
                String::from_utf8_lossy(&state.bytes)
            );
            state = self.0.1.wait_timeout(state, left).unwrap().0;
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.0.1.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A failed wait says itself what was wrong.
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until something is so that nothing tells us about.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !so() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(5));
    }
}
