//! What a failure of the HTTP client means.

use std::error::Error;
use std::io;
use std::time::Duration;

use crate::{ProviderError, Waiting};

/// Who we talk to, for messages.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) provider: &'static str,
    pub(super) url: String,
    pub(super) start_hint: &'static str,
    pub(super) may_come_up: bool,
    pub(super) connect_timeout: Duration,
}

/// Names the failure. The client's own text is kept as the cause, without the URL, which may hold a query.
pub(super) fn explain(peer: &Peer, error: reqwest::Error) -> ProviderError {
    let source = error.without_url();
    let (provider, url) = (peer.provider.to_owned(), peer.url.clone());
    match reason(&source) {
        Reason::Refused => {
            ProviderError::Refused { provider, url, hint: peer.start_hint.to_owned(), may_come_up: peer.may_come_up }
        }
        Reason::ConnectTimeout => {
            ProviderError::TimedOut { provider, url, waiting: Waiting::Connection, limit: peer.connect_timeout }
        }
        Reason::NoConnection { passing } => {
            ProviderError::Unreachable { provider, url, source: source.into(), passing }
        }
        Reason::Broken => ProviderError::Disconnected { provider, url, source: source.into() },
    }
}

enum Reason {
    Refused,
    ConnectTimeout,
    NoConnection { passing: bool },
    Broken,
}

fn reason(error: &reqwest::Error) -> Reason {
    let kind = io_kind(error);
    if kind == Some(io::ErrorKind::ConnectionRefused) {
        return Reason::Refused;
    }
    if !error.is_connect() {
        return Reason::Broken;
    }
    if error.is_timeout() || kind == Some(io::ErrorKind::TimedOut) {
        return Reason::ConnectTimeout;
    }
    // Names that do not resolve and certificates that do not fit stay as they are; routes come back.
    let passing = matches!(
        kind,
        Some(
            io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::NetworkUnreachable
                | io::ErrorKind::HostUnreachable
                | io::ErrorKind::NetworkDown
                | io::ErrorKind::UnexpectedEof
                | io::ErrorKind::BrokenPipe
        )
    );
    Reason::NoConnection { passing }
}

/// The innermost I/O error among the causes.
fn io_kind(error: &reqwest::Error) -> Option<io::ErrorKind> {
    let mut kind = None;
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            kind = Some(io.kind());
        }
        cause = error.source();
    }
    kind
}
