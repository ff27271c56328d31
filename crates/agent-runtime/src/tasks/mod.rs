//! The Tasks of a session: who may do what with them, and how what is done is stored and told. What may happen to a Task is decided by
//! `agent-tasks`, and kept by `agent-task-store`.
//!
//! Read in this order: `held_tasks.rs` (what an owned session has of them), [`TaskAccess`] (one piece of work at a time), [`CallTasks`]
//! (what one call may do).

mod access;
mod board;
mod dispatching;
mod ending;
mod events;
mod service;

pub(crate) use access::{ForCall, TaskAccess};
pub(crate) use dispatching::check_scope;
pub(crate) use ending::Ending;
pub(crate) use service::CallTasks;
