//! A project on disk, and calls of code tools in it.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::Arc,
};

use agent_policy::{Facts, Grants, PathRules, Places, PolicySettings, Question, Verdict, decide};
use agent_protocol::{ContentBlock, ErrorCode, ErrorPayload, ToolOrigin};
#[cfg(target_os = "linux")]
pub(crate) use agent_testkit::without_privileges;
pub(crate) use agent_tool::testing::{context_with, object};
use agent_tool::{CallContext, Prepared, Tool, ToolOutput, describe, testing::context};
use proptest::test_runner::Config as ProptestConfig;
use serde_json::Value;

use crate::{
    settings::{CodeLimits, CodeToolSettings},
    tool::{Blocking, CodeTool},
    workspace::Workspace,
};

/// Property tests leave nothing behind: a failure prints what failed.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A folder with a project `ws`, a folder `outside`, our home `home` and a user's home `user`.
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    pub(crate) limits: CodeLimits,
    pub(crate) context: CallContext,
}

impl Tree {
    pub(crate) fn new(name: &str) -> Self {
        let root = agent_testkit::scratch(name);
        for folder in ["ws", "outside", "home", "user/.ssh"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        Self { root, limits: CodeLimits::default(), context: context() }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("ws")
    }

    pub(crate) fn rules(&self) -> PathRules {
        let home = self.root.join("home");
        let places = Places {
            project: self.project(),
            write_roots: Vec::new(),
            tmp: None,
            user_home: Some(self.root.join("user")),
            memory_dir: home.join("memory"),
            wal_dir: home.join("tasks"),
            session_db: home.join("sessions.sqlite"),
            sessions_dir: home.join("sessions"),
            plans_dir: self.project().join(".soong-agent/plans"),
            home,
        };
        let sensitive = ["~/.ssh", "*.pem", ".env", ".env.*"].map(str::to_owned);
        PathRules::new(places, &sensitive).unwrap()
    }

    pub(crate) fn settings(&self) -> CodeToolSettings {
        CodeToolSettings {
            rules: Arc::new(self.rules()),
            path_var: "/usr/local/bin:/usr/bin:/bin".into(),
            env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            reading_is_free: true,
            limits: self.limits,
        }
    }

    pub(crate) fn workspace(&self) -> Workspace {
        Workspace::new(self.settings())
    }

    /// Makes a file of the project, with its folders.
    pub(crate) fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Makes a link in the project.
    pub(crate) fn link(&self, target: impl AsRef<Path>, path: &str) {
        symlink(target, self.project().join(path)).unwrap();
    }

    /// Makes a named pipe in the project.
    pub(crate) fn pipe(&self, path: &str) {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, self.project().join(path), FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    }

    /// The bytes of a file of the project.
    pub(crate) fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.project().join(path)).unwrap()
    }

    pub(crate) async fn prepare<T: CodeTool>(
        &self,
        tool: fn(Workspace) -> T,
        arguments: Value,
    ) -> Result<Prepared, ErrorPayload> {
        Blocking::new(tool(self.workspace())).prepare(object(arguments), self.context.clone()).await
    }

    /// Both phases.
    pub(crate) async fn call<T: CodeTool>(&self, tool: fn(Workspace) -> T, arguments: Value) -> ToolOutput {
        match self.prepare(tool, arguments).await {
            Ok(prepared) => prepared.call.run().await,
            Err(error) => ToolOutput::failed(error),
        }
    }

    /// The result of a call that succeeds.
    #[track_caller]
    pub(crate) fn ok<T: CodeTool>(&self, tool: fn(Workspace) -> T, arguments: Value) -> Value {
        let output = block_on(self.call(tool, arguments.clone()));
        assert_eq!(output.error, None, "{arguments}");
        data(&output)
    }

    /// The error of a call that fails, in whichever phase.
    #[track_caller]
    pub(crate) fn err<T: CodeTool>(&self, tool: fn(Workspace) -> T, arguments: Value) -> ErrorPayload {
        let output = block_on(self.call(tool, arguments.clone()));
        output.error.unwrap_or_else(|| panic!("{arguments} must fail"))
    }

    /// A call that fails with this code.
    #[track_caller]
    pub(crate) fn refused<T: CodeTool>(&self, tool: fn(Workspace) -> T, arguments: Value, code: ErrorCode) -> String {
        let error = self.err(tool, arguments);
        assert_eq!(error.code, code, "{error}");
        error.message
    }

    /// What is decided about a call that nobody allowed anything for yet.
    #[track_caller]
    pub(crate) fn verdict<T: CodeTool>(&self, tool: fn(Workspace) -> T, arguments: Value) -> Verdict {
        self.verdict_in(self.settings(), tool, arguments)
    }

    /// The same with other settings.
    #[track_caller]
    pub(crate) fn verdict_in<T: CodeTool>(
        &self,
        settings: CodeToolSettings,
        tool: fn(Workspace) -> T,
        arguments: Value,
    ) -> Verdict {
        let rules = Arc::clone(&settings.rules);
        let tool = Blocking::new(tool(Workspace::new(settings)));
        let prepared = block_on(tool.prepare(object(arguments.clone()), self.context.clone()));
        let facts = prepared.unwrap_or_else(|error| panic!("{arguments}: {error}")).facts;
        decide(&describe(ToolOrigin::Builtin, &tool), &facts, &rules, &PolicySettings::default(), &Grants::new())
    }

    #[track_caller]
    pub(crate) fn facts<T: CodeTool>(&self, tool: fn(Workspace) -> T, arguments: Value) -> Facts {
        block_on(self.prepare(tool, arguments)).unwrap().facts
    }
}

/// The question of a verdict that is one.
#[track_caller]
pub(crate) fn question(verdict: Verdict) -> Question {
    match verdict {
        Verdict::Ask(question) => *question,
        other => panic!("{other:?}"),
    }
}

/// The code of a call that somebody has to be asked for, where nobody can be.
#[track_caller]
pub(crate) fn code_unasked(verdict: Verdict) -> ErrorCode {
    assert!(matches!(verdict, Verdict::Ask(_)), "{verdict:?}");
    match verdict.unattended() {
        Verdict::Deny { code, .. } => code,
        other => panic!("{other:?}"),
    }
}

/// The JSON a call shows.
#[track_caller]
pub(crate) fn data(output: &ToolOutput) -> Value {
    match output.content.first() {
        Some(ContentBlock::Json(block)) => block.data.clone().unwrap(),
        other => panic!("no data: {other:?}"),
    }
}

/// Runs a future on a runtime of its own.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
