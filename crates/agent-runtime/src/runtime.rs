//! One runtime per project: opens sessions, starts runs, ends everything it started.

use std::sync::{Arc, Mutex, PoisonError};

use agent_archive::{Archive, TaskArchive};
use agent_protocol::{
    ContentBlock, EventType, RunId, RunMode, RuntimeEvent, SessionId, UnavailableReason, contract_tool,
};
use agent_store::SessionArchive;
use agent_tool::{RegisterError, Tool};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::broker::Broker;
use crate::definitions::Definitions;
use crate::error::RuntimeError;
use crate::handle::RunHandle;
use crate::ids::fresh_id;
use crate::launch::Launcher;
use crate::memory::{Extractor, ExtractorParts};
use crate::models::Models;
use crate::project::project_name;
use crate::queue::{self, MAX_WAITING};
use crate::redact::Redactor;
use crate::resume::Resume;
use crate::run_spec::{RunSpec, StartRuns, Work, root_role};
use crate::services::Services;
use crate::sessions::Sessions;
use crate::settings::{Ports, RuntimeSettings};
use crate::sources::{FixedPart, unavailable_to_children};
use crate::spending::Spending;
use crate::worker_pools::check_worker_pools;

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

/// Runs sessions of one project. Cloning is cheap; a clone is the same runtime. There is no global state: two runtimes in one
/// process never meet.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    services: Arc<Services>,
    sessions: Arc<Sessions>,
    launcher: Launcher,
    archive: Arc<dyn SessionArchive>,
}

impl Runtime {
    /// Puts a runtime together. Whether the context window is big enough is for [`crate::check_budgets`], before anything is
    /// opened; a run that starts all the same is refused.
    #[must_use]
    pub fn new(settings: RuntimeSettings, ports: Ports) -> Self {
        let Ports { store, archive, artifacts, model, profiles, .. } = ports;
        let Ports { memory, tools, definitions, rules, secrets, patterns, raw, permission, .. } = ports;
        let redactor = Redactor::new(secrets);
        let (stop, background) = (CancellationToken::new(), TaskTracker::new());
        let extractor = memory.clone().map(|memory| {
            Extractor::new(ExtractorParts {
                memory,
                store: Arc::clone(&store),
                redactor: redactor.clone(),
                patterns: patterns.clone(),
                tasks: background.clone(),
                stop: stop.clone(),
            })
        });
        let settings = Arc::new(settings);
        let (name, window) = (settings.model.name.clone(), settings.budgets.context_window);
        let resume = Arc::new(Resume::new(Arc::clone(&store), name, window));
        let sessions = Sessions::new(Arc::clone(&store), Arc::clone(&resume), project_name(&settings.project));
        let services = Arc::new(Services {
            fixed: FixedPart::new(Arc::clone(&settings), tools, redactor.clone(), Arc::clone(&rules)),
            broker: Broker::new(permission, rules, settings.policy.clone(), settings.permission_timeout),
            models: Models::new(model, profiles),
            definitions,
            settings,
            store,
            artifacts,
            redactor,
            patterns,
            raw,
            memory,
            extractor,
            file_problems: Mutex::default(),
            task_problems: Mutex::default(),
            runs: TaskTracker::new(),
            background,
            stop,
        });
        let launcher = Launcher::new(Arc::clone(&services), resume);
        Self(Arc::new(Inner { services, sessions, launcher, archive }))
    }

    /// Adds a tool of the embedding program for the runs that start from now on.
    ///
    /// # Errors
    /// If the name is taken or reserved, or the definition unusable.
    pub fn register_tool(&self, tool: Arc<dyn Tool>) -> Result<(), RegisterError> {
        self.0.services.fixed.registered().register(tool)
    }

    /// Whether a definition may name that tool: it is there, or the contract has it and this version or configuration does not
    /// (AGD-3).
    #[must_use]
    pub fn knows_tool(&self, name: &str) -> bool {
        contract_tool(name).is_some() || self.0.services.fixed.registered().snapshot().get(name).is_some()
    }

    /// The agent definitions there are.
    #[must_use]
    pub fn definitions(&self) -> &Definitions {
        &self.0.services.definitions
    }

    /// Why no child agent can have the tool of that name (AGD-3); nothing if one can.
    #[must_use]
    pub fn unavailable_to_children(&self, name: &str) -> Option<UnavailableReason> {
        let Services { fixed, settings, .. } = &*self.0.services;
        unavailable_to_children(settings, &fixed.registered().snapshot(), name)
    }

    /// Starts a run. Returns at once; everything later is in its events. While the session works on an earlier message the
    /// run is queued and starts in its turn (RUN-1).
    ///
    /// # Errors
    /// If the message is empty, the session cannot be had, too many runs wait for it, orchestrator mode is wanted without workers
    /// that could be used, or the runtime is closed. Then nothing was created.
    pub async fn start(
        &self,
        message: impl Into<UserMessage> + Send,
        options: StartOptions,
    ) -> Result<RunHandle, RuntimeError> {
        let mut message = message.into();
        let Inner { services, sessions, launcher, .. } = &*self.0;
        if services.stop.is_cancelled() {
            return Err(RuntimeError::Closed);
        }
        if message.is_empty() {
            return Err(RuntimeError::EmptyMessage);
        }
        let mode = options.mode.unwrap_or(RunMode::Normal);
        if mode == RunMode::Orchestrator {
            check_worker_pools(&services.settings, &services.definitions, &services.fixed.registered().snapshot())?;
        }
        services.redactor.blocks(&mut message.content);
        let model = Arc::clone(services.models.main());
        services.fixed.check(root_role(mode), &model)?;
        let (mut session, mut owned) = match &options.session_id {
            Some(id) => sessions.open(id).await?,
            None => sessions.create().await?,
        };
        let queue = loop {
            let full = || RuntimeError::QueueFull { session_id: session.id().clone(), waiting: MAX_WAITING };
            let position = queue::join(&session).ok_or_else(full)?;
            if session.is_owned_as(&owned) {
                break position;
            }
            // Given up between the two; now that there is a place in its queue, that does not happen again.
            drop(position);
            (session, owned) = sessions.open(&session.id().clone()).await?;
        };
        let work = Work::Answer { message: message.content, mode, queue };
        let limits = model.limits(&services.settings.limits);
        let run_id = fresh_id(RunId::PREFIX, RunId::parse);
        let spec =
            RunSpec { run_id, work, model, limits, spending: Spending::of_root(), cancel: services.stop.child_token() };
        let started = launcher.start(&session, &owned, spec);
        let (store, cancel_timeout) = (Arc::clone(&services.store), services.settings.cancel_timeout);
        let secrets = services.redactor.secrets().clone();
        let tasks = TaskArchive::new(services.settings.tasks.wal_dir.clone(), secrets);
        Ok(RunHandle { started, store, cancel_timeout, mode, archive: self.archive(), tasks })
    }

    /// Looks back at what is stored.
    #[must_use]
    pub fn archive(&self) -> Archive {
        let Services { store, patterns, .. } = &*self.0.services;
        Archive::shared(Arc::clone(store), Arc::clone(&self.0.archive), patterns.clone())
    }

    /// Gives up a session of this runtime that is idle, so that it can be changed from outside of runs; one that this
    /// runtime does not own is left alone.
    ///
    /// # Errors
    /// [`RuntimeError::SessionBusy`] while a run works on it or waits for it.
    pub async fn release(&self, session_id: &SessionId) -> Result<(), RuntimeError> {
        self.0.sessions.release(session_id).await
    }

    /// Waits until nothing is at work beside runs: summaries and what is remembered. A program that is about to end may give
    /// that a moment (MEM-9); [`Self::close`] stops it.
    pub async fn background_work(&self) {
        let background = &self.0.services.background;
        background.close();
        background.wait().await;
        background.reopen();
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
            let found = self.0.services.store.last_event(session_id, end).await?;
            last = last.into_iter().chain(found).max_by_key(|event| event.seq);
        }
        Ok(last)
    }

    /// What is at work beside runs at this moment.
    #[must_use]
    pub fn background(&self) -> Background {
        let Services { extractor, background, .. } = &*self.0.services;
        let remembering = extractor.as_ref().map_or(0, Extractor::at_work);
        Background { remembering: remembering > 0, summarising: background.len() > remembering }
    }

    /// What was wrong with instruction files and skills when the last run began: those that cannot be read as what they are, and those
    /// that are nearly some. One line each, for people.
    #[must_use]
    pub fn file_problems(&self) -> Vec<String> {
        let Services { file_problems, task_problems, .. } = &*self.0.services;
        let all =
            [file_problems, task_problems].map(|some| some.lock().unwrap_or_else(PoisonError::into_inner).clone());
        all.concat()
    }

    /// Variables whose values are not replaced where they turn up, since they are too short or too long.
    #[must_use]
    pub fn keys_not_hidden(&self) -> Vec<String> {
        self.0.services.redactor.secrets().ignored().to_vec()
    }

    /// Variables whose values look like ordinary words, which are replaced wherever they stand.
    #[must_use]
    pub fn keys_that_are_words(&self) -> Vec<String> {
        self.0.services.redactor.secrets().ordinary().to_vec()
    }

    /// Stops all runs, then closes provider and store. Calling it again does nothing (API-7).
    pub async fn close(&self) {
        let Inner { services, sessions, .. } = &*self.0;
        services.stop.cancel();
        services.runs.close();
        // A run ends within its cancel timeout; beyond that nothing can be waited for.
        let patience = services.settings.cancel_timeout + std::time::Duration::from_secs(5);
        let _ = tokio::time::timeout(patience, services.runs.wait()).await;
        let _ = tokio::time::timeout(patience, self.background_work()).await;
        services.models.close().await;
        if let Some(memory) = &services.memory {
            memory.close().await;
        }
        sessions.close();
        services.store.close().await;
    }
}
