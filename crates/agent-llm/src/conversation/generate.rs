//! A stream that does the work it tells of. There is no task behind it: polling the stream polls the work, dropping it
//! drops the work and with it the connection, and work that is ahead of its reader waits.

use std::pin::Pin;
use std::task::{Context, Poll};

use agent_protocol::ModelEvent;
use futures::future::BoxFuture;
use futures::{FutureExt, Stream, StreamExt};
use tokio::sync::mpsc;

use crate::ModelStream;

/// How many events the work may be ahead.
const AHEAD: usize = 64;

/// Tells an event to the stream's reader.
pub(super) struct Emitter(mpsc::Sender<ModelEvent>);

impl Emitter {
    pub(super) async fn send(&self, event: ModelEvent) {
        // The receiver lives in the stream, beside the work that holds this: it is never gone first.
        let _ = self.0.send(event).await;
    }
}

/// The events that `work` sends.
pub(super) fn generate<W>(work: impl FnOnce(Emitter) -> W) -> ModelStream
where
    W: Future<Output = ()> + Send + 'static,
{
    let (sender, events) = mpsc::channel(AHEAD);
    Generated { work: Some(work(Emitter(sender)).boxed()), events }.boxed()
}

struct Generated {
    work: Option<BoxFuture<'static, ()>>,
    events: mpsc::Receiver<ModelEvent>,
}

impl Stream for Generated {
    type Item = ModelEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ModelEvent>> {
        if let Poll::Ready(event) = self.events.poll_recv(cx) {
            return Poll::Ready(event);
        }
        if let Some(work) = &mut self.work {
            if work.poll_unpin(cx).is_ready() {
                self.work = None;
            }
            return self.events.poll_recv(cx);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn text(n: usize) -> ModelEvent {
        ModelEvent::TextDelta { text: n.to_string() }
    }

    /// Every event arrives in order, though the work is far ahead; the work never is by more than the bound.
    #[tokio::test]
    async fn work_waits_for_its_reader() {
        let sent = Arc::new(AtomicUsize::new(0));
        let counter = sent.clone();
        let mut stream = generate(move |emit| async move {
            for n in 0..1000 {
                emit.send(text(n)).await;
                counter.store(n + 1, Ordering::SeqCst);
            }
        });
        for n in 0..1000 {
            assert_eq!(stream.next().await, Some(text(n)));
            assert!(sent.load(Ordering::SeqCst) <= n + 1 + AHEAD);
        }
        assert_eq!(stream.next().await, None);
        assert_eq!(stream.next().await, None);
    }

    /// Dropping the stream drops the work.
    #[tokio::test]
    async fn work_ends_with_its_stream() {
        let alive = Arc::new(());
        let held = alive.clone();
        let mut stream = generate(move |emit| async move {
            emit.send(text(0)).await;
            std::future::pending::<()>().await;
            drop(held);
        });
        assert!(stream.next().await.is_some());
        drop(stream);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
