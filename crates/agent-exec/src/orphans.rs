//! Processes that have lost their parents, and everything that tied them to their call.
//!
//! A process that leaves the session, clears its environment and loses its parent between two looks goes to the first
//! process of the system, and nothing tells whose it was. A process that adopts orphans gets them instead, as its own
//! children: those that nobody here has started must come of some call, and end with the last call they can come of.
//!
//! Which children a process has is a fact about the process. So is this ledger: the one thing here that is not a call's own.

use crate::{
    marker::Marker,
    process_table::{self, Process},
};
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    collections::HashSet,
    io,
    sync::{Mutex, MutexGuard, PoisonError, TryLockError},
    thread,
    time::{Duration, Instant},
};

/// How often to try for a ledger that another thread holds.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

static LEDGER: Mutex<Ledger> = Mutex::new(Ledger { adopts: false, closed: false, next: 0, calls: Vec::new() });

/// The calls whose programs are not collected yet.
struct Ledger {
    adopts: bool,
    /// No program is started any more.
    closed: bool,
    next: u64,
    calls: Vec<Call>,
}

struct Call {
    id: u64,
    leader: i32,
    marker: Marker,
    /// It ends, and takes what it can.
    ending: bool,
}

/// Makes this process adopt the orphans of all programs that descend from it, so that a call of [`run`](crate::run())
/// ends those, too, that left its session, cleared their environment and lost their parent.
///
/// This is for a `main` to ask for, as it changes the whole process: from now on, a child that is in another session than
/// this process and was not started by this crate is taken for an orphan of a call, to be ended and collected.
///
/// # Errors
/// On systems other than Linux, where there is no such thing.
pub fn adopt_orphans() -> io::Result<()> {
    adopt()?;
    ledger().adopts = true;
    Ok(())
}

#[cfg(target_os = "linux")]
fn adopt() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

#[cfg(not(target_os = "linux"))]
fn adopt() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn ledger() -> MutexGuard<'static, Ledger> {
    LEDGER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An entry in the ledger; dropped once the program is collected, and not before.
#[derive(Debug)]
pub(crate) struct Entry(u64);

impl Entry {
    /// Starts a program and enters it, with no moment in between in which its process would pass for an orphan.
    pub(crate) fn of<T>(
        marker: &Marker,
        start: impl FnOnce() -> io::Result<T>,
        leader: impl FnOnce(&T) -> u32,
    ) -> io::Result<(T, Self)> {
        let mut ledger = ledger();
        if ledger.closed {
            return Err(io::Error::other("this process is about to end"));
        }
        let started = start()?;
        // A pid that is none of the system's is refused later.
        let leader = i32::try_from(leader(&started)).unwrap_or(-1);
        let id = ledger.next;
        ledger.next += 1;
        ledger.calls.push(Call { id, leader, marker: marker.clone(), ending: false });
        Ok((started, Self(id)))
    }

    /// From now on, what may be of this call or of another one is left to the other.
    pub(crate) fn ends(&self) {
        ledger().calls.iter_mut().filter(|call| call.id == self.0).for_each(|call| call.ending = true);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        ledger().calls.retain(|call| call.id != self.0);
    }
}

/// Kills the groups of all calls and closes the ledger. Hands back the calls by leader and marker; nothing if another thread
/// holds the ledger until `end`, since a program that is being started may take its time.
pub(crate) fn close(end: Instant) -> Option<Vec<(i32, Marker)>> {
    let mut ledger = lock_until(end)?;
    ledger.closed = true;
    for call in &mut ledger.calls {
        // An orphan that may be of any of them is to go, too.
        call.ending = true;
        if let Some(leader) = Pid::from_raw(call.leader).filter(|_| call.leader > 0) {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
    Some(ledger.calls.iter().map(|call| (call.leader, call.marker.clone())).collect())
}

/// Whether this process is about to end.
pub(crate) fn is_closed() -> bool {
    ledger().closed
}

fn lock_until(end: Instant) -> Option<MutexGuard<'static, Ledger>> {
    loop {
        match LEDGER.try_lock() {
            Ok(ledger) => return Some(ledger),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() >= end => return None,
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
        }
    }
}

/// The orphans that the call of this leader has to end, by pid; collects those that have ended by themselves. `table` was
/// read before: a program that is in it is in the ledger by now, or collected.
pub(crate) fn of_call(leader: i32, table: &[Process], carries: impl Fn(&Process, &Marker) -> bool) -> HashSet<i32> {
    let ledger = ledger();
    if !ledger.adopts {
        return HashSet::new();
    }
    let Some(session) = process_table::own_session() else { return HashSet::new() };
    let orphans = ledger.orphans(table, (rustix::process::getpid().as_raw_nonzero().get(), session));
    let (alive, ended): (Vec<_>, Vec<_>) = orphans.into_iter().partition(|orphan| orphan.alive);
    // No program is started while the ledger is held, so these pids are still theirs.
    ended.into_iter().for_each(collect);
    let mine = alive.into_iter().filter(|orphan| ledger.falls_to(leader, orphan, table, &carries));
    mine.map(|orphan| orphan.pid).collect()
}

fn collect(orphan: &Process) {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    if let Some(pid) = Pid::from_raw(orphan.pid) {
        let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
    }
}

impl Ledger {
    /// Our children that are neither programs of ours nor in our own session, where others may start children.
    fn orphans<'t>(&self, table: &'t [Process], (own, session): (i32, i32)) -> Vec<&'t Process> {
        let is_leader = |process: &Process| self.calls.iter().any(|call| call.leader == process.pid);
        table
            .iter()
            .filter(|process| process.parent == own && process.session != session && !is_leader(process))
            .collect()
    }

    /// Whether an orphan can be of this call and of no other one that still runs.
    fn falls_to(
        &self,
        leader: i32,
        orphan: &Process,
        table: &[Process],
        carries: impl Fn(&Process, &Marker) -> bool,
    ) -> bool {
        let started = |leader| table.iter().find(|process| process.pid == leader).map(|process| process.started);
        let mut others = self.calls.iter().filter(|call| call.leader != leader);
        !others.any(|call| {
            let tied = call.leader == orphan.session || carries(orphan, &call.marker);
            tied || (!call.ending && started(call.leader).is_some_and(|started| started <= orphan.started))
        })
    }
}

#[cfg(test)]
mod tests;
