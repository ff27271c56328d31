//! The runtime as users see it.

use std::path::Path;
use std::sync::Arc;

use agent_archive::{
    Archive, ArchiveError, ArtifactCleanup, CleanupResult, FoundSessions, Replay, RunInspection, SessionListing,
    TaskCleanup, TurnInspection,
};
use agent_llm::{ProviderError, ProviderFactory, SharedProviders};
use agent_policy::{DefinitionError, Named};
use agent_protocol::{
    AgentDefinition, AgentDefinitionInfo, ArtifactId, DefinitionSource, ErrorPayload, ModelProfile, Node, NodeId,
    Object, RunId, RuntimeEvent, SessionId, ToolDefinition,
};
use agent_runtime::{Background, RunHandle, Runtime, RuntimeError, StartOptions, UserMessage};
use agent_store::{DamagedSession, DeletedArtifacts, DeletedSession, SessionFilter};
use agent_tool::{CallContext, FnTool, HandlerReply, RegisterError, Tool};
use futures::FutureExt;

use crate::overrides::Overrides;
use crate::profiles::Profiles;
use crate::task_logs::TaskLogs;

/// Runs an agent on one project folder. Dropping it without [`close`](Self::close) leaves no process and loses nothing that
/// was committed (API-7).
///
/// Cheap to clone: a clone is the same runtime.
#[derive(Clone)]
pub struct AgentRuntime {
    pub(super) inner: Runtime,
    pub(super) overrides: Arc<Overrides>,
    pub(super) archive: Archive,
    /// The providers that adapters are built from; more may be registered at any time.
    pub(super) providers: SharedProviders,
    /// The models that definitions may have.
    pub(super) profiles: Arc<Profiles>,
    /// Files that are nearly the one of hooks, one line each.
    pub(super) near_hooks: Arc<[String]>,
    /// Where the logs of Tasks are.
    pub(super) task_logs: TaskLogs,
}

impl AgentRuntime {
    /// Starts a run for a message; a plain string is a message with one text block. Returns at once.
    ///
    /// # Errors
    /// An empty message, a session that does not exist, is in use or belongs to another project, a closed runtime. Then
    /// nothing was created.
    pub async fn start(
        &self,
        message: impl Into<UserMessage> + Send,
        options: StartOptions,
    ) -> Result<RunHandle, RuntimeError> {
        self.inner.start(message, options).await
    }

    /// Adds a provider, for agents that start from now on with a model profile of their own that names its key. The runs of
    /// the user ask the configured model, whose provider is chosen when the runtime is built
    /// ([`AgentRuntimeBuilder::register_provider`](crate::runtime::AgentRuntimeBuilder::register_provider)). The definition of such
    /// an agent is registered after its provider.
    ///
    /// # Errors
    /// If the key is taken.
    pub fn register_provider(&self, key: impl Into<String>, factory: ProviderFactory) -> Result<(), ProviderError> {
        self.providers.register(key, factory)
    }

    /// Adds an agent definition; its source is `code`, whatever it says. With `overrides` it takes the place of a packaged
    /// definition or one of the user's (AGD-2).
    ///
    /// # Errors
    /// [`DefinitionError`]: an id that is taken, an override of what is not there or may not be replaced, a field that is not as it
    /// has to be, such as a model profile that no provider takes. Then nothing has changed.
    pub fn register_agent_definition(&self, definition: AgentDefinition) -> Result<(), DefinitionError> {
        let definition = AgentDefinition { source: DefinitionSource::Code, ..definition };
        let is_tool = |name: &str| self.inner.knows_tool(name);
        let model_profile = |profile: &ModelProfile| self.profiles.check(profile);
        self.inner.definitions().register(definition, &Named { is_tool: &is_tool, model_profile: &model_profile })
    }

    /// The agent definitions there are, by id, without their instructions (AGD-6).
    #[must_use]
    pub fn agent_definitions(&self) -> Vec<AgentDefinitionInfo> {
        self.inner.definitions().list(&|name| self.inner.unavailable_to_children(name))
    }

    /// Adds a tool with a plain handler, for the runs that start from now on. The handler gets checked arguments and
    /// returns any JSON value, or a [`ToolResult`](agent_protocol::ToolResult).
    ///
    /// A readonly tool's calls may run in parallel; those of a write or dangerous tool run alone and ask first.
    ///
    /// # Errors
    /// A name that is taken, unusable or reserved (`agent.` and `internal.` for core, `mcp.` for servers), an input schema outside the subset that every provider takes (TOL-2).
    pub fn register_tool<F, R, T>(&self, definition: ToolDefinition, handler: F) -> Result<(), RegisterError>
    where
        F: Fn(Object, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, ErrorPayload>> + Send + 'static,
        T: Into<HandlerReply>,
    {
        self.register(Arc::new(FnTool::of_permission(definition, handler)))
    }

    /// Adds a tool that has both phases itself.
    ///
    /// # Errors
    /// As [`register_tool`](Self::register_tool).
    pub fn register(&self, tool: Arc<dyn Tool>) -> Result<(), RegisterError> {
        self.inner.register_tool(self.overrides.apply(tool))
    }

    /// Looks back at what this runtime and others stored. Its methods that change something do not give up sessions that this
    /// runtime has open; those of the runtime itself do.
    #[must_use]
    pub fn archive(&self) -> Archive {
        self.archive.clone()
    }

    /// At most `limit` sessions after the first `offset`, of all projects, the one used last first: whose run began or ended last.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn list_sessions(
        &self,
        limit: u32,
        offset: u32,
    ) -> Result<Vec<Result<SessionListing, DamagedSession>>, RuntimeError> {
        Ok(self.archive.list_sessions(&SessionFilter::default(), limit, offset).await?)
    }

    /// At most `limit` ids of sessions that begin with `prefix`; one that is the prefix itself comes first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn sessions_beginning(&self, prefix: &str, limit: u32) -> Result<Vec<SessionId>, RuntimeError> {
        Ok(self.archive.sessions_beginning(prefix, limit).await?)
    }

    /// At most `limit` sessions in which every word occurs, after the first `offset`. A word that ends with `*` stands for all
    /// words that begin so.
    ///
    /// # Errors
    /// If there is no word in `words`, or the store cannot be read.
    pub async fn search_sessions(&self, words: &str, limit: u32, offset: u32) -> Result<FoundSessions, RuntimeError> {
        Ok(self.archive.search_sessions(words, &SessionFilter::default(), limit, offset).await?)
    }

    /// Events, nodes and artifacts of a session from `from_seq` to `to_seq`, both included; child agents are summarised
    /// (STO-9). What looks like a secret is shown with `include_sensitive` only (STO-10).
    ///
    /// # Errors
    /// If there is no such session, or the store cannot be read.
    pub async fn replay_session(
        &self,
        session_id: &SessionId,
        from_seq: Option<u64>,
        to_seq: Option<u64>,
        include_sensitive: bool,
    ) -> Result<Replay, RuntimeError> {
        Ok(self.archive.replay_session(session_id, from_seq, to_seq, include_sensitive).await?)
    }

    /// The same of a run.
    ///
    /// # Errors
    /// If there is no such run, or the store cannot be read.
    pub async fn replay_run(&self, run_id: &RunId, include_sensitive: bool) -> Result<Replay, RuntimeError> {
        Ok(self.archive.replay_run(run_id, include_sensitive).await?)
    }

    /// The path from the root to a node, root first. What looks like a secret is not shown; [`Archive::get_node_path`] has a
    /// choice.
    ///
    /// # Errors
    /// If there is no such node, or the store cannot be read.
    pub async fn get_node_path(&self, node_id: &NodeId) -> Result<Vec<Node>, RuntimeError> {
        Ok(self.archive.get_node_path(node_id, false).await?)
    }

    /// A run with its turns.
    ///
    /// # Errors
    /// If there is no such run, or the store cannot be read.
    pub async fn inspect_run(&self, run_id: &RunId, include_sensitive: bool) -> Result<RunInspection, RuntimeError> {
        Ok(self.archive.inspect_run(run_id, include_sensitive).await?)
    }

    /// A turn of a run, with what the model was asked in it (STO-11).
    ///
    /// # Errors
    /// If there is no such run or turn, if something the request was made of is not stored, or the store cannot be read.
    pub async fn inspect_turn(
        &self,
        run_id: &RunId,
        turn: u32,
        include_sensitive: bool,
    ) -> Result<TurnInspection, RuntimeError> {
        Ok(self.archive.inspect_turn(run_id, turn, include_sensitive).await?)
    }

    /// Moves the end of a session's active path, so that its next run goes on from there. What lay behind it stays, as a
    /// branch (STO-7).
    ///
    /// # Errors
    /// A node of another session or of another agent's tree, one after which nothing can be said, a session at work.
    pub async fn switch_node(&self, session_id: &SessionId, node_id: &NodeId) -> Result<(), RuntimeError> {
        self.inner.release(session_id).await?;
        Ok(self.archive.switch_node(session_id, node_id).await?)
    }

    /// Deletes a session with its artifacts and their files. Memory, plans and tasks are kept (STO-12).
    ///
    /// # Errors
    /// If there is no such session, or it is at work, here or in another process.
    pub async fn delete_session(&self, session_id: &SessionId) -> Result<DeletedSession, RuntimeError> {
        self.inner.release(session_id).await?;
        Ok(self.archive.delete_session(session_id).await?)
    }

    /// Deletes an artifact: its row, then its file.
    ///
    /// # Errors
    /// If there is no such artifact, or its session is at work, here or in another process.
    pub async fn delete_artifact(&self, artifact_id: &ArtifactId) -> Result<DeletedArtifacts, RuntimeError> {
        self.inner.release(&self.archive.session_of_artifact(artifact_id).await?).await?;
        Ok(self.archive.delete_artifact(artifact_id).await?)
    }

    /// Finds artifacts that may go, and deletes them unless it is a dry run, as it is by default (ART-3). Sessions at work are
    /// passed over and told.
    ///
    /// # Errors
    /// If there is no such session, or the store cannot be read.
    pub async fn cleanup_artifacts(&self, options: &ArtifactCleanup) -> Result<CleanupResult, RuntimeError> {
        let release =
            |id: SessionId| async move { self.inner.release(&id).await.map_err(|error| error.payload()) }.boxed();
        Ok(self.archive.cleanup_releasing(options, &release).await?)
    }

    /// Finds logs of Tasks in a project that have ended, and removes them unless it is a dry run, as it is by default (ART-3): those of
    /// completed Tasks, and of others only where these are included. A Task that has not ended stays, and so does a log that cannot be
    /// read or that a process holds; all are told with the reason.
    ///
    /// # Errors
    /// If the folder of the logs cannot be read.
    pub async fn cleanup_project_tasks(
        &self,
        project: &Path,
        options: &TaskCleanup,
    ) -> Result<CleanupResult, RuntimeError> {
        let (tasks, options) = (self.task_logs.of(project), options.clone());
        let cleanup = tokio::task::spawn_blocking(move || tasks.cleanup(&options)).await;
        Ok(cleanup.unwrap_or(Err(ArchiveError::BrokeOff { work: "clearing away logs of Tasks" }))?)
    }

    /// What is at work beside runs at this moment: memories that are being found out, summaries.
    #[must_use]
    pub fn background(&self) -> Background {
        self.inner.background()
    }

    /// What was wrong with instruction files and skills when the last run began: those that cannot be read as what they are, and those
    /// that are nearly some, such as an `AGENTS.MD`; and with files that are nearly the one of hooks. One line each, for people.
    #[must_use]
    pub fn file_problems(&self) -> Vec<String> {
        self.near_hooks.iter().cloned().chain(self.inner.file_problems()).collect()
    }

    /// Variables named as holding a key whose values are not replaced where they turn up, since they are too short or too long
    /// (STO-10).
    #[must_use]
    pub fn keys_not_hidden(&self) -> Vec<String> {
        self.inner.keys_not_hidden()
    }

    /// Variables named as holding a key whose values look like ordinary words. They are replaced wherever they turn up, also where the
    /// word means something else.
    #[must_use]
    pub fn keys_that_are_words(&self) -> Vec<String> {
        self.inner.keys_that_are_words()
    }

    /// How the session's last look for things to remember ended: its `memory_extraction_completed` or `…_failed`, if there ever
    /// was one.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn last_extraction(&self, session_id: &SessionId) -> Result<Option<RuntimeEvent>, RuntimeError> {
        self.inner.last_extraction(session_id).await
    }

    /// Waits until nothing is at work beside runs, such as a summary of earlier turns. A program that is about to end may give
    /// that a moment before it calls [`close`](Self::close), which stops it.
    pub async fn background_work(&self) {
        self.inner.background_work().await;
    }

    /// Stops what runs, then closes provider and store. Calling it again does nothing (API-7).
    pub async fn close(&self) {
        self.inner.close().await;
    }
}
