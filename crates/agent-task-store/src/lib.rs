//! The Tasks of one session: `agent-tasks` decides, `agent-journal` keeps, this crate does the one before the other.
//!
//! [`TaskStore`] belongs to whoever owns the session. Each command is prepared, its lines are written, and only then is the change
//! kept and told (WAL-2). Opening it recovers the session's Tasks from their logs (WAL-4); one that cannot be recovered harms no
//! other. Tasks that have ended leave the memory: [`ended()`] reads them where somebody asks.
//!
//! All of it blocks. It reads no clock and makes no ids: both are handed in.

mod cancel;
mod dispatched;
mod ended;
mod error;
mod folder;
mod log;
mod removal;
mod store;
#[cfg(test)]
mod tests;

pub use cancel::{CancelError, cancel};
pub use dispatched::{DispatchedStep, dispatched_step};
pub use ended::{EndedPage, EndedTask, ended, find_ended, read_task, tasks};
pub use error::TaskError;
pub use folder::{LogFile, SessionFolder, logs, session_folder, session_folders};
pub use log::{Actor, Recorded, Stamp};
pub use removal::{bytes_with_torn_ends, held_by, remove};
pub use store::{Created, Executed, NewTask, Recovered, Recovery, TaskStore, Unavailable};
