//! What a server means when it says no: its words, read from whatever shape they come in, and their kind.

mod classify;
mod overflow;
mod words;

use std::time::Duration;

use agent_protocol::ErrorPayload;

use crate::span::{MAX_SERVER_WAIT, in_words};

pub(crate) use classify::{Circumstances, classify, tokens};
pub(crate) use words::ServerWords;

/// Whether a refusal is about a field itself, not about its value: "is not supported", "unknown field", "extra inputs are not
/// permitted". `text` is in lower case.
pub(crate) fn speaks_of_support(text: &str) -> bool {
    [
        "not supported",
        "unsupported",
        "does not support",
        "unknown",
        "unrecognized",
        "not permitted",
        "extra",
        "deprecated",
    ]
    .iter()
    .any(|word| text.contains(word))
}

/// The server said no — with a status, or inside a reply that it had begun.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// The provider.
    pub provider: String,
    /// The model that was asked for.
    pub model: String,
    /// The address, without query.
    pub url: String,
    /// The HTTP status; none inside a reply.
    pub status: Option<u16>,
    /// What it means.
    pub kind: RefusalKind,
    /// The server's own words, without secrets and markup, at most 500 characters.
    pub words: String,
    /// Whether something secret was taken out of them.
    pub redacted: bool,
    /// What the user can do, if we know.
    pub hint: Option<String>,
    /// How long the server asks us to wait.
    pub retry_after: Option<Duration>,
    /// Whether the server says that asking again makes sense.
    pub should_retry: Option<bool>,
    /// Tokens that were asked for, and the limit, as far as the server names them.
    pub tokens: Option<(u64, u64)>,
    /// The server's own code for it.
    pub server_code: Option<String>,
    /// The request field the server objects to.
    pub param: Option<String>,
    /// The server's name for the request.
    pub request_id: Option<String>,
}

/// What a refusal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The prompt does not fit.
    ContextTooLong,
    /// The key was refused.
    Auth,
    /// A guardrail or a switch of the operator.
    Blocked,
    /// Money.
    Billing,
    /// A quota that waiting does not refill soon.
    Quota,
    /// Too many requests just now.
    RateLimited,
    /// The server has too much to do.
    Overloaded,
    /// The server or a gateway ran out of time.
    Timeout,
    /// Model or server cannot do what was asked for.
    Unsupported,
    /// No such model.
    ModelNotFound,
    /// No such address.
    EndpointNotFound,
    /// The content filter stopped the prompt.
    Filtered,
    /// The model wrote a call the server cannot read: bad luck in sampling.
    BadGeneration,
    /// The model is being loaded.
    Loading,
    /// The server's own model process died.
    Runner,
    /// The request is wrong: our bug, or an option that does not fit.
    InvalidRequest,
    /// A fault of the server.
    Server,
    /// An error without a recognisable type.
    Unknown,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { provider, model, url, .. } = self;
        match self.kind {
            RefusalKind::ContextTooLong => write!(f, "the prompt is too long for {model} at {provider}")?,
            RefusalKind::Auth => write!(f, "{provider} at {url} refused the key")?,
            RefusalKind::ModelNotFound => write!(f, "{provider} at {url} has no model {model}")?,
            RefusalKind::EndpointNotFound => write!(f, "{provider} at {url} does not know the address of the request")?,
            RefusalKind::Unsupported => write!(f, "{provider} cannot do what the request for {model} needs")?,
            _ if self.status.is_none() => write!(f, "{provider} broke off its reply for {model}")?,
            _ => write!(f, "{provider} at {url} refused the request for {model}")?,
        }
        if let Some(status) = self.status {
            write!(f, " (HTTP {status})")?;
        }
        match self.words.as_str() {
            "" => {}
            words => write!(f, ": {words}")?,
        }
        if let Some(wait) = self.retry_after.filter(|wait| *wait > MAX_SERVER_WAIT) {
            let dot = if self.words.ends_with(['.', '!', '?']) { "" } else { "." };
            write!(f, "{dot} It asks to wait {} before the next try, so it is not asked again now", in_words(wait))?;
            return match &self.hint {
                Some(hint) => write!(f, ". {hint}"),
                None => Ok(()),
            };
        }
        match &self.hint {
            Some(hint) if self.words.ends_with(['.', '!', '?']) => write!(f, " {hint}"),
            Some(hint) => write!(f, ". {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    /// Adds what programs may want to know.
    pub(crate) fn describe(&self, mut payload: ErrorPayload) -> ErrorPayload {
        payload.redacted = self.redacted;
        payload = payload
            .detail("provider", self.provider.as_str())
            .detail("model", self.model.as_str())
            .detail("url", self.url.as_str());
        let texts = [("server_code", &self.server_code), ("param", &self.param), ("request_id", &self.request_id)];
        for (key, text) in texts {
            if let Some(text) = text {
                payload = payload.detail(key, text.as_str());
            }
        }
        if let Some(status) = self.status {
            payload = payload.detail("status", status);
        }
        if let Some(wait) = self.retry_after {
            payload = payload.detail("retry_after_ms", u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        }
        if let Some((requested, limit)) = self.tokens {
            payload = payload.detail("requested_tokens", requested).detail("limit_tokens", limit);
        }
        payload
    }
}
