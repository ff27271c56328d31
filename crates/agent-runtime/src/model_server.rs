//! A model server as runs ask it: through its gate, with a place for each request that is under way.

use std::sync::Arc;
use std::time::Duration;

use agent_llm::{ModelStream, ProviderAdapter};
use agent_protocol::{ErrorCode, ErrorPayload, ModelEvent, ModelFault, ModelRequest};
use futures::StreamExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::request_gate::{Place, RequestGate};
use crate::run_clock::RunClock;

/// A connection to a model server, and the gate of that server. Cloning is cheap.
#[derive(Clone)]
pub struct ModelServer {
    adapter: Arc<dyn ProviderAdapter>,
    gate: Arc<RequestGate>,
}

impl ModelServer {
    /// `gate` is shared by all connections to the server.
    #[must_use]
    pub fn new(adapter: Arc<dyn ProviderAdapter>, gate: Arc<RequestGate>) -> Self {
        Self { adapter, gate }
    }

    /// The connection.
    #[must_use]
    pub fn adapter(&self) -> &Arc<dyn ProviderAdapter> {
        &self.adapter
    }

    /// Asks. Nothing is sent before there is a place. `clock` is stopped meanwhile: the one of the run that waits for the answer, if
    /// one does.
    pub(crate) fn ask<'c>(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
        clock: Option<&'c RunClock>,
    ) -> Asking<'c> {
        Asking {
            key: self.adapter.key().to_owned(),
            events: self.adapter.stream(request, cancel.clone()),
            gate: Arc::clone(&self.gate),
            state: State::Outside { not_before: None },
            cancel,
            clock,
        }
    }
}

impl std::fmt::Debug for ModelServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ModelServer").field(&self.adapter.key()).finish()
    }
}

/// A request on its way. It has a place at its server until its last event, except between its adapter's attempts.
pub(crate) struct Asking<'c> {
    key: String,
    events: ModelStream,
    gate: Arc<RequestGate>,
    state: State,
    cancel: CancellationToken,
    clock: Option<&'c RunClock>,
}

enum State {
    /// It needs a place to go on, and not before this moment.
    Outside { not_before: Option<Instant> },
    /// It has one.
    Inside { _place: Place },
    /// Its last event came.
    Ended,
}

impl Asking<'_> {
    /// The next event, as the adapter's stream gives it.
    pub(crate) async fn next(&mut self) -> Option<ModelEvent> {
        match self.state {
            State::Outside { not_before } => match enter(&self.gate, &self.cancel, self.clock, not_before).await {
                Some(place) => self.state = State::Inside { _place: place },
                None => {
                    self.state = State::Ended;
                    return Some(self.aborted());
                }
            },
            State::Inside { .. } => {}
            State::Ended => return None,
        }
        let event = self.events.next().await;
        match &event {
            // The adapter waits before it asks again, from now on.
            Some(ModelEvent::Retry { wait_ms, .. }) if *wait_ms > 0 => {
                let not_before = Instant::now() + Duration::from_millis(*wait_ms);
                self.state = State::Outside { not_before: Some(not_before) };
            }
            Some(ModelEvent::Completed(_) | ModelEvent::Failed { .. }) | None => self.state = State::Ended,
            Some(_) => {}
        }
        event
    }

    fn aborted(&self) -> ModelEvent {
        let message = format!("the request to {} was cancelled while it waited to be sent", self.key);
        ModelEvent::Failed {
            fault: ModelFault::Aborted,
            error: ErrorPayload::new(ErrorCode::Cancelled, message),
            partial: None,
        }
    }
}

/// A place; `None` if the request was cancelled first.
async fn enter(
    gate: &Arc<RequestGate>,
    cancel: &CancellationToken,
    clock: Option<&RunClock>,
    not_before: Option<Instant>,
) -> Option<Place> {
    if let Some(not_before) = not_before {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return None,
            () = tokio::time::sleep_until(not_before) => {}
        }
    }
    if cancel.is_cancelled() {
        return None;
    }
    if let Some(place) = gate.try_enter() {
        return Some(place);
    }
    let _stopped = clock.map(RunClock::stop);
    tokio::select! {
        biased;
        () = cancel.cancelled() => None,
        place = gate.enter() => Some(place),
    }
}
