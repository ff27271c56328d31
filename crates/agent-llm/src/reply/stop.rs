//! Why a reply ended, in our words.

use agent_protocol::{StopKind, StopReason, bounded_name};

/// The kind behind a server's word. Whether there are calls decides between the end of a turn and a wait for tools, since
/// servers get that word wrong in both directions; a cut or withheld reply stays one, calls or not.
pub(super) fn reason(raw: Option<String>, has_calls: bool) -> StopReason {
    let word = raw.as_deref().unwrap_or_default().to_ascii_lowercase();
    let kind = match word.as_str() {
        "length" | "max_tokens" | "model_length" => StopKind::MaxTokens,
        "content_filter" | "refusal" | "safety" | "prohibited_content" | "recitation" | "blocklist" | "spii" => {
            StopKind::ContentFilter
        }
        _ if has_calls => StopKind::ToolUse,
        // The server has not finished the turn and wants to be asked to go on.
        "pause_turn" => StopKind::MaxTokens,
        "stop_sequence" => StopKind::StopSequence,
        _ => StopKind::EndTurn,
    };
    StopReason { kind, raw: raw.filter(|word| !word.is_empty()).map(|word| bounded_name(&word).into_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TYP-8: our word and the server's; calls decide where the server's word cannot be trusted.
    #[test]
    fn words_become_kinds() {
        for (word, calls, expected) in [
            ("stop", false, StopKind::EndTurn),
            ("stop", true, StopKind::ToolUse),
            ("tool_calls", true, StopKind::ToolUse),
            ("tool_calls", false, StopKind::EndTurn),
            ("length", true, StopKind::MaxTokens),
            ("model_length", false, StopKind::MaxTokens),
            ("content_filter", true, StopKind::ContentFilter),
            ("stop_sequence", false, StopKind::StopSequence),
            ("eos", false, StopKind::EndTurn),
            ("refusal", false, StopKind::ContentFilter),
            ("RECITATION", false, StopKind::ContentFilter),
            ("pause_turn", false, StopKind::MaxTokens),
            ("pause_turn", true, StopKind::ToolUse),
            ("brand_new", true, StopKind::ToolUse),
        ] {
            let reason = reason(Some(word.to_owned()), calls);
            assert_eq!((reason.kind, reason.raw.as_deref()), (expected, Some(word)));
        }
        assert_eq!(reason(None, true), StopReason::new(StopKind::ToolUse));
        assert_eq!(reason(Some(String::new()), false), StopReason::new(StopKind::EndTurn));
    }
}
