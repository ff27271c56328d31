//! Results that are too big for a context (ART-2).

use std::io;

use agent_protocol::ArtifactId;

use crate::port::CallContext;

/// Makes a whole result an artifact, without known secrets; no more than `max_bytes` of it. Blocking.
///
/// # Errors
/// When the artifact cannot be written.
pub fn store_result(text: &str, filename: &str, max_bytes: u64, context: &CallContext) -> io::Result<ArtifactId> {
    let text = context.secrets.redact(text).text;
    let mut file = context.artifacts.begin(filename, "application/json")?;
    let end = usize::try_from(max_bytes).unwrap_or(usize::MAX).min(text.len());
    file.write(&text.as_bytes()[..end])?;
    file.finish()
}
