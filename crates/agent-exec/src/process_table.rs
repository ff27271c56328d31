//! The processes of the system, as far as it lets them be seen.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub(crate) use linux::{carries, own_session, signal, table};

#[cfg(not(target_os = "linux"))]
mod none;
#[cfg(not(target_os = "linux"))]
pub(crate) use none::{carries, own_session, signal, table};

mod process;
pub(crate) use process::Process;

#[cfg(all(test, target_os = "linux"))]
mod tests;
