//! The bytes of one output that stay in memory.

use std::collections::VecDeque;

use crate::Kept;
use crate::characters::{incomplete_end, incomplete_start};

/// Keeps the head and the tail of a stream in a fixed number of bytes.
#[derive(Debug)]
pub(crate) struct Keeper {
    head: Vec<u8>,
    head_max: usize,
    tail: VecDeque<u8>,
    tail_max: usize,
    total: u64,
}

impl Keeper {
    /// Keeps `keep_bytes`; the odd byte goes to the tail, where errors are.
    pub(crate) fn new(keep_bytes: usize) -> Self {
        let head_max = keep_bytes / 2;
        Self { head: Vec::new(), head_max, tail: VecDeque::new(), tail_max: keep_bytes - head_max, total: 0 }
    }

    /// How many bytes were pushed.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Whether `more` further bytes would push something out.
    pub(crate) fn overflows_with(&self, more: usize) -> bool {
        self.head.len() + self.tail.len() + more > self.head_max + self.tail_max
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.total += chunk.len() as u64;
        let room = self.head_max - self.head.len();
        let (head, rest) = chunk.split_at(room.min(chunk.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.tail_max)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(self.tail_max);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// What is kept, in one piece. It is the whole stream as long as nothing was pushed out.
    pub(crate) fn joined(&self) -> Vec<u8> {
        let mut bytes = self.head.clone();
        bytes.extend(&self.tail);
        bytes
    }

    /// The last `max` bytes of the stream, or as many of them as are kept.
    pub(crate) fn last(&self, max: usize) -> Vec<u8> {
        let from_tail = self.tail.len().min(max);
        // The head joins on only when nothing is missing in between.
        let from_head = if self.omitted() == 0 { self.head.len().min(max - from_tail) } else { 0 };
        let mut bytes = self.head[self.head.len() - from_head..].to_vec();
        bytes.extend(self.tail.range(self.tail.len() - from_tail..));
        bytes
    }

    fn omitted(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// Ends the stream.
    pub(crate) fn finish(self) -> Kept {
        let omitted = self.omitted();
        let mut kept = Kept { head: self.head, omitted, tail: self.tail.into() };
        if omitted > 0 {
            trim_to_characters(&mut kept);
        }
        kept
    }
}

/// Moves the halves of a UTF-8 character that the cut went through to the omitted bytes, so that text does not seem
/// to hold invalid characters it never had. What is no text loses three bytes on each side at most.
fn trim_to_characters(kept: &mut Kept) {
    let cut_off = incomplete_end(&kept.head);
    kept.head.truncate(kept.head.len() - cut_off);
    let left_over = incomplete_start(&kept.tail);
    kept.tail.drain(..left_over);
    kept.omitted += (cut_off + left_over) as u64;
}

#[cfg(test)]
mod tests;
