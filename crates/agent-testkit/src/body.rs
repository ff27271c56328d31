//! A response body that follows its reply's plan: gated, in pieces, cut or stalled.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::flush::Flushes;
use crate::record::{Delivery, Store};
use crate::reply::{Ending, Plan};

#[cfg(test)]
mod tests;

/// What goes out ungated in one write: few system calls for a flood, and no need to hold it all in hyper's buffer.
const BLOCK: usize = 64 * 1024;

/// Tells the store once what became of an answer; dropped untold, the client closed the connection.
#[derive(Debug)]
pub(crate) struct Outcome {
    store: Arc<Store>,
    at: usize,
    told: bool,
}

impl Outcome {
    pub(crate) fn new(store: Arc<Store>, at: usize) -> Self {
        Self { store, at, told: false }
    }

    pub(crate) fn tell(&mut self, delivery: Delivery) {
        if !std::mem::replace(&mut self.told, true) {
            self.store.close(self.at, delivery);
        }
    }
}

impl Drop for Outcome {
    fn drop(&mut self) {
        self.tell(Delivery::ClosedByClient);
    }
}

/// The body of one scripted answer.
pub(crate) struct ReplyBody {
    bytes: Bytes,
    /// Where chunks end: what a gate counts and, in pieces, what is flushed by itself. The last is the body's length.
    ends: Vec<usize>,
    /// A known length is announced as Content-Length.
    announced: bool,
    plan: Plan,
    sent: usize,
    flushes: Arc<Flushes>,
    /// Nothing more goes out before a flush after this mark.
    mark: Option<u64>,
    cut_flushed: bool,
    outcome: Option<Outcome>,
}

impl ReplyBody {
    /// A body that goes out at once, with its length.
    pub(crate) fn plain(body: impl Into<Bytes>) -> Self {
        let flushes = Arc::new(Flushes::default());
        Self::build(body.into(), Vec::new(), true, Plan::default(), flushes, None)
    }

    /// A body under a plan; `ends` are the borders of its chunks.
    pub(crate) fn scripted(
        body: Bytes,
        ends: Vec<usize>,
        announced: bool,
        plan: Plan,
        flushes: Arc<Flushes>,
        outcome: Outcome,
    ) -> Self {
        Self::build(body, ends, announced, plan, flushes, Some(outcome))
    }

    fn build(
        bytes: Bytes,
        mut ends: Vec<usize>,
        announced: bool,
        plan: Plan,
        flushes: Arc<Flushes>,
        outcome: Option<Outcome>,
    ) -> Self {
        if let Some(piece) = plan.piece {
            ends = (piece..bytes.len()).step_by(piece).collect();
        }
        let length = plan.limit.map_or(bytes.len(), |limit| limit.min(bytes.len()));
        ends.retain(|end| *end < length);
        ends.push(length);
        let mut body = Self { bytes, ends, announced, plan, sent: 0, flushes, mark: None, cut_flushed: false, outcome };
        if body.length() == 0 && body.plan.ending == Ending::Finish {
            body.tell(Delivery::Finished); // hyper does not poll a body it knows to be empty
        }
        body
    }

    /// What is sent of the body in all: a cut body announces more than it sends.
    fn length(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    /// The byte up to which the gate lets the body go.
    fn released(&self, cx: &Context<'_>) -> usize {
        let Some(gate) = &self.plan.gate else {
            return self.length();
        };
        match gate.released(cx) {
            0 => 0,
            n => self.ends[n.min(self.ends.len()) - 1],
        }
    }

    /// The end of what is sent next; `released` lies beyond what was sent.
    fn next_end(&self, released: usize) -> usize {
        if self.plan.piece.is_some() {
            let next = self.ends.partition_point(|end| *end <= self.sent);
            return self.ends[next];
        }
        released.min(self.sent + BLOCK)
    }

    fn send(&mut self, end: usize) -> Frame<Bytes> {
        let data = self.bytes.slice(self.sent..end);
        self.sent = end;
        if self.plan.piece.is_some() {
            self.mark = Some(self.flushes.count());
        }
        // Told with the last byte, not after it: a client may well close as soon as it has read the end marker.
        if self.sent == self.length() && self.plan.ending == Ending::Finish {
            self.tell(Delivery::Finished);
        }
        Frame::data(data)
    }

    fn end(&mut self, cx: &Context<'_>) -> Poll<Option<io::Error>> {
        match self.plan.ending {
            Ending::Finish => {
                self.tell(Delivery::Finished);
                Poll::Ready(None)
            }
            Ending::Stall => Poll::Pending,
            Ending::Cut => {
                if !std::mem::replace(&mut self.cut_flushed, true) {
                    let mark = self.flushes.count();
                    self.mark = Some(mark);
                    if !self.flushes.passed(mark, cx) {
                        return Poll::Pending;
                    }
                }
                self.tell(Delivery::Cut);
                Poll::Ready(Some(io::Error::new(io::ErrorKind::ConnectionAborted, "cut by the script")))
            }
        }
    }

    fn tell(&mut self, delivery: Delivery) {
        if let Some(outcome) = &mut self.outcome {
            outcome.tell(delivery);
        }
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        if let Some(mark) = this.mark {
            if !this.flushes.passed(mark, cx) {
                return Poll::Pending;
            }
            this.mark = None;
        }
        let released = this.released(cx);
        if this.sent < released {
            let end = this.next_end(released);
            return Poll::Ready(Some(Ok(this.send(end))));
        }
        if this.sent < this.length() {
            return Poll::Pending; // the gate wakes us
        }
        this.end(cx).map(|end| end.map(Err))
    }

    fn size_hint(&self) -> SizeHint {
        match self.announced {
            true => SizeHint::with_exact(self.bytes.len() as u64),
            false => SizeHint::default(),
        }
    }
}
