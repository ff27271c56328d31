//! What happens in a run, as it happens and as it was stored.

pub use agent_protocol::{EventType, Level, RuntimeEvent, Timestamp};
pub use agent_runtime::{EventStream, StreamTaken};
