//! Results that are too big for a context (ART-2).

use agent_protocol::{ArtifactId, ArtifactRef, ContentBlock, ErrorCode, ErrorPayload};
use agent_tool::store_result;
use agent_tool::{CallContext, ToolOutput};
use serde::Serialize;
use serde_json::Value;

use crate::{artifact::how_to_read, settings::CodeLimits, tool};

/// However little room a result has, a few entries are shown. Bytes.
const LEAST_ROOM: usize = 1024;
/// What an entry takes beyond its bytes, at most. Bytes.
const MARKS: usize = 12;
/// What a result takes besides its listing: the words that lead to the artifact. Bytes.
const FRAME: usize = 400;

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
    /// How many results are shown at most; the others are stored only.
    fn most_shown(&self) -> usize {
        usize::MAX
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
    let most = listing.most_shown().min(listing.len());
    if weight(&whole, listing.len()) <= room && most == listing.len() {
        return Ok(tool::output(&listing)?.summary(summary));
    }
    let (lines, first) = by_lines(&listing)?;
    let stored = store_result(&lines, filename, limits.artifact_max_bytes, context);
    let artifact = stored.as_ref().ok();
    let all = listing.len();
    let mut kept = all;
    let mut size = weight(&whole, all);
    if most < all {
        kept = most;
        listing.cut(kept, artifact);
        size = weight(&text(&listing)?, kept);
    }
    while kept > 0 && size > room {
        kept = (kept * room / size).min(kept - 1);
        listing.cut(kept, artifact);
        size = weight(&text(&listing)?, kept);
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

/// What a listing takes of the room for a result, where three bytes are a token: its text, the marks and numbers that are shorter
/// than that, and characters of two bytes, each of which may be a token. Shortened for the model once more, it would show less
/// than it says.
fn weight(text: &str, entries: usize) -> usize {
    let two_bytes = text.bytes().filter(|byte| (0xc2..=0xdf).contains(byte)).count();
    text.len() + two_bytes + entries * MARKS + FRAME
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Tokens as a model's context counts them: four characters of ASCII are one, every other character is one, and so is every mark
    /// of the JSON.
    fn tokens(value: &Value) -> usize {
        let text = |text: &str| {
            let ascii = text.bytes().filter(u8::is_ascii).count();
            ascii.div_ceil(4) + text.chars().filter(|c| !c.is_ascii()).count()
        };
        match value {
            Value::Null | Value::Bool(_) => 1,
            Value::Number(_) => 2,
            Value::String(string) => 1 + text(string),
            Value::Array(items) => 1 + items.iter().map(tokens).sum::<usize>(),
            Value::Object(fields) => 1 + fields.iter().map(|(key, field)| 1 + text(key) + tokens(field)).sum::<usize>(),
        }
    }

    fn entries() -> impl Strategy<Value = Vec<Value>> {
        let text = "([a-z]{0,9}|[\u{430}-\u{44f}]{0,9}|[\u{4e00}-\u{4eff}]{0,9}|[\u{1f600}-\u{1f610}\"\\\\]{0,5})";
        let listed = (text, 0u64..5000).prop_map(|(path, size)| json!({"path": path, "kind": "file", "size": size}));
        let folder = text.prop_map(|path| json!({"path": path, "kind": "dir", "unreadable": true}));
        let found = (text, text, 1u32..9, 1u32..9).prop_map(|(path, text, line, column)| {
            json!({"path": path, "line": line, "column": column, "text": text, "lossy": true})
        });
        prop::collection::vec(prop_oneof![listed, folder, found], 0..60)
    }

    proptest! {
        #![proptest_config(crate::testing::cases(256))]

        /// ART-2: a listing that fits its room in bytes, of three a token, fits it in tokens, so that it is not shortened once more.
        #[test]
        fn what_fits_has_room_as_tokens(entries in entries()) {
            let listing = json!({"path": ".", "entries": entries, "truncated": true, "artifact_id": "art_1"});
            prop_assert!(weight(&listing.to_string(), entries.len()) >= 3 * tokens(&listing) + FRAME / 2);
        }
    }
}
