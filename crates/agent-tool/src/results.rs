//! Results that are too big for a context (ART-2).

use std::io;
use std::path::Path;

use agent_protocol::ArtifactId;

use crate::port::CallContext;

/// Makes a whole result an artifact, without known secrets; no more than `max_bytes` of it. It is JSON where its name ends so, and
/// else plain text. Blocking.
///
/// # Errors
/// When the artifact cannot be written.
pub fn store_result(text: &str, filename: &str, max_bytes: u64, context: &CallContext) -> io::Result<ArtifactId> {
    let is_json = Path::new(filename).extension().is_some_and(|extension| extension == "json");
    let text = context.secrets.redact(text).text;
    let mut file = context.artifacts.begin(filename, if is_json { "application/json" } else { "text/plain" })?;
    let end = usize::try_from(max_bytes).unwrap_or(usize::MAX).min(text.len());
    file.write(&text.as_bytes()[..end])?;
    file.finish()
}
