//! What is known of a process.

/// One row of the process table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// In clock ticks since the system started. With the pid it names a process for good, as pids are used again.
    pub(crate) started: u64,
    /// Not a zombie.
    pub(crate) alive: bool,
}
