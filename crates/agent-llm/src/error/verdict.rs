//! What each failure is called at the boundary, and whether asking again may help.

use std::error::Error as _;

use agent_protocol::{ErrorCode, ErrorPayload, ModelFault};

use crate::{BrokenStream, ProviderError, Refusal, RefusalKind};

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
    /// As often as it takes the server to load its model, for as long as the first content may take.
    Loaded,
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
            Again::UpTo(_) | Again::Loaded => ModelFault::Retryable,
        }
    }

    /// The failure in the contract's words. The message holds the whole chain of causes, and no secret.
    #[must_use]
    pub fn payload(&self) -> ErrorPayload {
        if let Self::External(payload) = self {
            return payload.clone();
        }
        let verdict = self.verdict();
        let mut payload = ErrorPayload::new(verdict.code, self.chain())
            .retryable(matches!(verdict.again, Again::UpTo(_) | Again::Loaded))
            .detail("kind", verdict.kind);
        match self {
            Self::Refusal(refusal) => refusal.describe(payload),
            Self::PromptFillsWindow { prompt, window, .. } => {
                payload.detail("requested_tokens", *prompt).detail("limit_tokens", *window)
            }
            // For whoever looks into it; people read the message.
            Self::Unreachable { cause, .. } | Self::Disconnected { cause, .. } => {
                payload.detail("cause", cause.as_str())
            }
            Self::Broken { broken: BrokenStream::Malformed { redacted, .. }, .. } => {
                payload.redacted = *redacted;
                payload
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
        // Google calls a limit by the minute a quota, too, and says when it ends.
        RefusalKind::Quota
            if refusal.retry_after.is_some() && refusal.server_code.as_deref() != Some("insufficient_quota") =>
        {
            is(ProviderRateLimited, "rate_limited", OFTEN)
        }
        RefusalKind::Quota => is(ProviderRateLimited, "quota", Again::Never),
        RefusalKind::RateLimited => is(ProviderRateLimited, "rate_limited", OFTEN),
        RefusalKind::Overloaded => is(Failed, "overloaded", OFTEN),
        RefusalKind::Timeout => is(ProviderTimeout, "timeout", OFTEN),
        RefusalKind::Unsupported => is(UnsupportedCapability, "unsupported", Again::Never),
        RefusalKind::ModelNotFound => is(Failed, "model_not_found", Again::Never),
        RefusalKind::EndpointNotFound => is(Failed, "endpoint_not_found", Again::Never),
        RefusalKind::Filtered => is(Failed, "filtered", Again::Never),
        RefusalKind::BadGeneration => is(Failed, "bad_generation", Again::UpTo(2)),
        RefusalKind::Loading => is(Failed, "loading", Again::Loaded),
        RefusalKind::Runner => is(Failed, "runner", Again::UpTo(1)),
        RefusalKind::InvalidRequest => is(Failed, "invalid_request", Again::Never),
        RefusalKind::Server => is(Failed, "server", OFTEN),
        RefusalKind::Unknown => is(Failed, "unknown", OFTEN),
    };
    match (refusal.should_retry, verdict.again) {
        (Some(false), Again::UpTo(_) | Again::Loaded) => Verdict { again: Again::Never, ..verdict },
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

#[cfg(test)]
mod tests;
