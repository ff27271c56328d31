//! Token counts, in the places where servers put them.

use agent_protocol::{Object, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::reply::mend::whole;

/// The fields, unread: one of an odd type loses none of the others.
#[derive(Deserialize)]
struct Counts<'a> {
    #[serde(borrow, default)]
    prompt_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    completion_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    total_tokens: Option<&'a RawValue>,
    /// Mistral leaves out a letter.
    #[serde(borrow, default, alias = "prompt_token_details")]
    prompt_tokens_details: Option<&'a RawValue>,
    #[serde(borrow, default)]
    completion_tokens_details: Option<&'a RawValue>,
    /// DeepSeek.
    #[serde(borrow, default)]
    prompt_cache_hit_tokens: Option<&'a RawValue>,
    /// Mistral.
    #[serde(borrow, default)]
    num_cached_tokens: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Details<'a> {
    #[serde(borrow, default)]
    cached_tokens: Option<&'a RawValue>,
    #[serde(borrow, default)]
    reasoning_tokens: Option<&'a RawValue>,
}

/// The counts, unless there are none: some servers send zeros until the end. What cannot be read is no reason to lose a
/// reply.
pub(super) fn read(raw: &RawValue) -> Option<Usage> {
    let counts: Counts<'_> = serde_json::from_str(raw.get()).ok()?;
    let [input, output, total] = [counts.prompt_tokens, counts.completion_tokens, counts.total_tokens].map(count);
    if [input, output, total].iter().flatten().all(|count| *count == 0) {
        return None;
    }
    let prompt = counts.prompt_tokens_details.and_then(details);
    let completion = counts.completion_tokens_details.and_then(details);
    Some(Usage {
        input_tokens: input,
        output_tokens: output,
        total_tokens: total,
        cache_read_tokens: prompt
            .and_then(|details| count(details.cached_tokens))
            .or_else(|| count(counts.prompt_cache_hit_tokens))
            .or_else(|| count(counts.num_cached_tokens)),
        cache_write_tokens: None,
        reasoning_tokens: completion.and_then(|details| count(details.reasoning_tokens)),
        raw: serde_json::from_str::<Object>(raw.get()).unwrap_or_default(),
    })
}

fn count(raw: Option<&RawValue>) -> Option<u64> {
    whole(raw?.get().trim_matches('"'))
}

fn details(raw: &RawValue) -> Option<Details<'_>> {
    serde_json::from_str(raw.get()).ok()
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
        check(r#"{"prompt_tokens":50.0,"completion_tokens":{}}"#, Some([Some(50), None, None, None]));
        check(
            r#"{"prompt_tokens":5,"prompt_token_details":{"cached_tokens":4}}"#,
            Some([Some(5), None, Some(4), None]),
        );
        check("{}", None);
        check("[]", None);
    }
}
