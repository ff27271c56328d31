//! Ids of calls (PRV-5).

use std::collections::HashSet;

use agent_protocol::{ContentBlock, ModelRequest, ToolCallId};

use crate::digest::{digest, short};

/// Key in a request's metadata under which the caller names a prefix for ids the provider leaves out.
const PREFIX_KEY: &str = "call_id_prefix";
/// Longest prefix that is taken over: servers refuse ids over 40 characters.
const MAX_PREFIX: usize = 28;

/// An id for each call: the provider's where it is usable and new, else one that is derived from the request and collides
/// with none of the conversation.
pub(super) fn assign(provider_ids: &[Option<String>], request: &ModelRequest) -> Vec<ToolCallId> {
    if provider_ids.is_empty() {
        return Vec::new();
    }
    let mut taken: HashSet<&str> = history_ids(request).collect();
    let kept: Vec<Option<ToolCallId>> = provider_ids
        .iter()
        .map(|id| {
            let id = id.as_deref()?;
            let parsed = ToolCallId::parse(id).ok()?;
            taken.insert(id).then_some(parsed)
        })
        .collect();
    let prefix = prefix(request);
    let mut numbers = 1_u64..;
    kept.into_iter()
        .map(|id| match id {
            Some(id) => id,
            None => fresh(&prefix, &mut numbers, &taken),
        })
        .collect()
}

fn fresh(prefix: &str, numbers: &mut impl Iterator<Item = u64>, taken: &HashSet<&str>) -> ToolCallId {
    loop {
        let number = numbers.next().unwrap_or_default();
        let id = format!("{prefix}_{number}");
        // `prefix` was checked, so the parse holds; a taken id is skipped.
        if let (false, Ok(id)) = (taken.contains(id.as_str()), ToolCallId::parse(&id)) {
            return id;
        }
    }
}

fn history_ids(request: &ModelRequest) -> impl Iterator<Item = &str> {
    request.messages.iter().flat_map(|message| message.content.iter()).filter_map(|block| match block {
        ContentBlock::ToolCall(call) => Some(call.tool_call_id.as_str()),
        ContentBlock::ToolResult(result) => Some(result.tool_call_id.as_str()),
        ContentBlock::Text(_) | ContentBlock::Json(_) | ContentBlock::ArtifactRef(_) => None,
    })
}

/// The caller's prefix, or one that differs from request to request.
fn prefix(request: &ModelRequest) -> String {
    let asked = request.metadata.get(PREFIX_KEY).and_then(|value| value.as_str()).map(|p| p.trim_end_matches('_'));
    match asked {
        Some(prefix) if prefix.len() <= MAX_PREFIX && ToolCallId::parse(prefix).is_ok() => prefix.to_owned(),
        _ => {
            let metadata = serde_json::to_vec(&request.metadata).unwrap_or_default();
            let length = request.messages.len().to_le_bytes();
            let last = history_ids(request).last().unwrap_or_default();
            format!("call_{}", short(digest([&metadata[..], &length, last.as_bytes()]), 8))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agent_protocol::{ModelMessage, Object, Role, ToolCall, ToolChoice};

    use super::*;

    fn request(prefix: &str, history: &[&str]) -> ModelRequest {
        let call = |id: &&str| {
            let id = ToolCallId::parse(id).unwrap();
            ContentBlock::ToolCall(ToolCall {
                tool_call_id: id,
                name: "f".into(),
                arguments: Object::new(),
                metadata: Object::new(),
            })
        };
        let calls: Vec<_> = history.iter().map(call).collect();
        let mut metadata = Object::new();
        metadata.insert(PREFIX_KEY.into(), prefix.into());
        ModelRequest {
            model: "m".into(),
            system: Arc::default(),
            messages: vec![Arc::new(ModelMessage::new(Role::Assistant, calls))],
            tools: Arc::default(),
            tool_choice: ToolChoice::Auto,
            temperature: None,
            max_output_tokens: 1,
            provider_options: Object::new(),
            metadata,
        }
    }

    #[track_caller]
    fn check(ids: &[&str], history: &[&str], expected: &[&str]) {
        let ids: Vec<Option<String>> = ids.iter().map(|id| (!id.is_empty()).then(|| (*id).to_owned())).collect();
        let assigned = assign(&ids, &request("call_run1", history));
        assert_eq!(assigned.iter().map(ToolCallId::as_str).collect::<Vec<_>>(), expected);
    }

    /// PRV-5: the provider's id where it is usable and unique, else the prefix and a counter that meets no other id.
    #[test]
    fn ids_are_kept_or_made() {
        check(&["c1", "c2"], &[], &["c1", "c2"]);
        check(&["c1", "c1"], &[], &["c1", "call_run1_1"]);
        check(&["c1"], &["c1"], &["call_run1_1"]);
        check(&["", "a b", &"x".repeat(200)], &[], &["call_run1_1", "call_run1_2", "call_run1_3"]);
        check(&[""], &["call_run1_1"], &["call_run1_2"]);
        check(&["", "call_run1_1"], &[], &["call_run1_2", "call_run1_1"]);
    }

    /// Without a usable prefix ids still differ from turn to turn.
    #[test]
    fn a_prefix_is_made_up() {
        for prefix in ["", "bad prefix", &"x".repeat(60)] {
            let first = assign(&[None], &request(prefix, &[]));
            let second = assign(&[None], &request(prefix, &["c1"]));
            assert_ne!(first, second);
            assert!(first[0].as_str().starts_with("call_") && first[0].as_str().len() <= 40);
        }
    }
}
