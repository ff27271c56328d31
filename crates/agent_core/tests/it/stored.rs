//! Sessions written straight into a home: for what runs do not do yet (child agents) or not on demand (a killed process).

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent_core::error::ErrorPayload;
use agent_core::id::{AgentId, ArtifactId, NodeId, RunId, SessionId};
use agent_core::message::{ContentBlock, Object};
use agent_core::runtime::RunStatus;
use agent_core::session::{NodeType, Role};
use agent_core::tool::{CallContext, FnTool, Permission, ToolClass};
use agent_protocol::{AgentStatus, AgentType, EndReason, EventDraft, MessageCreated, NodeDraft, RunPatch, Usage};
use agent_store::{
    ArtifactWriter, Clock, Commit, Lease, NewAgent, NewRun, NewSession, SessionStore, SqliteStore, StoreSettings, Write,
};
use agent_testkit::{Call, Reply};
use serde_json::{Value, json};

use crate::support::definition;

/// A store of its own beside the runtime's.
pub(crate) struct Stored {
    pub(crate) store: SqliteStore,
    writer: ArtifactWriter,
    clock: Arc<AtomicU64>,
}

/// A session this store owns, with one run.
pub(crate) struct Kept {
    pub(crate) lease: Lease,
    pub(crate) agent_id: AgentId,
    pub(crate) run_id: RunId,
}

impl Kept {
    pub(crate) fn id(&self) -> &SessionId {
        self.lease.session_id()
    }
}

impl Stored {
    pub(crate) async fn open(home: &Path) -> Self {
        let clock = Arc::new(AtomicU64::new(1_790_000_000_000));
        let shown = Arc::clone(&clock);
        let sessions_dir = home.join("sessions");
        let store = SqliteStore::open(StoreSettings {
            database: home.join("sessions.sqlite"),
            sessions_dir: sessions_dir.clone(),
            busy_timeout: Duration::from_secs(30),
            clock: Clock::new(move || shown.load(Ordering::SeqCst)),
        });
        Self { store: store.await.unwrap(), writer: ArtifactWriter::new(sessions_dir), clock }
    }

    /// Later commits are dated so many seconds after the first ones.
    pub(crate) fn at(&self, seconds: u64) {
        self.clock.store(1_790_000_000_000 + seconds * 1000, Ordering::SeqCst);
    }

    /// A session whose run is at work and has been told something.
    pub(crate) async fn session(&self, name: &str, told: &str) -> Kept {
        let new = NewSession {
            session_id: SessionId::parse(&format!("sess_{name}")).unwrap(),
            cwd: "/somewhere".to_owned(),
            root_agent_id: AgentId::parse(&format!("agent_{name}")).unwrap(),
            agent_type: AgentType::Main,
            metadata: Object::new(),
        };
        let agent_id = new.root_agent_id.clone();
        let lease = self.store.create_session(new).await.unwrap();
        let kept = Kept { lease, agent_id, run_id: RunId::parse(&format!("run_{name}")).unwrap() };
        let run = new_run(&kept.run_id, &kept.agent_id);
        self.commit(
            &kept,
            vec![Write::Run(run), Write::RunPatch(patch(RunStatus::Running)), node(&kept.run_id, 1, told)],
        )
        .await;
        self.commit(&kept, vec![Write::Activate(kept.run_id.node(1))]).await;
        kept
    }

    pub(crate) async fn commit(&self, kept: &Kept, writes: Vec<Write>) {
        self.commit_as(kept, &kept.agent_id, &kept.run_id, writes).await;
    }

    async fn commit_as(&self, kept: &Kept, agent_id: &AgentId, run_id: &RunId, writes: Vec<Write>) {
        let commit = Commit { agent_id: agent_id.clone(), run_id: run_id.clone(), writes };
        self.store.commit(&kept.lease, commit).await.unwrap();
    }

    pub(crate) async fn end(&self, kept: &Kept) {
        self.commit(kept, vec![Write::RunPatch(patch(RunStatus::Completed))]).await;
    }

    /// A child agent that has a run of its own and says something in it; its node.
    pub(crate) async fn child(&self, kept: &Kept, name: &str, says: &str) -> NodeId {
        let agent_id = AgentId::parse(&format!("agent_{name}")).unwrap();
        let run_id = RunId::parse(&format!("run_{name}")).unwrap();
        let agent = NewAgent {
            agent_id: agent_id.clone(),
            parent_agent_id: Some(kept.agent_id.clone()),
            agent_type: AgentType::Sub,
            created_by_run_id: Some(kept.run_id.clone()),
            fork_from_node_id: None,
            status: AgentStatus::Running,
            metadata: Object::new(),
        };
        self.commit(kept, vec![Write::Agent(agent)]).await;
        let event = EventDraft::of(MessageCreated { role: Role::User });
        let writes = vec![Write::Run(new_run(&run_id, &agent_id)), node(&run_id, 1, says), Write::Event(event)];
        self.commit_as(kept, &agent_id, &run_id, writes).await;
        run_id.node(1)
    }

    /// An artifact of so many bytes; its file.
    pub(crate) async fn artifact(&self, kept: &Kept, kind: Option<&str>, bytes: usize) -> (ArtifactId, PathBuf) {
        let (mut row, path) = self.file(kept.id(), bytes);
        row.metadata = kind.map(|kind| ("kind".to_owned(), kind.into())).into_iter().collect();
        let id = row.artifact_id.clone();
        self.commit(kept, vec![Write::Artifact(row)]).await;
        (id, path)
    }

    /// A file without a row, as a process leaves it that is killed before the commit.
    pub(crate) fn stray(&self, session: &SessionId, bytes: usize) -> PathBuf {
        self.file(session, bytes).1
    }

    fn file(&self, session: &SessionId, bytes: usize) -> (agent_store::NewArtifact, PathBuf) {
        let mut file = self.writer.begin_artifact(session, "out.txt").unwrap();
        file.write_all(&vec![b'x'; bytes]).unwrap();
        let path = file.path().to_owned();
        (file.finish(), path)
    }

    /// Lets go of the database and of the sessions, as a process does that ends however it ends.
    pub(crate) async fn die(self, kept: impl IntoIterator<Item = Kept>) {
        drop(Vec::from_iter(kept));
        self.store.close().await;
    }
}

fn new_run(run_id: &RunId, agent_id: &AgentId) -> NewRun {
    let (run_id, agent_id) = (run_id.clone(), agent_id.clone());
    NewRun { run_id, agent_id, status: RunStatus::Pending, start_node_id: None, metadata: Object::new() }
}

fn patch(status: RunStatus) -> RunPatch {
    RunPatch {
        status,
        end_reason: (status == RunStatus::Completed).then_some(EndReason::Completed),
        end_node_id: None,
        turn_count: 0,
        usage: Usage::default(),
        error: None,
    }
}

/// A tool whose results are too big for the model and become artifacts.
pub(crate) fn big_tool() -> Arc<FnTool> {
    let text =
        |_: Object, _: CallContext| async { Ok::<Value, ErrorPayload>("needle in a line\n".repeat(2000).into()) };
    Arc::new(FnTool::new(definition("big", Permission::Readonly), ToolClass::Readonly, text))
}

/// A call of it.
pub(crate) fn big_call() -> Reply {
    Reply::text("").calls([Call::new("big", json!({}))])
}

/// The `n`-th node of a run: something a user says.
pub(crate) fn node(run_id: &RunId, n: u64, text: &str) -> Write {
    Write::Node(NodeDraft {
        node_id: run_id.node(n),
        parent_id: (n > 1).then(|| run_id.node(n - 1)),
        role: Role::User,
        node_type: NodeType::Message,
        content: vec![ContentBlock::text(text)].into(),
        metadata: Object::new(),
        token_count: 1,
    })
}
