//! What a command prints, on its way into a result or an artifact: without known secrets, and cut.
//!
//! A secret may be split by the cut. So more is kept than is shown: whatever lies within the length of the longest form of
//! a secret of the omitted part is left out of the result.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agent_exec::{Capture, CommandSpec, Kept, Output, Spill, Stdin, incomplete_end, incomplete_start};
use agent_protocol::ArtifactId;
use agent_redact::{KnownSecrets, SecretStream};
use agent_tool::{ArtifactFile, ArtifactSink, CallContext};

use super::{
    plan::Plan,
    text::{head_within, readable, tail_within},
};
use crate::settings::CodeLimits;

/// What a command may do between being asked to end and being ended.
const KILL_GRACE: Duration = Duration::from_secs(2);
/// Room for the words about what is omitted. Bytes.
const MARK: usize = 64;

/// Both outputs of one command.
pub(super) struct Outputs {
    stdout: Channel,
    stderr: Channel,
    /// How much of both together a result has room for. Bytes.
    room: usize,
}

/// One output: how much of it is shown, and where the whole goes.
struct Channel {
    filename: &'static str,
    limit: usize,
    max_bytes: u64,
    artifacts: Arc<dyn ArtifactSink>,
    secrets: KnownSecrets,
    stored: Stored,
}

/// The artifact a spill became, and whether secrets were replaced in it.
type Stored = Arc<Mutex<Option<(ArtifactId, bool)>>>;

/// An output as the result shows it.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) artifact_id: Option<ArtifactId>,
    /// Bytes that are not in the text; 0 if it is the whole.
    pub(super) omitted: u64,
    pub(super) total: u64,
    /// The line in which the omitted part begins, from 1.
    pub(super) omitted_from_line: usize,
    /// What the text does not show as it is, and why the whole is not in the artifact.
    pub(super) notes: Vec<String>,
    /// Bytes that are no text are shown as U+FFFD.
    pub(super) lossy: bool,
    /// Known secrets in it, or in the artifact, were replaced by their names (STO-10).
    pub(super) redacted: bool,
}

/// What was kept of an output, without known secrets.
struct Clean {
    head: Vec<u8>,
    /// The end, where something is missing between the two.
    tail: Option<Vec<u8>>,
    total: u64,
    /// There were secrets.
    hit: bool,
}

impl Outputs {
    pub(super) fn new(limits: &CodeLimits, context: &CallContext) -> Self {
        let channel = |filename, limit| Channel {
            filename,
            limit,
            max_bytes: limits.artifact_max_bytes,
            artifacts: Arc::clone(&context.artifacts),
            secrets: context.secrets.clone(),
            stored: Stored::default(),
        };
        // By default one output alone may take all the room that both have, but not more than the window has for a result.
        let room = limits.stdout_bytes.saturating_add(limits.stderr_bytes).min(context.result_bytes.max(4 * MARK));
        Self {
            stdout: channel("stdout.txt", limits.stdout_bytes),
            stderr: channel("stderr.txt", limits.stderr_bytes),
            room,
        }
    }

    /// The plan as an order.
    pub(super) fn spec(&self, plan: Plan) -> CommandSpec {
        CommandSpec {
            held_cwd: plan.held_cwd(),
            program: plan.program,
            argv: plan.command.argv.into_iter().map(Into::into).collect(),
            cwd: plan.command.cwd,
            env: plan.env,
            stdin: Stdin::Closed,
            stdout: self.stdout.capture(),
            stderr: self.stderr.capture(),
            timeout: plan.timeout,
            kill_grace: KILL_GRACE,
        }
    }

    /// What the result shows of outputs that have ended, standard output first. Each keeps its own beginning and end, since an
    /// error is where either of them begins or ends. May store them.
    pub(super) fn shown(&self, stdout: &Output, stderr: &Output) -> (Shown, Shown) {
        let (out, err) = (self.stdout.clean(stdout), self.stderr.clean(stderr));
        let (for_out, for_err) = rooms(out.length(self.stdout.limit), err.length(self.stderr.limit), self.room);
        (self.stdout.shown(stdout, out, for_out), self.stderr.shown(stderr, err, for_err))
    }
}

/// How much room each of two gets: what it wants, or half, and what the other leaves.
fn rooms(one: usize, other: usize, room: usize) -> (usize, usize) {
    let half = room / 2;
    let first = one.min(half.max(room.saturating_sub(other)));
    (first, other.min(room - first))
}

impl Channel {
    fn capture(&self) -> Capture {
        let (artifacts, filename) = (Arc::clone(&self.artifacts), self.filename);
        let (stream, stored) = (self.secrets.stream(), Arc::clone(&self.stored));
        Capture::spilling(self.limit + 2 * self.secrets.longest(), self.max_bytes, move || {
            let file = artifacts.begin(filename, "text/plain")?;
            Ok(Box::new(RedactedSpill { file, stream, stored }))
        })
    }

    fn clean(&self, output: &Output) -> Clean {
        let Kept { head: first, omitted, tail: last } = &output.kept;
        if *omitted == 0 {
            let bytes = output.kept.joined();
            let mut head = Vec::with_capacity(bytes.len());
            let mut stream = self.secrets.stream();
            stream.push(&bytes, &mut head);
            let hit = stream.finish(&mut head);
            return Clean { head, tail: None, total: output.total_bytes, hit };
        }
        let ((head, in_head), (tail, in_tail)) = (head(&self.secrets, first), tail(&self.secrets, last, true));
        Clean { head, tail: Some(tail), total: output.total_bytes, hit: in_head || in_tail }
    }

    /// An output in so much room. `room` is no more than the limit.
    fn shown(&self, output: &Output, clean: Clean, room: usize) -> Shown {
        let is_whole = clean.tail.is_none();
        let mut shown = clean.within(room, self.name());
        if shown.omitted == 0 {
            return shown;
        }
        if is_whole {
            match self.store(&clean.head) {
                Ok(id) => shown.artifact_id = Some(id),
                Err(error) => shown.notes.push(format!("{} could not be stored: {error}", self.filename)),
            }
            return shown;
        }
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner).take();
        shown.redacted |= stored.as_ref().is_some_and(|(_, redacted)| *redacted);
        shown.artifact_id = stored.map(|(id, _)| id);
        match &output.spill_error {
            Some(error) => shown.notes.push(format!("{} could not be stored: {error}", self.filename)),
            None if output.spilled_bytes < output.total_bytes => {
                shown.notes.push(format!("{} holds the first {} bytes", self.filename, output.spilled_bytes));
            }
            None => {}
        }
        shown
    }

    fn name(&self) -> &'static str {
        self.filename.trim_end_matches(".txt")
    }

    fn store(&self, redacted: &[u8]) -> io::Result<ArtifactId> {
        let mut file = self.artifacts.begin(self.filename, "text/plain")?;
        let max = usize::try_from(self.max_bytes).unwrap_or(usize::MAX);
        file.write(&redacted[..redacted.len().min(max)])?;
        file.finish()
    }
}

impl Clean {
    /// How much of it there is to show, at most `limit` bytes.
    fn length(&self, limit: usize) -> usize {
        if self.tail.is_some() { limit } else { readable(&self.head).text.len().min(limit) }
    }

    /// As much as there is room for: all of it, or its beginning and its end with words between them.
    fn within(&self, room: usize, name: &str) -> Shown {
        let whole = readable(&self.head);
        let mut parts = vec![whole];
        let mut shown = Shown { total: self.total, redacted: self.hit, ..Shown::default() };
        if self.tail.is_some() || parts[0].text.len() > room {
            let space = room.saturating_sub(MARK);
            let end = head_within(&self.head, space / 2);
            let last = self.tail.as_deref().unwrap_or(&self.head[end..]);
            let start = tail_within(last, space - space / 2);
            let (first, last) = (&self.head[..end], &last[start..]);
            shown.omitted = self.total.saturating_sub((first.len() + last.len()) as u64).max(1);
            shown.omitted_from_line = memchr::memchr_iter(b'\n', first).count() + 1;
            parts = vec![readable(first), readable(last)];
            let line_end = if parts[0].text.is_empty() || parts[0].text.ends_with('\n') { "" } else { "\n" };
            let mark = format!("{line_end}[… {} bytes omitted …]\n", shown.omitted);
            shown.text = format!("{}{mark}{}", parts[0].text, parts[1].text);
        } else {
            shown.text = std::mem::take(&mut parts[0].text);
        }
        shown.lossy = parts.iter().any(|part| part.lossy);
        if shown.lossy {
            shown.notes.push(format!("{name} is not valid UTF-8: \u{FFFD} stands for bytes that cannot be shown"));
        }
        if parts.iter().any(|part| part.symbols) {
            shown.notes.push(format!("control characters in {name} are shown as symbols (␛ is escape)"));
        }
        match parts.iter().map(|part| part.overwritten).sum::<usize>() {
            0 => {}
            times => shown.notes.push(format!("{name} without what was printed over ({times} times)")),
        }
        shown
    }
}

/// The beginning of an output whose rest is missing or still to come, without what may be the beginning of a secret; and
/// whether there were secrets in it.
fn head(secrets: &KnownSecrets, head: &[u8]) -> (Vec<u8>, bool) {
    let mut stream = secrets.stream();
    let mut text = Vec::new();
    // Not finished: it holds back what may be the beginning of a secret.
    stream.push(head, &mut text);
    text.truncate(text.len() - incomplete_end(&text));
    (text, stream.hit())
}

/// The end of an output whose beginning is missing, without what may be the end of a secret; and without what may be
/// the beginning of one, if more may come.
fn tail(secrets: &KnownSecrets, tail: &[u8], ended: bool) -> (Vec<u8>, bool) {
    let (edge, rest) = tail.split_at(tail.len().min(secrets.longest()));
    let mut stream = secrets.stream();
    let mut text = Vec::new();
    stream.push(edge, &mut text);
    text.clear();
    stream.push(rest, &mut text);
    let hit = if ended { stream.finish(&mut text) } else { stream.hit() };
    text.drain(..incomplete_start(&text));
    (text, hit)
}

/// What a view shows of the end of an output that still runs, of which `total` bytes have come: at most `room` bytes.
pub(super) fn live(secrets: &KnownSecrets, bytes: &[u8], total: u64, room: usize) -> String {
    let (text, _) = if total > bytes.len() as u64 { tail(secrets, bytes, false) } else { head(secrets, bytes) };
    readable(&text[tail_within(&text, room)..]).text
}

/// Stores an output without the secrets in it.
struct RedactedSpill {
    file: Box<dyn ArtifactFile>,
    stream: SecretStream,
    stored: Stored,
}

impl Spill for RedactedSpill {
    fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        let mut redacted = Vec::with_capacity(chunk.len());
        self.stream.push(chunk, &mut redacted);
        self.file.write(&redacted)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let Self { mut file, stream, stored } = *self;
        let mut rest = Vec::new();
        let redacted = stream.finish(&mut rest);
        file.write(&rest)?;
        let id = file.finish()?;
        *stored.lock().unwrap_or_else(PoisonError::into_inner) = Some((id, redacted));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FND-21: what one output leaves, the other may have; neither takes the other's half.
    #[test]
    fn the_room_is_shared() {
        for (one, other, shares) in [
            (10, 10, (10, 10)),
            (1000, 10, (90, 10)),
            (10, 1000, (10, 90)),
            (1000, 1000, (50, 50)),
            (60, 45, (55, 45)),
            (0, 0, (0, 0)),
        ] {
            assert_eq!(rooms(one, other, 100), shares, "{one} {other}");
        }
    }
}
