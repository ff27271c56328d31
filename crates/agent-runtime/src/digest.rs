//! Whether a call gave what an equal one gave before (RUN-10).

use std::hash::{DefaultHasher, Hash, Hasher};

use agent_protocol::{ArtifactId, ContentBlock};

/// Stands for a content that names artifacts, without their ids, which differ each time. Of others the content itself is looked
/// at.
pub(crate) fn digest(content: &[ContentBlock], is_error: bool) -> Option<u64> {
    let ids: Vec<&ArtifactId> = content.iter().filter_map(artifact).collect();
    if ids.is_empty() {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    is_error.hash(&mut hasher);
    for mut text in content.iter().filter_map(ContentBlock::to_model_text) {
        for id in &ids {
            text = text.replace(id.as_str(), "");
        }
        text.hash(&mut hasher);
    }
    Some(hasher.finish())
}

fn artifact(block: &ContentBlock) -> Option<&ArtifactId> {
    match block {
        ContentBlock::ArtifactRef(artifact) => Some(&artifact.artifact_id),
        ContentBlock::Json(json) => json.artifact_id.as_ref(),
        ContentBlock::Text(_) | ContentBlock::ToolCall(_) | ContentBlock::ToolResult(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use agent_protocol::{ArtifactRef, JsonBlock};
    use serde_json::json;

    use super::*;

    /// RUN-10: the same output is the same, whatever its artifact is called; another is not.
    #[test]
    fn ids_of_artifacts_do_not_count() {
        let content = |id: &str, text: &str| {
            let artifact_id = ArtifactId::parse(id).unwrap();
            let read_on = Some(format!("read on with {id}"));
            vec![
                ContentBlock::json(json!({"stdout": text, "stdout_artifact_id": id})),
                ContentBlock::ArtifactRef(ArtifactRef { artifact_id, summary: read_on, mime_type: None }),
            ]
        };
        let of = |content: &[ContentBlock]| digest(content, false).unwrap();
        assert_eq!(of(&content("art_1", "x")), of(&content("art_2", "x")));
        assert_ne!(of(&content("art_1", "x")), of(&content("art_2", "y")));
        assert_ne!(digest(&content("art_1", "x"), true), digest(&content("art_1", "x"), false));
        let stored = |id: &str, begins: &str| {
            let artifact_id = Some(ArtifactId::parse(id).unwrap());
            let summary = Some(format!("stored as {id}; it begins: {begins}"));
            vec![ContentBlock::Json(JsonBlock { data: None, summary, artifact_id })]
        };
        assert_eq!(of(&stored("art_1", "x")), of(&stored("art_2", "x")));
        assert_ne!(of(&stored("art_1", "x")), of(&stored("art_2", "y")));
        assert_eq!(digest(&[ContentBlock::text("x")], false), None);
    }
}
