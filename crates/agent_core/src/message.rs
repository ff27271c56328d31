//! What messages are made of.

pub use agent_protocol::{ArtifactRef, ContentBlock, JsonBlock, Object, TextBlock, ToolResultBlock};
