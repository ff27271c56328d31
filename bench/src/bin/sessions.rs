//! Runs many sessions at once in one process and tells what they took: `sessions COUNT TURNS`.
//!
//! Home and project come from the environment and the current folder, as for a user's program. It is a program of its own
//! because it counts what is allocated, which would slow down other measures, and because theirs would be in its memory.

#[path = "../crowd.rs"]
mod crowd;
#[path = "../own.rs"]
mod own;

use std::error::Error;
use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use agent_core::runtime::RunStatus;
use agent_core::{AgentRuntime, EventType, StartOptions};
use peak_alloc::PeakAlloc;
use tokio::task::JoinSet;

use crowd::{Crowd, Footprint};

type Failure = Box<dyn Error + Send + Sync>;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const MESSAGE: &str = "Look at the files in data and tell me what is in them.";
/// Threads for blocking work end when they had nothing to do for ten seconds.
const PATIENCE: Duration = Duration::from_secs(15);

fn main() -> Result<(), Failure> {
    let numbers: Vec<usize> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let &[count, turns] = numbers.as_slice() else { return Err("sessions takes COUNT TURNS".into()) };
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let crowd = threads.block_on(measure(count, turns))?;
    serde_json::to_writer(io::stdout(), &crowd)?;
    Ok(())
}

async fn measure(count: usize, turns: usize) -> Result<Crowd, Failure> {
    let agent = Arc::new(AgentRuntime::builder().build().await?);
    session(&agent, turns).await?;
    let before = Footprint::now();

    HEAP.reset_peak_usage();
    let watch = Watch::start();
    let ends = together(&agent, count, turns).await?;
    let ((descriptors, sockets), threads) = watch.stop();
    let resident_kib = own::field("VmHWM").unwrap_or(0);
    let peak = Footprint { resident_kib, heap_bytes: HEAP.peak_usage(), descriptors, sockets, threads };
    let after = Footprint::settled(&before).await;

    together(&agent, count, turns).await?;
    let after_again = Footprint::settled(&before).await;
    agent.close().await;
    Ok(Crowd { before, peak, after, after_again, ends })
}

/// Runs sessions side by side; when each had ended.
async fn together(agent: &Arc<AgentRuntime>, count: usize, turns: usize) -> Result<Vec<Duration>, Failure> {
    let (began, mut running, mut ends) = (Instant::now(), JoinSet::new(), Vec::with_capacity(count));
    for _ in 0..count {
        let agent = Arc::clone(agent);
        running.spawn(async move { session(&agent, turns).await.map(|()| began.elapsed()) });
    }
    while let Some(ended) = running.join_next().await {
        ends.push(ended??);
    }
    Ok(ends)
}

/// One session, watched as a face would watch it. One whose tools fail would be cheap.
async fn session(agent: &AgentRuntime, turns: usize) -> Result<(), Failure> {
    let run = agent.start(MESSAGE, StartOptions::default()).await?;
    let (mut events, mut read) = (run.events(false)?, 0);
    while let Some(event) = events.next().await? {
        read += usize::from(event.event_type == EventType::ToolCompleted);
    }
    let result = run.wait().await;
    if result.status == RunStatus::Completed && read + 1 == turns {
        return Ok(());
    }
    Err(format!("{} after {read} files: {:?}", result.status.as_str(), result.error).into())
}

impl Footprint {
    fn now() -> Self {
        let (descriptors, sockets) = descriptors();
        Self {
            resident_kib: own::field("VmRSS").unwrap_or(0),
            heap_bytes: HEAP.current_usage(),
            descriptors,
            sockets,
            threads: own::field("Threads").unwrap_or(0),
        }
    }

    /// Once there are no more threads than before, whose stacks are memory too.
    async fn settled(before: &Self) -> Self {
        let began = Instant::now();
        while own::field("Threads").unwrap_or(0) > before.threads && began.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Self::now()
    }
}

/// How many there are, and how many of them are sockets.
fn descriptors() -> (usize, usize) {
    let open = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let (mut all, mut sockets) = (0, 0);
    for target in open.filter_map(|entry| fs::read_link(entry.path()).ok()) {
        all += 1;
        sockets += usize::from(target.to_string_lossy().starts_with("socket:"));
    }
    // The list itself is read through one, which counts as well.
    (all, sockets)
}

/// Looks again and again, on a thread of its own, for what the kernel keeps no peak of.
struct Watch {
    ended: Arc<AtomicBool>,
    thread: thread::JoinHandle<((usize, usize), u64)>,
}

impl Watch {
    fn start() -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            let (mut files, mut threads) = ((0, 0), 0);
            while !watched.load(Ordering::Relaxed) {
                files = files.max(descriptors());
                threads = threads.max(own::field("Threads").unwrap_or(0));
                thread::sleep(Duration::from_millis(50));
            }
            (files, threads)
        });
        Self { ended, thread }
    }

    /// The most descriptors and threads that were seen.
    fn stop(self) -> ((usize, usize), u64) {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}
