//! What the server saw, kept for the test to look at.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::Value;

use crate::protocol::Protocol;

/// How long a test waits for something that should happen before it fails; real time, whatever the runtime's clock says.
pub(crate) const DEADLINE: Duration = Duration::from_secs(10);

/// One model request, as it came over the wire.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// `POST`.
    pub method: String,
    /// [`Protocol::path`], query included.
    pub path: String,
    /// Names in lower case, in order of arrival. Values that are not text are kept lossily.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; `null` if it was none.
    pub body: Value,
    /// The body, byte for byte.
    pub raw: Bytes,
    /// Anthropic's messages in the shape of the others'.
    pub(crate) view: Vec<Value>,
    /// The protocol the path belongs to.
    pub protocol: Protocol,
    /// Place among all model requests of this server, from 0.
    pub at: usize,
    /// What became of the answer when this snapshot was taken.
    pub delivery: Delivery,
}

/// A request for something else than a model's answer, e.g. the list of models.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The HTTP method.
    pub method: String,
    /// The path, query included.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub raw: Bytes,
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Not all of it has been written.
    Open,
    /// Written to the end.
    Finished,
    /// The script cut it short.
    Cut,
    /// The client closed the connection first.
    ClosedByClient,
}

static NOTHING: Value = Value::Null;

impl RecordedRequest {
    /// A header's first value; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The model asked for, empty if none.
    pub fn model(&self) -> &str {
        self.field("model").as_str().unwrap_or_default()
    }

    /// The messages, empty if none.
    ///
    /// Anthropic's come in the shape that the other protocols share: the system part first, one message a user's text or
    /// result (`role` is `tool`), calls in `tool_calls`, no cache marks. [`RecordedRequest::body`] has them as they were.
    pub fn messages(&self) -> &[Value] {
        if self.protocol == Protocol::Anthropic {
            return &self.view;
        }
        self.field("messages").as_array().map_or(&[], Vec::as_slice)
    }

    /// The tools, empty if none.
    pub fn tools(&self) -> &[Value] {
        self.field("tools").as_array().map_or(&[], Vec::as_slice)
    }

    /// The names of the tools on the wire.
    pub fn tool_names(&self) -> Vec<&str> {
        // Anthropic's tools are no functions.
        let place = if self.protocol == Protocol::Anthropic { "/name" } else { "/function/name" };
        self.tools().iter().filter_map(|tool| tool.pointer(place)?.as_str()).collect()
    }

    /// The model's turn this request asks for, from 0: how often it spoke already. It tells concurrent sessions apart from
    /// the order of arrival.
    pub fn turn(&self) -> usize {
        self.messages().iter().filter(|message| message["role"] == "assistant").count()
    }

    fn field(&self, name: &str) -> &Value {
        self.body.get(name).unwrap_or(&NOTHING)
    }
}

/// Everything recorded, and a way to wait for more.
#[derive(Debug)]
pub(crate) struct Store {
    log: Mutex<Log>,
    changed: Condvar,
}

#[derive(Debug)]
struct Log {
    /// The first `keep` requests.
    requests: Vec<RecordedRequest>,
    probes: Vec<Probe>,
    faults: Vec<String>,
    keep: usize,
    seen: usize,
    faults_seen: usize,
}

/// Beyond these, faults are counted only: one broken loop would fill the report.
const KEPT_FAULTS: usize = 50;

impl Store {
    pub(crate) fn new(keep: usize) -> Self {
        let log = Log { requests: vec![], probes: vec![], faults: vec![], keep, seen: 0, faults_seen: 0 };
        Self { log: Mutex::new(log), changed: Condvar::new() }
    }

    /// A test that panicked elsewhere must not hide its reason behind a poisoned lock.
    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Numbers the request, keeps it while there is room and wakes who waits for it.
    pub(crate) fn add(&self, request: &mut RecordedRequest) {
        let mut log = self.log();
        request.at = log.seen;
        log.seen += 1;
        if log.requests.len() < log.keep {
            log.requests.push(request.clone());
        }
        self.changed.notify_all();
    }

    pub(crate) fn add_probe(&self, probe: Probe) {
        let mut log = self.log();
        if log.probes.len() < log.keep {
            log.probes.push(probe);
        }
    }

    pub(crate) fn add_fault(&self, fault: String) {
        let mut log = self.log();
        log.faults_seen += 1;
        if log.faults.len() < KEPT_FAULTS {
            log.faults.push(fault);
        }
    }

    /// Sets what became of the answer, once.
    pub(crate) fn close(&self, at: usize, delivery: Delivery) {
        let mut log = self.log();
        if let Some(request) = log.requests.get_mut(at).filter(|request| request.delivery == Delivery::Open) {
            request.delivery = delivery;
        }
        self.changed.notify_all();
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.log().requests.clone()
    }

    pub(crate) fn probes(&self) -> Vec<Probe> {
        self.log().probes.clone()
    }

    pub(crate) fn seen(&self) -> usize {
        self.log().seen
    }

    /// The report of all faults, if there were any.
    pub(crate) fn faults(&self) -> Option<String> {
        let log = self.log();
        let more = log.faults_seen - log.faults.len();
        let tail = if more == 0 { String::new() } else { format!("\n… and {more} more") };
        (log.faults_seen > 0).then(|| format!("{}{tail}", log.faults.join("\n")))
    }

    /// Blocks until request `at` exists and `ready` says so.
    pub(crate) fn wait(
        &self,
        at: usize,
        ready: impl Fn(&RecordedRequest) -> bool,
        deadline: Duration,
    ) -> Result<RecordedRequest, String> {
        let end = Instant::now() + deadline;
        let mut log = self.log();
        loop {
            if let Some(request) = log.requests.get(at).filter(|request| ready(request)) {
                return Ok(request.clone());
            }
            if log.seen > at && at >= log.keep {
                return Err(format!("request {at} came but only {} are kept", log.keep));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(log.state_of(at, deadline));
            }
            log = self.changed.wait_timeout(log, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Log {
    fn state_of(&self, at: usize, waited: Duration) -> String {
        match self.requests.get(at) {
            Some(request) => format!("after {waited:?} the answer to request {at} is still {:?}", request.delivery),
            None => format!("after {waited:?} there were {} model requests, none with number {at}", self.seen),
        }
    }
}
