//! What a failure of the HTTP client means.

use std::error::Error;
use std::io;
use std::time::Duration;

use rustls::{CertificateError, Error as TlsError};

use crate::{ConnectionFault, ProviderError, Waiting};

/// Who we talk to, for messages.
#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) provider: &'static str,
    pub(super) url: String,
    pub(super) start_hint: &'static str,
    pub(super) may_come_up: bool,
    pub(super) connect_timeout: Duration,
}

/// Names the failure. The client's own words are kept beside it, without the URL, which may hold a query.
pub(super) fn explain(peer: &Peer, error: reqwest::Error) -> ProviderError {
    let error = error.without_url();
    let (provider, url) = (peer.provider.to_owned(), peer.url.clone());
    let found = Found::among(&error);
    if found.is_refused() {
        let hint = peer.start_hint.to_owned();
        return ProviderError::Refused { provider, url, hint, may_come_up: peer.may_come_up };
    }
    if error.is_connect() && (error.is_timeout() || found.io == Some(io::ErrorKind::TimedOut)) {
        let (waiting, limit) = (Waiting::Connection, peer.connect_timeout);
        return ProviderError::TimedOut { provider, url, waiting, limit };
    }
    let (fault, cause) = (found.fault(), words(&error));
    if error.is_connect() {
        return ProviderError::Unreachable { provider, url, fault, cause, passing: found.may_pass() };
    }
    ProviderError::Disconnected { provider, url, fault, cause }
}

/// Whether a connection that had been kept for this request was closed at the other end before anything of an answer came.
pub(super) fn was_kept_too_long(error: &reqwest::Error) -> bool {
    let found = Found::among(error);
    !error.is_connect() && !error.is_timeout() && !found.is_refused() && found.fault() == ConnectionFault::Closed
}

/// The client's words and those of its causes.
fn words(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(": ");
        words.push_str(&error.to_string());
        cause = error.source();
    }
    words
}

/// What is known among an error's causes.
#[derive(Debug, Default)]
struct Found {
    /// The innermost error of the system.
    io: Option<io::ErrorKind>,
    /// The system's own words for it.
    said: Option<String>,
    fault: Option<ConnectionFault>,
}

impl Found {
    fn among(error: &reqwest::Error) -> Self {
        let mut found = Self::default();
        if error.is_decode() {
            found.fault = Some(ConnectionFault::Compression);
        }
        let mut cause: Option<&(dyn Error + 'static)> = error.source();
        while let Some(error) = cause {
            found.look_at(error);
            cause = error.source();
        }
        found
    }

    fn look_at(&mut self, error: &(dyn Error + 'static)) {
        if let Some(http) = error.downcast_ref::<hyper::Error>() {
            let closed = http.is_incomplete_message() || http.is_canceled() || http.is_closed();
            // What unpacks the body is above it, so this is none of its faults.
            self.fault = match self.fault.take() {
                _ if http.is_parse() => Some(ConnectionFault::NotHttp),
                _ if closed => Some(ConnectionFault::Closed),
                None | Some(ConnectionFault::Compression) => Some(ConnectionFault::BadHttp),
                known => known,
            };
        }
        if let Some(io) = error.downcast_ref::<io::Error>() {
            self.io = Some(io.kind());
            self.said = io.raw_os_error().map(|_| said_by_system(io));
            // Not among its sources.
            if let Some(inner) = io.get_ref() {
                self.look_at(inner);
            }
        }
        if let Some(tls) = error.downcast_ref::<TlsError>() {
            self.fault = Some(tls_fault(tls));
        }
        // These have no type that could be asked for.
        let own = error.to_string();
        if own.starts_with("dns error") {
            self.fault = Some(ConnectionFault::UnknownHost);
        } else if own.starts_with("tunnel error") {
            self.fault = Some(ConnectionFault::Proxy);
        }
    }

    fn is_refused(&self) -> bool {
        self.io == Some(io::ErrorKind::ConnectionRefused) && self.fault != Some(ConnectionFault::Proxy)
    }

    fn fault(&self) -> ConnectionFault {
        let is_closed = self.io.is_some_and(|kind| {
            matches!(
                kind,
                io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::NotConnected
                    | io::ErrorKind::BrokenPipe
                    | io::ErrorKind::UnexpectedEof
            )
        });
        match (&self.fault, &self.said) {
            (Some(ConnectionFault::Compression | ConnectionFault::BadHttp) | None, _) if is_closed => {
                ConnectionFault::Closed
            }
            (Some(ConnectionFault::BadHttp), Some(said)) => ConnectionFault::System(said.clone()),
            (Some(fault), _) => fault.clone(),
            (None, Some(said)) => ConnectionFault::System(said.clone()),
            (None, None) => ConnectionFault::Other,
        }
    }

    /// Names that do not resolve and certificates that do not fit stay as they are; routes come back.
    fn may_pass(&self) -> bool {
        let routes = matches!(
            self.io,
            Some(io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkDown)
        );
        routes || self.fault() == ConnectionFault::Closed
    }
}

/// The system's words, without the number it has for them.
fn said_by_system(error: &io::Error) -> String {
    let words = error.to_string();
    let words = words.split(" (os error").next().unwrap_or_default();
    let mut letters = words.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

fn tls_fault(error: &TlsError) -> ConnectionFault {
    match error {
        TlsError::InvalidMessage(_) => ConnectionFault::NotTls,
        TlsError::InvalidCertificate(error) => ConnectionFault::Certificate(certificate_fault(error)),
        _ => ConnectionFault::Handshake,
    }
}

fn certificate_fault(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "it is not valid yet",
        CertificateError::Revoked => "it was revoked",
        CertificateError::UnknownIssuer => "this machine does not know who issued it",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another host's name"
        }
        _ => "it cannot be checked",
    }
}
