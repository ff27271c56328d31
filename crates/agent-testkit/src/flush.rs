//! Knowing when bytes have left for the socket.
//!
//! hyper buffers what a body yields and throws the buffer away when the body fails. To cut a connection after an exact
//! byte, the body must fail only after everything before was written, so the connection's stream counts its flushes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use hyper::rt::{Read, ReadBufCursor, Write};

/// Counts the flushes of one connection. hyper flushes the stream only when its own buffer is empty.
#[derive(Debug, Default)]
pub(crate) struct Flushes(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    count: u64,
    waiting: Option<Waker>,
}

impl Flushes {
    pub(crate) fn count(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).count
    }

    /// Whether there was a flush after the count was `mark`; the task is woken by the next one.
    pub(crate) fn passed(&self, mark: u64, cx: &Context<'_>) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.count > mark {
            return true;
        }
        state.waiting = Some(cx.waker().clone());
        false
    }

    pub(crate) fn flushed(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.count += 1;
        if let Some(waker) = state.waiting.take() {
            waker.wake();
        }
    }
}

/// A stream that reports its flushes.
pub(crate) struct Counted<T> {
    pub(crate) inner: T,
    pub(crate) flushes: Arc<Flushes>,
}

impl<T: Read + Unpin> Read for Counted<T> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_read(cx, buf)
    }
}

impl<T: Write + Unpin> Write for Counted<T> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.inner).poll_flush(cx);
        if let Poll::Ready(Ok(())) = flushed {
            this.flushes.flushed();
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write_vectored(cx, bufs)
    }
}
