//! What a command prints, on its way into a result or an artifact: without known secrets, and cut.
//!
//! A secret may be split by the cut. So more is kept than is shown: whatever lies within the length of the longest form of
//! a secret of the omitted part is left out of the result.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agent_exec::{Capture, CommandSpec, Kept, Output, Spill, Stdin};
use agent_protocol::ArtifactId;
use agent_redact::{KnownSecrets, SecretStream};
use agent_tool::{ArtifactFile, ArtifactSink, CallContext};

use super::plan::Plan;
use crate::settings::CodeLimits;

/// What a command may do between being asked to end and being ended.
const KILL_GRACE: Duration = Duration::from_secs(2);
/// Room for the words about what is omitted. Bytes.
const MARK: usize = 64;

/// Both outputs of one command.
pub(super) struct Outputs {
    pub(super) stdout: Channel,
    pub(super) stderr: Channel,
}

/// One output: how much of it is shown, and where the whole goes.
pub(super) struct Channel {
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
    /// Why the whole is not in the artifact.
    pub(super) note: Option<String>,
    /// Known secrets in it, or in the artifact, were replaced by their names (STO-10).
    pub(super) redacted: bool,
}

/// Text without known secrets.
struct Clean {
    text: String,
    /// There were some.
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
        Self { stdout: channel("stdout.txt", limits.stdout_bytes), stderr: channel("stderr.txt", limits.stderr_bytes) }
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

    /// What the result shows of an output that has ended. May store it.
    pub(super) fn shown(&self, output: &Output) -> Shown {
        if output.kept.omitted == 0 {
            return self.whole(&output.kept.joined());
        }
        let (head, tail) = self.edges(&output.kept);
        let mut shown = self.cut(&head.text, &tail.text, output.total_bytes);
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner).take();
        shown.redacted = head.hit || tail.hit || stored.as_ref().is_some_and(|(_, redacted)| *redacted);
        shown.artifact_id = stored.map(|(id, _)| id);
        shown.note = match &output.spill_error {
            Some(error) => Some(format!("{} could not be stored: {error}", self.filename)),
            None if output.spilled_bytes < output.total_bytes => {
                Some(format!("{} holds the first {} bytes", self.filename, output.spilled_bytes))
            }
            None => None,
        };
        shown
    }

    /// An output that was kept whole; it may still be too much to show.
    fn whole(&self, bytes: &[u8]) -> Shown {
        let mut redacted = Vec::with_capacity(bytes.len());
        let mut stream = self.secrets.stream();
        stream.push(bytes, &mut redacted);
        let hit = stream.finish(&mut redacted);
        let text = String::from_utf8_lossy(&redacted);
        if text.len() <= self.limit {
            return Shown { text: text.into_owned(), total: bytes.len() as u64, redacted: hit, ..Shown::default() };
        }
        let mut shown = self.cut(&text, &text, bytes.len() as u64);
        shown.redacted = hit;
        match self.store(&redacted) {
            Ok(id) => shown.artifact_id = Some(id),
            Err(error) => shown.note = Some(format!("{} could not be stored: {error}", self.filename)),
        }
        shown
    }

    fn store(&self, redacted: &[u8]) -> io::Result<ArtifactId> {
        let mut file = self.artifacts.begin(self.filename, "text/plain")?;
        let max = usize::try_from(self.max_bytes).unwrap_or(usize::MAX);
        file.write(&redacted[..redacted.len().min(max)])?;
        file.finish()
    }

    /// Head and tail without what may be a piece of a secret.
    fn edges(&self, kept: &Kept) -> (Clean, Clean) {
        (head(&self.secrets, &kept.head), tail(&self.secrets, &kept.tail, true))
    }

    /// The beginning of one text and the end of another, with words between them.
    fn cut(&self, head: &str, tail: &str, total: u64) -> Shown {
        let room = self.limit.saturating_sub(MARK);
        let head = &head[..head.floor_char_boundary(room / 2)];
        let tail = &tail[tail.ceil_char_boundary(tail.len().saturating_sub(room - room / 2))..];
        let omitted = total.saturating_sub((head.len() + tail.len()) as u64).max(1);
        let text = format!("{head}\n[… {omitted} bytes omitted …]\n{tail}");
        Shown { text, omitted, total, ..Shown::default() }
    }
}

/// The beginning of an output whose rest is missing or still to come, without what may be the beginning of a secret.
fn head(secrets: &KnownSecrets, head: &[u8]) -> Clean {
    let mut stream = secrets.stream();
    let mut text = Vec::new();
    // Not finished: it holds back what may be the beginning of a secret.
    stream.push(head, &mut text);
    Clean { text: String::from_utf8_lossy(&text).into_owned(), hit: stream.hit() }
}

/// The end of an output whose beginning is missing, without what may be the end of a secret; and without what may be
/// the beginning of one, if more may come.
fn tail(secrets: &KnownSecrets, tail: &[u8], ended: bool) -> Clean {
    let (edge, rest) = tail.split_at(tail.len().min(secrets.longest()));
    let mut stream = secrets.stream();
    let mut text = Vec::new();
    stream.push(edge, &mut text);
    text.clear();
    stream.push(rest, &mut text);
    let hit = if ended { stream.finish(&mut text) } else { stream.hit() };
    Clean { text: String::from_utf8_lossy(&text).into_owned(), hit }
}

/// What a view shows of the end of an output that still runs, of which `total` bytes have come.
pub(super) fn live(secrets: &KnownSecrets, bytes: &[u8], total: u64) -> String {
    if total > bytes.len() as u64 { tail(secrets, bytes, false).text } else { head(secrets, bytes).text }
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
