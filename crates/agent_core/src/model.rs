//! Model servers: the requests they get, what they answer, and adapters of a program's own.

pub use agent_llm::{
    BrokenStream, KeySource, LimitSettings, ModelStream, ProviderAdapter, ProviderFactory, ProviderRegistry,
    ProviderSettings, ProxySettings, RawExchange, RawSink, Refusal, RefusalKind, RetrySettings, Waiting,
};
pub use agent_protocol::{
    ModelEvent, ModelFault, ModelMessage, ModelProfile, ModelRequest, PromptBlock, Reply, StopKind, StopReason,
    SystemBlock, SystemPrompt, ToolChoice, ToolList, Usage, WireMemo,
};
