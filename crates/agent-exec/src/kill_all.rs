//! The end of everything at once, for a process that is about to end itself.

use crate::{census::Census, group::Pauses, orphans, process_table};
use rustix::process::Signal;
use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// Kills all that runs of all calls in this process, orphans it adopted included. From now on no program starts, and no call
/// returns: what is done with a result must not go on from a program that was killed by us.
///
/// For a `main` that ends without waiting for its calls: with them goes what would have ended their processes. Nothing is
/// asked to end gently. Returns as soon as nothing is left, and after `within` at the latest. Blocks; needs no runtime.
pub fn kill_all(within: Duration) {
    let begun = Instant::now();
    // The groups die here and now, whatever the process table holds.
    let Some(calls) = orphans::close(begun + within) else { return };
    if calls.is_empty() {
        return;
    }
    let mut censuses: Vec<Census> = calls.into_iter().map(|(leader, marker)| Census::new(leader, marker)).collect();
    let (done, finished) = mpsc::channel();
    // Elsewhere, as a look can hang on a process that is stuck in the kernel.
    let work = move || {
        let mut pauses = Pauses::new();
        while begun.elapsed() < within && censuses.iter_mut().map(strike).fold(false, |any, found| any | found) {
            thread::sleep(pauses.step());
        }
        let _ = done.send(());
    };
    if thread::Builder::new().name("agent-exec-kill".into()).spawn(work).is_ok() {
        let _ = finished.recv_timeout(within.saturating_sub(begun.elapsed()));
    }
}

/// Whether something of the call was still there to be killed. Each process by itself, as its leader may be collected.
fn strike(census: &mut Census) -> bool {
    let members = census.take().unwrap_or_default();
    members.iter().for_each(|member| process_table::signal(member, Signal::KILL));
    !members.is_empty()
}
