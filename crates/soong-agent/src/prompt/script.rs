//! What stands on a stdin that is no terminal (CLI-3, DEC-203).
//!
//! A script's answers come by the same descriptor as the list that a loop around us reads, or anything else that stdin happens
//! to be. So it is looked at before a byte of it is taken: of a file at its offset, of a pipe by a copy of what is in it. Where
//! neither can be done, what was looked at is kept here.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};

use agent_core::PermissionDecision;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat, tell};
use rustix::io::{Errno, pread, read};

use super::word;

/// So much is looked at. Bytes.
pub(super) const MOST: usize = 4096;

/// Such a stdin.
#[derive(Debug)]
pub(crate) struct Script {
    kind: Kind,
    /// What was taken so as to be looked at.
    held: Vec<u8>,
    /// Nothing comes after that.
    ended: bool,
    /// A line that is no answer: then none of it is.
    pub(super) foreign: Option<String>,
}

/// What a script's stdin is known to be, shared with the thread that reads there.
pub(crate) type Shared = Arc<Mutex<Script>>;

/// How it can be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Pipe,
    /// Only by taking it.
    Other,
}

/// What is there to be read without waiting.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing yet.
    Nothing,
    /// Nothing any more.
    End,
    /// The beginning of what is there, and what comes after it.
    Text(Vec<u8>, Behind),
}

/// What comes after a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// The end.
    End,
    /// Perhaps something, later.
    Open,
    /// More of it.
    More,
}

/// What a text is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// Answers, one a line, of which the first is so many bytes long.
    Answers(usize),
    /// The beginning of an answer.
    Beginning,
    /// Something else: this line of it is no answer.
    Foreign(String),
}

impl Script {
    pub(crate) fn of(from: BorrowedFd<'_>) -> Self {
        let kind = match fstat(from).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::RegularFile) => Kind::File,
            Ok(FileType::Fifo) if cfg!(target_os = "linux") => Kind::Pipe,
            _ => Kind::Other,
        };
        Self { kind, held: Vec::new(), ended: false, foreign: None }
    }

    /// What is there now. Never waits.
    pub(super) fn look(&mut self, from: BorrowedFd<'_>) -> io::Result<Seen> {
        match self.kind {
            Kind::File => in_file(from),
            Kind::Pipe => in_pipe(from),
            Kind::Other => self.in_other(from),
        }
    }

    /// Takes the first bytes of what was looked at. Whether they were still the same: somebody else may read there, too.
    pub(super) fn take(&mut self, from: BorrowedFd<'_>, seen: &[u8]) -> io::Result<bool> {
        if self.kind == Kind::Other {
            self.held.drain(..seen.len().min(self.held.len()));
            return Ok(true);
        }
        let mut taken = vec![0; seen.len()];
        let mut filled = 0;
        while filled < taken.len() {
            if self.kind == Kind::Pipe && !is_ready(from)?.contains(PollFlags::IN) {
                return Ok(false);
            }
            match read(from, &mut taken[filled..]) {
                Ok(0) => return Ok(false),
                Ok(count) => filled += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(taken == seen)
    }

    /// Whether something is there that nobody has read. Takes nothing.
    pub(crate) fn is_unread(&mut self, from: BorrowedFd<'_>) -> bool {
        match self.kind {
            // What comes there cannot be told from its end without taking it.
            Kind::Other => !self.held.is_empty(),
            _ => matches!(self.look(from), Ok(Seen::Text(..))),
        }
    }

    fn in_other(&mut self, from: BorrowedFd<'_>) -> io::Result<Seen> {
        while !self.ended && self.held.len() <= MOST && !is_ready(from)?.is_empty() {
            let mut chunk = [0; MOST];
            match read(from, &mut chunk) {
                Ok(0) => self.ended = true,
                Ok(count) => self.held.extend_from_slice(&chunk[..count]),
                Err(Errno::INTR | Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let text = self.held[..self.held.len().min(MOST)].to_vec();
        Ok(match (text.is_empty(), self.ended) {
            (true, true) => Seen::End,
            (true, false) => Seen::Nothing,
            (false, _) if self.held.len() > MOST => Seen::Text(text, Behind::More),
            (false, true) => Seen::Text(text, Behind::End),
            (false, false) => Seen::Text(text, Behind::Open),
        })
    }
}

/// The offset is that of everybody who has the file open through this descriptor, such as the loop that started us.
fn in_file(from: BorrowedFd<'_>) -> io::Result<Seen> {
    let offset = tell(from)?;
    let mut text = vec![0; MOST + 1];
    let mut filled = 0;
    while filled < text.len() {
        match pread(from, &mut text[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    text.truncate(filled.min(MOST));
    Ok(match filled {
        0 => Seen::End,
        filled if filled > MOST => Seen::Text(text, Behind::More),
        _ => Seen::Text(text, Behind::End),
    })
}

#[cfg(target_os = "linux")]
fn in_pipe(from: BorrowedFd<'_>) -> io::Result<Seen> {
    use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, tee};
    let ready = is_ready(from)?;
    if !ready.contains(PollFlags::IN) {
        return Ok(if ready.is_empty() { Seen::Nothing } else { Seen::End });
    }
    let (copy, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    let copied = match tee(from, &into, MOST, SpliceFlags::NONBLOCK) {
        Ok(0) => return Ok(Seen::End),
        Ok(copied) => copied,
        // Somebody else has just read it.
        Err(Errno::AGAIN | Errno::INTR) => return Ok(Seen::Nothing),
        Err(error) => return Err(error.into()),
    };
    let mut text = vec![0; copied];
    let mut filled = 0;
    while filled < copied {
        match read(&copy, &mut text[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    text.truncate(filled);
    let more = rustix::io::ioctl_fionread(from).is_ok_and(|there| there > filled as u64);
    let behind = match (more, ready.contains(PollFlags::HUP)) {
        (true, _) => Behind::More,
        (false, true) => Behind::End,
        (false, false) => Behind::Open,
    };
    Ok(Seen::Text(text, behind))
}

#[cfg(not(target_os = "linux"))]
fn in_pipe(_: BorrowedFd<'_>) -> io::Result<Seen> {
    Ok(Seen::Nothing)
}

fn is_ready(from: BorrowedFd<'_>) -> io::Result<PollFlags> {
    let mut fds = [PollFd::new(&from, PollFlags::IN)];
    match poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
        Ok(_) => Ok(fds[0].revents()),
        Err(Errno::INTR) => Ok(PollFlags::empty()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a text is answers, one a line, and nothing else.
pub(super) fn judge(text: &[u8], behind: Behind) -> Judged {
    let end = memrchr_line(text);
    let (lines, rest) = text.split_at(end);
    let mut first = 0;
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        if word::read(&String::from_utf8_lossy(line)).is_none() {
            return foreign(line);
        }
        first = if first == 0 { line.len() } else { first };
    }
    let last = String::from_utf8_lossy(rest);
    match behind {
        _ if rest.is_empty() => {}
        Behind::End if word::read(&last).is_some() => first = if first == 0 { text.len() } else { first },
        Behind::Open if word::begins(&last) => {}
        // Behind whole lines it is cut where looking ends. A line that fills all of that is none of a script's.
        Behind::More if first > 0 && word::begins(&last) => {}
        _ => return foreign(rest),
    }
    if first == 0 { Judged::Beginning } else { Judged::Answers(first) }
}

/// That stdin holds no answers, for the model and the timeline.
const NO_ANSWERS: &str = "what is on stdin is no answer";

/// The decision about every question after one whose answer was foreign text.
pub(super) fn never_asked() -> PermissionDecision {
    PermissionDecision::unanswered(NO_ANSWERS)
}

/// Where the last whole line ends.
fn memrchr_line(text: &[u8]) -> usize {
    text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

fn foreign(line: &[u8]) -> Judged {
    Judged::Foreign(String::from_utf8_lossy(line).trim_end_matches(['\n', '\r']).to_owned())
}

#[cfg(test)]
mod tests;
