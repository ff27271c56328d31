//! One runtime per project: opens sessions, starts runs, ends everything it started.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use agent_engine::{Calibration, Input, Path, Run, ToolSet};
use agent_llm::ProviderAdapter;
use agent_policy::SecretPatterns;
use agent_protocol::{
    AgentId, AgentType, ContentBlock, ErrorCode, ErrorPayload, Object, RunId, RunMode, RunStatus, SessionId,
    SystemPrompt, ToolClass, ToolDefinition,
};
use agent_store::{ArtifactWriter, Commit, Lease, NewRun, NewSession, SessionRow, SessionStore, Write};
use agent_tools::{RegisterError, Tool};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::broker::Broker;
use crate::calls::{Calls, Tools};
use crate::driver::{Driver, failed};
use crate::handle::{RunHandle, Standing};
use crate::live::Live;
use crate::redact::Redactor;
use crate::session::{Occupied, RunContext, Session, fresh_id};
use crate::sources::{RunSources, run_sources, system_prompt, tool_set};
use crate::versions::Versions;
use crate::{Ports, RuntimeError, RuntimeSettings};

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

/// Runs sessions of one project. There is no global state: two runtimes in one process never meet.
pub struct Runtime {
    settings: RuntimeSettings,
    store: Arc<dyn SessionStore>,
    artifacts: ArtifactWriter,
    provider: Arc<dyn ProviderAdapter>,
    tools: Tools,
    /// Made when first needed after a registration, then shared, so that its wire form is made once.
    tool_set: Mutex<Option<ToolSet>>,
    system: Arc<SystemPrompt>,
    broker: Arc<Broker>,
    redactor: Redactor,
    patterns: SecretPatterns,
    sessions: Mutex<HashMap<SessionId, Arc<Session>>>,
    runs: TaskTracker,
    stop: CancellationToken,
}

impl Runtime {
    /// Puts a runtime together. Whether the context window is big enough is for [`crate::check_budgets`], before anything is
    /// opened; a run that starts all the same is refused.
    #[must_use]
    pub fn new(settings: RuntimeSettings, ports: Ports) -> Self {
        let Ports { store, artifacts, provider, tools, rules, secrets, patterns, permission } = ports;
        Self {
            system: Arc::new(system_prompt(&settings.environment)),
            broker: Arc::new(Broker::new(permission, rules, settings.policy.clone(), settings.permission_timeout)),
            redactor: Redactor::new(secrets),
            patterns,
            tools: Arc::new(RwLock::new(tools)),
            tool_set: Mutex::new(None),
            sessions: Mutex::default(),
            runs: TaskTracker::new(),
            stop: CancellationToken::new(),
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
        *self.tool_set.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    fn effective_tools(&self) -> ToolSet {
        let mut cached = self.tool_set.lock().unwrap_or_else(PoisonError::into_inner);
        cached
            .get_or_insert_with(|| {
                let registry = self.tools.read().unwrap_or_else(PoisonError::into_inner);
                tool_set(&registry, &self.settings)
            })
            .clone()
    }

    /// Starts a run. Returns at once; everything later is in its events.
    ///
    /// # Errors
    /// If the message is empty, the session cannot be had, or the runtime is closed. Then nothing was created.
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
        let sources = run_sources(&self.settings, &self.system, &self.effective_tools())?;
        let session = match &options.session_id {
            Some(id) => self.open_session(id).await?,
            None => self.new_session().await?,
        };
        let busy = || RuntimeError::SessionBusy { session_id: session.id().clone() };
        let occupied = session.occupy().ok_or_else(busy)?;
        let rest = match occupied.take_rest() {
            Some(rest) => rest,
            None => (self.load_path(session.id()).await?, Calibration::default()),
        };
        Ok(self.launch(occupied, rest, sources, message))
    }

    fn launch(
        &self,
        occupied: Occupied,
        (path, calibration): (Path, Calibration),
        RunSources { sources, blobs }: RunSources,
        message: UserMessage,
    ) -> RunHandle {
        let run_id = fresh_id(RunId::PREFIX, RunId::parse, Uuid::now_v7());
        let session = Arc::clone(&occupied.session);
        let live = Arc::new(Live::new(session.id().clone(), run_id.clone(), self.patterns.clone()));
        let context = Arc::new(RunContext {
            agent_id: session.agent_id.clone(),
            run_id: run_id.clone(),
            store: Arc::clone(&self.store),
            live: Arc::clone(&live),
            redactor: self.redactor.clone(),
            session,
        });
        let cancel = self.stop.child_token();
        let (standing, watched) = watch::channel(Standing { status: RunStatus::Pending, result: None });
        let new_run = Write::Run(NewRun {
            run_id: run_id.clone(),
            agent_id: context.agent_id.clone(),
            status: RunStatus::Pending,
            start_node_id: None,
            metadata: Object::new(),
        });
        let handle = RunHandle {
            run_id: run_id.clone(),
            session_id: context.session.id().clone(),
            agent_id: context.agent_id.clone(),
            live,
            store: Arc::clone(&self.store),
            cancel: cancel.clone(),
            standing: watched,
            cancel_timeout: self.settings.cancel_timeout,
        };
        let driver = Driver {
            calls: Calls::new(
                Arc::clone(&context),
                Arc::clone(&self.tools),
                Arc::clone(&self.broker),
                self.artifacts.clone(),
                self.settings.result_bytes,
            ),
            provider: Arc::clone(&self.provider),
            machine: Run::new(self.settings.limits.clone(), run_id, path, calibration),
            prelude: std::iter::once(new_run).chain(blobs).collect(),
            cancel_timeout: self.settings.cancel_timeout,
            occupied,
            context,
            sources,
            cancel,
            standing,
        };
        self.runs.spawn(driver.drive(Input::Start { content: message.content }));
        handle
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn project(&self) -> String {
        self.settings.project.to_string_lossy().into_owned()
    }

    async fn new_session(&self) -> Result<Arc<Session>, RuntimeError> {
        let session_id = fresh_id(SessionId::PREFIX, SessionId::parse, Uuid::now_v7());
        let agent_id = fresh_id(AgentId::PREFIX, AgentId::parse, Uuid::now_v7());
        let new = NewSession {
            session_id,
            cwd: self.project(),
            root_agent_id: agent_id.clone(),
            agent_type: AgentType::Main,
            metadata: Object::new(),
        };
        let lease = self.store.create_session(new).await?;
        Ok(self.keep(Session::new(lease, agent_id, self.project(), Path::new(), Versions::default())))
    }

    /// A session of this process, or one that is claimed from the store.
    async fn open_session(&self, id: &SessionId) -> Result<Arc<Session>, RuntimeError> {
        if let Some(session) = self.sessions().get(id) {
            return Ok(Arc::clone(session));
        }
        // Looked at before it is claimed: a session of another project is none of ours to own.
        if let Some(row) = self.store.session(id).await? {
            self.check_project(&row)?;
        }
        let (row, lease) = self.store.claim_session(id).await?;
        self.check_project(&row)?;
        self.end_interrupted_runs(&lease).await?;
        let path = match &row.active_node_id {
            Some(leaf) => Path::from_nodes(self.store.load_path(id, leaf).await?),
            None => Path::new(),
        };
        let versions = Versions::stored(self.store.file_versions(id).await?);
        Ok(self.keep(Session::new(lease, row.root_agent_id, row.cwd, path, versions)))
    }

    fn keep(&self, session: Session) -> Arc<Session> {
        let session = Arc::new(session);
        self.sessions().insert(session.id().clone(), Arc::clone(&session));
        session
    }

    async fn load_path(&self, id: &SessionId) -> Result<Path, RuntimeError> {
        let active = self.store.session(id).await?.and_then(|row| row.active_node_id);
        Ok(match active {
            Some(leaf) => Path::from_nodes(self.store.load_path(id, &leaf).await?),
            None => Path::new(),
        })
    }

    fn check_project(&self, row: &SessionRow) -> Result<(), RuntimeError> {
        if row.cwd == self.project() {
            return Ok(());
        }
        Err(RuntimeError::OtherProject {
            session_id: row.session_id.clone(),
            cwd: row.cwd.clone(),
            project: self.project(),
        })
    }

    /// Runs whose process is gone have failed (RUN-20). What they left open on the path, the next run answers.
    async fn end_interrupted_runs(&self, lease: &Lease) -> Result<(), RuntimeError> {
        let error = ErrorPayload::new(ErrorCode::InternalError, "process ended during the run");
        let error = error.detail("kind", "interrupted");
        for run in self.store.unfinished_runs(lease.session_id()).await? {
            let commit =
                Commit { agent_id: run.agent_id.clone(), run_id: run.run_id.clone(), writes: failed(run, &error) };
            self.store.commit(lease, commit).await?;
        }
        Ok(())
    }

    /// Stops all runs, then closes provider and store. Calling it again does nothing (API-7).
    pub async fn close(&self) {
        self.stop.cancel();
        self.runs.close();
        // A run ends within its cancel timeout; beyond that nothing can be waited for.
        let patience = self.settings.cancel_timeout + std::time::Duration::from_secs(5);
        let _ = tokio::time::timeout(patience, self.runs.wait()).await;
        self.provider.close().await;
        self.sessions().clear();
        self.store.close().await;
    }
}
