//! The tools of Tasks over real logs and a real session, with a clock of the test's own.

mod board;
mod closing;
mod errors;
mod golden;
mod leases;
mod operations;
mod recovery;
mod results;
mod roles;
mod stored;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use agent_protocol::task::{PoolId, StepId, TaskId};
use agent_protocol::{
    AgentId, AgentRole, AgentStatus, AgentType, ContentBlock, ErrorPayload, EventId, EventType, Object, RunId,
    RunStatus, RuntimeEvent, SessionId, ToolCallId,
};
use agent_redact::{KnownSecrets, SecretPatterns};
use agent_store::{Clock, NewAgent, NewRun, NewSession, SessionStore, SqliteStore, StoreSettings, Write};
use agent_testkit::scratch;
use agent_tool::testing::{Shelf, context_with};
use agent_tool::{CallContext, CallGroup, Fence, Registry, Tool, ToolOutput, WorkerScope};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::task_tools;
use crate::agent::{Agent, CarriedState};
use crate::child_streams::ChildStreams;
use crate::live::Live;
use crate::owned::OwnedSession;
use crate::redact::Redactor;
use crate::run_clock::RunClock;
use crate::run_context::RunContext;
use crate::run_state::{RunResult, RunState};
use crate::seen_files::SeenFiles;
use crate::session::{Session, SessionKeeper};
use crate::session_files::SessionFiles;
use crate::spending::Spending;
use crate::task_settings::{BoardSettings, EventIds, TaskSettings};
use crate::tasks::{CallTasks, Ending, ForCall, TaskAccess};
use crate::workers::{Lives, WorkerRun};

/// How long a worker keeps a step. Milliseconds.
const LEASE: u64 = 1_000;

/// A session with its Tasks.
struct World {
    root: PathBuf,
    store: Arc<SqliteStore>,
    session: Arc<Session>,
    owned: Arc<OwnedSession>,
    settings: Arc<TaskSettings>,
    clock: Arc<AtomicU64>,
    tools: Registry<Arc<dyn Tool>>,
    shelf: Arc<Shelf>,
    tracker: TaskTracker,
    secrets: KnownSecrets,
}

struct Nobody;

impl SessionKeeper for Nobody {
    fn is_idle(&self, _: &Arc<Session>) {}
}

impl World {
    async fn new(name: &str) -> Self {
        Self::with_secrets(name, KnownSecrets::none()).await
    }

    async fn with_secrets(name: &str, secrets: KnownSecrets) -> Self {
        let root = scratch(&format!("tasks-{name}")).canonicalize().unwrap();
        let settings = StoreSettings {
            database: root.join("sessions.sqlite"),
            sessions_dir: root.join("sessions"),
            busy_timeout: Duration::from_secs(5),
            clock: Clock::new(|| 0),
        };
        let store = Arc::new(SqliteStore::open(settings).await.unwrap());
        let session_id = SessionId::parse("sess_1").unwrap();
        let agent_id = AgentId::parse("agent_root").unwrap();
        let new = NewSession {
            session_id: session_id.clone(),
            cwd: root.to_str().unwrap().to_owned(),
            root_agent_id: agent_id.clone(),
            agent_type: AgentType::Main,
            metadata: Object::new(),
        };
        let lease = store.create_session(new).await.unwrap();
        let files = Arc::new(SessionFiles::default());
        let seen = Arc::new(SeenFiles::new(agent_id.clone(), Arc::clone(&files)));
        let agent = Agent::new(agent_id, AgentType::Main, None, seen, Some(CarriedState::default()));
        let owned = Arc::new(OwnedSession::new(lease, root.to_str().unwrap().to_owned(), agent, files));
        let keeper: Weak<dyn SessionKeeper> = Weak::<Nobody>::new();
        let session = Arc::new(Session::new(session_id, keeper));
        session.own(Arc::clone(&owned));
        let (clock, ids) = (Arc::new(AtomicU64::new(0)), AtomicU64::new(0));
        let now = Arc::clone(&clock);
        let settings = TaskSettings {
            wal_dir: root.join("project/.soong-agent/tasks"),
            shown_dir: ".soong-agent/tasks".to_owned(),
            step_lease: Duration::from_millis(LEASE),
            clock: Clock::new(move || now.load(Ordering::SeqCst)),
            event_ids: EventIds::new(move || {
                EventId::parse(&format!("evt_{}", ids.fetch_add(1, Ordering::SeqCst) + 1)).unwrap()
            }),
            board: BoardSettings { tokens: 1_200, changes: 20, window: Duration::from_secs(1_800) },
        };
        let mut tools = Registry::new();
        for tool in task_tools() {
            tools.add(agent_protocol::ToolOrigin::Core, tool).unwrap();
        }
        let (shelf, tracker) = (Arc::new(Shelf::default()), TaskTracker::new());
        Self { root, store, session, owned, settings: Arc::new(settings), clock, tools, shelf, tracker, secrets }
    }

    fn at(&self, millis: u64) {
        self.clock.store(millis, Ordering::SeqCst);
    }

    fn folder(&self) -> PathBuf {
        self.settings.wal_dir.join("sess_1")
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder().join(format!("{name}.wal.jsonl"))
    }

    /// The lines of a log.
    fn lines(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.log(name)).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The session's events about Tasks.
    async fn told(&self) -> Vec<RuntimeEvent> {
        let events = self.store.events(self.session.id(), 0, 10_000).await.unwrap();
        events.into_iter().filter(|event| event.event_type.as_str().starts_with("task_")).collect()
    }

    async fn count(&self, event_type: EventType) -> usize {
        self.told().await.iter().filter(|event| event.event_type == event_type).count()
    }

    /// A run of the session's own agent.
    async fn root_run(&self, role: AgentRole, run: &str) -> Caller<'_> {
        self.caller(Arc::clone(&self.owned.root), role, run, None).await
    }

    async fn orchestrator(&self) -> Caller<'_> {
        self.root_run(AgentRole::Orchestrator, "run_o").await
    }

    /// A run of a child. `run_w1` is the run of `agent_w1`.
    async fn child(&self, name: &str, role: AgentRole, worker: Option<WorkerScope>) -> Caller<'_> {
        let id = AgentId::parse(&format!("agent_{name}")).unwrap();
        let files = Arc::new(SeenFiles::new(id.clone(), Arc::clone(&self.owned.files)));
        let agent = Arc::new(Agent::new(id, AgentType::Sub, None, files, None));
        self.caller(agent, role, &format!("run_{name}"), worker).await
    }

    /// A worker of pool `p`, sent for `task`; a blank between the steps that it may take.
    async fn worker(&self, name: &str, task: &str, steps: Option<&str>) -> Caller<'_> {
        let ids = |text: &str| text.split_whitespace().map(|id| StepId::parse(id).unwrap()).collect::<BTreeSet<_>>();
        let scope = WorkerScope {
            task_id: TaskId::parse(task).unwrap(),
            pool_id: PoolId::parse("p").unwrap(),
            allowed_step_ids: steps.map(ids),
        };
        self.child(name, AgentRole::Worker, Some(scope)).await
    }

    async fn caller(&self, agent: Arc<Agent>, role: AgentRole, run: &str, worker: Option<WorkerScope>) -> Caller<'_> {
        let run_id = RunId::parse(run).unwrap();
        let live = Live::new(self.session.id().clone(), run_id.clone(), SecretPatterns::new().unwrap());
        let is_root = agent.id == self.owned.root.id;
        let run = Arc::new(RunContext {
            session: Arc::clone(&self.session),
            owned: Arc::clone(&self.owned),
            agent,
            store: Arc::clone(&self.store) as _,
            run_id: run_id.clone(),
            role,
            known_as: None,
            worker,
            live: Arc::new(live),
            spending: Spending::of_root(),
            clock: Arc::new(RunClock::started()),
            redactor: Redactor::new(self.secrets.clone()),
            child_streams: ChildStreams::default(),
            left_behind: AtomicBool::new(false),
        });
        let agent_id = run.agent.id.clone();
        let mut writes = Vec::new();
        if !is_root {
            writes.push(Write::Agent(NewAgent {
                agent_id: agent_id.clone(),
                parent_agent_id: Some(self.owned.root.id.clone()),
                agent_type: AgentType::Sub,
                created_by_run_id: None,
                fork_from_node_id: None,
                status: AgentStatus::Running,
                metadata: Object::new(),
            }));
        }
        let status = RunStatus::Running;
        writes.push(Write::Run(NewRun { run_id, agent_id, status, start_node_id: None, metadata: Object::new() }));
        run.commit(writes).await.unwrap();
        let (cancel, fence) = (CancellationToken::new(), Fence::new());
        Caller { world: self, run, cancel, fence, patience: Duration::from_millis(20), room: 64 * 1024 }
    }
}

/// Somebody who calls the tools.
struct Caller<'w> {
    world: &'w World,
    run: Arc<RunContext>,
    cancel: CancellationToken,
    fence: Fence,
    patience: Duration,
    room: usize,
}

impl Caller<'_> {
    fn context(&self) -> CallContext {
        let World { settings, tracker, shelf, secrets, .. } = self.world;
        let call = ToolCallId::parse("call_1").unwrap();
        let tasks = CallTasks {
            access: TaskAccess { run: Arc::clone(&self.run), settings: Arc::clone(settings), tracker: tracker.clone() },
            call: ForCall { call: call.clone(), cancel: self.cancel.clone(), fence: self.fence.clone() },
            ending: Ending { patience: self.patience },
        };
        CallContext {
            session_id: self.run.session.id().clone(),
            agent_id: self.run.agent.id.clone(),
            run_id: self.run.run_id.clone(),
            tool_call_id: call,
            cancel: self.cancel.clone(),
            fence: self.fence.clone(),
            tasks: Arc::new(tasks),
            result_bytes: self.room,
            group: CallGroup::default(),
            secrets: secrets.clone(),
            ..context_with(Arc::clone(shelf))
        }
    }

    /// Both phases of a call, arguments checked before. The name is the contract's without `agent.`.
    async fn output(&self, name: &str, arguments: Value) -> ToolOutput {
        let tool = self.world.tools.get(&format!("agent.{name}")).unwrap();
        let arguments = match tool.check_arguments(arguments.as_object().unwrap().clone(), &KnownSecrets::none()) {
            Ok(arguments) => arguments,
            Err(error) => return ToolOutput::failed(error),
        };
        match tool.binding().prepare(arguments, self.context()).await {
            Ok(prepared) => prepared.call.run().await,
            Err(error) => ToolOutput::failed(error),
        }
    }

    async fn call(&self, name: &str, arguments: Value) -> Result<Value, ErrorPayload> {
        let output = self.output(name, arguments).await;
        match output.error {
            Some(error) => Err(error),
            None => Ok(value(&output.content)),
        }
    }

    #[track_caller]
    fn ok(&self, name: &str, arguments: Value) -> impl Future<Output = Value> {
        let place = std::panic::Location::caller();
        async move {
            let told = arguments.to_string();
            self.call(name, arguments).await.unwrap_or_else(|error| panic!("{place}: {name} {told}: {error}"))
        }
    }

    #[track_caller]
    fn refused(&self, name: &str, arguments: Value) -> impl Future<Output = ErrorPayload> {
        let place = std::panic::Location::caller();
        async move {
            let told = arguments.to_string();
            match self.call(name, arguments).await {
                Ok(value) => panic!("{place}: {name} {told} gave {value}"),
                Err(error) => error,
            }
        }
    }

    /// Makes a Task whose log has its id as name. Steps are written `a b<a,c x? y@pool`: `?` for optional ones.
    async fn create(&self, id: &str, steps: &str) -> Value {
        self.ok("task_create", new_task(id, steps)).await
    }

    /// Counts the run as living, as a run that was started does.
    fn lives(&self, task: &str) -> (Lives, CancellationToken, watch::Sender<RunState>) {
        let state = RunState { status: RunStatus::Running, left_behind: false, end: None };
        let ((sender, state), cancel) = (watch::channel(state), CancellationToken::new());
        let lives = self.run.owned.tasks.workers.lives(WorkerRun {
            agent_id: self.run.agent.id.clone(),
            run_id: self.run.run_id.clone(),
            task_id: TaskId::parse(task).unwrap(),
            cancel: cancel.clone(),
            state,
        });
        (lives, cancel, sender)
    }
}

/// A run that has ended.
fn ended() -> RunState {
    let result = RunResult::without_work(RunStatus::Aborted, None, None);
    RunState { status: RunStatus::Aborted, left_behind: false, end: Some(result.into()) }
}

fn new_task(id: &str, steps: &str) -> Value {
    let steps: Vec<Value> = steps.split_whitespace().map(step).collect();
    json!({"task_id": id, "wal_name": id, "title": format!("Task {id}"), "summary": "About it.", "steps": steps})
}

fn step(text: &str) -> Value {
    let (text, pool) = text.split_once('@').map_or((text, None), |(text, pool)| (text, Some(pool)));
    let (text, optional) = text.strip_suffix('?').map_or((text, false), |text| (text, true));
    let (id, depends) = text.split_once('<').unwrap_or((text, ""));
    let depends: Vec<&str> = depends.split(',').filter(|id| !id.is_empty()).collect();
    json!({
        "step_id": id, "title": format!("Step {id}"), "summary": "Do it.", "depends_on_step_ids": depends,
        "required": !optional, "worker_pool_id": pool,
    })
}

fn claim(task: &str, step: &str) -> Value {
    json!({"task_id": task, "step_id": step})
}

fn set(task: &str, step: &str, status: &str) -> Value {
    json!({"task_id": task, "step_id": step, "status": status})
}

fn update(task: &str, operations: Value) -> Value {
    json!({"task_id": task, "operations": operations})
}

/// The JSON that the model is shown.
fn value(content: &[ContentBlock]) -> Value {
    let text: String = content.iter().filter_map(ContentBlock::to_model_text).collect();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The ids of the steps of a result, with a blank between them.
fn ids(result: &Value) -> String {
    let steps = result["steps"].as_array().unwrap_or_else(|| panic!("{result}"));
    steps.iter().map(|step| step["step_id"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
