//! `[model]` and what lies in it.

use serde_json::{Map, Value as Json};

use crate::provider_options::ProviderOptions;
use crate::schema::{count, millis, number, real, section, tokens};
use crate::texts::{BASE_URL, Endpoint, KEY_ENV, NAME};

/// The providers that ask the server at `base_url`, over HTTP.
const OVER_HTTP: [&str; 3] = ["ollama", "openai", "anthropic"];

section! {
    /// `[model]`: which model is asked, where and how. Profiles are laid over it.
    pub struct ModelConfig {
        /// Key of the provider adapter: `ollama`, `openai`, `anthropic`, or one that the embedding program registered.
        provider: String = "ollama".to_owned(), NAME;
        /// Address of the server, without the path of a single request.
        base_url: String = "http://127.0.0.1:11434".to_owned(), BASE_URL;
        /// Name of the environment variable that holds the key; empty for no key. It is looked up at the first use. A value that
        /// says that there is none, such as `ollama` or `not-needed`, is sent and not hidden in texts. Over
        /// plain http a key is sent to this machine only, unless `allow_insecure`.
        api_key_env: String = String::new(), KEY_ENV;
        /// The model, as its server calls it.
        name: String = "gemma4".to_owned(), NAME;
        /// Tokens that the model reads and writes together. Ollama is told it as `num_ctx`. What the model is told about itself and
        /// the packaged tools may take half of it, so that with all of them 4096 is about the least; less will do for runs with
        /// fewer tools (`tools.disabled`), and a window that is too small is refused with the one that would do.
        context_window: u64 = 8192, tokens(1024);
        /// Most tokens of one answer. A request never asks for more than a quarter of the window.
        max_output_tokens: u64 = 4096, tokens(1);
        /// Sampling temperature.
        temperature: f64 = 0.2, real(0.0, 2.0);
        /// Longest silence on an open stream. The first content may take longer: ten minutes from a server on this
        /// machine, two from another, or this value if it is more.
        timeout_ms: u64 = 60_000, millis(1);
        /// Requests that are made to the server at the same time; further ones wait their turn, which counts against no time
        /// limit. It holds for everything that asks this server: child agents, summaries, memories, profiles; where their
        /// numbers differ, the smallest counts. Not set: 1 for a server on this machine, else 4.
        parallel_requests: Option<u32> = None, count(1, 256, "requests");
        /// Allows a key over plain http to another machine.
        allow_insecure: bool = false;
        /// What tokens cost, for `runtime.max_cost` and the usage shown. Not set: cost is not counted.
        price: Option<Price> = None;
        /// Options for one provider's adapter only, in a table named after the provider; the adapter checks them.
        provider_options: ProviderOptions = ProviderOptions::default();
        /// Repeated requests after failures that may pass.
        retry: RetryConfig = RetryConfig::default();
    }
}

section! {
    /// `[model.retry]`: how often and how patiently a failed request is made again.
    pub struct RetryConfig {
        /// Requests in all, the first one included; 1 means no retry. It bounds replies that break off, too, which are asked for again at most twice.
        max_attempts: u32 = 3, number(1, 20);
        /// Wait before the second request; it doubles from there, with jitter.
        initial_backoff_ms: u64 = 500, millis(1);
        /// Longest wait between two requests; at least `initial_backoff_ms`.
        max_backoff_ms: u64 = 8000, millis(1);
    }
}

section! {
    /// `[model.price]`: the price of a million tokens, in a currency of your choice. `Default` is free of charge.
    pub struct Price {
        /// Tokens read.
        input_per_million: f64, real(0.0, 1_000_000.0);
        /// Tokens written, reasoning included.
        output_per_million: f64, real(0.0, 1_000_000.0);
        /// Tokens read from the provider's prompt cache. Not set: as `input_per_million`.
        cache_read_per_million: Option<f64> = None, real(0.0, 1_000_000.0);
        /// Tokens written to the provider's prompt cache. Not set: as `input_per_million`.
        cache_write_per_million: Option<f64> = None, real(0.0, 1_000_000.0);
    }
}

impl ModelConfig {
    /// True if the server is on this machine. False for a `base_url` that is no URL.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        Endpoint::of(&self.base_url).is_some_and(|endpoint| endpoint.loopback)
    }

    /// `parallel_requests`, or what stands for it when it is not set: a server on this machine most often has one slot.
    #[must_use]
    pub fn effective_parallel_requests(&self) -> u32 {
        self.parallel_requests.unwrap_or(if self.is_loopback() { 1 } else { 4 })
    }

    /// The server behind it: models with the same one share its places ([`Self::effective_parallel_requests`]). One server may
    /// speak several protocols under paths of their own, as Ollama does. What a provider of the embedding program makes of
    /// `base_url` is not known; its models are told apart from all others.
    #[must_use]
    pub fn server(&self) -> String {
        let at = Endpoint::of(&self.base_url).map_or_else(|| self.base_url.clone(), |endpoint| endpoint.server);
        if OVER_HTTP.contains(&self.provider.as_str()) { at } else { format!("{} at {at}", self.provider) }
    }

    /// True if a request to `other` reaches the same model, run by the same server in the same way, so that what one of them
    /// has read is in the cache of the other. How answers are drawn (temperature, output limit) and how patiently they are
    /// waited for does not matter, nor do options for other providers. Addresses are compared as written: in doubt it is
    /// false, which costs time and nothing else.
    #[must_use]
    pub fn same_model_as(&self, other: &Self) -> bool {
        self.provider == other.provider
            && self.base_url == other.base_url
            && self.api_key_env == other.api_key_env
            && self.name == other.name
            && self.context_window == other.context_window
            && self.own_options() == other.own_options()
    }

    /// True if one connection to the provider serves both: what differs, if anything, is said with each request (name, output
    /// limit, temperature) or is no matter of requests (price, how many at a time).
    #[must_use]
    pub fn same_adapter_as(&self, other: &Self) -> bool {
        self.provider == other.provider
            && self.base_url == other.base_url
            && self.api_key_env == other.api_key_env
            && self.context_window == other.context_window
            && self.timeout_ms == other.timeout_ms
            && self.allow_insecure == other.allow_insecure
            && self.retry == other.retry
            && self.own_options() == other.own_options()
    }

    /// The options for its own provider, unless there are none.
    fn own_options(&self) -> Option<&Map<String, Json>> {
        self.provider_options.of(&self.provider).filter(|options| !options.is_empty())
    }

    /// The variable that holds the key; `None` for no key (CFG-9).
    #[must_use]
    pub fn key_variable(&self) -> Option<&str> {
        (!self.api_key_env.is_empty()).then_some(self.api_key_env.as_str())
    }
}
