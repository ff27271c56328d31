use std::sync::atomic::{AtomicU64, Ordering};

use agent_protocol::{ArtifactId, EventId, EventType, Level, NodeId, Object, RunId, SessionId, Timestamp};
use agent_redact::SecretPatterns;
use agent_store::{
    ArtifactPlace, DamagedSession, DeletedArtifacts, DeletedSession, Lease, Owner, PlacedArtifact, SearchPage,
    SessionFilter, SessionSummary, StoreError, StoreFuture, StrayFile,
};

use super::*;

/// A session of so many pages with one event each; the page after `fails` cannot be read.
struct Pages {
    count: u64,
    fails: u64,
    read: AtomicU64,
}

fn event(seq: u64) -> RuntimeEvent {
    RuntimeEvent {
        event_id: EventId::parse(&format!("evt_{seq}")).unwrap(),
        seq: Some(seq),
        run_seq: Some(seq),
        session_id: SessionId::parse("sess_1").unwrap(),
        agent_id: None,
        run_id: None,
        level: Level::Info,
        event_type: EventType::Error,
        node_id: None,
        tool_call_id: None,
        payload: Object::from_iter([("password".to_owned(), "hunter2-Xy7qPz".into())]),
        created_at: Timestamp::from_unix_millis(0),
    }
}

fn closed<T: Send>() -> StoreFuture<'static, T> {
    Box::pin(async { Err(StoreError::Closed) })
}

impl SessionArchive for Pages {
    fn replay(&self, _: &ReplayScope, after: ReplayCursor) -> StoreFuture<'_, ReplayPage> {
        self.read.fetch_add(1, Ordering::SeqCst);
        let seq = after.seq + 1;
        let next = (seq < self.count).then_some(ReplayCursor { seq, node_seq: 0 });
        let fails = after.seq == self.fails;
        Box::pin(async move {
            let (nodes, artifacts, damaged) = (Vec::new(), Vec::new(), Vec::new());
            let page = ReplayPage { events: vec![event(seq)], nodes, artifacts, damaged, next };
            if fails { Err(StoreError::Closed) } else { Ok(page) }
        })
    }

    fn list_sessions(
        &self,
        _: &SessionFilter,
        _: u32,
        _: u32,
    ) -> StoreFuture<'_, Vec<Result<SessionSummary, DamagedSession>>> {
        closed()
    }

    fn session_summary(&self, _: &SessionId) -> StoreFuture<'_, Option<SessionSummary>> {
        closed()
    }

    fn sessions_beginning(&self, _: &str, _: u32) -> StoreFuture<'_, Vec<SessionId>> {
        closed()
    }

    fn search(&self, _: &str, _: &SessionFilter, _: u32, _: u32) -> StoreFuture<'_, SearchPage> {
        closed()
    }

    fn set_project(&self, _: &Lease, _: &str) -> StoreFuture<'_, ()> {
        closed()
    }

    fn delete_remains(&self, _: &SessionId) -> StoreFuture<'_, Option<DeletedArtifacts>> {
        closed()
    }

    fn owner(&self, _: &SessionId) -> StoreFuture<'_, Option<Owner>> {
        closed()
    }

    fn runs(&self, _: &SessionId, _: u32, _: u32) -> StoreFuture<'_, Vec<RunInfo>> {
        closed()
    }

    fn last_question(&self, _: &RunId) -> StoreFuture<'_, Option<RuntimeEvent>> {
        closed()
    }

    fn agents(&self, _: &SessionId) -> StoreFuture<'_, Vec<Result<AgentInfo, StoreError>>> {
        closed()
    }

    fn children(&self, _: &RunId) -> StoreFuture<'_, Vec<RunInfo>> {
        closed()
    }

    fn artifacts(&self, _: &SessionId, _: Option<ArtifactPlace>, _: u32) -> StoreFuture<'_, Vec<PlacedArtifact>> {
        closed()
    }

    fn activate(&self, _: &Lease, _: &NodeId) -> StoreFuture<'_, ()> {
        closed()
    }

    fn delete_files(&self, _: &SessionId) -> StoreFuture<'_, DeletedArtifacts> {
        closed()
    }

    fn delete_session(&self, _: Lease) -> StoreFuture<'_, DeletedSession> {
        closed()
    }

    fn delete_artifacts(&self, _: &Lease, _: Vec<ArtifactId>) -> StoreFuture<'_, DeletedArtifacts> {
        closed()
    }

    fn stray_files(&self, _: Option<&SessionId>) -> StoreFuture<'_, Vec<StrayFile>> {
        closed()
    }

    fn delete_stray(&self, _: &StrayFile) -> StoreFuture<'_, bool> {
        closed()
    }
}

fn replay(pages: &Arc<Pages>, hides: bool) -> Replay {
    let session_id = SessionId::parse("sess_1").unwrap();
    let session = SessionInfo {
        session_id: session_id.clone(),
        cwd: String::new(),
        root_agent_id: agent_protocol::AgentId::parse("agent_1").unwrap(),
        active_node_id: None,
        parent_session_id: None,
        status: agent_store::SessionStatus::Active,
        metadata: Object::new(),
        created_at: Timestamp::from_unix_millis(0),
        updated_at: Timestamp::from_unix_millis(0),
        owner: None,
    };
    let scope = ReplayScope::Session { session_id, from_seq: None, to_seq: None, agent_id: None };
    let ahead = Ahead { archive: pages.clone(), scope, hides, screen: Screen::of(SecretPatterns::new().unwrap()) };
    let (out, pages) = mpsc::channel(1);
    tokio::spawn(ahead.read(out));
    let (children, internal, damaged) = (Vec::new(), Vec::new(), Vec::new());
    Replay { session, run: None, children, internal, damaged, pages, ended: false }
}

fn pages(count: u64, fails: u64) -> Arc<Pages> {
    Arc::new(Pages { count, fails, read: AtomicU64::new(0) })
}

/// Lets everything that can go on go on.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// STO-9: two pages are read ahead of the one that is worked on, however slow the consumer, and none once it is gone.
#[tokio::test]
async fn two_pages_ahead() {
    let stored = pages(1000, u64::MAX);
    let mut replay = replay(&stored, false);
    for n in 1..=20 {
        let page = replay.next().await.unwrap().unwrap();
        assert_eq!(page.events[0].seq, Some(n));
        settle().await;
        assert_eq!(stored.read.load(Ordering::SeqCst), n + 2);
    }
    drop(replay);
    settle().await;
    assert_eq!(stored.read.load(Ordering::SeqCst), 22);
    assert_eq!(Arc::strong_count(&stored), 1, "nobody reads on");
}

/// STO-9, STO-10: pages come in order to the last one, and are redacted unless asked for whole.
#[tokio::test]
async fn pages_are_redacted() {
    for hides in [true, false] {
        let whole = replay(&pages(7, u64::MAX), hides).collect().await.unwrap();
        let places: Vec<_> = whole.events.iter().filter_map(|event| event.seq).collect();
        assert_eq!(places, (1..=7).collect::<Vec<_>>());
        let shown = whole.events.iter().all(|event| event.payload["password"] == "hunter2-Xy7qPz");
        assert_eq!(shown, !hides);
    }
}

/// A page that cannot be read is an error, never an early end; nothing comes after it.
#[tokio::test]
async fn a_failure_is_told() {
    let mut replay = replay(&pages(7, 3), false);
    for _ in 0..3 {
        assert!(replay.next().await.unwrap().is_some());
    }
    assert!(matches!(replay.next().await, Err(ArchiveError::Store(StoreError::Closed))));
    assert!(matches!(replay.next().await, Ok(None)));
    let mut broken = self::replay(&pages(7, u64::MAX), false);
    broken.pages.close();
    assert!(matches!(broken.next().await, Err(ArchiveError::BrokeOff { .. })));
}
