//! An adapter over HTTP: one dialect, one wire, and what they share.

use std::sync::Arc;
use std::time::Duration;

use agent_protocol::ModelRequest;
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::header::HeaderMap;
use tokio_util::sync::CancellationToken;

use crate::conversation::{self, Conversation, Patience, Stop, Terms};
use crate::dialect::SharedDialect;
use crate::http::{Call, Endpoint, HttpWire, Method};
use crate::{ModelStream, ProviderAdapter, ProviderError, ProviderSettings};

/// A provider that is reached over HTTP.
pub(crate) struct HttpAdapter {
    terms: Arc<Terms>,
    closed: CancellationToken,
}

impl HttpAdapter {
    /// `start_hint` tells the user what to do when nothing listens at the address.
    pub(crate) fn new(
        dialect: SharedDialect,
        endpoint: Endpoint,
        settings: ProviderSettings,
        start_hint: &'static str,
    ) -> Result<Self, ProviderError> {
        let url = endpoint.shown();
        let patience = Patience::new(settings.timeout, endpoint.is_loopback());
        let wire = HttpWire::new(dialect.key(), endpoint, &settings, start_hint)?;
        Ok(Self::over(Terms {
            dialect,
            wire: Box::new(wire),
            url,
            api_key: settings.api_key,
            context_window: settings.context_window,
            retry: settings.retry,
            limits: settings.limits,
            patience,
            raw: settings.raw,
        }))
    }

    pub(crate) fn over(terms: Terms) -> Self {
        Self { terms: Arc::new(terms), closed: CancellationToken::new() }
    }
}

impl ProviderAdapter for HttpAdapter {
    fn key(&self) -> &str {
        self.terms.dialect.key()
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        let stop = Stop { cancel, closed: self.closed.clone() };
        conversation::stream(Conversation::new(self.terms.clone(), request, stop))
    }

    fn reach(&self) -> BoxFuture<'_, Option<Result<u16, ProviderError>>> {
        let path = self.terms.dialect.models_path();
        let call = Call { method: Method::Get, path, headers: HeaderMap::new(), body: Bytes::new() };
        self.terms.wire.send(call).map(|answer| Some(answer.map(|answer| answer.status))).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.closed.cancel();
        std::future::ready(()).boxed()
    }
}

/// How long a server may stay silent (PRV-9).
impl Patience {
    /// From the setting, and whether the server is on this machine, where loading a model and reading a long prompt on a
    /// CPU take minutes.
    pub(crate) fn new(timeout: Duration, loopback: bool) -> Self {
        let least = Duration::from_secs(if loopback { 600 } else { 120 });
        Self { first_content: timeout.max(least), idle: timeout, linger: Duration::from_secs(5) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PRV-9: 600 s for the first content on loopback, 120 s elsewhere, more if the setting is more; then the setting.
    #[test]
    fn patience_depends_on_the_distance() {
        for (timeout, loopback, first) in [(60, true, 600), (60, false, 120), (900, true, 900), (300, false, 300)] {
            let patience = Patience::new(Duration::from_secs(timeout), loopback);
            assert_eq!(patience.first_content, Duration::from_secs(first));
            assert_eq!(patience.idle, Duration::from_secs(timeout));
        }
    }
}
