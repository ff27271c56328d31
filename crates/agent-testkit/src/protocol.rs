//! The provider protocols the server speaks.

/// A provider's wire protocol. More may come: match with a wildcard, or loop over [`Protocol::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Protocol {
    /// Ollama's native chat: NDJSON.
    Ollama,
    /// OpenAI Chat Completions: server-sent events.
    OpenAi,
    /// Anthropic Messages: named server-sent events.
    Anthropic,
}

impl Protocol {
    /// Every protocol, for tests that run the same script over each.
    pub const ALL: &'static [Protocol] = &[Protocol::Ollama, Protocol::OpenAi, Protocol::Anthropic];

    /// The key of the provider in config.toml.
    pub fn provider(self) -> &'static str {
        match self {
            Self::Ollama => "ollama",
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// The path of model requests, from the server's root.
    pub fn path(self) -> &'static str {
        match self {
            Self::Ollama => "/api/chat",
            Self::OpenAi => "/v1/chat/completions",
            Self::Anthropic => "/v1/messages",
        }
    }

    /// What users write as `base_url` for a server at `root` (no slash at its end).
    pub(crate) fn base_url(self, root: &str) -> String {
        match self {
            Self::Ollama | Self::Anthropic => root.to_owned(),
            Self::OpenAi => format!("{root}/v1"),
        }
    }

    pub(crate) fn of_path(path: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|protocol| protocol.path() == path)
    }

    pub(crate) fn stream_type(self) -> &'static str {
        match self {
            Self::Ollama => "application/x-ndjson",
            Self::OpenAi | Self::Anthropic => "text/event-stream",
        }
    }
}
