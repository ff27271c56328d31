//! Knowing that a child has ended without collecting it.
//!
//! As long as an ended child is not collected, its process id, and so the id of its group, cannot be given to anything
//! else. That is what makes it safe to signal the group afterwards. The usual ways to wait for a child collect it.

use rustix::{
    io,
    process::{Pid, WaitId, WaitIdOptions, waitid},
};
use std::{os::fd::OwnedFd, time::Duration};
use tokio::{io::unix::AsyncFd, time::sleep};

/// How often to look where the system cannot call.
const POLL: Duration = Duration::from_millis(15);

/// Tells when one child has ended.
pub(crate) struct ExitNotice {
    child: Pid,
    /// Readable when the child has ended. `None` where there is no such thing, or none is to be had.
    pidfd: Option<AsyncFd<OwnedFd>>,
}

impl ExitNotice {
    /// `child` must be a child of this process that is not collected yet. Needs a runtime with I/O.
    pub(crate) fn new(child: Pid) -> Self {
        Self { child, pidfd: open(child) }
    }

    /// The same without help of the system or of a runtime.
    pub(crate) fn polling(child: Pid) -> Self {
        Self { child, pidfd: None }
    }

    /// Waits until the child has ended. Cancel safe, and ready again and again once it has.
    pub(crate) async fn ended(&self) {
        if let Some(pidfd) = &self.pidfd
            && let Ok(mut ready) = pidfd.readable().await
        {
            // Readable for good, so the next caller need not ask the system.
            ready.retain_ready();
            return;
        }
        while !self.has_ended() {
            sleep(POLL).await;
        }
    }

    /// Whether the child has ended, collected or not, as of now: the runtime may not have heard of it yet.
    pub(crate) fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match waitid(WaitId::Pid(self.child), options) {
            Ok(status) => status.is_some(),
            Err(error) => error != io::Errno::INTR,
        }
    }
}

#[cfg(target_os = "linux")]
#[expect(
    deprecated,
    reason = "unsound for descriptors that close early; an owned one does not, and unsafe code is not ours"
)]
fn open(child: Pid) -> Option<AsyncFd<OwnedFd>> {
    use rustix::process::{PidfdFlags, pidfd_open};
    use tokio::io::Interest;
    let pidfd = pidfd_open(child, PidfdFlags::empty()).ok()?;
    AsyncFd::with_interest(pidfd, Interest::READABLE).ok()
}

#[cfg(not(target_os = "linux"))]
fn open(_child: Pid) -> Option<AsyncFd<OwnedFd>> {
    None
}

#[cfg(test)]
mod tests;
