//! What the tests have in common: a store in a folder of its own, and commits that are easy to read.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_protocol::{
    AgentId, AgentStatus, AgentType, ContentBlock, EndReason, EventDraft, EventType, NodeDraft, NodeId, NodeType,
    Object, Role, RunId, RunPatch, RunStatus, SessionId, Usage,
};
use agent_store::{
    ArtifactWriter, Clock, Commit, Lease, NewAgent, NewArtifact, NewRun, NewSession, SessionStore, SqliteStore,
    StoreError, StoreSettings, Write,
};
use rusqlite::Connection;

/// 2026-11-30T09:41:43.120Z.
pub(crate) const NOW: u64 = 1_796_031_703_120;

/// What could be read of a list, all of it.
pub(crate) fn whole<T, E: std::fmt::Debug>(list: Vec<Result<T, E>>) -> Vec<T> {
    list.into_iter().map(Result::unwrap).collect()
}

pub(crate) struct Place {
    pub(crate) folder: PathBuf,
}

impl Place {
    pub(crate) fn new(name: &str) -> Self {
        Self { folder: agent_testkit::scratch(name) }
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder.join("home/sessions.sqlite")
    }

    pub(crate) fn sessions_dir(&self) -> PathBuf {
        self.folder.join("home/sessions")
    }

    pub(crate) fn lock_of(&self, session: &str) -> PathBuf {
        self.sessions_dir().join(session).join("lock")
    }

    pub(crate) async fn open(&self) -> SqliteStore {
        self.try_open(Duration::from_secs(20)).await.unwrap()
    }

    pub(crate) async fn try_open(&self, busy_timeout: Duration) -> Result<SqliteStore, StoreError> {
        open_in(&self.folder, busy_timeout).await
    }

    /// The database as another program sees it.
    pub(crate) fn raw(&self) -> Connection {
        let conn = Connection::open(self.database()).unwrap();
        conn.busy_timeout(Duration::from_secs(20)).unwrap();
        conn
    }
}

pub(crate) async fn open_in(folder: &Path, busy_timeout: Duration) -> Result<SqliteStore, StoreError> {
    open_at(folder, busy_timeout, Clock::new(|| NOW)).await
}

/// With a clock of the test's own.
pub(crate) async fn open_at(folder: &Path, busy_timeout: Duration, clock: Clock) -> Result<SqliteStore, StoreError> {
    let (database, sessions_dir) = (folder.join("home/sessions.sqlite"), folder.join("home/sessions"));
    SqliteStore::open(StoreSettings { database, sessions_dir, busy_timeout, clock }).await
}

pub(crate) fn session_id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

pub(crate) fn agent_id(session: &str) -> AgentId {
    AgentId::parse(&format!("agent_of_{session}")).unwrap()
}

pub(crate) fn run_id(text: &str) -> RunId {
    RunId::parse(text).unwrap()
}

pub(crate) fn new_session(session: &str) -> NewSession {
    NewSession {
        session_id: session_id(session),
        cwd: "/project".into(),
        root_agent_id: agent_id(session),
        agent_type: AgentType::Main,
        metadata: Object::new(),
    }
}

/// A session with one running run, and what commits to them.
pub(crate) struct Writing {
    pub(crate) lease: Lease,
    pub(crate) run: RunId,
}

impl Writing {
    /// Makes the session `sess_<name>` and its run `run_<name>`.
    pub(crate) async fn begin(store: &dyn SessionStore, name: &str) -> Self {
        let lease = store.create_session(new_session(&format!("sess_{name}"))).await.unwrap();
        let writing = Self { lease, run: run_id(&format!("run_{name}")) };
        store.commit(&writing.lease, writing.commit(vec![writing.new_run()])).await.unwrap();
        writing
    }

    pub(crate) fn session(&self) -> &SessionId {
        self.lease.session_id()
    }

    pub(crate) fn agent(&self) -> AgentId {
        agent_id(self.session().as_str())
    }

    pub(crate) fn new_run(&self) -> Write {
        Write::Run(NewRun {
            run_id: self.run.clone(),
            agent_id: self.agent(),
            status: RunStatus::Running,
            start_node_id: Some(self.run.node(1)),
            metadata: Object::new(),
        })
    }

    pub(crate) fn commit(&self, writes: Vec<Write>) -> Commit {
        Commit { agent_id: self.agent(), run_id: self.run.clone(), writes }
    }

    /// The run's `n`-th node below its `parent`-th, 0 for none.
    pub(crate) fn node(&self, n: u64, parent: u64) -> Write {
        let parent = (parent > 0).then(|| self.run.node(parent));
        Write::Node(node(self.run.node(n), parent, &format!("text {n}")))
    }

    /// The run's next nodes, one below the other, each with one of these texts.
    pub(crate) async fn say(&self, store: &dyn SessionStore, first: u64, texts: &[&str]) {
        let writes = texts.iter().zip(first..).map(|(text, n)| {
            let parent = (n > 1).then(|| self.run.node(n - 1));
            Write::Node(node(self.run.node(n), parent, text))
        });
        store.commit(&self.lease, self.commit(writes.collect())).await.unwrap();
    }

    /// Another run of the same session, which begins now.
    pub(crate) async fn next_run(self, store: &dyn SessionStore, name: &str) -> Self {
        let writing = Self { lease: self.lease, run: run_id(&format!("run_{name}")) };
        store.commit(&writing.lease, writing.commit(vec![writing.new_run()])).await.unwrap();
        writing
    }

    /// A finished file, and the row to commit.
    pub(crate) fn artifact(&self, place: &Place, content: &str) -> NewArtifact {
        let mut file = ArtifactWriter::new(place.sessions_dir()).begin_artifact(self.session(), "out.log").unwrap();
        file.write_all(content.as_bytes()).unwrap();
        file.finish()
    }

    /// A node, the event about it, and the step onto it, as a turn commits them.
    pub(crate) fn turn(&self, n: u64) -> Commit {
        let event = EventDraft::raw(EventType::MessageCompleted, fact("n", n)).node(&self.run.node(n));
        self.commit(vec![self.node(n, n - 1), Write::Event(event), Write::Activate(self.run.node(n))])
    }
}

/// An agent that core began beside a conversation, and its run, of the same name.
pub(crate) struct Internal {
    pub(crate) agent: AgentId,
    pub(crate) run: RunId,
    /// Its row and that of its run.
    pub(crate) rows: Vec<Write>,
}

impl Internal {
    pub(crate) fn new(writing: &Writing, name: &str, status: RunStatus) -> Self {
        let (agent, run) = (AgentId::parse(&format!("agent_{name}")).unwrap(), run_id(&format!("run_{name}")));
        let new_agent = NewAgent {
            agent_id: agent.clone(),
            parent_agent_id: Some(writing.agent()),
            agent_type: AgentType::Fork,
            created_by_run_id: Some(writing.run.clone()),
            fork_from_node_id: None,
            status: AgentStatus::Running,
            metadata: Object::from_iter([("purpose".to_owned(), "compact".into())]),
        };
        let (agent_id, start_node_id, metadata) = (agent.clone(), None, Object::new());
        let new_run = NewRun { run_id: run.clone(), agent_id, status, start_node_id, metadata };
        Self { agent, run, rows: vec![Write::Agent(new_agent), Write::Run(new_run)] }
    }

    pub(crate) fn commit(&self, writes: Vec<Write>) -> Commit {
        Commit { agent_id: self.agent.clone(), run_id: self.run.clone(), writes }
    }
}

/// The commit's run stands so now.
pub(crate) fn stands(status: RunStatus) -> Write {
    let end_reason = (status == RunStatus::Completed).then_some(EndReason::Completed);
    Write::RunPatch(RunPatch {
        status,
        end_reason,
        end_node_id: None,
        turn_count: 1,
        usage: Usage::default(),
        error: None,
    })
}

pub(crate) fn node(node_id: NodeId, parent_id: Option<NodeId>, text: &str) -> NodeDraft {
    NodeDraft {
        node_id,
        parent_id,
        role: Role::User,
        node_type: NodeType::Message,
        content: vec![ContentBlock::text(text)].into(),
        metadata: Object::new(),
        token_count: 3,
    }
}

/// A payload that the store has no need to understand.
pub(crate) fn fact(key: &str, value: impl Into<serde_json::Value>) -> Object {
    Object::from_iter([(key.to_owned(), value.into())])
}

pub(crate) fn event(payload: u64) -> Write {
    Write::Event(EventDraft::raw(EventType::LoopStarted, fact("n", payload)))
}
