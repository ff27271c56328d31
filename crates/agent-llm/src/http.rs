//! The wire: the only place that knows the HTTP client. A [`Wire`] sends one call and hands back status, headers and the
//! bytes of the body as they come; time limits, retries and meaning belong to the conversation above it.

mod client;
mod endpoint;
mod failure;
mod tls;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use reqwest::header::HeaderMap;

use crate::ProviderError;

pub(crate) use client::HttpWire;
pub(crate) use endpoint::Endpoint;

/// Sends calls to one server.
pub(crate) trait Wire: Send + Sync {
    /// Sends a call and waits for the head of the answer.
    fn send(&self, call: Call) -> BoxFuture<'_, Result<Answer, ProviderError>>;
}

/// One HTTP request. Cheap to clone, for asking again.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Below the base URL.
    pub(crate) path: &'static str,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
}

/// The head of an answer, and its body to come.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

/// Bytes after decompression. Dropping it closes the connection, unless the body has ended.
pub(crate) type Body = BoxStream<'static, Result<Bytes, ProviderError>>;

impl Answer {
    /// A header's text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
