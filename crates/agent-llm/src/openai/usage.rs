//! Token counts, in the places where servers put them.

use agent_protocol::{Object, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Counts {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    total_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek.
    #[serde(default)]
    prompt_cache_hit_tokens: Option<u64>,
    /// Mistral.
    #[serde(default)]
    num_cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    #[serde(default)]
    reasoning_tokens: Option<u64>,
}

/// The counts, unless there are none: some servers send zeros until the end. What cannot be read is no reason to lose a
/// reply.
pub(super) fn read(raw: &RawValue) -> Option<Usage> {
    let counts: Counts = serde_json::from_str(raw.get()).ok()?;
    let known = [counts.prompt_tokens, counts.completion_tokens, counts.total_tokens];
    if known.iter().flatten().all(|count| *count == 0) {
        return None;
    }
    let details = counts.prompt_tokens_details.and_then(|details| details.cached_tokens);
    Some(Usage {
        input_tokens: counts.prompt_tokens,
        output_tokens: counts.completion_tokens,
        total_tokens: counts.total_tokens,
        cache_read_tokens: details.or(counts.prompt_cache_hit_tokens).or(counts.num_cached_tokens),
        cache_write_tokens: None,
        reasoning_tokens: counts.completion_tokens_details.and_then(|details| details.reasoning_tokens),
        raw: serde_json::from_str::<Object>(raw.get()).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Input, output, read from cache, reasoning.
    #[track_caller]
    fn check(json: &str, expected: Option<[Option<u64>; 4]>) {
        let usage = read(serde_json::from_str(json).unwrap());
        let known = usage.map(|u| [u.input_tokens, u.output_tokens, u.cache_read_tokens, u.reasoning_tokens]);
        assert_eq!(known, expected, "{json}");
    }

    /// TYP-8: what is not said is absent, never zero.
    #[test]
    fn counts_are_read_where_they_stand() {
        check(
            r#"{"prompt_tokens":50,"completion_tokens":9,"total_tokens":59,"prompt_tokens_details":{"cached_tokens":40},
                "completion_tokens_details":{"reasoning_tokens":3}}"#,
            Some([Some(50), Some(9), Some(40), Some(3)]),
        );
        check(r#"{"prompt_tokens":50,"prompt_cache_hit_tokens":7}"#, Some([Some(50), None, Some(7), None]));
        check(r#"{"prompt_tokens":50,"num_cached_tokens":7}"#, Some([Some(50), None, Some(7), None]));
        check(r#"{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}"#, None);
        check(r#"{"prompt_tokens":5,"prompt_tokens_details":null}"#, Some([Some(5), None, None, None]));
        check(r#"{"prompt_tokens":"many"}"#, None);
        check("{}", None);
        check("[]", None);
    }
}
