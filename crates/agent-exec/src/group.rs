//! A started program and everything that came of it: waiting for it, ending it, leaving nothing of it.

use crate::{
    Exit, Leftovers,
    census::Census,
    marker::Marker,
    notice::ExitNotice,
    orphans::Entry,
    process_table::{self, Process},
};
use process_wrap::std::ChildWrapper;
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    io, thread,
    time::{Duration, Instant},
};
use tokio::{
    task::spawn_blocking,
    time::{sleep, timeout},
};

/// A census that takes longer hangs on a process that is stuck in the kernel.
const CENSUS_WAIT: Duration = Duration::from_secs(2);
/// How long to look for the effect of SIGKILL. Processes with much memory take their time to go.
const KILL_WAIT: Duration = Duration::from_secs(5);
/// The first and the longest pause between two looks.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(160));
/// How long a dropped program that does not die is waited for, so that it does not stay a zombie.
const COLLECT_WAIT: Duration = Duration::from_secs(60);

/// The group of a program, led by it. Dropping it kills what is left of the call and collects the program.
pub(crate) struct Group {
    /// `None` once collected. Until then the leader's id cannot belong to anything else.
    child: Option<Box<dyn ChildWrapper>>,
    leader: Pid,
    notice: ExitNotice,
    census: Census,
    /// `None` once `child` is.
    entry: Option<Entry>,
}

impl Group {
    /// `child` must lead its own session and not be collected yet. Needs a runtime with I/O.
    pub(crate) fn new(child: Box<dyn ChildWrapper>, entry: Entry, marker: Marker) -> io::Result<Self> {
        let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        let census = Census::new(leader.as_raw_nonzero().get(), marker);
        let notice = ExitNotice::polling(leader);
        let mut group = Self { child: Some(child), leader, notice, census, entry: Some(entry) };
        // Panics outside a runtime. The group must exist by then, as dropping it is what ends the program.
        group.notice = ExitNotice::new(leader);
        Ok(group)
    }

    /// Waits until the program itself has ended. Cancel safe.
    pub(crate) async fn ended(&self) {
        self.notice.ended().await;
    }

    /// Whether the program itself has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.notice.has_ended()
    }

    /// Ends all that still runs of the call: SIGTERM, `grace` to act on it, SIGKILL. Returns at once if nothing does.
    pub(crate) async fn clear(&mut self, grace: Duration) -> Leftovers {
        self.entry.iter().for_each(Entry::ends);
        let Some(mut members) = self.members().await else { return self.clear_unseen(grace).await };
        let mut leftovers = Leftovers::None;
        let mut pauses = Pauses::new();
        let begun = Instant::now();
        let mut asked = false;
        while !members.is_empty() {
            if members.iter().any(|member| member.pid != self.leader.as_raw_nonzero().get()) {
                leftovers = Leftovers::Killed;
            }
            let elapsed = begun.elapsed();
            if elapsed >= grace.saturating_add(KILL_WAIT) {
                return Leftovers::Remain;
            }
            if elapsed >= grace {
                self.signal(&members, Signal::KILL);
            } else if !asked {
                self.signal(&members, Signal::TERM);
                // A stopped process acts on SIGTERM only once it goes on.
                self.signal(&members, Signal::CONT);
                asked = true;
            }
            pauses.next(grace.saturating_sub(elapsed)).await;
            let Some(now) = self.members().await else { return self.clear_unseen(Duration::ZERO).await };
            members = now;
        }
        leftovers
    }

    /// The same where nobody can look: the group gets both signals.
    async fn clear_unseen(&self, grace: Duration) -> Leftovers {
        self.signal(&[], Signal::TERM);
        self.signal(&[], Signal::CONT);
        // Only the end of the program can be seen; waiting longer would be for nothing in nearly all cases.
        let _ = timeout(grace, self.ended()).await;
        self.signal(&[], Signal::KILL);
        let _ = timeout(KILL_WAIT, self.ended()).await;
        Leftovers::Unknown
    }

    /// Reading the process table blocks, so it happens elsewhere. It only looks: whatever becomes of this future,
    /// nothing is signalled behind our back.
    async fn members(&mut self) -> Option<Vec<Process>> {
        let mut census = self.census.clone();
        let look = spawn_blocking(move || (census.take(), census));
        let (members, census) = timeout(CENSUS_WAIT, look).await.ok()?.ok()?;
        self.census = census;
        members
    }

    fn signal(&self, members: &[Process], signal: Signal) {
        if self.child.is_some() {
            signal_all(self.leader, members, signal);
        }
    }

    /// Collects the program. It must have ended, else this is an error after a short while.
    pub(crate) async fn collect(&mut self) -> io::Result<Exit> {
        let _ = timeout(PAUSES.1, self.ended()).await;
        let Some(child) = &mut self.child else { return Err(io::ErrorKind::NotFound.into()) };
        let collected = match child.try_wait() {
            Ok(None) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(Some(status)) => Exit::from_status(status).ok_or_else(|| io::ErrorKind::InvalidData.into()),
            Err(error) => Err(error),
        };
        // Also after an error: it says that the program is not ours to collect any more, nor to signal.
        self.child = None;
        self.entry = None;
        collected
    }
}

impl Drop for Group {
    /// The group dies here and now; a thread of its own sees to what left it and to the zombie, as the runtime may be
    /// on its way out. Nothing is asked to end gently: there is nobody left to wait for it.
    fn drop(&mut self) {
        let Some(child) = self.child.take() else { return };
        signal_all(self.leader, &[], Signal::KILL);
        let (leader, census, entry) = (self.leader, self.census.clone(), self.entry.take());
        entry.iter().for_each(Entry::ends);
        let work = move || {
            finish_off(child, leader, census);
            drop(entry);
        };
        // Without a thread to be had, the group is dead all the same; a zombie stays until this process ends.
        let _ = thread::Builder::new().name("agent-exec-reap".into()).spawn(work);
    }
}

/// Blocks until all members of a dropped call are gone and the program is collected, for a limited time.
fn finish_off(mut child: Box<dyn ChildWrapper>, leader: Pid, mut census: Census) {
    let begun = Instant::now();
    let mut pauses = Pauses::new();
    while begun.elapsed() < KILL_WAIT
        && let Some(members) = census.take().filter(|members| !members.is_empty())
    {
        signal_all(leader, &members, Signal::KILL);
        thread::sleep(pauses.step());
    }
    while begun.elapsed() < COLLECT_WAIT && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(pauses.step());
    }
}

/// Signals the group at once, then the members that left it. What is gone or may not be signalled shows in the next
/// census. The leader must not be collected yet.
fn signal_all(leader: Pid, members: &[Process], signal: Signal) {
    let _ = kill_process_group(leader, signal);
    for member in members.iter().filter(|member| member.group != leader.as_raw_nonzero().get()) {
        process_table::signal(member, signal);
    }
}

/// Pauses that grow: most processes end within milliseconds, and looking is not free.
pub(crate) struct Pauses(Duration);

impl Pauses {
    pub(crate) fn new() -> Self {
        Self(PAUSES.0)
    }

    pub(crate) fn step(&mut self) -> Duration {
        let pause = self.0;
        self.0 = (pause * 2).min(PAUSES.1);
        pause
    }

    /// Pauses, but not beyond `left` if that is something.
    async fn next(&mut self, left: Duration) {
        let pause = self.step();
        sleep(if left.is_zero() { pause } else { pause.min(left) }).await;
    }
}

#[cfg(test)]
mod tests;
