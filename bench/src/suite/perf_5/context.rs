//! From opening the database to a request that goes on with a long path.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agent_core::model::{ModelStream, ProviderAdapter, ProviderFactory};
use agent_core::runtime::RunStatus;
use agent_core::{AgentRuntime, StartOptions};
use agent_engine::{PINNED, Path, TokenCounter};
use agent_protocol::{
    ContentBlock, ModelEvent, ModelRequest, Node, NodeType, Object, Reply, StopKind, StopReason, Usage,
};
use agent_store::{Recent, RecentWords, SessionStore as _};
use agent_testkit::TestHome;
use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use rusqlite::{Connection, OpenFlags};
use tokio_util::sync::CancellationToken;

use crate::bench::Bench;
use crate::clock;
use crate::error::BenchError;
use crate::report::{Row, Unit};
use crate::stats::Samples;
use crate::stored::{self, Long};
use crate::suite::series::millis;

const BUDGET_MS: f64 = 20.0;
const PROVIDER: &str = "stopwatch";
/// Of the model, in tokens: about a thirtieth of the path goes in.
const WINDOW: u64 = 131_072;

/// What the path's way into a request consists of, each measured alone.
type Part = (&'static str, fn(&TestHome, &Long) -> Result<Duration, BenchError>);

const PARTS: [Part; 8] = [
    ("the spine, bare", |_, long| timed(|| Ok(spine(&read_only(long)?, long)?.len()))),
    ("a window of the path: by the store", |home, long| with_recent(home, long, |_, took| took)),
    ("a window of the path: into the engine's Path", |home, long| with_recent(home, long, make_path)),
    ("the whole path: its bodies, bare", |_, long| timed(|| read_all(long, |_, _| ()))),
    ("the whole path: the same and parsed", |_, long| timed(|| read_all(long, parse))),
    ("the whole path: by the store", |home, long| with_all(home, long, |_, took| took)),
    ("the whole path: into the engine's Path", |home, long| with_all(home, long, make_path)),
    ("the whole path: its tokens counted", |home, long| with_all(home, long, count_tokens)),
];

/// Opening, and each part of it alone.
pub(super) fn measure(bench: &Bench, home: &TestHome, long: &Long) -> Result<Vec<Row>, BenchError> {
    let mut parts = PARTS.map(|_| Vec::new());
    let mut rows = opened(bench, home, long, false, || {
        for ((_, part), times) in PARTS.iter().zip(&mut parts) {
            times.push(part(home, long)?);
        }
        Ok(())
    })?;
    for ((name, _), times) in PARTS.iter().zip(&parts) {
        rows.push(Row::new(*name, Unit::Millis, samples(times)?));
    }
    Ok(rows)
}

/// The same path with a summary of all but its end.
pub(super) fn measure_summarised(bench: &Bench, home: &TestHome, long: &Long) -> Result<Vec<Row>, BenchError> {
    opened(bench, home, long, true, || Ok(()))
}

fn opened(
    bench: &Bench,
    home: &TestHome,
    long: &Long,
    summarised: bool,
    mut besides: impl FnMut() -> Result<(), BenchError>,
) -> Result<Vec<Row>, BenchError> {
    home.write_config("http://127.0.0.1:9", PROVIDER, &format!("model.context_window = {WINDOW}"));
    let (mut ours, mut cpu, mut built) = (Vec::new(), Vec::new(), Vec::new());
    let (mut floor, mut bare) = (Vec::new(), Vec::new());
    // The first run is thrown away.
    for run in 0..=bench.runs.min(20) {
        let asked = ask(home, long)?;
        if asked.summarised != summarised {
            return Err(BenchError::Setup { what: format!("a request with a summary: {}", asked.summarised) });
        }
        let kept = timed(|| read_kept(long, asked.messages))?;
        let walked = timed(|| Ok(spine(&read_only(long)?, long)?.len()))?;
        if run > 0 {
            ours.push(asked.took);
            cpu.push(asked.cpu);
            built.push(asked.built);
            floor.push(kept);
            bare.push(walked);
        }
        besides()?;
    }
    let (ours, bare) = (samples(&ours)?, samples(&bare)?);
    let over = Samples::new([ours.median() / bare.median()])?;
    let with = if summarised { ", with a summary on the path" } else { "" };
    Ok(vec![
        Row::new(format!("open and build context, 10,000 nodes{with}"), Unit::Millis, ours)
            .budget(BUDGET_MS)
            .floor(samples(&floor)?),
        Row::new(format!("the same, CPU of all threads{with}"), Unit::Millis, samples(&cpu)?),
        Row::new(format!("the same over the bare spine{with}"), Unit::Ratio, over),
        Row::new(format!("of it: building the runtime, the database opened{with}"), Unit::Millis, samples(&built)?),
    ])
}

fn samples(times: &[Duration]) -> Result<Samples, BenchError> {
    Samples::new(times.iter().copied().map(millis))
}

/// What a request took.
struct Asked {
    took: Duration,
    /// All threads of it, which does not grow with what else the machine does.
    cpu: Duration,
    built: Duration,
    messages: usize,
    /// Whether a summary is among them.
    summarised: bool,
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
        let before = clock::spent_by(std::process::id()).unwrap_or_default();
        let began = Instant::now();
        let agent = builder.build().await?;
        let built = began.elapsed();
        let options = StartOptions { session_id: Some(long.session_id.clone()), ..StartOptions::default() };
        let run = agent.start("And now?", options).await?;
        let result = run.wait().await;
        agent.close().await;
        let stopped = watch.stopped();
        match stopped.filter(|_| result.status == RunStatus::Completed) {
            Some(Stopped { at, spent, messages, summarised }) => {
                let cpu = spent.unwrap_or_default().saturating_sub(before);
                Ok(Asked { took: at - began, cpu, built, messages, summarised })
            }
            None => Err(setup(format!("the run ended as {}: {:?}", result.status.as_str(), result.error))),
        }
    })
}

/// A provider that notes when it was asked, and says little.
#[derive(Default)]
struct Stopwatch(Mutex<Option<Stopped>>);

/// When the first request came, and what it was like.
#[derive(Clone, Copy)]
struct Stopped {
    at: Instant,
    /// On the CPU, by this process.
    spent: Option<Duration>,
    messages: usize,
    summarised: bool,
}

impl Stopwatch {
    fn stopped(&self) -> Option<Stopped> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProviderAdapter for Stopwatch {
    fn key(&self) -> &str {
        PROVIDER
    }

    fn stream(&self, request: ModelRequest, _: CancellationToken) -> ModelStream {
        let (at, spent) = (Instant::now(), clock::spent_by(std::process::id()).ok());
        let messages = request.messages.len();
        let is_summary =
            |block: &ContentBlock| block.as_text().is_some_and(|text| text.trim_start().starts_with("<compaction>"));
        let summarised = request.messages.iter().any(|message| message.content.iter().any(is_summary));
        let asked = Stopped { at, spent, messages, summarised };
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
        let recent = Recent {
            tokens: WINDOW,
            results: WINDOW / 16,
            always: PINNED.to_vec(),
            summary: Some(NodeType::Compaction),
            always_tokens: WINDOW / 2,
            words: Some(RecentWords { is_rule: |_| false, version: 0, rules: 24, others: 16 }),
            step: 64,
        };
        let path = store.load_recent(&long.session_id, &long.leaf, &recent).await?;
        let took = began.elapsed();
        store.close().await;
        Ok(what(path.nodes, took))
    })
}
