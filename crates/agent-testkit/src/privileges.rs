//! What the system refuses to users, tried by tests that run as root.

/// Runs on a thread that has no rights beyond those of files' owners, even when the tests run as root. Outside of Linux, where no
/// thread can be told to do without them, it has those of the tests.
///
/// # Panics
/// If the rights cannot be given up, or `run` panics.
pub fn without_privileges<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    let run = || {
        #[cfg(target_os = "linux")]
        give_up();
        run()
    };
    std::thread::scope(|scope| {
        let thread = scope.spawn(run);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(target_os = "linux")]
fn give_up() {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    let empty = CapabilitySet::empty();
    let none = CapabilitySets { effective: empty, permitted: empty, inheritable: empty };
    set_capabilities(None, none).unwrap_or_else(|e| panic!("give up the rights of root: {e}"));
}
