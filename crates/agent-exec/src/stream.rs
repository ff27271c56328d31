//! The ends of a program's pipes.

use crate::{Capture, Output, keeper::Keeper, spill::Spiller};
use std::{future::pending, io, os::fd::OwnedFd};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::unix::pipe,
};

/// One read takes at most what a Linux pipe holds.
pub(crate) const READ_BYTES: usize = 64 * 1024;

/// One output: read, kept, spilled.
pub(crate) struct OutputStream {
    /// `None` after the end.
    pipe: Option<pipe::Receiver>,
    buffer: Box<[u8]>,
    keeper: Keeper,
    spiller: Spiller,
}

impl OutputStream {
    /// Needs a runtime with I/O.
    pub(crate) fn new(pipe: OwnedFd, capture: Capture) -> io::Result<Self> {
        Ok(Self {
            pipe: Some(pipe::Receiver::from_owned_fd(pipe)?),
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
            keeper: Keeper::new(capture.keep_bytes),
            spiller: Spiller::new(capture.spill, capture.spill_max_bytes),
        })
    }

    /// Whether more may come.
    pub(crate) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    pub(crate) fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// Reads once. Cancel safe: nothing is taken from the pipe before its place is sure, and then nothing is awaited.
    pub(crate) async fn fill(&mut self) {
        let Some(pipe) = &mut self.pipe else { return pending().await };
        self.spiller.ready().await;
        match pipe.read(&mut self.buffer).await {
            // A pipe that cannot be read will not become readable again: it has ended, with what came until then.
            Ok(0) | Err(_) => self.pipe = None,
            Ok(length) => {
                let chunk = &self.buffer[..length];
                self.spiller.pass(chunk, &self.keeper);
                self.keeper.push(chunk);
            }
        }
    }

    /// Closes the pipe and sums up. Waits for the spill for a limited time.
    pub(crate) async fn finish(self) -> Output {
        drop(self.pipe);
        let total_bytes = self.keeper.total();
        let (spilled_bytes, spill_error) = self.spiller.finish().await;
        Output { kept: self.keeper.finish(), total_bytes, spilled_bytes, spill_error }
    }
}

/// The prepared standard input of a program, on its way.
pub(crate) struct Feed {
    /// `None` when all is written or nobody reads any more. Closing it is what the program sees as the end.
    pipe: Option<pipe::Sender>,
    bytes: Vec<u8>,
    sent: usize,
}

impl Feed {
    /// Needs a runtime with I/O.
    pub(crate) fn new(pipe: OwnedFd, bytes: Vec<u8>) -> io::Result<Self> {
        // Nothing to send means that the end comes at once.
        let pipe = if bytes.is_empty() { None } else { Some(pipe::Sender::from_owned_fd(pipe)?) };
        Ok(Self { pipe, bytes, sent: 0 })
    }

    pub(crate) fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Writes once. Cancel safe.
    pub(crate) async fn send(&mut self) {
        let Some(pipe) = &mut self.pipe else { return pending().await };
        match pipe.write(&self.bytes[self.sent..]).await {
            Ok(written) if written > 0 => self.sent += written,
            // The program closed its input: it has read what it wanted.
            Ok(_) | Err(_) => self.sent = self.bytes.len(),
        }
        if self.sent == self.bytes.len() {
            self.pipe = None;
            self.bytes = Vec::new();
            self.sent = 0;
        }
    }
}
