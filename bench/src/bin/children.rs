//! Runs agents with children in one process, with a model in the same process, and tells what they took: `children COUNT`.
//!
//! Home and project come from the environment and the current folder. It is a program of its own because it counts what is allocated.

#[path = "../family.rs"]
mod family;

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use agent_core::id::ToolCallId;
use agent_core::message::{ContentBlock, Object};
use agent_core::model::{
    ModelEvent, ModelRequest, ModelStream, ProviderAdapter, ProviderFactory, Reply, StopKind, StopReason, Usage,
};
use agent_core::runtime::{RunMode, RunStatus};
use agent_core::session::Role;
use agent_core::tool::ToolCall;
use agent_core::{AgentRuntime, StartOptions};
use agent_store::testing::{StoreBetween, Verdict};
use futures::StreamExt;
use futures::future::BoxFuture;
use nix::sys::resource::{UsageWho, getrusage};
use peak_alloc::PeakAlloc;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use family::{Families, Family, Timeline};

type Failure = Box<dyn Error + Send + Sync>;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// What a reply takes in the timeline.
const TURN: Duration = Duration::from_millis(200);
/// Replies that wait for each other there: the Task is made; two steps, one behind the other, are each dispatched, claimed, completed and
/// answered for; and the last answer.
const CRITICAL_TURNS: u32 = 1 + 2 * 4 + 1;

fn main() -> Result<(), Failure> {
    let count = std::env::args().nth(1).ok_or("children takes COUNT")?.parse()?;
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let families = threads.block_on(measure(count))?;
    serde_json::to_writer(io::stdout(), &families)?;
    Ok(())
}

async fn measure(count: usize) -> Result<Families, Failure> {
    // What is loaded once is loaded.
    family(Part::Subs(1)).await?;
    family(Part::Workers(1)).await?;
    Ok(Families {
        subs: [family(Part::Subs(1)).await?, family(Part::Subs(count)).await?],
        workers: [family(Part::Workers(1)).await?, family(Part::Workers(count)).await?],
        timeline: timeline().await?,
    })
}

/// What the model plays.
#[derive(Debug, Clone, Copy)]
enum Part {
    /// So many sub agents at once.
    Subs(usize),
    /// So many workers at once.
    Workers(usize),
    /// Five steps over three workers.
    Timeline,
}

/// A model in this process.
#[derive(Clone)]
struct Model(Arc<Inner>);

struct Inner {
    part: Part,
    parent_turns: AtomicUsize,
    /// Children that were asked: they answer once all live.
    asked: AtomicUsize,
    all_live: Notify,
}

impl Model {
    fn new(part: Part) -> Self {
        let (parent_turns, asked) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self(Arc::new(Inner { part, parent_turns, asked, all_live: Notify::new() }))
    }

    async fn say(self, request: ModelRequest) -> ModelEvent {
        let offers = |name: &str| request.tools.tools.iter().any(|tool| tool.name == name);
        let is_parent = offers("agent.create_sub_agent") || offers("agent.dispatch_worker");
        let turn = if is_parent { self.0.parent_turns.fetch_add(1, Ordering::SeqCst) } else { turn_of(&request) };
        if let Part::Timeline = self.0.part {
            tokio::time::sleep(TURN).await;
        } else if !is_parent {
            self.waits_for_all().await;
        }
        reply(match (self.0.part, is_parent, turn) {
            (Part::Subs(count), true, 0) => calls(&vec![("agent.create_sub_agent", json!({"task": "Look."})); count]),
            (Part::Workers(_) | Part::Timeline, true, 0) => calls(&[("agent.task_create", task(self.0.part))]),
            (Part::Workers(count), true, 1) => calls(&vec![dispatch(None); count]),
            (Part::Timeline, true, 1) => calls(&[dispatch(Some("a")), dispatch(Some("b")), dispatch(Some("c"))]),
            (Part::Timeline, true, 2) => calls(&[dispatch(Some("d")), dispatch(Some("e"))]),
            (Part::Timeline, false, 0) => {
                calls(&[("agent.task_claim_step", json!({"task_id": "t", "step_id": step_of(&request)}))])
            }
            (Part::Timeline, false, 1) => calls(&[(
                "agent.task_update_step",
                json!({"task_id": "t", "step_id": step_of(&request), "status": "completed"}),
            )]),
            _ => vec![ContentBlock::text("Done.")],
        })
    }

    /// So that the most that is in memory is seen.
    async fn waits_for_all(&self) {
        let (Part::Subs(count) | Part::Workers(count)) = self.0.part else { return };
        let all_live = self.0.all_live.notified();
        if self.0.asked.fetch_add(1, Ordering::SeqCst) + 1 >= count {
            self.0.all_live.notify_waiters();
        } else {
            all_live.await;
        }
    }
}

/// How often a child has spoken.
fn turn_of(request: &ModelRequest) -> usize {
    request.messages.iter().filter(|message| message.role == Role::Assistant).count()
}

/// The step that a worker was sent for stands in what it was told.
fn step_of(request: &ModelRequest) -> String {
    let texts =
        request.messages.iter().flat_map(|message| message.content.iter().filter_map(ContentBlock::to_model_text));
    let told = texts.filter_map(|text| Some(text.split_once("step=")?.1.chars().take(1).collect())).next();
    told.unwrap_or_default()
}

fn dispatch(step: Option<&str>) -> (&'static str, Value) {
    let instruction = json!({"task_id": "t", "instruction": format!("Do step={}.", step.unwrap_or("any"))});
    ("agent.dispatch_worker", instruction)
}

fn task(part: Part) -> Value {
    let steps = match part {
        Part::Timeline => json!([
            {"step_id": "a", "title": "A"}, {"step_id": "b", "title": "B"}, {"step_id": "c", "title": "C"},
            {"step_id": "d", "title": "D", "depends_on_step_ids": ["a", "b"]},
            {"step_id": "e", "title": "E", "depends_on_step_ids": ["c"]},
        ]),
        _ => json!([{"step_id": "a", "title": "A"}]),
    };
    json!({"task_id": "t", "wal_name": "t", "title": "T", "summary": "", "steps": steps})
}

fn calls(calls: &[(&str, Value)]) -> Vec<ContentBlock> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let call = |(name, arguments): &(&str, Value)| {
        let id = format!("call_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let tool_call_id = ToolCallId::parse(&id).ok()?;
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        Some(ContentBlock::ToolCall(ToolCall {
            tool_call_id,
            name: (*name).to_owned(),
            arguments,
            metadata: Object::new(),
        }))
    };
    calls.iter().filter_map(call).collect()
}

fn reply(content: Vec<ContentBlock>) -> ModelEvent {
    let stop = StopReason::new(StopKind::EndTurn);
    ModelEvent::Completed(Reply { content, usage: Usage::default(), stop, metadata: Object::new() })
}

impl ProviderAdapter for Model {
    fn key(&self) -> &str {
        "in_process"
    }

    fn stream(&self, request: ModelRequest, _: CancellationToken) -> ModelStream {
        futures::stream::once(self.clone().say(request)).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// How often the store was asked.
#[derive(Default)]
struct Trips {
    all: AtomicU64,
    commits: AtomicU64,
}

async fn runtime(part: Part, trips: &Arc<Trips>) -> Result<AgentRuntime, Failure> {
    let model = Model::new(part);
    let factory: ProviderFactory = Arc::new(move |_| Ok(Arc::new(model.clone()) as Arc<dyn ProviderAdapter>));
    let trips = Arc::clone(trips);
    let counted = move |name: &'static str| {
        trips.all.fetch_add(1, Ordering::Relaxed);
        trips.commits.fetch_add(u64::from(name == "commit"), Ordering::Relaxed);
        Verdict::Pass
    };
    let builder = AgentRuntime::builder().register_provider("in_process", factory)?;
    Ok(builder.store_between(move |inner| StoreBetween::shared(inner, counted)).build().await?)
}

/// Runs it in a session of its own; how long that took, and on how much CPU.
async fn run(agent: &AgentRuntime, part: Part) -> Result<(Duration, Duration), Failure> {
    let mode = if matches!(part, Part::Subs(_)) { RunMode::Normal } else { RunMode::Orchestrator };
    let (began, before) = (Instant::now(), spent()?);
    let run = agent.start("Do it.", StartOptions { session_id: None, mode: Some(mode) }).await?;
    let result = run.wait().await;
    let cpu = spent()?.saturating_sub(before);
    let wall = began.elapsed();
    if result.status != RunStatus::Completed {
        return Err(format!("{part:?} ended as {}: {:?}", result.status.as_str(), result.error).into());
    }
    Ok((wall, cpu))
}

/// User and system time of all threads of this process.
fn spent() -> Result<Duration, Failure> {
    let used = getrusage(UsageWho::RUSAGE_SELF)?;
    let micros = [used.user_time(), used.system_time()].map(|time| time.tv_sec() * 1_000_000 + time.tv_usec());
    Ok(Duration::from_micros(u64::try_from(micros.iter().sum::<i64>())?))
}

async fn family(part: Part) -> Result<Family, Failure> {
    let trips = Arc::new(Trips::default());
    let agent = runtime(part, &trips).await?;
    let (before, store_trips, commits) =
        (HEAP.current_usage(), trips.all.load(Ordering::Relaxed), trips.commits.load(Ordering::Relaxed));
    HEAP.reset_peak_usage();
    let (wall, cpu) = run(&agent, part).await?;
    let heap_bytes = HEAP.peak_usage().saturating_sub(before);
    agent.close().await;
    let (Part::Subs(children) | Part::Workers(children)) = part else { return Err("no family".into()) };
    Ok(Family {
        children,
        cpu,
        wall,
        heap_bytes,
        store_trips: trips.all.load(Ordering::Relaxed) - store_trips,
        commits: trips.commits.load(Ordering::Relaxed) - commits,
    })
}

async fn timeline() -> Result<Timeline, Failure> {
    let agent = runtime(Part::Timeline, &Arc::default()).await?;
    let (wall, _) = run(&agent, Part::Timeline).await?;
    agent.close().await;
    Ok(Timeline { wall, critical: TURN * CRITICAL_TURNS })
}
