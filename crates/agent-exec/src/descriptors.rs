//! Descriptors that this process was started with.

/// Keeps every descriptor above standard error that is open now from the programs this process starts later: it is marked to
/// be closed when a program is executed. This process itself can go on using them.
///
/// Rust marks what it opens; what a process was started with (`agent 7<secret`) is nobody's to mark but its owner's. So
/// this is for a `main` to call as its first step, before anything is opened that is meant to be handed on; a library has
/// no business here.
pub fn keep_descriptors_private() {
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
}
