//! The process table of Linux: `/proc`.

use super::process::Process;
use crate::marker::Marker;
use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal},
};
use std::{
    fs::{self, File},
    io::Read,
};

/// An environment block is bounded by the system at about this size (a quarter of the default stack limit).
const ENVIRON_MAX: u64 = 8 * 1024 * 1024;

/// All processes but this one. `None` if `/proc` is not there.
pub(crate) fn table() -> Option<Vec<Process>> {
    let own = getpid().as_raw_nonzero().get();
    let pids = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // A process that ends meanwhile is simply not there any more.
    let table: Vec<Process> = pids.filter(|pid| *pid != own).filter_map(read).collect();
    // An empty table means a /proc that hides even our own children: as good as none.
    (!table.is_empty()).then_some(table)
}

/// The session of this process. It is 0 in a container whose session was started outside of it, which `getsid` of rustix
/// takes for impossible.
pub(crate) fn own_session() -> Option<i32> {
    read(getpid().as_raw_nonzero().get()).map(|own| own.session)
}

fn read(pid: i32) -> Option<Process> {
    parse(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// One line of `/proc/<pid>/stat`, see proc(5). The name in parentheses may hold anything, `)` and newlines included.
pub(super) fn parse(stat: &[u8]) -> Option<Process> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let pid_end = stat.iter().position(|byte| *byte == b' ')?;
    let pid = std::str::from_utf8(&stat[..pid_end]).ok()?.parse().ok()?;
    let fields: Vec<&str> = std::str::from_utf8(&stat[name_end + 1..]).ok()?.split_ascii_whitespace().collect();
    let id = |index: usize| fields.get(index)?.parse().ok();
    Some(Process {
        pid,
        alive: !matches!(*fields.first()?, "Z" | "X" | "x"),
        parent: id(1)?,
        group: id(2)?,
        session: id(3)?,
        started: fields.get(19)?.parse().ok()?,
    })
}

/// Whether the environment the process was started with holds the marker. It cannot be read for other users'.
pub(crate) fn carries(process: &Process, marker: &Marker) -> bool {
    let mut block = Vec::new();
    File::open(format!("/proc/{}/environ", process.pid))
        .and_then(|file| file.take(ENVIRON_MAX).read_to_end(&mut block))
        .is_ok_and(|_| marker.is_in(&block))
}

/// Signals this very process, or nothing if it is gone and its pid belongs to another one. What may not be signalled
/// is seen by the next census.
pub(crate) fn signal(process: &Process, signal: Signal) {
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    // Once the descriptor is open it names one process, so what is read after that decides for good.
    let pidfd = pidfd_open(pid, PidfdFlags::empty());
    if read(process.pid).is_none_or(|now| now.started != process.started) {
        return;
    }
    let _ = match pidfd {
        Ok(pidfd) => pidfd_send_signal(pidfd, signal),
        // Kernels before 5.3, and some containers: a pid is not used again between two lines.
        Err(Errno::NOSYS | Errno::PERM) => kill_process(pid, signal),
        Err(error) => Err(error),
    };
}
