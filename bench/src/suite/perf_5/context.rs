//! From opening the database to a request that goes on with a long path.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agent_core::{AgentRuntime, ModelStream, ProviderAdapter, ProviderFactory, RunStatus, StartOptions};
use agent_engine::{Path, TokenCounter};
use agent_protocol::{ContentBlock, ModelEvent, ModelRequest, Node, Object, Reply, StopKind, StopReason, Usage};
use agent_store::{Recent, SessionStore as _};
use agent_testkit::TestHome;
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use rusqlite::{Connection, OpenFlags};
use tokio_util::sync::CancellationToken;

use crate::BenchError;
use crate::report::{Row, Unit};
use crate::stats::Samples;
use crate::stored::{self, Long};
use crate::suite::{Bench, millis};

const BUDGET_MS: f64 = 20.0;
const PROVIDER: &str = "stopwatch";
/// Of the model, in tokens: about a thirtieth of the path goes in.
const WINDOW: u64 = 131_072;

/// What the path's way into a request consists of, each measured alone.
type Part = (&'static str, fn(&TestHome, &Long) -> Result<Duration, BenchError>);

const PARTS: [Part; 8] = [
    ("the spine, bare", |_, long| timed(|| Ok(spine(&read_only(long)?, long)?.len()))),
    ("two windows of the path: by the store", |home, long| with_recent(home, long, |_, took| took)),
    ("two windows of the path: into the engine's Path", |home, long| with_recent(home, long, make_path)),
    ("the whole path: its bodies, bare", |_, long| timed(|| read_all(long, |_, _| ()))),
    ("the whole path: the same and parsed", |_, long| timed(|| read_all(long, parse))),
    ("the whole path: by the store", |home, long| with_all(home, long, |_, took| took)),
    ("the whole path: into the engine's Path", |home, long| with_all(home, long, make_path)),
    ("the whole path: its tokens counted", |home, long| with_all(home, long, count_tokens)),
];

pub(super) fn measure(bench: &Bench, home: &TestHome, long: &Long) -> Result<Vec<Row>, BenchError> {
    home.write_config("http://127.0.0.1:9", PROVIDER, &format!("model.context_window = {WINDOW}"));
    let (mut ours, mut built, mut floor) = (Vec::new(), Vec::new(), Vec::new());
    let mut parts = PARTS.map(|_| Vec::new());
    // The first run is thrown away.
    for run in 0..=bench.runs.min(20) {
        let asked = ask(home, long)?;
        let bare = timed(|| read_kept(long, asked.messages))?;
        if run > 0 {
            ours.push(asked.took);
            built.push(asked.built);
            floor.push(bare);
        }
        for ((_, part), times) in PARTS.iter().zip(&mut parts) {
            times.push(part(home, long)?);
        }
    }
    let samples = |times: &[Duration]| Samples::new(times.iter().copied().map(millis));
    let mut rows = vec![
        Row::new("open and build context, 10,000 nodes", Unit::Millis, samples(&ours)?)
            .budget(BUDGET_MS)
            .floor(samples(&floor)?),
        Row::new("of it: building the runtime, the database opened", Unit::Millis, samples(&built)?),
    ];
    for ((name, _), times) in PARTS.iter().zip(&parts) {
        rows.push(Row::new(*name, Unit::Millis, samples(times)?));
    }
    Ok(rows)
}

/// What a request took.
struct Asked {
    took: Duration,
    built: Duration,
    messages: usize,
}

/// Opens everything anew and goes on with the session; each time the path grows by two nodes.
fn ask(home: &TestHome, long: &Long) -> Result<Asked, BenchError> {
    // Made before, as a program has them when it starts.
    let (threads, watch) = (super::threads()?, Arc::new(Stopwatch::default()));
    let factory: ProviderFactory = {
        let watch = Arc::clone(&watch);
        Arc::new(move |_| Ok(Arc::clone(&watch) as Arc<dyn ProviderAdapter>))
    };
    let setup = |what: String| BenchError::Setup { what };
    let builder = AgentRuntime::builder().home_dir(&home.home).project_dir(&home.project);
    let builder = builder.register_provider(PROVIDER, factory).map_err(|error| setup(error.to_string()))?;
    threads.block_on(async {
        let began = Instant::now();
        let agent = builder.build().await?;
        let built = began.elapsed();
        let options = StartOptions { session_id: Some(long.session_id.clone()), ..StartOptions::default() };
        let run = agent.start("And now?", options).await?;
        let result = run.wait().await;
        agent.close().await;
        let stopped = watch.stopped();
        match stopped.filter(|_| result.status == RunStatus::Completed) {
            Some((at, messages)) => Ok(Asked { took: at - began, built, messages }),
            None => Err(setup(format!("the run ended as {}: {:?}", result.status.as_str(), result.error))),
        }
    })
}

/// A provider that notes when it was asked, and says little.
#[derive(Default)]
struct Stopwatch(Mutex<Option<(Instant, usize)>>);

impl Stopwatch {
    fn stopped(&self) -> Option<(Instant, usize)> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProviderAdapter for Stopwatch {
    fn key(&self) -> &str {
        PROVIDER
    }

    fn stream(&self, request: ModelRequest, _: CancellationToken) -> ModelStream {
        let asked = (Instant::now(), request.messages.len());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(asked);
        let reply = Reply {
            content: vec![ContentBlock::text("Nothing new.")],
            usage: Usage::default(),
            stop: StopReason::new(StopKind::EndTurn),
            metadata: Object::new(),
        };
        futures::stream::iter([ModelEvent::Completed(reply)]).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        futures::future::ready(()).boxed()
    }
}

fn timed<T>(work: impl FnOnce() -> Result<T, BenchError>) -> Result<Duration, BenchError> {
    let began = Instant::now();
    std::hint::black_box(work()?);
    Ok(began.elapsed())
}

const SPINE: &str = "
    WITH RECURSIVE spine (node_id, parent_id, node_seq, token_count) AS (
        SELECT node_id, parent_id, node_seq, token_count FROM nodes INDEXED BY nodes_spine WHERE node_id = ?1
        UNION ALL
        SELECT parent.node_id, parent.parent_id, parent.node_seq, parent.token_count
        FROM spine JOIN nodes AS parent INDEXED BY nodes_spine ON parent.node_id = spine.parent_id
    )
    SELECT node_seq, token_count FROM spine";
const BODIES: &str = "
    SELECT role, content_json, metadata_json FROM nodes WHERE session_id = ?1 AND node_seq >= ?2 ORDER BY node_seq";

/// The floor: the database opened, the spine walked, and the bodies read of as many nodes as went into the request.
fn read_kept(long: &Long, messages: usize) -> Result<usize, BenchError> {
    let database = read_only(long)?;
    let spine = spine(&database, long)?;
    let first = spine.get(messages.saturating_sub(1)).or(spine.last()).ok_or(BenchError::Nothing)?;
    bodies(&database, long, first.0, |_, _| ())
}

/// Places and tokens of all nodes, the newest first.
fn spine(database: &Connection, long: &Long) -> Result<Vec<(i64, i64)>, BenchError> {
    let mut statement = database.prepare(SPINE)?;
    let spine = statement.query_map([long.leaf.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(spine.collect::<Result<_, _>>()?)
}

fn read_all(long: &Long, with: fn(&str, &str)) -> Result<usize, BenchError> {
    bodies(&read_only(long)?, long, 0, with)
}

fn read_only(long: &Long) -> Result<Connection, BenchError> {
    let access = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Connection::open_with_flags(&long.database, access)?)
}

fn bodies(database: &Connection, long: &Long, from: i64, with: fn(&str, &str)) -> Result<usize, BenchError> {
    let mut statement = database.prepare(BODIES)?;
    let mut rows = statement.query((long.session_id.as_str(), from))?;
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let (content, metadata) = (row.get_ref(1)?, row.get_ref(2)?);
        let text = |value: rusqlite::types::ValueRef<'_>| value.as_str().map(str::len).unwrap_or_default();
        bytes += text(content) + text(metadata);
        with(content.as_str().unwrap_or_default(), metadata.as_str().unwrap_or_default());
    }
    Ok(bytes)
}

fn parse(content: &str, metadata: &str) {
    std::hint::black_box(serde_json::from_str::<Vec<ContentBlock>>(content).is_ok());
    std::hint::black_box(serde_json::from_str::<Object>(metadata).is_ok());
}

fn make_path(nodes: Vec<Node>, _: Duration) -> Duration {
    let began = Instant::now();
    std::hint::black_box(Path::from_nodes(nodes).len());
    began.elapsed()
}

fn count_tokens(nodes: Vec<Node>, _: Duration) -> Duration {
    let began = Instant::now();
    std::hint::black_box(nodes.iter().map(|node| TokenCounter.message(&node.content)).sum::<u64>());
    began.elapsed()
}

/// Gives the nodes of the path and what the store took to read and decode them, open already.
fn with_all(home: &TestHome, long: &Long, what: fn(Vec<Node>, Duration) -> Duration) -> Result<Duration, BenchError> {
    super::threads()?.block_on(async {
        let store = stored::open(&long.database, &home.home.join("sessions")).await?;
        let began = Instant::now();
        let nodes = store.load_path(&long.session_id, &long.leaf).await?;
        let took = began.elapsed();
        store.close().await;
        Ok(what(nodes, took))
    })
}

/// The same of as much as a runtime reads.
fn with_recent(
    home: &TestHome,
    long: &Long,
    what: fn(Vec<Node>, Duration) -> Duration,
) -> Result<Duration, BenchError> {
    super::threads()?.block_on(async {
        let store = stored::open(&long.database, &home.home.join("sessions")).await?;
        let began = Instant::now();
        let recent = Recent { tokens: 2 * WINDOW, results: WINDOW / 16, ..Recent::default() };
        let path = store.load_recent(&long.session_id, &long.leaf, &recent).await?;
        let took = began.elapsed();
        store.close().await;
        Ok(what(path.nodes, took))
    })
}
