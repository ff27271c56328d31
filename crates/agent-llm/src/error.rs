//! How an adapter fails, and what each failure is called at the boundary.

mod broken;
mod connection;
mod verdict;

use std::time::Duration;

use agent_protocol::ErrorPayload;

use crate::Refusal;

pub use broken::BrokenStream;
pub use connection::ConnectionFault;
pub(crate) use verdict::Again;

/// The failure behind a [`ProviderError`], whatever client it came from.
pub type ProviderCause = Box<dyn std::error::Error + Send + Sync>;

/// Every way in which building or using an adapter fails.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// No such provider is registered.
    #[error("no provider is called \"{key}\"; known are {}", known.join(", "))]
    UnknownProvider {
        /// What was asked for.
        key: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The key is taken.
    #[error("a provider called \"{key}\" is registered already")]
    DuplicateProvider {
        /// The key.
        key: String,
    },
    /// The address cannot be used.
    #[error("the base_url of {provider} cannot be used: {reason}")]
    InvalidBaseUrl {
        /// The provider.
        provider: String,
        /// What is wrong with it; the address itself may hold secrets.
        reason: String,
    },
    /// A key would travel in clear text to another host.
    #[error(
        "the key of {provider} would be sent unencrypted to {host}; use https, or set model.allow_insecure if the network \
         can be trusted"
    )]
    InsecureKey {
        /// The provider.
        provider: String,
        /// The host it would go to.
        host: String,
    },
    /// The proxy's address cannot be used.
    #[error("the proxy for {provider} cannot be used: HTTPS_PROXY is no address such as http://HOST:PORT")]
    InvalidProxy {
        /// The provider.
        provider: String,
    },
    /// A provider option that does not exist.
    #[error("{provider} has no option \"{option}\"{}", did_you_mean(nearest.as_deref()))]
    UnknownOption {
        /// The provider.
        provider: &'static str,
        /// What was written.
        option: String,
        /// The option that comes nearest.
        nearest: Option<String>,
    },
    /// A provider option with a value that cannot be used.
    #[error("the {provider} option \"{option}\" {reason}")]
    InvalidOption {
        /// The provider.
        provider: &'static str,
        /// The option.
        option: String,
        /// What it must be.
        reason: String,
    },
    /// The variable that should hold the key is not set (CFG-3).
    #[error(
        "the variable {variable} is not set; {wanted_by} needs it as the key of {provider}, because {named_by} names it"
    )]
    MissingKey {
        /// The provider.
        provider: String,
        /// The variable's name.
        variable: String,
        /// Who wanted the key.
        wanted_by: String,
        /// The configuration key that names the variable.
        named_by: String,
    },
    /// The key holds characters that no header can carry.
    #[error("the key of {provider} holds characters that cannot be sent")]
    InvalidKey {
        /// The provider.
        provider: String,
    },
    /// The HTTP client could not be made.
    #[error("could not set up the HTTP client for {provider}")]
    Client {
        /// The provider.
        provider: String,
        /// Why.
        source: ProviderCause,
    },
    /// The TLS part of the client could not be made.
    #[error("could not set up TLS for {provider}")]
    Tls {
        /// The provider.
        provider: String,
        /// Why.
        source: ProviderCause,
    },
    /// The request needs something this provider cannot do, as is known before asking (PRV-3).
    #[error("{provider} cannot do what the request for {model} needs: {feature}")]
    Unsupported {
        /// The provider.
        provider: String,
        /// The model.
        model: String,
        /// What is missing.
        feature: String,
    },
    /// Nothing listens at the address.
    #[error("cannot connect to {provider} at {url}: connection refused. {hint}")]
    Refused {
        /// The provider.
        provider: String,
        /// The address.
        url: String,
        /// What the user can do.
        hint: String,
        /// Whether something may be about to listen there.
        may_come_up: bool,
    },
    /// The host cannot be reached for another reason: name, route, certificate.
    #[error("cannot reach {provider} at {url}: {fault}")]
    Unreachable {
        /// The provider.
        provider: String,
        /// The address.
        url: String,
        /// Why.
        fault: ConnectionFault,
        /// The same in the words of the HTTP client.
        cause: String,
        /// Whether the reason may pass.
        passing: bool,
    },
    /// The connection broke while the request or the answer was on its way.
    #[error("the connection to {provider} at {url} broke before the reply was complete: {fault}")]
    Disconnected {
        /// The provider.
        provider: String,
        /// The address.
        url: String,
        /// Why.
        fault: ConnectionFault,
        /// The same in the words of the HTTP client.
        cause: String,
    },
    /// The server was silent for too long (PRV-9).
    #[error("{provider} at {url} {waiting} within {} s", seconds(*limit))]
    TimedOut {
        /// The provider.
        provider: String,
        /// The address.
        url: String,
        /// For what.
        waiting: Waiting,
        /// For how long.
        limit: Duration,
    },
    /// The server sends us elsewhere, where a key must not follow (PRV-17).
    #[error("{provider} at {url} redirects{} and is not followed; set base_url to where the server is", to_where(to.as_deref()))]
    Redirected {
        /// The provider.
        provider: String,
        /// The address.
        url: String,
        /// Host and path it points to.
        to: Option<String>,
    },
    /// The server said no, or said in the middle of its reply that it failed.
    #[error(transparent)]
    Refusal(Box<Refusal>),
    /// The prompt fills the server's window, so that there is no answer, or no whole one.
    #[error(
        "the prompt is too long for {model}: {provider} counts {prompt} tokens of {window} and had no room for an answer"
    )]
    PromptFillsWindow {
        /// The provider.
        provider: String,
        /// The model.
        model: String,
        /// Tokens of the prompt.
        prompt: u64,
        /// Tokens of the window.
        window: u64,
    },
    /// The reply is not what the protocol promises.
    #[error("the reply of {provider} for {model} is unusable: {broken}")]
    Broken {
        /// The provider.
        provider: String,
        /// The model.
        model: String,
        /// What is wrong with it.
        broken: BrokenStream,
    },
    /// The adapter was closed.
    #[error("{provider} was closed")]
    Closed {
        /// The provider.
        provider: String,
    },
    /// The caller's token fired.
    #[error("the request to {provider} was cancelled")]
    Aborted {
        /// The provider.
        provider: String,
    },
    /// An adapter of the embedding program says what failed in the contract's words.
    #[error("{}", .0.message)]
    External(ErrorPayload),
}

/// What was waited for when time was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Waiting {
    /// A connection.
    #[error("did not accept a connection")]
    Connection,
    /// The first piece of the reply; loading the model and reading the prompt are part of it.
    #[error("sent nothing of its reply")]
    FirstContent,
    /// The next bytes of the reply.
    #[error("sent no more of its reply")]
    MoreBytes,
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean \"{name}\"?")).unwrap_or_default()
}

fn to_where(to: Option<&str>) -> String {
    to.map(|to| format!(" to {to}")).unwrap_or_default()
}

fn seconds(limit: Duration) -> String {
    if limit.subsec_millis() == 0 { limit.as_secs().to_string() } else { format!("{:.1}", limit.as_secs_f64()) }
}
