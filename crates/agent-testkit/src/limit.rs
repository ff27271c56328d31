//! A limit of time for every test that has a folder, so that one that hangs is named and ended.
//!
//! `scripts/test-runner` gives each test program a limit as a whole. This one is shorter and knows the test's name.

use std::env;
use std::process::abort;
use std::sync::{Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use crate::say::say;

/// The seconds that a test may take since it was last heard of; 0 is no limit.
const LIMIT: &str = "SOONG_AGENT_TEST_LIMIT";
const USUAL: Duration = Duration::from_secs(300);

struct Watched {
    thread: ThreadId,
    name: String,
    since: Instant,
}

static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

/// The time of this thread's test begins, or begins anew.
pub(crate) fn heard_of(name: &str) {
    static WATCHER: Once = Once::new();
    let Some(limit) = limit() else { return };
    let (thread, since) = (thread::current().id(), Instant::now());
    let mut all = watched();
    match all.iter_mut().find(|test| test.thread == thread) {
        Some(test) => test.since = since,
        None => all.push(Watched { thread, name: name.to_owned(), since }),
    }
    drop(all);
    WATCHER.call_once(|| {
        thread::spawn(move || watch(limit));
    });
}

/// This thread's test is over.
pub(crate) fn forget() {
    let thread = thread::current().id();
    watched().retain(|test| test.thread != thread);
}

fn watch(limit: Duration) {
    loop {
        thread::sleep((limit / 20).min(Duration::from_secs(1)));
        let late: Vec<_> =
            watched().iter().filter(|test| test.since.elapsed() > limit).map(|t| t.name.clone()).collect();
        if !late.is_empty() {
            let (names, seconds) = (late.join(", "), limit.as_secs_f64());
            say(&format!("{names}: not over after {seconds} s ({LIMIT}); this test program ends here\n"));
            // A thread cannot be ended, and what hangs may hold what an orderly exit waits for.
            abort();
        }
    }
}

fn limit() -> Option<Duration> {
    static GIVEN: OnceLock<Option<Duration>> = OnceLock::new();
    *GIVEN.get_or_init(|| match env::var(LIMIT) {
        Err(_) => Some(USUAL),
        Ok(text) => {
            let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            let limit = seconds.unwrap_or_else(|| panic!("{LIMIT} is a number of seconds, and not {text:?}"));
            (!limit.is_zero()).then_some(limit)
        }
    })
}

/// A test that failed while it held this left it whole.
fn watched() -> MutexGuard<'static, Vec<Watched>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}
