//! A run before its loop: it waits for its turn if it must, then reads the path and hands over to the driver (RUN-1, RUN-2).

use std::sync::Arc;
use std::time::Duration;

use agent_engine::{Input, Limits, Run};
use agent_llm::ProviderAdapter;
use agent_protocol::{
    ContentBlock, EndReason, ErrorPayload, EventDraft, EventType, Object, RunPatch, RunStatus, Usage,
};
use agent_store::{NewRun, StoreError, Write};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::calls::Calls;
use crate::context::{Catalogs, Gatherer, InstructionFiles};
use crate::driver::{Driver, failed_patch};
use crate::handle::{RunResult, Standing};
use crate::line::{Place, Turn};
use crate::memory::{Extractor, Memory};
use crate::raw::RunExchanges;
use crate::session::{Rest, RunContext, Session};
use crate::sessions::Sessions;
use crate::sources::FixedPart;
use crate::upkeep::Compactor;

/// What a queued run's row keeps its message under, so that it survives a process that ends before its turn comes.
pub(crate) const QUEUED_MESSAGE: &str = "queued_message";

/// A run that was started.
pub(crate) struct Launch {
    pub(crate) entry: Entry,
    pub(crate) provider: Arc<dyn ProviderAdapter>,
    pub(crate) limits: Limits,
    pub(crate) calls: Calls,
    pub(crate) fixed: Arc<FixedPart>,
    pub(crate) memory: Option<Memory>,
    pub(crate) compactor: Compactor,
    pub(crate) extractor: Option<Extractor>,
    pub(crate) raw: Option<RunExchanges>,
    pub(crate) message: Vec<ContentBlock>,
    pub(crate) cancel_timeout: Duration,
}

/// What a run needs before its loop.
pub(crate) struct Entry {
    pub(crate) context: Arc<RunContext>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) cancel: CancellationToken,
    pub(crate) standing: watch::Sender<Standing>,
}

impl Launch {
    /// Runs to the end.
    pub(crate) async fn run(self, place: Place<Session>) {
        let (turn, mut prelude) = match place {
            Place::First(turn) => {
                let row = self.entry.row(RunStatus::Pending, Object::new());
                (turn, vec![row])
            }
            Place::Waiting { position, turn } => match self.entry.wait(&self.message, position, turn).await {
                Some(turn) => (turn, vec![Write::Event(EventDraft::new(EventType::RunDequeued))]),
                None => return,
            },
        };
        match self.entry.rest().await {
            Ok(rest) => {
                let found = tokio::select! {
                    biased;
                    // The driver sees it first thing.
                    () = self.entry.cancel.cancelled() => Catalogs::default(),
                    found = loadable(Arc::clone(&self.fixed), self.memory.clone()) => found,
                };
                let parts = Arc::new(self.fixed.parts(found.offer()));
                let files = Arc::new(InstructionFiles::new(Arc::new(found), Arc::clone(self.fixed.rules())));
                self.drive(turn, rest, prelude, Gatherer::new(parts, files)).await;
            }
            Err(error) => {
                let error = error.payload();
                prelude.extend(failed_patch(&error, None, 0, Usage::default()));
                let _ = self.entry.context.commit(prelude).await;
                // The session is given free before anybody is told.
                drop(turn);
                self.entry.end(RunStatus::Failed, Some(EndReason::Failed), Some(error));
            }
        }
    }

    async fn drive(self, turn: Turn<Session>, rest: Rest, prelude: Vec<Write>, gatherer: Gatherer) {
        let Entry { context, cancel, standing, .. } = self.entry;
        let mut machine = Run::new(self.limits, context.run_id.clone(), rest.path, rest.calibration)
            .with_compaction_floor(rest.compaction_floor);
        if let Some(started) = rest.started {
            machine = machine.with_started_calls(started);
        }
        let driver = Driver {
            turn,
            context,
            provider: self.provider,
            machine,
            calls: self.calls.with_instructions(gatherer.files()),
            gatherer: Some(gatherer),
            compactor: self.compactor,
            extractor: self.extractor,
            summary: None,
            raw: self.raw,
            prelude,
            held: None,
            store_failed: false,
            locked: None,
            unsaid: false,
            cancel,
            cancel_timeout: self.cancel_timeout,
            standing,
        };
        driver.drive(Input::Start { content: self.message }).await;
    }
}

/// Looks at what a run may load.
async fn loadable(fixed: Arc<FixedPart>, memory: Option<Memory>) -> Catalogs {
    let places = fixed.places().clone();
    let rules = Arc::clone(fixed.rules());
    let scan = tokio::task::spawn_blocking(move || Catalogs::scan(&places, &rules));
    let memories = async {
        match &memory {
            Some(memory) => memory.visible().await,
            None => None,
        }
    };
    let (scanned, memories) = tokio::join!(scan, memories);
    // Where the scan broke off there is nothing to list, and the run goes on.
    Catalogs { memories, ..scanned.unwrap_or_default() }
}

impl Entry {
    fn row(&self, status: RunStatus, metadata: Object) -> Write {
        Write::Run(NewRun {
            run_id: self.context.run_id.clone(),
            agent_id: self.context.agent_id.clone(),
            status,
            start_node_id: None,
            metadata,
        })
    }

    /// Waits until it is this run's turn. `None` if it has ended instead: it was cancelled, or cannot be stored.
    async fn wait(
        &self,
        message: &[ContentBlock],
        position: usize,
        turn: oneshot::Receiver<Turn<Session>>,
    ) -> Option<Turn<Session>> {
        let mut metadata = Object::new();
        // Blocks are plain JSON; that they cannot be written down is impossible.
        metadata.insert(QUEUED_MESSAGE.to_owned(), serde_json::to_value(message).unwrap_or_default());
        let queued = EventDraft::new(EventType::RunQueued).with("position", position);
        let queued = vec![self.row(RunStatus::Queued, metadata), Write::Event(queued)];
        if let Err(error) = self.context.commit(queued).await {
            self.end(RunStatus::Failed, Some(EndReason::Failed), Some(error.payload()));
            return None;
        }
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => {
                self.cancelled().await;
                None
            }
            turn = turn => match turn {
                Ok(turn) => {
                    self.standing.send_modify(|standing| standing.status = RunStatus::Pending);
                    Some(turn)
                }
                // The line itself is gone, and with it the runtime.
                Err(_) => {
                    self.cancelled().await;
                    None
                }
            },
        }
    }

    /// RUN-2: nothing but that it is over.
    async fn cancelled(&self) {
        let patch = RunPatch {
            status: RunStatus::Cancelled,
            end_reason: None,
            end_node_id: None,
            turn_count: 0,
            usage: Usage::default(),
            error: None,
        };
        let writes = vec![
            Write::Event(EventDraft::new(EventType::RunCancelled)),
            Write::Event(EventDraft::new(EventType::RunDequeued)),
            Write::RunPatch(patch),
        ];
        let error = self.context.commit(writes).await.err().map(|error| error.payload());
        self.end(RunStatus::Cancelled, None, error);
    }

    /// What the run before left, or what is stored (DB-11): read only now that nobody else writes.
    async fn rest(&self) -> Result<Rest, StoreError> {
        match self.context.open.take_rest() {
            Some(rest) => Ok(rest),
            None => self.sessions.reread(self.context.session.id(), &self.context.agent_id).await,
        }
    }

    fn end(&self, status: RunStatus, end_reason: Option<EndReason>, error: Option<ErrorPayload>) {
        self.context.live.close();
        self.standing.send_replace(Standing { status, result: Some(RunResult { status, end_reason, error }) });
    }
}
