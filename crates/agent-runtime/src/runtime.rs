//! One runtime per project: opens sessions, starts runs, ends everything it started.

use std::sync::{Arc, PoisonError, RwLock};

use agent_llm::ProviderAdapter;
use agent_protocol::{
    ContentBlock, EventType, RunId, RunMode, RunStatus, RuntimeEvent, SessionId, ToolClass, ToolDefinition,
};
use agent_redact::SecretPatterns;
use agent_store::{ArtifactWriter, SessionArchive, SessionStore};
use agent_tool::{RegisterError, Tool};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::archive::Archive;
use crate::broker::Broker;
use crate::calls::{Calls, Tools};
use crate::handle::{RunHandle, Standing};
use crate::launch::{Entry, Launch};
use crate::line::{self, MAX_WAITING, Place};
use crate::live::Live;
use crate::memory::{Extractor, Memory};
use crate::raw::RunExchanges;
use crate::redact::Redactor;
use crate::session::{Open, RunContext, Session, fresh_id};
use crate::sessions::{Sessions, project_name};
use crate::sources::FixedPart;
use crate::upkeep::{Compactor, RawKeeper};
use crate::{Ports, RawExchanges, RuntimeError, RuntimeSettings};

/// What a user says.
#[derive(Debug, Clone, PartialEq)]
pub struct UserMessage {
    /// The blocks of it.
    pub content: Vec<ContentBlock>,
}

impl<T: Into<String>> From<T> for UserMessage {
    /// A plain string is a message with one text block (API-3).
    fn from(text: T) -> Self {
        Self { content: vec![ContentBlock::text(text)] }
    }
}

impl UserMessage {
    fn is_empty(&self) -> bool {
        self.content.iter().all(|block| block.to_model_text().is_none_or(|text| text.trim().is_empty()))
    }
}

/// How a run is started.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StartOptions {
    /// The session to go on with; a new one if absent.
    pub session_id: Option<SessionId>,
    /// How the run works.
    pub mode: Option<RunMode>,
}

/// What goes on beside runs ([`Runtime::background`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Background {
    /// It is being found out whether something is to be remembered.
    pub remembering: bool,
    /// Earlier turns are being summarised.
    pub summarising: bool,
}

/// Runs sessions of one project. There is no global state: two runtimes in one process never meet.
pub struct Runtime {
    settings: Arc<RuntimeSettings>,
    store: Arc<dyn SessionStore>,
    artifacts: ArtifactWriter,
    provider: Arc<dyn ProviderAdapter>,
    tools: Tools,
    fixed: Arc<FixedPart>,
    broker: Arc<Broker>,
    redactor: Redactor,
    patterns: SecretPatterns,
    raw: Option<RawExchanges>,
    sessions: Arc<Sessions>,
    archive: Arc<dyn SessionArchive>,
    runs: TaskTracker,
    compactor: Compactor,
    memory: Option<Memory>,
    extractor: Option<Extractor>,
    stop: CancellationToken,
}

impl Runtime {
    /// Puts a runtime together. Whether the context window is big enough is for [`crate::check_budgets`], before anything is
    /// opened; a run that starts all the same is refused.
    #[must_use]
    pub fn new(settings: RuntimeSettings, ports: Ports) -> Self {
        let Ports { store, archive, artifacts, provider, summariser, .. } = ports;
        let Ports { memory, tools, rules, secrets, patterns, raw, permission, .. } = ports;
        let redactor = Redactor::new(secrets);
        let stop = CancellationToken::new();
        let compactor = Compactor {
            provider: summariser,
            store: Arc::clone(&store),
            redactor: redactor.clone(),
            raw: raw.clone().map(|exchanges| RawKeeper {
                exchanges,
                writer: artifacts.clone(),
                patterns: patterns.clone(),
            }),
            tasks: TaskTracker::new(),
            stop: stop.clone(),
        };
        let extractor = memory.clone().map(|memory| {
            let cleaned_by = (redactor.clone(), patterns.clone());
            Extractor::new(memory, Arc::clone(&store), cleaned_by, compactor.tasks.clone(), stop.clone())
        });
        let settings = Arc::new(settings);
        let tools = Arc::new(RwLock::new(tools));
        Self {
            fixed: Arc::new(FixedPart::new(
                Arc::clone(&settings),
                Arc::clone(&tools),
                redactor.clone(),
                Arc::clone(&rules),
            )),
            broker: Arc::new(Broker::new(permission, rules, settings.policy.clone(), settings.permission_timeout)),
            redactor,
            compactor,
            memory,
            extractor,
            patterns,
            raw,
            tools,
            sessions: Sessions::new(
                Arc::clone(&store),
                project_name(&settings.project),
                settings.model.name.clone(),
                settings.budgets.context_window,
            ),
            archive,
            runs: TaskTracker::new(),
            stop,
            settings,
            store,
            artifacts,
            provider,
        }
    }

    /// Adds a tool for the runs that start from now on.
    ///
    /// # Errors
    /// If the name is taken or the definition unusable.
    pub fn register_tool(&self, tool: Arc<dyn Tool>) -> Result<(), RegisterError> {
        let (definition, class): (ToolDefinition, ToolClass) = (tool.definition().clone(), tool.class());
        self.tools.write().unwrap_or_else(PoisonError::into_inner).register(definition, class, tool)?;
        self.fixed.forget();
        Ok(())
    }

    /// Starts a run. Returns at once; everything later is in its events. While the session works on an earlier message the
    /// run is queued and starts in its turn (RUN-1).
    ///
    /// # Errors
    /// If the message is empty, the session cannot be had, too many runs wait for it, or the runtime is closed. Then nothing
    /// was created.
    pub async fn start(
        &self,
        message: impl Into<UserMessage> + Send,
        options: StartOptions,
    ) -> Result<RunHandle, RuntimeError> {
        let mut message = message.into();
        if self.stop.is_cancelled() {
            return Err(RuntimeError::Closed);
        }
        if message.is_empty() {
            return Err(RuntimeError::EmptyMessage);
        }
        if options.mode == Some(RunMode::Orchestrator) {
            return Err(RuntimeError::ModeNotAvailable);
        }
        self.redactor.blocks(&mut message.content);
        self.fixed.check()?;
        let (session, open) = match &options.session_id {
            Some(id) => self.sessions.open(id).await?,
            None => self.sessions.create().await?,
        };
        let full = || RuntimeError::QueueFull { session_id: session.id().clone(), waiting: MAX_WAITING };
        let place = line::join(&session).ok_or_else(full)?;
        Ok(self.launch((session, open), place, message))
    }

    fn launch(
        &self,
        (session, open): (Arc<Session>, Arc<Open>),
        place: Place<Session>,
        message: UserMessage,
    ) -> RunHandle {
        let run_id = fresh_id(RunId::PREFIX, RunId::parse, Uuid::now_v7());
        let live = Arc::new(Live::new(session.id().clone(), run_id.clone(), self.patterns.clone()));
        let context = Arc::new(RunContext {
            agent_id: open.agent_id.clone(),
            run_id: run_id.clone(),
            store: Arc::clone(&self.store),
            live: Arc::clone(&live),
            redactor: self.redactor.clone(),
            session,
            open,
        });
        let cancel = self.stop.child_token();
        let status = match &place {
            Place::First(_) => RunStatus::Pending,
            Place::Waiting { .. } => RunStatus::Queued,
        };
        let (standing, watched) = watch::channel(Standing { status, result: None });
        let handle = RunHandle {
            run_id,
            session_id: context.session.id().clone(),
            agent_id: context.agent_id.clone(),
            live,
            store: Arc::clone(&self.store),
            cancel: cancel.clone(),
            standing: watched,
            cancel_timeout: self.settings.cancel_timeout,
        };
        let raw = self.raw.as_ref().map(|exchanges| {
            RunExchanges {
                exchanges: exchanges.clone(),
                run_id: context.run_id.clone(),
                session_id: context.session.id().clone(),
                writer: self.artifacts.clone(),
                redactor: self.redactor.clone(),
                patterns: self.patterns.clone(),
            }
            .listen()
        });
        let launch = Launch {
            raw,
            calls: Calls::new(
                Arc::clone(&context),
                Arc::clone(&self.tools),
                Arc::clone(&self.broker),
                self.artifacts.clone(),
                self.settings.result_bytes,
            ),
            entry: Entry { context, sessions: Arc::clone(&self.sessions), cancel, standing },
            provider: Arc::clone(&self.provider),
            compactor: self.compactor.clone(),
            extractor: self.extractor.clone(),
            limits: self.settings.limits.clone(),
            message: message.content,
            cancel_timeout: self.settings.cancel_timeout,
            fixed: Arc::clone(&self.fixed),
            memory: self.memory.clone(),
        };
        let closed = ClosedAtTheEnd(Arc::clone(&handle.live));
        self.runs.spawn(async move {
            let _closed = closed;
            launch.run(place).await;
        });
        handle
    }

    /// Looks back at what is stored.
    #[must_use]
    pub fn archive(&self) -> Archive {
        Archive::shared(Arc::clone(&self.store), Arc::clone(&self.archive), self.patterns.clone())
    }

    /// Gives up a session of this runtime that is idle, so that it can be changed from outside of runs; one that this
    /// runtime does not own is left alone.
    ///
    /// # Errors
    /// [`RuntimeError::SessionBusy`] while a run works on it or waits for it.
    pub fn release(&self, session_id: &SessionId) -> Result<(), RuntimeError> {
        self.sessions.release(session_id)
    }

    /// Waits until nothing is at work beside runs: summaries and what is remembered. A program that is about to end may give
    /// that a moment (MEM-9); [`Self::close`] stops it.
    pub async fn background_work(&self) {
        self.compactor.tasks.close();
        self.compactor.tasks.wait().await;
        self.compactor.tasks.reopen();
    }

    /// How the session's last look for things to remember ended: its `memory_extraction_completed` or `…_failed`, if there ever
    /// was one.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn last_extraction(&self, session_id: &SessionId) -> Result<Option<RuntimeEvent>, RuntimeError> {
        let ends = [EventType::MemoryExtractionCompleted, EventType::MemoryExtractionFailed];
        let mut last: Option<RuntimeEvent> = None;
        for end in ends {
            let found = self.store.last_event(session_id, end).await?;
            last = last.into_iter().chain(found).max_by_key(|event| event.seq);
        }
        Ok(last)
    }

    /// What is at work beside runs at this moment.
    #[must_use]
    pub fn background(&self) -> Background {
        let remembering = self.extractor.as_ref().map_or(0, Extractor::at_work);
        Background { remembering: remembering > 0, summarising: self.compactor.tasks.len() > remembering }
    }

    /// Stops all runs, then closes provider and store. Calling it again does nothing (API-7).
    pub async fn close(&self) {
        self.stop.cancel();
        self.runs.close();
        // A run ends within its cancel timeout; beyond that nothing can be waited for.
        let patience = self.settings.cancel_timeout + std::time::Duration::from_secs(5);
        let _ = tokio::time::timeout(patience, self.runs.wait()).await;
        let _ = tokio::time::timeout(patience, self.background_work()).await;
        self.provider.close().await;
        self.compactor.provider.close().await;
        if let Some(memory) = &self.memory {
            memory.close().await;
        }
        self.sessions.close();
        self.store.close().await;
    }
}

/// Ends the live stream whatever becomes of its run, so that nobody waits for more of it.
struct ClosedAtTheEnd(Arc<Live>);

impl Drop for ClosedAtTheEnd {
    fn drop(&mut self) {
        self.0.close();
    }
}
