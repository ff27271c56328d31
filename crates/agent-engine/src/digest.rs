//! What stands for a call and for its outcome, so that two can be compared (RUN-10).

use std::hash::{DefaultHasher, Hash, Hasher};

use agent_protocol::{ArtifactId, ContentBlock, JsonBlock, Object};
use serde_json::Value;

use crate::outcome::{Outcome, ResultKind};

/// Stands for a tool and its arguments; the order of keys does not matter.
pub(crate) fn of_call(tool: &str, arguments: &Object) -> u64 {
    let mut hasher = DefaultHasher::new();
    tool.hash(&mut hasher);
    hash_object(arguments, &mut hasher, whole);
    hasher.finish()
}

/// Equal for outcomes that tell the model the same. Of a failure only the reason counts, not what was captured before it; ids of
/// artifacts never count, since each has its own.
pub(crate) fn of_outcome(outcome: &Outcome) -> u64 {
    let mut hasher = DefaultHasher::new();
    let is_ok = outcome.kind == ResultKind::Ok;
    is_ok.hash(&mut hasher);
    match outcome.error.as_ref().filter(|_| !is_ok) {
        Some(error) => {
            error.code.as_str().hash(&mut hasher);
            without_artifacts(&error.message, &mut hasher);
        }
        None => outcome.content.iter().for_each(|block| match block {
            ContentBlock::Json(JsonBlock { data: Some(data), .. }) => hash_value(data, &mut hasher, without_artifacts),
            other => without_artifacts(&other.to_model_text().unwrap_or_default(), &mut hasher),
        }),
    }
    hasher.finish()
}

/// How a text is hashed.
type HashText = fn(&str, &mut DefaultHasher);

fn hash_value(value: &Value, hasher: &mut DefaultHasher, text: HashText) {
    match value {
        Value::Object(fields) => hash_object(fields, hasher, text),
        Value::Array(items) => {
            (4_u8, items.len()).hash(hasher);
            items.iter().for_each(|item| hash_value(item, hasher, text));
        }
        Value::String(string) => {
            3_u8.hash(hasher);
            text(string, hasher);
        }
        Value::Number(number) => (2_u8, number).hash(hasher),
        Value::Bool(flag) => (1_u8, flag).hash(hasher),
        Value::Null => 0_u8.hash(hasher),
    }
}

fn hash_object(fields: &Object, hasher: &mut DefaultHasher, text: HashText) {
    let mut keys: Vec<_> = fields.keys().collect();
    keys.sort_unstable();
    (5_u8, keys.len()).hash(hasher);
    for key in keys {
        key.hash(hasher);
        hash_value(&fields[key], hasher, text);
    }
}

fn whole(text: &str, hasher: &mut DefaultHasher) {
    text.hash(hasher);
}

/// All of a text but the ids of artifacts in it.
fn without_artifacts(text: &str, hasher: &mut DefaultHasher) {
    let mut rest = text;
    while let Some(at) = rest.find(ArtifactId::PREFIX) {
        let (before, id) = rest.split_at(at + ArtifactId::PREFIX.len());
        hasher.write(before.as_bytes());
        rest = id.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    }
    rest.hash(hasher);
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_protocol::{ArtifactRef, ErrorCode, ErrorPayload};
    use serde_json::json;

    fn outcome(kind: ResultKind, content: Vec<ContentBlock>, error: Option<&str>) -> u64 {
        let error = error.map(|message| ErrorPayload::new(ErrorCode::Timeout, message));
        of_outcome(&Outcome { kind, content, error, metadata: Object::new(), summary: None, after: Vec::new() })
    }

    /// FND-20: what differs each time although nothing has changed makes no result a new one.
    #[test]
    fn what_differs_each_time_does_not_count() {
        let ok = |text: &str| outcome(ResultKind::Ok, vec![ContentBlock::text(text)], None);
        let json = |value| outcome(ResultKind::Ok, vec![ContentBlock::json(value)], None);
        let failed = |text: &str, error| outcome(ResultKind::Failed, vec![ContentBlock::text(text)], Some(error));
        let id = |n| format!("{}0193-{n}", ArtifactId::PREFIX);
        assert_eq!(ok(&format!("see {}: all", id(1))), ok(&format!("see {}: all", id(2))));
        assert_ne!(ok(&format!("see {}: all", id(1))), ok(&format!("see {}: some", id(1))));
        assert_eq!(json(json!({"a": id(1), "b": [1]})), json(json!({"b": [1], "a": id(2)})));
        assert_ne!(json(json!({"a": id(1), "b": [1]})), json(json!({"a": id(1), "b": [2]})));
        assert_ne!(json(json!({"a": "b"})), json(json!({"a": {"b": null}})));
        assert_eq!(failed("12:01 waiting", "timed out"), failed("12:02 waiting", "timed out"));
        assert_ne!(failed("x", "timed out"), failed("x", "killed"));
        assert_ne!(failed("x", "x"), ok("x"));
    }

    /// RUN-10: the same output is the same, whatever its artifact is called; another is not.
    #[test]
    fn ids_of_artifacts_do_not_count() {
        let of = |content: &[ContentBlock]| outcome(ResultKind::Ok, content.to_vec(), None);
        let content = |id: &str, text: &str| {
            let artifact_id = ArtifactId::parse(id).unwrap();
            let read_on = Some(format!("read on with {id}"));
            vec![
                ContentBlock::json(json!({"stdout": text, "stdout_artifact_id": id})),
                ContentBlock::ArtifactRef(ArtifactRef { artifact_id, summary: read_on, mime_type: None }),
            ]
        };
        assert_eq!(of(&content("art_1", "x")), of(&content("art_2", "x")));
        assert_ne!(of(&content("art_1", "x")), of(&content("art_2", "y")));
        let failed = outcome(ResultKind::Failed, content("art_1", "x"), Some("timed out"));
        assert_ne!(failed, of(&content("art_1", "x")));
        let stored = |id: &str, begins: &str| {
            let artifact_id = Some(ArtifactId::parse(id).unwrap());
            let summary = Some(format!("stored as {id}; it begins: {begins}"));
            vec![ContentBlock::Json(JsonBlock { data: None, summary, artifact_id })]
        };
        assert_eq!(of(&stored("art_1", "x")), of(&stored("art_2", "x")));
        assert_ne!(of(&stored("art_1", "x")), of(&stored("art_2", "y")));
    }
}
