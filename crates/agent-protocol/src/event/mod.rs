//! The timeline: for people, replay and debugging, never for building context.

mod event_type;
mod level;
mod payload;
mod runtime_event;

pub use event_type::EventType;
pub use level::Level;
pub use payload::*;
pub use runtime_event::RuntimeEvent;
