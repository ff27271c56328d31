//! Where output goes that is too big for a result.

use std::io;

use agent_protocol::ArtifactId;

/// Makes artifacts (ART-1). Blocking: called on threads where that is fine.
pub trait ArtifactSink: Send + Sync {
    /// Begins an artifact. `filename` is for people, such as `stdout.txt`; the store sanitises it.
    ///
    /// # Errors
    /// If nothing can be stored. The call goes on without an artifact and says so.
    fn begin(&self, filename: &str, mime_type: &str) -> io::Result<Box<dyn ArtifactFile>>;
}

/// An artifact being written. Dropped without [`finish`](Self::finish) it leaves nothing behind.
pub trait ArtifactFile: Send {
    /// Takes the next bytes, all of them.
    ///
    /// # Errors
    /// If they cannot be stored; the artifact is of no use then.
    fn write(&mut self, chunk: &[u8]) -> io::Result<()>;

    /// Makes it durable and known to the session.
    ///
    /// # Errors
    /// If either fails; then there is no artifact.
    fn finish(self: Box<Self>) -> io::Result<ArtifactId>;
}
