//! The scripted server: its life, and what a test asks of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::protocol::Protocol;
use crate::record::{DEADLINE, Delivery, Probe, RecordedRequest, Store};
use crate::reply::Reply;

mod accept;
mod answer;
mod builder;
mod probes;
mod script;
mod site;

pub use builder::ServerBuilder;
use script::Script;

/// A model server on a free loopback port that answers from a script and remembers what it was asked.
///
/// Each model request takes the next reply: of those pushed first, then of the responder if one is set. A request that
/// breaks an invariant ([`validate_request`](crate::validate_request)) is answered 400, takes no reply, and fails the test
/// when the server is dropped; so does a request the script has no reply for.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    script: Arc<Script>,
    store: Arc<Store>,
    /// Whether dropping the server fails a test that sent invalid requests.
    strict: bool,
    runner: Runner,
}

/// Where the server runs.
#[derive(Debug)]
enum Runner {
    Task(JoinHandle<()>),
    /// Fields are taken when the server stops.
    Thread(Option<(oneshot::Sender<()>, thread::JoinHandle<()>)>),
}

impl ScriptedServer {
    /// What `base_url` in a config must say.
    pub fn base_url(&self, protocol: Protocol) -> String {
        protocol.base_url(&format!("http://{}", self.address))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds a reply to the end of the script.
    pub fn push(&self, reply: Reply) {
        self.script.push(reply);
    }

    /// Adds replies to the end of the script.
    pub fn script(&self, replies: impl IntoIterator<Item = Reply>) {
        replies.into_iter().for_each(|reply| self.push(reply));
    }

    /// Answers every request the script has no reply for. The closure gets the request and how many it answered before;
    /// it must not block.
    pub fn respond_with(&self, responder: impl Fn(&RecordedRequest, usize) -> Reply + Send + Sync + 'static) {
        self.script.respond_with(Arc::new(responder));
    }

    /// How many pushed replies wait for a request.
    pub fn unused_replies(&self) -> usize {
        self.script.waiting()
    }

    /// All model requests so far, refused ones included.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.store.requests()
    }

    /// How many model requests came so far, kept or not.
    pub fn request_count(&self) -> usize {
        self.store.seen()
    }

    /// All other requests so far.
    pub fn probes(&self) -> Vec<Probe> {
        self.store.probes()
    }

    /// Waits until model request `at` (from 0) has come; its answer may still be under way.
    ///
    /// # Panics
    /// After ten seconds of real time; so do the other ways to wait.
    pub async fn wait_for_request(&self, at: usize) -> RecordedRequest {
        self.wait(at, |_| true).await
    }

    /// [`ScriptedServer::wait_for_request`] for tests that are not async.
    pub fn wait_for_request_blocking(&self, at: usize) -> RecordedRequest {
        self.store.wait(at, |_| true, DEADLINE).unwrap_or_else(|e| panic!("waiting for request {at}: {e}"))
    }

    /// Waits until the answer to request `at` has ended one way or another, e.g. because the client closed the connection.
    pub async fn wait_for_end(&self, at: usize) -> Delivery {
        self.wait(at, |request| request.delivery != Delivery::Open).await.delivery
    }

    /// [`ScriptedServer::wait_for_end`] for tests that are not async.
    pub fn wait_for_end_blocking(&self, at: usize) -> Delivery {
        let ended = |request: &RecordedRequest| request.delivery != Delivery::Open;
        self.store.wait(at, ended, DEADLINE).unwrap_or_else(|e| panic!("waiting for the end of {at}: {e}")).delivery
    }

    /// A thread keeps the time: a paused tokio clock would jump over any deadline while bytes are on their way.
    async fn wait(&self, at: usize, ready: impl Fn(&RecordedRequest) -> bool + Send + 'static) -> RecordedRequest {
        let store = Arc::clone(&self.store);
        let (done, found) = oneshot::channel();
        // A receiver that is gone means that the test gave up waiting.
        thread::spawn(move || drop(done.send(store.wait(at, ready, DEADLINE))));
        match found.await {
            Ok(Ok(request)) => request,
            Ok(Err(e)) => panic!("waiting for request {at}: {e}"),
            Err(_) => panic!("waiting for request {at}: the waiting thread died"),
        }
    }

    /// Fails the test if any request broke an invariant or found no reply. Dropping the server does the same unless the
    /// test is failing already.
    ///
    /// # Panics
    /// With the list of violations.
    #[track_caller]
    pub fn assert_valid(&self) {
        if let Some(report) = self.store.faults() {
            panic!("the scripted server was asked what no server would answer:\n{report}");
        }
    }

    /// Fails the test if replies are left over.
    ///
    /// # Panics
    /// With their number.
    #[track_caller]
    pub fn assert_exhausted(&self) {
        let left = self.unused_replies();
        assert!(left == 0, "{left} scripted replies were never asked for, after {} requests", self.request_count());
    }

    /// Invalid requests no longer fail the test on drop: for tests that send them on purpose.
    pub fn tolerate_invalid(&mut self) {
        self.strict = false;
    }

    /// The violations so far, one a line.
    pub fn violations(&self) -> Option<String> {
        self.store.faults()
    }

    fn stop(&mut self) {
        match &mut self.runner {
            Runner::Task(task) => task.abort(),
            Runner::Thread(thread) => {
                if let Some((stop, thread)) = thread.take() {
                    drop(stop);
                    // A panic in there was printed by its thread; nothing is left to do about it.
                    let _ = thread.join();
                }
            }
        }
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.stop();
        if self.strict && !thread::panicking() {
            self.assert_valid();
        }
    }
}
