//! Model servers: the requests they get, what they answer, and adapters of a program's own.

pub use agent_llm::{KeySource, ModelStream, ProviderAdapter, ProviderFactory, ProviderRegistry, ProviderSettings};
pub use agent_protocol::{
    ModelEvent, ModelFault, ModelMessage, ModelProfile, ModelRequest, PromptBlock, Reply, StopKind, StopReason,
    SystemBlock, SystemPrompt, ToolChoice, ToolList, Usage, WireMemo,
};
