//! Results that are too big for a context (ART-2).

use agent_protocol::{ArtifactId, ArtifactRef, ContentBlock, ErrorPayload};
use agent_tool::store_result;
use agent_tool::{CallContext, ToolOutput};
use serde::Serialize;

use crate::{settings::CodeLimits, tool};

/// A list of results that may be cut at its end.
pub(crate) trait Listing: Serialize {
    /// What one result is called: `entry`.
    fn noun(&self) -> &'static str;
    /// How many results there are.
    fn len(&self) -> usize;
    /// Keeps the first ones; `artifact` is where the others are, if they could be stored.
    fn cut(&mut self, len: usize, artifact: Option<&ArtifactId>);
}

/// The listing as the output of a call. If it is too big, the whole goes to an artifact and its head stays.
pub(crate) fn fitted(
    mut listing: impl Listing,
    filename: &str,
    limits: &CodeLimits,
    context: &CallContext,
) -> Result<ToolOutput, ErrorPayload> {
    let whole = text(&listing)?;
    let summary = tool::counted(listing.len(), listing.noun());
    if whole.len() <= limits.result_bytes {
        return Ok(tool::output(&listing)?.summary(summary));
    }
    let stored = store_result(&whole, filename, limits.artifact_max_bytes, context);
    let artifact = stored.as_ref().ok();
    let all = listing.len();
    let mut kept = all;
    let mut size = whole.len();
    while kept > 0 && size > limits.result_bytes {
        kept = (kept * limits.result_bytes / size).min(kept - 1);
        listing.cut(kept, artifact);
        size = text(&listing)?.len();
    }
    let mut output = tool::output(&listing)?.with("results", all as u64).summary(summary);
    match stored {
        Ok(artifact_id) => output.content.push(ContentBlock::ArtifactRef(ArtifactRef {
            artifact_id,
            summary: Some(format!("all {all} results, {} bytes; {kept} are shown", whole.len())),
            mime_type: Some("application/json".to_owned()),
        })),
        Err(error) => output = output.with("artifact_error", error.to_string()),
    }
    Ok(output)
}

fn text(listing: &impl Serialize) -> Result<String, ErrorPayload> {
    serde_json::to_string(listing).map_err(|error| {
        let message = format!("the result cannot be written as JSON: {error}");
        ErrorPayload::new(agent_protocol::ErrorCode::InternalError, message)
    })
}
