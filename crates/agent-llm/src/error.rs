//! How an adapter fails, and what each failure is called at the boundary.

use std::error::Error as _;
use std::time::Duration;

use agent_protocol::{ErrorCode, ErrorPayload, ModelFault};

use crate::{Refusal, RefusalKind};

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
    #[error("the proxy for {provider} cannot be used")]
    InvalidProxy {
        /// The provider.
        provider: String,
        /// Why; never holds the address, which may hold a password.
        source: reqwest::Error,
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
        source: reqwest::Error,
    },
    /// The TLS part of the client could not be made.
    #[error("could not set up TLS for {provider}")]
    Tls {
        /// The provider.
        provider: String,
        /// Why.
        source: rustls::Error,
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
    #[error("cannot reach {provider} at {url}")]
    Unreachable {
        /// The provider.
        provider: String,
        /// The address.
        url: String,
        /// Why.
        source: reqwest::Error,
        /// Whether the reason may pass.
        passing: bool,
    },
    /// The connection broke while the request or the answer was on its way.
    #[error("the connection to {provider} at {url} broke before the reply was complete")]
    Disconnected {
        /// The provider.
        provider: String,
        /// The address.
        url: String,
        /// Why.
        source: reqwest::Error,
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
    /// The server answered a prompt that fills its window with nothing.
    #[error("the prompt is too long for {model}: {provider} counts {prompt} tokens of {window} and answered nothing")]
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

/// What is wrong with a reply's bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenStream {
    /// It ends without the protocol's end mark.
    #[error("the connection ended early, before the reply was complete")]
    Truncated,
    /// It ends without having said anything.
    #[error("it holds no content at all")]
    Empty,
    /// The server counted tokens but delivered none of them, as some do when they fail to parse a call.
    #[error("the server generated {tokens} tokens and delivered none of them")]
    NothingDelivered {
        /// What the server counted.
        tokens: u64,
    },
    /// The server only loaded or unloaded the model.
    #[error("the server reports \"{reason}\" instead of an answer")]
    NoAnswer {
        /// The server's word for it.
        reason: String,
    },
    /// The server stopped on its own account.
    #[error("the server broke off with \"{reason}\"")]
    BrokenOff {
        /// The server's word for it.
        reason: String,
    },
    /// A piece of it is not the JSON it should be.
    #[error("a piece of the stream is not valid: {reason} in {sample}")]
    Malformed {
        /// Why.
        reason: String,
        /// Its beginning.
        sample: String,
    },
    /// It is a web page.
    #[error("it is a web page; base_url seems to point to something else than a model server")]
    WebPage,
    /// A single line or event is too long.
    #[error("one event is longer than {limit} bytes")]
    EventTooLong {
        /// The bound.
        limit: usize,
    },
    /// All of it is too long.
    #[error("it is longer than {limit} bytes")]
    ReplyTooLong {
        /// The bound.
        limit: usize,
    },
    /// More calls than any turn can mean.
    #[error("it holds more than {limit} tool calls")]
    TooManyCalls {
        /// The bound.
        limit: usize,
    },
}

/// Whether asking the same again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// No.
    Never,
    /// After the prompt was made shorter.
    Shorter,
    /// We stopped it ourselves.
    Aborted,
    /// Yes, but no more often than this, whatever the settings say.
    UpTo(u32),
}

/// What a failure means to others: the contract's code, a finer word for `details.kind`, and whether to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) code: ErrorCode,
    pub(crate) kind: &'static str,
    pub(crate) again: Again,
}

/// No bound of its own; the settings' bound holds.
const OFTEN: Again = Again::UpTo(u32::MAX);

impl ProviderError {
    /// The one place that chooses codes; a new failure must choose, too.
    pub(crate) fn verdict(&self) -> Verdict {
        use ErrorCode::{ConfigError, ProviderAuthFailed, ProviderError as Failed, ProviderTimeout};
        let is = |code, kind, again| Verdict { code, kind, again };
        match self {
            Self::UnknownProvider { .. } => is(ConfigError, "unknown_provider", Again::Never),
            Self::DuplicateProvider { .. } => is(ConfigError, "duplicate_provider", Again::Never),
            Self::InvalidBaseUrl { .. } => is(ConfigError, "base_url", Again::Never),
            Self::InsecureKey { .. } => is(ConfigError, "insecure_key", Again::Never),
            Self::InvalidProxy { .. } => is(ConfigError, "proxy", Again::Never),
            Self::UnknownOption { .. } | Self::InvalidOption { .. } => {
                is(ConfigError, "provider_options", Again::Never)
            }
            Self::MissingKey { .. } => is(ProviderAuthFailed, "missing_key", Again::Never),
            Self::InvalidKey { .. } => is(ProviderAuthFailed, "invalid_key", Again::Never),
            Self::Client { .. } | Self::Tls { .. } => is(Failed, "client", Again::Never),
            Self::Unsupported { .. } => is(ErrorCode::UnsupportedCapability, "unsupported", Again::Never),
            Self::Refused { may_come_up, .. } => {
                is(Failed, "unreachable", if *may_come_up { OFTEN } else { Again::Never })
            }
            Self::Unreachable { passing, .. } => is(Failed, "unreachable", if *passing { OFTEN } else { Again::Never }),
            Self::Disconnected { .. } => is(Failed, "disconnected", OFTEN),
            Self::TimedOut { .. } => is(ProviderTimeout, "timeout", OFTEN),
            Self::Redirected { .. } => is(Failed, "redirect", Again::Never),
            Self::Refusal(refusal) => refusal_verdict(refusal),
            Self::PromptFillsWindow { .. } => is(Failed, "context_too_long", Again::Shorter),
            Self::Broken { broken, .. } => broken_verdict(broken),
            Self::Closed { .. } => is(ErrorCode::Cancelled, "closed", Again::Aborted),
            Self::Aborted { .. } => is(ErrorCode::Cancelled, "aborted", Again::Aborted),
            Self::External(payload) => {
                is(payload.code, "external", if payload.retryable { OFTEN } else { Again::Never })
            }
        }
    }

    /// What the loop may do about it.
    #[must_use]
    pub fn fault(&self) -> ModelFault {
        match self.verdict().again {
            Again::Never => ModelFault::Fatal,
            Again::Shorter => ModelFault::Overflow,
            Again::Aborted => ModelFault::Aborted,
            Again::UpTo(_) => ModelFault::Retryable,
        }
    }

    /// The failure in the contract's words. The message holds the whole chain of causes, and no secret.
    #[must_use]
    pub fn payload(&self) -> ErrorPayload {
        if let Self::External(payload) = self {
            return payload.clone();
        }
        let verdict = self.verdict();
        let payload = ErrorPayload::new(verdict.code, self.chain())
            .retryable(matches!(verdict.again, Again::UpTo(_)))
            .detail("kind", verdict.kind);
        match self {
            Self::Refusal(refusal) => refusal.describe(payload),
            Self::PromptFillsWindow { prompt, window, .. } => {
                payload.detail("requested_tokens", *prompt).detail("limit_tokens", *window)
            }
            _ => payload,
        }
    }

    /// The message and those of its causes.
    fn chain(&self) -> String {
        let mut message = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Some libraries repeat their cause's text in their own.
            if !message.ends_with(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            cause = error.source();
        }
        message
    }
}

fn refusal_verdict(refusal: &Refusal) -> Verdict {
    use ErrorCode::{
        ProviderAuthFailed, ProviderError as Failed, ProviderRateLimited, ProviderTimeout, UnsupportedCapability,
    };
    let is = |code, kind, again| Verdict { code, kind, again };
    let verdict = match refusal.kind {
        RefusalKind::ContextTooLong => is(Failed, "context_too_long", Again::Shorter),
        RefusalKind::Auth => is(ProviderAuthFailed, "auth", Again::Never),
        RefusalKind::Blocked => is(Failed, "blocked", Again::Never),
        // A gateway that names a time sells by the minute.
        RefusalKind::Billing if refusal.retry_after.is_some() => is(Failed, "billing", OFTEN),
        RefusalKind::Billing => is(Failed, "billing", Again::Never),
        RefusalKind::Quota => is(ProviderRateLimited, "quota", Again::Never),
        RefusalKind::RateLimited => is(ProviderRateLimited, "rate_limited", OFTEN),
        RefusalKind::Overloaded => is(Failed, "overloaded", OFTEN),
        RefusalKind::Timeout => is(ProviderTimeout, "timeout", OFTEN),
        RefusalKind::Unsupported => is(UnsupportedCapability, "unsupported", Again::Never),
        RefusalKind::ModelNotFound => is(Failed, "model_not_found", Again::Never),
        RefusalKind::EndpointNotFound => is(Failed, "endpoint_not_found", Again::Never),
        RefusalKind::Filtered => is(Failed, "filtered", Again::Never),
        RefusalKind::BadGeneration => is(Failed, "bad_generation", Again::UpTo(2)),
        RefusalKind::Loading => is(Failed, "loading", OFTEN),
        RefusalKind::Runner => is(Failed, "runner", Again::UpTo(1)),
        RefusalKind::InvalidRequest => is(Failed, "invalid_request", Again::Never),
        RefusalKind::Server => is(Failed, "server", OFTEN),
        RefusalKind::Unknown => is(Failed, "unknown", OFTEN),
    };
    match (refusal.should_retry, verdict.again) {
        (Some(false), Again::UpTo(_)) => Verdict { again: Again::Never, ..verdict },
        // Only where retrying is thinkable at all: never for other client errors or a refused key (PRV-8).
        (Some(true), Again::Never) if matches!(refusal.status, Some(408 | 409 | 425 | 429 | 500..)) => {
            Verdict { again: OFTEN, ..verdict }
        }
        _ => verdict,
    }
}

fn broken_verdict(broken: &BrokenStream) -> Verdict {
    let (kind, again) = match broken {
        BrokenStream::Truncated => ("truncated", OFTEN),
        BrokenStream::Empty => ("empty", OFTEN),
        BrokenStream::NothingDelivered { .. } => ("bad_generation", Again::UpTo(2)),
        BrokenStream::NoAnswer { .. } => ("no_answer", Again::UpTo(1)),
        BrokenStream::BrokenOff { .. } => ("broken_off", OFTEN),
        BrokenStream::Malformed { .. } => ("protocol", Again::UpTo(1)),
        BrokenStream::EventTooLong { .. } => ("protocol", Again::UpTo(1)),
        BrokenStream::WebPage => ("web_page", Again::Never),
        BrokenStream::ReplyTooLong { .. } => ("reply_too_long", Again::Never),
        BrokenStream::TooManyCalls { .. } => ("too_many_calls", Again::Never),
    };
    Verdict { code: ErrorCode::ProviderError, kind, again }
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
