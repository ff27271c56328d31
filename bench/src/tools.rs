//! The code tools, called in this process as a run calls them, without a run around them.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_code::{CodeLimits, CodeToolSettings, code_tools};
use agent_policy::{PathRules, Places};
use agent_protocol::{AgentId, Object, RunId, SessionId, ToolCallId, ToolOrigin};
use agent_redact::KnownSecrets;
use agent_tool::{
    ArtifactFile, ArtifactSink, CallContext, CallGroup, Fence, FileVersion, FileVersions, NoChildren, NoTasks,
    NoWorkers, NothingLoaded, ProgressSink, Registry, Tool, ToolOutput, WriteGuard,
};
use tokio_util::sync::CancellationToken;

use crate::error::BenchError;

/// The code tools of one project folder.
pub(crate) struct Tools {
    project: PathBuf,
    registry: Registry<Arc<dyn Tool>>,
    context: CallContext,
    runtime: tokio::runtime::Runtime,
}

impl Tools {
    pub(crate) fn in_project(project: &Path) -> Result<Self, BenchError> {
        let setup = |error: &dyn std::error::Error| BenchError::Setup { what: error.to_string() };
        let home = project.join("home");
        let places = Places {
            project: project.to_owned(),
            write_roots: Vec::new(),
            tmp: None,
            user_home: None,
            memory_dir: home.join("memory"),
            wal_dir: home.join("tasks"),
            session_db: home.join("sessions.sqlite"),
            sessions_dir: home.join("sessions"),
            plans_dir: project.join(".soong-agent/plans"),
            home,
        };
        let sensitive = ["~/.ssh", "*.pem", "*.key", ".env", ".env.*"].map(str::to_owned);
        let settings = CodeToolSettings {
            rules: Arc::new(PathRules::new(places, &sensitive).map_err(|error| setup(&error))?),
            path_var: std::env::var_os("PATH").unwrap_or_default(),
            env: Vec::new(),
            reading_is_free: true,
            // A result that is cut would be cheaper.
            limits: CodeLimits { result_bytes: usize::MAX, ..CodeLimits::default() },
        };
        let mut registry = Registry::new();
        for tool in code_tools(settings) {
            registry.add(ToolOrigin::Builtin, tool).map_err(|error| setup(&error))?;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok(Self {
            project: project.to_owned(),
            registry,
            context: context().map_err(|error| setup(&*error))?,
            runtime: runtime.map_err(BenchError::file("start threads for", project))?,
        })
    }

    /// Both phases of a call, from its arguments to its result. The result must hold `expected`: a call that fails would be cheap.
    pub(crate) fn call(&self, tool: &str, arguments: &str, expected: &str) -> Result<Duration, BenchError> {
        let wrong =
            |said: String| BenchError::Failed { program: format!("{tool} {arguments}"), code: None, stderr: said };
        let arguments: Object = serde_json::from_str(arguments).map_err(|source| BenchError::Body { source })?;
        let began = Instant::now();
        let output = self.runtime.block_on(self.run(tool, arguments));
        let took = began.elapsed();
        let output = output.map_err(|error| wrong(error.message))?;
        let text: String = output.content.iter().filter_map(|block| block.to_model_text()).collect();
        match output.error {
            None if text.contains(expected) => Ok(took),
            None => Err(wrong(format!("a result without {expected:?}"))),
            Some(error) => Err(wrong(error.message)),
        }
    }

    async fn run(&self, tool: &str, arguments: Object) -> Result<ToolOutput, agent_protocol::ErrorPayload> {
        let missing = || agent_protocol::ErrorPayload::new(agent_protocol::ErrorCode::ToolNotAvailable, "no such tool");
        let tool = self.registry.get(tool).ok_or_else(missing)?;
        let arguments = tool.check_arguments(arguments, &KnownSecrets::none())?;
        Ok(tool.binding().prepare(arguments, self.context.clone()).await?.call.run().await)
    }

    /// Another program in the same folder.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.project);
        command
    }
}

fn context() -> Result<CallContext, Box<dyn std::error::Error>> {
    Ok(CallContext {
        session_id: SessionId::parse("sess_bench")?,
        agent_id: AgentId::parse("agent_bench")?,
        run_id: RunId::parse("run_bench")?,
        tool_call_id: ToolCallId::parse("call_bench")?,
        cancel: CancellationToken::new(),
        fence: Fence::new(),
        progress: ProgressSink::ignored(),
        artifacts: Arc::new(Nothing),
        versions: Arc::new(Nothing),
        children: Arc::new(NoChildren),
        workers: Arc::new(NoWorkers),
        tasks: Arc::new(NoTasks),
        loaded: Arc::new(NothingLoaded),
        result_bytes: usize::MAX,
        group: CallGroup::default(),
        secrets: KnownSecrets::new([("", ""); 0])?,
    })
}

/// Keeps no artifact and remembers no version.
struct Nothing;

impl ArtifactSink for Nothing {
    fn begin(&self, _: &str, _: &str) -> io::Result<Box<dyn ArtifactFile>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl FileVersions for Nothing {
    fn seen(&self, _: &Path) -> Option<FileVersion> {
        None
    }

    fn read(&self, _: &Path, _: FileVersion) {}

    fn wrote(&self, _: &Path, _: FileVersion) {}

    fn writer(&self, _: &Path, _: FileVersion) -> Option<String> {
        None
    }

    fn exclusive(&self, _: &Path) -> WriteGuard {
        WriteGuard::free()
    }
}
