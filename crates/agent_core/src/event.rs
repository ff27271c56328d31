//! What happens in a run, as it happens and as it was stored.
//!
//! A [`RuntimeEvent`] carries its payload as a JSON object; [`RuntimeEvent::read`] gives it as the type of its event.

pub use agent_protocol::event::*;
pub use agent_protocol::{Estimates, EventId, Timestamp};
pub use agent_runtime::{EventStream, StreamTaken};
