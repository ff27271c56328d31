//! Results that are too big for a context (ART-2).

use agent_protocol::{ArtifactId, ArtifactRef, ContentBlock, ErrorCode, ErrorPayload};
use agent_tool::store_result;
use agent_tool::{CallContext, ToolOutput};
use serde::Serialize;
use serde_json::Value;

use crate::{artifact::how_to_read, settings::CodeLimits, tool};

/// However little room a result has, a few entries are shown. Bytes.
const LEAST_ROOM: usize = 1024;

/// A list of results that may be cut at its end.
pub(crate) trait Listing: Serialize {
    /// What one result is called: `entry`.
    fn noun(&self) -> &'static str;
    /// How many results there are.
    fn len(&self) -> usize;
    /// What came of it, in one line for people; how many results there are if this says nothing.
    fn summary(&self) -> Option<String> {
        None
    }
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
    let summary = listing.summary().unwrap_or_else(|| tool::counted(listing.len(), listing.noun()));
    let room = limits.result_bytes.min(context.result_bytes.max(LEAST_ROOM));
    if whole.len() <= room {
        return Ok(tool::output(&listing)?.summary(summary));
    }
    let (lines, first) = by_lines(&listing)?;
    let stored = store_result(&lines, filename, limits.artifact_max_bytes, context);
    let artifact = stored.as_ref().ok();
    let all = listing.len();
    let mut kept = all;
    let mut size = whole.len();
    while kept > 0 && size > room {
        kept = (kept * room / size).min(kept - 1);
        listing.cut(kept, artifact);
        size = text(&listing)?.len();
    }
    let mut output = tool::output(&listing)?.with("results", all as u64).summary(summary);
    match stored {
        Ok(artifact_id) => output.content.push(ContentBlock::ArtifactRef(ArtifactRef {
            summary: Some(format!(
                "all {all} results, one a line; {kept} are shown; the next: {}",
                how_to_read(&artifact_id, first + kept)
            )),
            artifact_id,
            mime_type: Some("application/json".to_owned()),
        })),
        Err(error) => output = output.with("artifact_error", error.to_string()),
    }
    Ok(output)
}

fn text(listing: &impl Serialize) -> Result<String, ErrorPayload> {
    serde_json::to_string(listing).map_err(|error| unwritable(&error))
}

/// The same JSON, with one result a line, as a file is read by lines; and in which line the first one stands.
fn by_lines(listing: &impl Serialize) -> Result<(String, usize), ErrorPayload> {
    let value = serde_json::to_value(listing).map_err(|error| unwritable(&error))?;
    let (mut fields, mut first) = (Vec::new(), 1);
    // The opening brace has a line of its own.
    let mut line = 2;
    for (name, field) in value.as_object().into_iter().flatten() {
        let name = Value::from(name.as_str());
        match field.as_array().filter(|items| !items.is_empty()) {
            Some(items) => {
                first = line + 1;
                line += items.len() + 2;
                let items: Vec<_> = items.iter().map(Value::to_string).collect();
                fields.push(format!("{name}:[\n{}\n]", items.join(",\n")));
            }
            None => {
                line += 1;
                fields.push(format!("{name}:{field}"));
            }
        }
    }
    Ok((format!("{{\n{}\n}}\n", fields.join(",\n")), first))
}

fn unwritable(error: &serde_json::Error) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::InternalError, format!("the result cannot be written as JSON: {error}"))
}
