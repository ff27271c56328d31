//! Streams that somebody begins to watch at any moment, and reads at any pace.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent_protocol::{
    AgentId, AgentType, CancelTimeout, ContentBlock, EventDraft, EventType, MessageDelta, NodeDraft, NodeId, NodeType,
    Object, Role, RunId, RunStatus, RuntimeEvent, SessionId, ToolCallId, ToolProgress,
};
use agent_redact::SecretPatterns;
use agent_store::{Clock, Commit, Lease, NewRun, NewSession, SessionStore, SqliteStore, StoreSettings, Write};
use agent_testkit::scratch;
use proptest::prelude::*;
use tokio::task::yield_now;

use super::Live;

/// What the run does next.
#[derive(Debug, Clone)]
enum Act {
    /// It stores so many events.
    Store(usize),
    /// The same, and tells of them only after the next ones, or never.
    StoreQuietly(usize),
    /// It says something in pieces of so many bytes, and stores the message.
    Say(Vec<usize>),
    /// A call shows what it does.
    Progress,
    /// Others have their turn.
    Rest(u8),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (1usize..4).prop_map(Act::Store),
        1 => (200usize..300).prop_map(Act::Store),
        2 => (1usize..4).prop_map(Act::StoreQuietly),
        3 => prop::collection::vec(prop_oneof![8 => 1usize..40, 1 => 400_000usize..700_000], 1..6).prop_map(Act::Say),
        1 => Just(Act::Progress),
        2 => (1u8..20).prop_map(Act::Rest),
    ]
}

struct World {
    store: Arc<SqliteStore>,
    lease: Lease,
    runs: AtomicUsize,
}

const AGENT: &str = "agent_root";

impl World {
    async fn new(name: &str) -> Self {
        let root = scratch(name);
        let settings = StoreSettings {
            database: root.join("sessions.sqlite"),
            sessions_dir: root.join("sessions"),
            busy_timeout: Duration::from_secs(5),
            clock: Clock::new(|| 0),
        };
        let store = Arc::new(SqliteStore::open(settings).await.unwrap());
        let new = NewSession {
            session_id: SessionId::parse("sess_1").unwrap(),
            cwd: "/".to_owned(),
            root_agent_id: AgentId::parse(AGENT).unwrap(),
            agent_type: AgentType::Main,
            metadata: Object::new(),
        };
        let lease = store.create_session(new).await.unwrap();
        Self { store, lease, runs: AtomicUsize::new(0) }
    }

    async fn run(&self) -> Run<'_> {
        let id = format!("run_{}", self.runs.fetch_add(1, Ordering::SeqCst));
        let run_id = RunId::parse(&id).unwrap();
        let session_id = self.lease.session_id().clone();
        let live = Live::new(session_id, run_id.clone(), SecretPatterns::new().unwrap()).unwatched();
        let run =
            Run { world: self, run_id: run_id.clone(), live: Arc::new(live), quiet: Vec::new(), said: Vec::new() };
        let agent_id = AgentId::parse(AGENT).unwrap();
        let (status, metadata) = (RunStatus::Running, Object::new());
        run.commit(vec![Write::Run(NewRun { run_id, agent_id, status, start_node_id: None, metadata })]).await;
        run
    }
}

/// A run and what it did.
struct Run<'w> {
    world: &'w World,
    run_id: RunId,
    live: Arc<Live>,
    /// Stored, and not told of.
    quiet: Vec<RuntimeEvent>,
    /// What was said, and whether somebody watched from the message's beginning.
    said: Vec<(NodeId, String, bool)>,
}

impl Run<'_> {
    async fn commit(&self, writes: Vec<Write>) -> Vec<RuntimeEvent> {
        let agent_id = AgentId::parse(AGENT).unwrap();
        let commit = Commit { agent_id, run_id: self.run_id.clone(), writes };
        self.world.store.commit(&self.world.lease, commit).await.unwrap().events
    }

    async fn store(&self, count: usize) -> Vec<RuntimeEvent> {
        self.commit((0..count).map(|_| Write::Event(EventDraft::of(CancelTimeout {}))).collect()).await
    }

    fn tell(&mut self, events: &[RuntimeEvent], late: bool) {
        self.live.stored(events);
        let quiet = std::mem::take(&mut self.quiet);
        if late {
            self.live.stored(&quiet);
        }
    }

    async fn act(&mut self, at: usize, act: &Act) {
        match act {
            Act::Store(count) => {
                let events = self.store(*count).await;
                self.tell(&events, at.is_multiple_of(2));
            }
            Act::StoreQuietly(count) => {
                let events = self.store(*count).await;
                self.quiet.extend(events);
            }
            Act::Say(pieces) => self.say(at, pieces).await,
            Act::Progress => {
                let view = Object::from_iter([("at".to_owned(), at.into())]);
                self.live.progress(&ToolCallId::parse("call_1").unwrap(), view);
            }
            Act::Rest(turns) => {
                for _ in 0..*turns {
                    yield_now().await;
                }
            }
        }
    }

    async fn say(&mut self, at: usize, pieces: &[usize]) {
        self.live.begin_message();
        let watched = self.live.state().watched;
        let mut text = String::new();
        for (number, length) in pieces.iter().enumerate() {
            let piece = format!("<{at}.{number}>").chars().cycle().take(*length).collect::<String>();
            self.live.text(&piece);
            text.push_str(&piece);
            yield_now().await;
        }
        let node_id = NodeId::parse(&format!("node_{}_{at}", self.run_id.as_str())).unwrap();
        let node = NodeDraft {
            node_id: node_id.clone(),
            parent_id: None,
            role: Role::Assistant,
            node_type: NodeType::Message,
            content: vec![ContentBlock::text(text.clone())].into(),
            metadata: Object::new(),
            token_count: 1,
        };
        let completed = EventDraft::raw(EventType::MessageCompleted, Object::new()).node(&node_id);
        let events = self.commit(vec![Write::Node(node), Write::Event(completed)]).await;
        self.tell(&events, true);
        self.said.push((node_id, text, watched));
    }
}

/// Reads a stream to its end: everything that came, in order.
async fn watched(live: &Arc<Live>, store: &Arc<SqliteStore>, begins_after: u32, pause: u8) -> Vec<RuntimeEvent> {
    for _ in 0..begins_after {
        yield_now().await;
    }
    let mut stream = live.take(Arc::clone(store) as _, false).unwrap();
    let mut events = Vec::new();
    while let Some(event) = stream.next().await.unwrap() {
        events.push(event);
        for _ in 0..pause {
            yield_now().await;
        }
    }
    events
}

fn check(events: &[RuntimeEvent], run: &Run<'_>, stored: u64) {
    let seqs: Vec<_> = events.iter().filter_map(|event| event.run_seq).collect();
    assert_eq!(seqs, (1..=stored).collect::<Vec<_>>(), "every stored event once, in order");
    let mut pending = String::new();
    let mut said = run.said.iter();
    for event in events {
        match event.event_type {
            EventType::MessageDelta => pending += &event.read::<MessageDelta>().unwrap().text,
            EventType::MessageCompleted => {
                let (node, text, watched) = said.next().unwrap();
                assert_eq!(event.node_id.as_ref(), Some(node));
                assert!(text.ends_with(&pending), "deltas are the message's end, and stand before its event");
                assert!(!*watched || *text == pending, "{} of {} bytes", pending.len(), text.len());
                pending.clear();
            }
            EventType::ToolProgress => assert!(event.read::<ToolProgress>().is_ok()),
            _ => {}
        }
    }
    assert_eq!((said.next(), pending.as_str()), (None, ""));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// API-4, EVT-2: whenever somebody begins to watch a run that nobody watched, and however slowly they read: every stored event comes
    /// once and in its order from the first on, also those that were told of late or never, and text is neither lost nor doubled nor out of
    /// its place.
    #[test]
    fn a_stream_begins_at_the_first_event(
        acts in prop::collection::vec(act(), 1..14),
        begins_after in prop_oneof![Just(0u32), 1u32..200, Just(1_000_000)],
        pause in 0u8..4,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::new("watching").await;
            let mut run = world.run().await;
            let (live, store) = (Arc::clone(&run.live), Arc::clone(&world.store));
            let late = begins_after == 1_000_000;
            let working = async {
                for (at, act) in acts.iter().enumerate() {
                    run.act(at, act).await;
                }
                let last = run.store(1).await;
                run.tell(&last, false);
                run.live.close();
                last[0].run_seq.unwrap()
            };
            let (stored, events) = if late {
                let stored = working.await;
                (stored, watched(&live, &store, 0, pause).await)
            } else {
                tokio::join!(working, watched(&live, &store, begins_after, pause))
            };
            check(&events, &run, stored);
            if late {
                assert!(events.iter().all(|event| event.run_seq.is_some()), "nothing was kept for nobody");
            }
            assert!(live.take(Arc::clone(&store) as _, false).is_err(), "there is one consumer");
            world.store.close().await;
        });
    }
}

/// API-4: of a run that nobody watches nothing is kept, and no more once its consumer is gone.
#[test]
fn nothing_is_kept_for_nobody() {
    let (session_id, run_id) = (SessionId::parse("sess_1").unwrap(), RunId::parse("run_1").unwrap());
    let live = Live::new(session_id, run_id, SecretPatterns::new().unwrap()).unwatched();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let events = runtime.block_on(async {
        let world = World::new("kept").await;
        let run = world.run().await;
        run.store(300).await
    });
    let work = || {
        live.stored(&events);
        live.begin_message();
        live.text("words");
        live.progress(&ToolCallId::parse("call_1").unwrap(), Object::new());
        live.debug(|| MessageDelta { text: "never made".to_owned() });
    };
    work();
    assert_eq!(live.state().kept(), (0, 0, 0, 0));
    live.state().watched = true;
    live.state().debug = true;
    work();
    // The events are old ones by now; a tail is kept of new ones.
    assert_eq!(live.state().kept(), (0, 1, 1, 1));
    live.state().forget();
    work();
    assert_eq!(live.state().kept(), (0, 0, 0, 0));
}
