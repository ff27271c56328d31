//! What is said of Tasks: names, states, operations, snapshots. The tools take them, the log holds them, and events show them, so
//! that all three are one form.

mod moment;
mod name;
mod nullable;
mod operation;
mod snapshot;
mod spec;
mod status;

pub use moment::Moment;
pub use name::{MAX_NAME_LEN, NameError, PoolId, StepId, TaskId, WalName};
pub(crate) use nullable::nullable;
pub use operation::{Operation, StepFields};
pub use snapshot::{StepCounts, StepSnapshot, TaskSnapshot, TaskSummary};
pub use spec::StepSpec;
pub use status::{StepStatus, TaskStatus};
