//! The way of a big output into its [`Spill`](crate::Spill).
//!
//! A spill blocks, so it is written by one task of the runtime's blocking pool that lives as long as the program does
//! and is only started when an output outgrows memory. The queue to it is bounded; when it is full the pipe is not
//! read, so the program waits for the disk as it would if it wrote to the file itself.

use crate::{SpillFactory, keeper::Keeper};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::mpsc,
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};

/// How many chunks may wait for the disk. At least two: the first write brings what was kept and what came on top.
const QUEUE: usize = 4;
/// How long the end of a run waits for the disk to take the queue and to finish.
const FINISH_WAIT: Duration = Duration::from_secs(10);

enum Message {
    Chunk(Vec<u8>),
    /// Tells a finished stream from a dropped one.
    Finish,
}

/// The spill of one output, in all its states.
pub(crate) struct Spiller {
    state: State,
    max_bytes: u64,
}

enum State {
    Off,
    /// Everything still fits into memory.
    Waiting(SpillFactory),
    Writing(Writer),
}

struct Writer {
    queue: mpsc::Sender<Message>,
    task: JoinHandle<io::Result<()>>,
    written: Arc<AtomicU64>,
    /// What may still be sent; 0 also once the task has given up.
    left: u64,
}

impl Spiller {
    pub(crate) fn new(factory: Option<SpillFactory>, max_bytes: u64) -> Self {
        let state = match factory {
            Some(factory) if max_bytes > 0 => State::Waiting(factory),
            _ => State::Off,
        };
        Self { state, max_bytes }
    }

    /// Waits until [`Self::pass`] can take a chunk. Cancel safe.
    pub(crate) async fn ready(&mut self) {
        if let State::Writing(writer) = &mut self.state
            && writer.left > 0
        {
            // There is no other sender, so the room seen here is still there in `pass`. A closed queue is found there.
            let _ = writer.queue.reserve().await;
        }
    }

    /// Takes the next chunk of the stream, of which `kept` holds what came before.
    pub(crate) fn pass(&mut self, chunk: &[u8], kept: &Keeper) {
        if matches!(self.state, State::Waiting(_)) && kept.overflows_with(chunk.len()) {
            self.start(kept);
        }
        if let State::Writing(writer) = &mut self.state {
            writer.send(chunk);
        }
    }

    /// Opens the spill and sends what is in memory, which is the whole stream so far.
    fn start(&mut self, kept: &Keeper) {
        let State::Waiting(factory) = std::mem::replace(&mut self.state, State::Off) else { return };
        let mut writer = Writer::start(factory, self.max_bytes);
        writer.send(&kept.joined());
        self.state = State::Writing(writer);
    }

    /// Ends the stream: how many bytes were taken, and why not all that should.
    pub(crate) async fn finish(self) -> (u64, Option<io::Error>) {
        match self.state {
            State::Writing(writer) => writer.finish().await,
            State::Off | State::Waiting(_) => (0, None),
        }
    }
}

impl Writer {
    fn start(factory: SpillFactory, max_bytes: u64) -> Self {
        let (queue, messages) = mpsc::channel(QUEUE);
        let written = Arc::new(AtomicU64::new(0));
        let task = spawn_blocking({
            let written = Arc::clone(&written);
            move || write(factory, messages, &written)
        });
        Self { queue, task, written, left: max_bytes }
    }

    fn send(&mut self, chunk: &[u8]) {
        let allowed = usize::try_from(self.left).map_or(chunk.len(), |left| left.min(chunk.len()));
        if allowed == 0 {
            return;
        }
        match self.queue.try_send(Message::Chunk(chunk[..allowed].to_vec())) {
            Ok(()) => self.left -= allowed as u64,
            // The task has failed; `finish` tells how.
            Err(_) => self.left = 0,
        }
    }

    async fn finish(self) -> (u64, Option<io::Error>) {
        let Self { queue, task, written, .. } = self;
        let end = timeout(FINISH_WAIT, async {
            // Fails only if the task has ended, and then its result says why.
            let _ = queue.send(Message::Finish).await;
            task.await
        });
        let error = match end.await {
            Ok(Ok(result)) => result.err(),
            Ok(Err(panic)) => Some(io::Error::other(panic)),
            Err(_) => Some(io::Error::new(io::ErrorKind::TimedOut, "the disk did not take the output in time")),
        };
        (written.load(Ordering::Relaxed), error)
    }
}

/// The blocking half. Returning closes the queue.
fn write(factory: SpillFactory, mut messages: mpsc::Receiver<Message>, written: &AtomicU64) -> io::Result<()> {
    let mut spill = factory()?;
    while let Some(message) = messages.blocking_recv() {
        match message {
            Message::Chunk(chunk) => {
                spill.write(&chunk)?;
                written.fetch_add(chunk.len() as u64, Ordering::Relaxed);
            }
            Message::Finish => return spill.finish(),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
