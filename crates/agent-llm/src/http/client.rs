//! The HTTP client, made at the first call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt};
use reqwest::header::{ACCEPT_ENCODING, HeaderValue};
use reqwest::{Client, NoProxy, Proxy, Response, redirect};

use super::{Answer, Call, Endpoint, Method, Wire, failure, tls};
use crate::{ProviderError, ProviderSettings, ProxySettings};

/// How long a connection may take (PRV-9).
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections that are kept for later requests; each holds about 25 KB (PERF-4).
const IDLE_CONNECTIONS: usize = 32;

/// A server that is reached over the network.
pub(crate) struct HttpWire {
    peer: failure::Peer,
    endpoint: Endpoint,
    proxy: Option<Proxy>,
    // Building it costs memory and, for https, the reading of certificates: not before it is needed (PERF-1).
    client: Mutex<Option<Arc<Pool>>>,
}

/// A client and the connections it keeps.
struct Pool {
    client: Client,
    /// It has had an answer: its next request may go over a connection that was kept.
    has_served: AtomicBool,
}

impl HttpWire {
    /// `start_hint` tells the user how to start the server, for when nothing listens.
    pub(crate) fn new(
        provider: &'static str,
        endpoint: Endpoint,
        settings: &ProviderSettings,
        start_hint: &'static str,
    ) -> Result<Self, ProviderError> {
        let proxy = proxy(&endpoint, &settings.proxy)
            .map_err(|_| ProviderError::InvalidProxy { provider: provider.to_owned() })?;
        let peer = failure::Peer {
            provider,
            url: endpoint.shown(),
            start_hint,
            // On this machine a refused port stays refused until the user starts the server.
            may_come_up: !endpoint.is_loopback(),
            connect_timeout: CONNECT_TIMEOUT,
        };
        Ok(Self { peer, endpoint, proxy, client: Mutex::default() })
    }

    fn pool(&self) -> Result<Arc<Pool>, ProviderError> {
        let mut slot = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = &*slot {
            return Ok(Arc::clone(pool));
        }
        let pool = Arc::new(Pool { client: self.build()?, has_served: AtomicBool::new(false) });
        Ok(Arc::clone(slot.insert(pool)))
    }

    /// A client without connections, in place of this one. Answers that are on their way over it still come.
    fn replace(&self, old: &Arc<Pool>) -> Result<Arc<Pool>, ProviderError> {
        {
            let mut slot = self.client.lock().unwrap_or_else(PoisonError::into_inner);
            // Another conversation may have been faster.
            drop(slot.take_if(|pool| Arc::ptr_eq(pool, old)));
        }
        self.pool()
    }

    fn build(&self) -> Result<Client, ProviderError> {
        let provider = || self.peer.provider.to_owned();
        let tls = if self.endpoint.is_secure() { tls::secure() } else { tls::unused() };
        let mut builder = Client::builder()
            .tls_backend_preconfigured(
                tls.map_err(|source| ProviderError::Tls { provider: provider(), source: source.into() })?,
            )
            // Proxies come from the settings; the client must not look for its own.
            .no_proxy()
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_max_idle_per_host(IDLE_CONNECTIONS)
            .user_agent(concat!("agent-llm/", env!("CARGO_PKG_VERSION")));
        if let Some(proxy) = &self.proxy {
            builder = builder.proxy(proxy.clone());
        }
        builder
            .build()
            .map_err(|source| ProviderError::Client { provider: provider(), source: source.without_url().into() })
    }

    async fn exchange(&self, call: Call) -> Result<Answer, ProviderError> {
        let pool = self.pool()?;
        let may_be_kept = pool.has_served.load(Ordering::Relaxed);
        let sent = match self.send_over(&pool, call.clone()).await {
            // Servers close connections that nobody uses, often just as we take one up again. All that were kept are as old.
            Err(error) if may_be_kept && failure::was_kept_too_long(&error) => {
                self.send_over(&*self.replace(&pool)?, call).await
            }
            sent => sent,
        };
        let response = sent.map_err(|error| failure::explain(&self.peer, error))?;
        let peer = self.peer.clone();
        Ok(Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.bytes_stream().map_err(move |error| failure::explain(&peer, error)).boxed(),
        })
    }

    async fn send_over(&self, pool: &Pool, call: Call) -> Result<Response, reqwest::Error> {
        let url = self.endpoint.url(call.path);
        let request = match call.method {
            Method::Get => pool.client.get(url),
            Method::Post => pool.client.post(url),
        };
        let response = request
            .headers(call.headers)
            // A compressed stream is held back by proxies until a block is full. If a server compresses all the same,
            // the client unpacks it, and limits count what comes out.
            .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"))
            .body(call.body)
            .send()
            .await?;
        pool.has_served.store(true, Ordering::Relaxed);
        Ok(response)
    }
}

impl Wire for HttpWire {
    fn send(&self, call: Call) -> BoxFuture<'_, Result<Answer, ProviderError>> {
        self.exchange(call).boxed()
    }
}

/// The proxy for this server, if there is one. Loopback never has one (PRV-17).
fn proxy(endpoint: &Endpoint, settings: &ProxySettings) -> Result<Option<Proxy>, reqwest::Error> {
    let address = settings.https_proxy.as_deref().map(str::trim).unwrap_or_default();
    if address.is_empty() || endpoint.is_loopback() || !endpoint.is_secure() {
        return Ok(None);
    }
    let direct = settings.no_proxy.as_deref().and_then(NoProxy::from_string);
    Ok(Some(Proxy::https(address)?.no_proxy(direct)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(url: &str, https_proxy: &str) -> Result<HttpWire, ProviderError> {
        let mut settings = ProviderSettings::new(url);
        settings.proxy.https_proxy = Some(https_proxy.to_owned());
        let endpoint = Endpoint::new("openai", &settings).unwrap();
        HttpWire::new("openai", endpoint, &settings, "Start it.")
    }

    /// PRV-17: loopback has no proxy, whatever the environment says.
    #[test]
    fn loopback_has_no_proxy() {
        for url in ["https://127.0.0.1", "http://localhost:1", "http://10.0.0.1", "https://[::1]"] {
            assert!(wire(url, "http://proxy:3128").unwrap().proxy.is_none(), "{url}");
        }
        assert!(wire("https://api.example.com", "http://proxy:3128").unwrap().proxy.is_some());
        assert!(wire("https://api.example.com", " ").unwrap().proxy.is_none());
    }

    /// PERF-1: making an adapter makes no client; PRV-18: a broken proxy address is not echoed.
    #[test]
    fn the_client_is_made_late() {
        let wire = wire("http://127.0.0.1:1", "").unwrap();
        assert!(wire.client.lock().unwrap().is_none());
        wire.pool().unwrap();
        assert!(wire.client.lock().unwrap().is_some());
    }

    #[test]
    fn a_broken_proxy_is_a_config_error() {
        let error = wire("https://api.example.com", "http://me:secret@ :1").err().unwrap();
        assert_eq!(error.payload().code, agent_protocol::ErrorCode::ConfigError);
        assert!(!error.payload().message.contains("secret"), "{}", error.payload().message);
    }
}
