//! Clocks that jump (TST-5, EVT-4): times order nothing and decide nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent_core::id::{AgentId, NodeId, RunId, SessionId};
use agent_core::message::{ContentBlock, Object};
use agent_core::runtime::RunStatus;
use agent_core::session::{NodeType, Role};
use agent_protocol::{AgentType, EventDraft, MessageCreated, NodeDraft};
use agent_store::{
    ClaimedSession, Clock, Commit, Lease, NewRun, NewSession, SessionStore, SqliteStore, StoreSettings, Write,
};
use agent_testkit::Protocol;
use rusqlite::Connection;

use crate::dice::Dice;
use crate::ledger::{Ledger, read};
use crate::tally::{Tally, rounds};
use crate::world::World;

/// 1970, today, 2038 and a bit, the year 9999, and beyond everything.
const TIMES: &[u64] = &[0, 1, 1_796_031_703_120, 2_147_483_648_000, YEAR_9999, u64::MAX];
/// Its last millisecond.
const YEAR_9999: u64 = 253_402_300_799_999;

async fn open(world: &World, now: &Arc<AtomicU64>) -> SqliteStore {
    let now = Arc::clone(now);
    let settings = StoreSettings {
        database: world.database(),
        sessions_dir: world.seen_home().join("sessions"),
        busy_timeout: Duration::from_secs(20),
        clock: Clock::new(move || now.load(Ordering::Relaxed)),
    };
    SqliteStore::open(settings).await.expect("the store opens, whatever the time")
}

fn new_session(id: &SessionId, agent: &AgentId, world: &World) -> NewSession {
    NewSession {
        session_id: id.clone(),
        cwd: world.home.project.display().to_string(),
        root_agent_id: agent.clone(),
        agent_type: AgentType::Main,
        metadata: Object::new(),
    }
}

/// The `n`-th node of a run, below the one before it, and its event.
fn step(run: &RunId, n: u64) -> Vec<Write> {
    let node = |n: u64| NodeId::parse(&format!("node_{}_{n}", run.as_str().trim_start_matches("run_"))).unwrap();
    let draft = NodeDraft {
        node_id: node(n),
        parent_id: (n > 1).then(|| node(n - 1)),
        role: Role::User,
        node_type: NodeType::Message,
        content: vec![ContentBlock::text(format!("step {n}"))].into(),
        metadata: Object::new(),
        token_count: 1,
    };
    let event = EventDraft::of(MessageCreated { role: Role::User }).node(&node(n));
    vec![Write::Node(draft), Write::Event(event), Write::Activate(node(n))]
}

/// TST-5, STO-3, EVT-4: whatever the clock says between two commits, and whichever store makes them, places are
/// gapless, everything comes back in the order in which it was committed, and the session can be claimed again.
#[test]
fn a_clock_that_jumps_between_commits() {
    let mut dice = Dice::new("jumping clock");
    let mut tally = Tally::new("jumping clock");
    let world = World::new("faults-clock", Protocol::OpenAi);
    let now = Arc::new(AtomicU64::new(0));
    let (id, agent) = (SessionId::parse("sess_clock").unwrap(), AgentId::parse("agent_clock").unwrap());
    let run = RunId::parse("run_clock").unwrap();
    let commit = |writes| Commit { agent_id: agent.clone(), run_id: run.clone(), writes };
    world.runtime.block_on(async {
        let mut store = open(&world, &now).await;
        let mut lease: Lease = store.create_session(new_session(&id, &agent, &world)).await.unwrap();
        let status = RunStatus::Completed;
        let new = NewRun {
            run_id: run.clone(),
            agent_id: agent.clone(),
            status,
            start_node_id: None,
            metadata: Object::new(),
        };
        store.commit(&lease, commit(vec![Write::Run(new)])).await.unwrap();
        for n in 1..=rounds(60) as u64 {
            tally.round();
            tally.fault();
            let (edge, anywhere) = (*dice.pick(TIMES), dice.next() % YEAR_9999);
            now.store(*dice.pick(&[edge, anywhere]), Ordering::Relaxed);
            let done = store.commit(&lease, commit(step(&run, n))).await;
            tally
                .holds(done.as_ref().is_ok_and(|done| done.nodes[0].node_seq == n), || format!("commit {n}: {done:?}"));
            if n % 7 == 0 {
                drop(lease);
                store.close().await;
                store = open(&world, &now).await;
                let ClaimedSession { row, lease: claimed, .. } =
                    store.claim_session(&id, None).await.expect("nobody owns it");
                lease = claimed;
                let last = row.active_node_id.map(|node| node.to_string());
                tally.holds(last == Some(format!("node_clock_{n}")), || format!("the active node is {last:?}"));
            }
        }
        drop(lease);
        store.close().await;
    });
    let stored = read(&world, "sess_clock");
    let texts: Vec<_> = stored.path.iter().map(crate::record::text).collect();
    let expected: Vec<_> = (1..=stored.path.len()).map(|n| format!("step {n}")).collect();
    tally.holds(texts == expected && texts.len() == rounds(60), || format!("another order: {texts:?}"));
    let seqs: Vec<_> = stored.events.iter().map(|event| event.seq.unwrap()).collect();
    tally.holds(seqs == (1..=stored.events.len() as u64).collect::<Vec<_>>(), || format!("places: {seqs:?}"));
    tally.lost(Ledger::default().losses(&world, Some("sess_clock")));
    tally.end(&format!("seed {}", dice.seed));
}

const DATED: &[(&str, &[&str])] = &[
    ("sessions", &["created_at", "updated_at", "owner_since"]),
    ("agents", &["created_at", "updated_at"]),
    ("runs", &["created_at", "updated_at"]),
    ("nodes", &["created_at"]),
    ("events", &["created_at"]),
    ("schema_migrations", &["applied_at"]),
    ("file_versions", &["seen_at"]),
];

/// TST-5, EVT-4: a session whose rows lie in the future, in the past, or in both by turns, goes on with its whole
/// history.
#[test]
fn a_session_from_another_time() {
    let mut tally = Tally::new("rows from another time");
    for time in [
        "'2199-01-01T00:00:00.000Z'",
        "'9999-12-31T23:59:59.999Z'",
        "'1970-01-01T00:00:00.000Z'",
        "CASE abs(random()) % 2 WHEN 0 THEN '1970-01-01T00:00:00.000Z' ELSE '2199-01-01T00:00:00.000Z' END",
    ] {
        tally.round();
        let world = World::new("faults-time", Protocol::OpenAi);
        let session = world.session();
        let mut ledger = Ledger::default();
        let other = Connection::open(world.database()).unwrap();
        for (table, columns) in DATED {
            let columns = columns.iter().map(|column| format!("{column} = {time}")).collect::<Vec<_>>().join(", ");
            other.execute_batch(&format!("UPDATE {table} SET {columns}")).unwrap();
        }
        other.close().unwrap();
        tally.fault();
        for session in [Some(session.as_str()), None] {
            let ended = world.run(session, &format!("Round 1 in {session:?}."));
            tally.holds(ended.code == 0, || format!("{time}: {ended:#?}"));
            tally.lost(ledger.said(session, &ended));
        }
        tally.lost(ledger.all_losses(&world));
        let roles: Vec<_> = read(&world, &session).path.iter().map(|node| node.role).collect();
        tally.holds(roles.len() == 24, || format!("{time}: {} nodes on the path", roles.len()));
    }
    tally.end("");
}
