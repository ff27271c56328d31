//! Replay in pages (STO-9).

use std::cell::Cell;

use agent_protocol::{
    AgentId, AgentStatus, AgentType, ContentBlock, EventDraft, EventType, Node, NodeId, Object, RunId, RunStatus,
    RuntimeEvent,
};
use agent_store::{
    ArtifactInfo, Commit, NewAgent, NewRun, ReplayCursor, ReplayPage, ReplayScope, SessionArchive, SessionStore,
    SqliteStore, StoreError, Write,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::{Place, Writing, fact, node, run_id, session_id, stands};

/// What one page may hold.
const EVENTS: usize = 512;
const BYTES: usize = 1 << 20;

async fn pages(store: &SqliteStore, scope: &ReplayScope) -> Vec<ReplayPage> {
    let (mut pages, mut after) = (Vec::new(), ReplayCursor::default());
    loop {
        let page = store.replay(scope, after).await.unwrap();
        let next = page.next;
        pages.push(page);
        match next {
            Some(next) => {
                assert!((next.seq, next.node_seq) > (after.seq, after.node_seq), "a page leads on");
                after = next;
            }
            None => return pages,
        }
    }
}

fn whole_session(writing: &Writing) -> ReplayScope {
    ReplayScope::Session { session_id: writing.session().clone(), from_seq: None, to_seq: None, agent_id: None }
}

/// One thing to be committed by one of two agents.
#[derive(Debug, Clone)]
enum Step {
    /// So many events that name no node, with a body of so many bytes each.
    Events(usize, usize),
    /// A node with a body of so many bytes.
    Node(usize),
    /// An event that names the node so many back, of whatever agent.
    Naming(usize),
    Artifact,
}

fn commits() -> impl Strategy<Value = Vec<(bool, Vec<Step>)>> {
    let step = prop_oneof![
        2 => (1_usize..300, 0_usize..200).prop_map(|(n, size)| Step::Events(n, size)),
        1 => (200_000_usize..1_100_000).prop_map(|size| Step::Events(1, size)),
        4 => (0_usize..2_000).prop_map(Step::Node),
        1 => (200_000_usize..1_100_000).prop_map(Step::Node),
        4 => (0_usize..6).prop_map(Step::Naming),
        2 => Just(Step::Artifact),
    ];
    prop::collection::vec((any::<bool>(), prop::collection::vec(step, 1..6)), 1..8)
}

/// Everything that was stored, in order.
#[derive(Default)]
struct Model {
    events: Vec<RuntimeEvent>,
    nodes: Vec<Node>,
    artifacts: Vec<(u64, String, usize)>,
}

/// A session with two agents, each with a run of its own.
struct World {
    place: Place,
    store: SqliteStore,
    root: Writing,
    agents: [(AgentId, RunId); 2],
    model: Model,
}

impl World {
    async fn new(name: &str) -> Self {
        let place = Place::new(name);
        let store = place.open().await;
        let root = Writing::begin(&store, "1").await;
        let (agent_id, run) = (AgentId::parse("agent_child").unwrap(), run_id("run_child"));
        let agent = NewAgent {
            agent_id: agent_id.clone(),
            parent_agent_id: Some(root.agent()),
            agent_type: AgentType::Sub,
            created_by_run_id: None,
            fork_from_node_id: None,
            status: AgentStatus::Running,
            metadata: Object::new(),
        };
        let (status, metadata) = (RunStatus::Running, Object::new());
        let new_run = NewRun { run_id: run.clone(), agent_id: agent_id.clone(), status, start_node_id: None, metadata };
        let writes = vec![Write::Agent(agent), Write::Run(new_run)];
        let commit = Commit { agent_id: agent_id.clone(), run_id: run.clone(), writes };
        store.commit(&root.lease, commit).await.unwrap();
        let agents = [(root.agent(), root.run.clone()), (agent_id, run)];
        Self { place, store, root, agents, model: Model::default() }
    }

    async fn commit(&mut self, who: usize, steps: &[Step]) {
        let (agent_id, run) = self.agents[who].clone();
        let first_seq = self.model.events.len() as u64 + 1;
        let mut known: Vec<NodeId> = self.model.nodes.iter().map(|node| node.node_id.clone()).collect();
        let mut writes = Vec::new();
        for step in steps {
            match step {
                Step::Events(n, size) => writes.extend((0..*n).map(|_| {
                    Write::Event(EventDraft::raw(EventType::ModelCompleted, fact("text", "x".repeat(*size))))
                })),
                Step::Node(size) => {
                    let id = run.node(known.len() as u64 + 1);
                    known.push(id.clone());
                    writes.push(Write::Node(node(id, None, &"y".repeat(*size))));
                }
                Step::Naming(back) => {
                    let named = known.iter().rev().nth(*back).cloned().unwrap_or_else(|| run.node(999));
                    writes.push(Write::Event(EventDraft::raw(EventType::MessageCompleted, Object::new()).node(&named)));
                }
                Step::Artifact => {
                    let new = self.root.artifact(&self.place, "z");
                    self.model.artifacts.push((first_seq, new.artifact_id.to_string(), who));
                    writes.push(Write::Artifact(new));
                }
            }
        }
        let done = self.store.commit(&self.root.lease, Commit { agent_id, run_id: run, writes }).await.unwrap();
        self.model.events.extend(done.events);
        self.model.nodes.extend(done.nodes);
    }

    /// All scopes that are asked for: whole, pieces, agents, runs.
    fn scopes(&self) -> Vec<ReplayScope> {
        let last = self.model.events.len() as u64;
        let session = |from_seq, to_seq, agent: Option<usize>| ReplayScope::Session {
            session_id: self.root.session().clone(),
            from_seq,
            to_seq,
            agent_id: agent.map(|who| self.agents[who].0.clone()),
        };
        let mut scopes = vec![
            session(None, None, None),
            session(None, None, Some(0)),
            session(None, None, Some(1)),
            session(Some(0), Some(u64::MAX), None),
            session(Some(last + 1), None, None),
            ReplayScope::Run(self.agents[0].1.clone()),
            ReplayScope::Run(self.agents[1].1.clone()),
        ];
        for cut in [1, last / 3, last / 2, last] {
            scopes.extend([
                session(None, Some(cut), None),
                session(Some(cut + 1), None, None),
                session(Some(cut), Some(cut + last / 3), Some(1)),
            ]);
        }
        scopes
    }

    async fn check(&self, scope: &ReplayScope) {
        let pages = pages(&self.store, scope).await;
        let expected = self.model.expected(&self.agents, scope);
        let events: Vec<_> = pages.iter().flat_map(|page| &page.events).collect();
        assert!(events.into_iter().eq(expected.events), "events of {scope:?}");
        let nodes: Vec<_> = pages.iter().flat_map(|page| &page.nodes).collect();
        let places = |nodes: &[&Node]| nodes.iter().map(|node| node.node_seq).collect::<Vec<_>>();
        assert_eq!(places(&nodes), places(&expected.nodes), "nodes of {scope:?}");
        assert!(nodes == expected.nodes);
        let artifacts: Vec<_> = pages.iter().flat_map(|page| &page.artifacts).collect();
        assert_eq!(
            artifacts.iter().map(|row: &&ArtifactInfo| row.artifact_id.as_str()).collect::<Vec<_>>(),
            expected.artifacts,
            "artifacts of {scope:?}"
        );
        let mut seen: Vec<&NodeId> = Vec::new();
        for page in &pages {
            check_size(page);
            seen.extend(page.nodes.iter().map(|node| &node.node_id));
            for named in page.events.iter().filter_map(|event| event.node_id.as_ref()) {
                let has_it = expected.nodes.iter().any(|node| node.node_id == *named);
                assert!(!has_it || seen.contains(&named), "{named} comes after the event that names it");
            }
        }
    }
}

fn check_size(page: &ReplayPage) {
    let of_events = page.events.iter().filter_map(|event| event.payload.get("text")?.as_str());
    let of_nodes = page.nodes.iter().filter_map(|node| match &node.content[0] {
        ContentBlock::Text(block) => Some(block.text.as_str()),
        _ => None,
    });
    let bytes: usize = of_events.chain(of_nodes).map(str::len).sum();
    assert!(page.events.len() <= EVENTS, "{} events", page.events.len());
    // An event stays with the node it names, though that has filled the page.
    let stays = page.events.last().zip(page.nodes.last());
    let stays = stays.filter(|(event, node)| event.node_id.as_ref() == Some(&node.node_id)).map(|(event, _)| event);
    let bodies = page.events.len() + page.nodes.len() - usize::from(stays.is_some());
    let bytes = bytes - stays.and_then(|event| event.payload.get("text")?.as_str()).map_or(0, str::len);
    assert!(bytes <= BYTES || bodies == 1, "{bytes} bytes of {bodies} bodies");
}

struct Expected<'a> {
    events: Vec<&'a RuntimeEvent>,
    nodes: Vec<&'a Node>,
    artifacts: Vec<&'a str>,
}

impl Model {
    /// As the port describes it, without pages.
    fn expected(&self, agents: &[(AgentId, RunId); 2], scope: &ReplayScope) -> Expected<'_> {
        let last = self.events.len() as u64;
        let (from, to, agent, run) = match scope {
            ReplayScope::Run(run) => (1, u64::MAX, None, Some(run)),
            ReplayScope::Session { from_seq, to_seq, agent_id, .. } => {
                (from_seq.unwrap_or(1).max(1), to_seq.unwrap_or(u64::MAX), agent_id.as_ref(), None)
            }
        };
        let whose =
            |who: &AgentId, of: &RunId| agent.is_none_or(|agent| agent == who) && run.is_none_or(|run| run == of);
        let mine = |event: &&RuntimeEvent| whose(event.agent_id.as_ref().unwrap(), event.run_id.as_ref().unwrap());
        // The last node that events up to a place name.
        let named_up_to = |seq: u64| {
            let named = self.events.iter().filter(mine).filter(|event| event.seq.unwrap() <= seq);
            let place = |id: &NodeId| self.nodes.iter().find(|node| node.node_id == *id).map(|node| node.node_seq);
            named.filter_map(|event| place(event.node_id.as_ref()?)).max().unwrap_or(0)
        };
        let open = to >= last;
        let (after, up_to) = (named_up_to(from - 1), if open { u64::MAX } else { named_up_to(to) });
        let first = if from == 1 { 0 } else { from };
        let mut artifacts: Vec<_> = self
            .artifacts
            .iter()
            .filter(|(seq, _, who)| *seq >= first && (open || *seq <= to) && whose(&agents[*who].0, &agents[*who].1))
            .map(|(seq, id, _)| (*seq, id.as_str()))
            .collect();
        artifacts.sort_unstable();
        Expected {
            events: self.events.iter().filter(mine).filter(|event| (from..=to).contains(&event.seq.unwrap())).collect(),
            nodes: self
                .nodes
                .iter()
                .filter(|node| node.node_seq > after && node.node_seq <= up_to && whose(&node.agent_id, &node.run_id))
                .collect(),
            artifacts: artifacts.into_iter().map(|(_, id)| id).collect(),
        }
    }
}

/// STO-9: whatever a session holds and whatever part of it is asked for, the pages put together are whole and in order,
/// each is bounded, and no event comes before the node it names.
#[test]
fn pages_put_together_are_whole() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let number = Cell::new(0);
    let checked = TestRunner::new(Config::with_cases(10)).run(&commits(), |commits| {
        number.set(number.get() + 1);
        runtime.block_on(async {
            let mut world = World::new(&format!("pages-{}", number.get())).await;
            for (child, steps) in &commits {
                world.commit(usize::from(*child), steps).await;
            }
            for scope in world.scopes() {
                world.check(&scope).await;
            }
            world.store.close().await;
            std::fs::remove_dir_all(&world.place.folder).unwrap();
        });
        Ok(())
    });
    checked.unwrap();
}

/// STO-9: nodes and artifacts stand with the events they were stored with; what no event names stands with what follows.
#[tokio::test]
async fn nodes_and_artifacts_stand_with_their_events() {
    let mut world = World::new("stand-with").await;
    use Step::{Artifact, Events, Naming, Node};
    world.commit(0, &[Events(1, 0), Artifact]).await; // Event 1.
    world.commit(0, &[Node(1), Node(1), Naming(0), Artifact]).await; // Nodes 1 and 2, event 2.
    world.commit(0, &[Naming(1)]).await; // Event 3 names node 1 again.
    world.commit(0, &[Node(1), Artifact]).await; // Node 3, which nobody names.
    world.commit(0, &[Events(1, 0)]).await; // Event 4.
    world.commit(0, &[Node(1), Naming(0)]).await; // Node 4, event 5.
    world.commit(0, &[Node(1), Artifact]).await; // Node 5, at the end.
    let session = world.root.session().clone();
    let part = async |from_seq, to_seq| {
        let scope = ReplayScope::Session { session_id: session.clone(), from_seq, to_seq, agent_id: None };
        let pages = pages(&world.store, &scope).await;
        assert_eq!(pages.len(), 1);
        let nodes: Vec<_> = pages[0].nodes.iter().map(|node| node.node_seq).collect();
        (pages[0].events.len(), nodes, pages[0].artifacts.len())
    };
    assert_eq!(part(None, None).await, (5, vec![1, 2, 3, 4, 5], 4));
    assert_eq!(part(Some(1), Some(1)).await, (1, vec![], 1));
    assert_eq!(part(Some(2), Some(2)).await, (1, vec![1, 2], 1));
    assert_eq!(part(Some(3), Some(3)).await, (1, vec![], 0));
    assert_eq!(part(Some(3), Some(4)).await, (2, vec![], 1));
    assert_eq!(part(Some(5), Some(5)).await, (1, vec![3, 4, 5], 1));
    assert_eq!(part(Some(6), None).await, (0, vec![5], 1));
}

/// STO-9: a node as big as a page and the event that names it come on one page.
#[tokio::test]
async fn a_big_node_stands_with_its_event() {
    let place = Place::new("replay-big");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    for n in 1..=3 {
        let parent = (n > 1).then(|| writing.run.node(n - 1));
        let id = writing.run.node(n);
        let event = EventDraft::raw(EventType::MessageCreated, fact("n", n)).node(&id);
        let writes = vec![Write::Node(node(id, parent, &"x".repeat(BYTES + 7))), Write::Event(event)];
        store.commit(&writing.lease, writing.commit(writes)).await.unwrap();
    }
    for page in pages(&store, &whole_session(&writing)).await {
        let named: Vec<_> = page.events.iter().map(|event| event.node_id.clone().unwrap()).collect();
        let nodes: Vec<_> = page.nodes.iter().map(|node| node.node_id.clone()).collect();
        assert_eq!(named, nodes);
    }
}

/// DB-12: a session or a run that is not there is an error, not an empty timeline; an empty one is empty.
#[tokio::test]
async fn what_is_not_there_is_not_empty() {
    let place = Place::new("replay-none");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    assert_eq!(pages(&store, &whole_session(&writing)).await.len(), 1);
    let start = ReplayCursor::default();
    let none = ReplayScope::Session { session_id: session_id("sess_2"), from_seq: None, to_seq: None, agent_id: None };
    let error = store.replay(&none, start).await.unwrap_err();
    assert!(matches!(error, StoreError::SessionNotFound { .. }), "{error:?}");
    let error = store.replay(&ReplayScope::Run(run_id("run_2")), start).await.unwrap_err();
    assert!(matches!(error, StoreError::RunNotFound { .. }), "{error:?}");
}

/// TYP-4, STO-9: what becomes known of a run after its end is part of its timeline: its count goes on, in every replay.
#[tokio::test]
async fn events_may_follow_the_end_of_their_run() {
    let place = Place::new("replay-late");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let event = |event_type| Write::Event(EventDraft::raw(event_type, Object::new()));
    let end = vec![event(EventType::LoopStarted), event(EventType::LoopCompleted), stands(RunStatus::Completed)];
    store.commit(&writing.lease, writing.commit(end)).await.unwrap();
    // The next run has begun meanwhile.
    let ended = writing.run.clone();
    let writing = writing.next_run(&store, "2").await;
    store.commit(&writing.lease, writing.commit(vec![event(EventType::LoopStarted)])).await.unwrap();
    let late = |event_type| Commit { run_id: ended.clone(), ..writing.commit(vec![event(event_type)]) };
    let mut told = Vec::new();
    for event_type in [EventType::MemoryExtractionStarted, EventType::MemoryExtractionCompleted] {
        told.extend(store.commit(&writing.lease, late(event_type)).await.unwrap().events);
    }
    let places: Vec<_> = told.iter().map(|event| (event.seq.unwrap(), event.run_seq.unwrap())).collect();
    assert_eq!(places, [(4, 3), (5, 4)]);
    assert_eq!(told[1].event_id.as_str(), "evt_1_4");
    let types = |events: &[RuntimeEvent]| events.iter().map(|event| event.event_type).collect::<Vec<_>>();
    let of_run = [
        EventType::LoopStarted,
        EventType::LoopCompleted,
        EventType::MemoryExtractionStarted,
        EventType::MemoryExtractionCompleted,
    ];
    let page = store.replay(&ReplayScope::Run(ended.clone()), ReplayCursor::default()).await.unwrap();
    assert_eq!(types(&page.events), of_run);
    assert_eq!(page.events[2..], told);
    assert_eq!(types(&store.run_events(&ended, 0, 9).await.unwrap()), of_run);
    let page = store.replay(&whole_session(&writing), ReplayCursor::default()).await.unwrap();
    assert_eq!((page.events.len(), &page.events[3..]), (5, &told[..]));
    let run = store.run(&ended).await.unwrap().unwrap();
    assert_eq!(run.status, RunStatus::Completed, "it stays over");
    let last = store.session_summary(writing.session()).await.unwrap().unwrap().last_run.unwrap();
    assert_eq!(last.run_id, writing.run);
}
