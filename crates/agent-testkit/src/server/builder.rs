//! What a server is like, and its start.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::thread;

use tokio::sync::oneshot;

use super::accept;
use super::script::Script;
use super::site::{Mapping, Site};
use super::{Runner, ScriptedServer};
use crate::home::MODEL;
use crate::model::Model;
use crate::names;
use crate::record::Store;

/// Options of a [`ScriptedServer`].
#[must_use]
pub struct ServerBuilder {
    models: Vec<Model>,
    mapping: Mapping,
    extra_fields: Vec<String>,
    checks: bool,
    keep: usize,
    port: u16,
}

impl Default for ServerBuilder {
    fn default() -> Self {
        Self {
            models: vec![Model::new(MODEL)],
            mapping: Arc::new(names::dots_to_underscores),
            extra_fields: Vec::new(),
            checks: true,
            keep: 4096,
            port: 0,
        }
    }
}

impl fmt::Debug for ServerBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { models, mapping: _, extra_fields, checks, keep, port } = self;
        f.debug_struct("ServerBuilder")
            .field("models", models)
            .field("extra_fields", extra_fields)
            .field("checks", checks)
            .field("keep", keep)
            .field("port", port)
            .finish_non_exhaustive()
    }
}

impl ServerBuilder {
    /// The models on offer instead of [`MODEL`]; requests for others are answered 404.
    pub fn models(mut self, models: impl IntoIterator<Item = Model>) -> Self {
        self.models = models.into_iter().collect();
        self
    }

    /// How the adapter under test encodes canonical tool names, unless it is `.` → `__`.
    pub fn wire_names(mut self, mapping: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.mapping = Arc::new(mapping);
        self
    }

    /// Top-level request fields that are legal beyond the protocol's own, e.g. those of a compatible server.
    pub fn allow_fields<S: Into<String>>(mut self, fields: impl IntoIterator<Item = S>) -> Self {
        self.extra_fields.extend(fields.into_iter().map(Into::into));
        self
    }

    /// Answers invalid requests from the script like any other: for benches, where checking is not what is measured.
    pub fn without_checks(mut self) -> Self {
        self.checks = false;
        self
    }

    /// How many requests are kept for [`ScriptedServer::requests`] (4,096); later ones are answered, not recorded.
    pub fn keep_requests(mut self, n: usize) -> Self {
        self.keep = n;
        self
    }

    /// Listens on this loopback port instead of a free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Starts on the caller's tokio runtime.
    ///
    /// # Panics
    /// Without the port.
    pub async fn start(self) -> ScriptedServer {
        let (listener, site) = self.open().unwrap_or_else(|e| panic!("start the scripted server: {e}"));
        let serve = accept::serve(listener, Arc::clone(&site))
            .unwrap_or_else(|e| panic!("give the scripted server's socket to tokio: {e}"));
        ScriptedServer::new(site, Runner::Task(tokio::spawn(serve)))
    }

    /// Starts on a thread and runtime of its own.
    ///
    /// # Panics
    /// Without the port or the thread.
    pub fn start_blocking(self) -> ScriptedServer {
        self.try_start_blocking().unwrap_or_else(|e| panic!("start the scripted server: {e}"))
    }

    /// As [`ServerBuilder::start_blocking`].
    ///
    /// # Errors
    /// If the port is taken or there can be no thread.
    pub fn try_start_blocking(self) -> io::Result<ScriptedServer> {
        let (listener, site) = self.open()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let of_thread = Arc::clone(&site);
        let serve = {
            let _inside = runtime.enter();
            accept::serve(listener, of_thread)?
        };
        let thread = thread::Builder::new().name("scripted-server".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(ScriptedServer::new(site, Runner::Thread(Some((stop, thread)))))
    }

    fn open(self) -> io::Result<(TcpListener, Arc<Site>)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port))?;
        listener.set_nonblocking(true)?;
        let site = Site {
            address: listener.local_addr()?,
            models: self.models,
            mapping: self.mapping,
            extra_fields: self.extra_fields,
            checks: self.checks,
            script: Arc::new(Script::default()),
            store: Arc::new(Store::new(self.keep)),
        };
        Ok((listener, Arc::new(site)))
    }
}

impl ScriptedServer {
    fn new(site: Arc<Site>, runner: Runner) -> Self {
        let (script, store) = (Arc::clone(&site.script), Arc::clone(&site.store));
        Self { address: site.address, script, store, strict: true, runner }
    }
}

/// The ways to start one.
impl ScriptedServer {
    /// Models, checks and the like; the short cuts below take the defaults.
    pub fn builder() -> ServerBuilder {
        ServerBuilder::default()
    }

    /// Starts on the caller's tokio runtime.
    ///
    /// # Panics
    /// Without a loopback port, as do the other ways to start.
    pub async fn start() -> Self {
        Self::builder().start().await
    }

    /// Starts on a thread and runtime of its own: for tests that are not async or run the real command.
    pub fn start_blocking() -> Self {
        Self::builder().start_blocking()
    }
}
