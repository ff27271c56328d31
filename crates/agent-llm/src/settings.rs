//! What an adapter is built from: plain values, read by whoever owns the configuration and the environment.

use std::time::Duration;

use agent_protocol::Object;

use crate::{KeySource, RawSink};

/// Everything an adapter needs to know.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// The server's address, such as `http://127.0.0.1:11434` or `https://api.openai.com/v1`. Holds no secrets.
    pub base_url: String,
    /// Where the key comes from; none for servers that want none.
    pub api_key: Option<KeySource>,
    /// The model's context window, in tokens. Ollama is told it with each request (PRV-12).
    pub context_window: u64,
    /// Longest silence inside a reply. Before its first content the server has longer (PRV-9).
    pub timeout: Duration,
    /// How often and how patiently the adapter asks again (PRV-8).
    pub retry: RetrySettings,
    /// Options of this provider only; each adapter documents and checks its own.
    pub provider_options: Object,
    /// Proxies, as read at the edge. Never used for loopback (PRV-17).
    pub proxy: ProxySettings,
    /// Whether a key may be sent over plain `http` to another host.
    pub allow_insecure: bool,
    /// Bounds on what a server may send.
    pub limits: LimitSettings,
    /// Where requests and answers go as they travel; none keeps nothing of them (PRV-14).
    pub raw: Option<RawSink>,
}

impl ProviderSettings {
    /// Settings for a server, the rest as the contract's defaults have it.
    #[must_use]
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            api_key: None,
            context_window: 8192,
            timeout: Duration::from_secs(60),
            retry: RetrySettings::default(),
            provider_options: Object::new(),
            proxy: ProxySettings::default(),
            allow_insecure: false,
            limits: LimitSettings::default(),
            raw: None,
        }
    }
}

/// How often and how patiently an adapter asks again while nothing of the reply has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrySettings {
    /// Most requests for one reply, the first included; 0 counts as 1.
    pub max_attempts: u32,
    /// Shortest wait between two of them.
    pub initial_backoff: Duration,
    /// Longest wait, unless the server asks for a longer one.
    pub max_backoff: Duration,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { max_attempts: 3, initial_backoff: Duration::from_millis(500), max_backoff: Duration::from_secs(8) }
    }
}

/// Proxies in the form their environment variables have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProxySettings {
    /// The proxy for `https` addresses, as `HTTPS_PROXY` names it.
    pub https_proxy: Option<String>,
    /// Hosts that are reached directly, as `NO_PROXY` lists them.
    pub no_proxy: Option<String>,
}

/// Bounds on what a server may send. All count bytes after decompression (PRV-16, PRV-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitSettings {
    /// Longest line or event of a stream.
    pub event_bytes: usize,
    /// Longest reply: text, reasoning and arguments together.
    pub reply_bytes: usize,
    /// How much of an error's body is read.
    pub error_bytes: usize,
}

impl Default for LimitSettings {
    fn default() -> Self {
        // Ollama's own client and runner stop at 8 MB a line. A reply is far below 2 MB with the models there are.
        Self { event_bytes: 8 << 20, reply_bytes: 16 << 20, error_bytes: 64 << 10 }
    }
}
