//! Token counts, which come in two places and piece by piece.

use agent_protocol::{Object, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct Counts {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    cache_read_input_tokens: Option<u64>,
    #[serde(default)]
    cache_creation_input_tokens: Option<u64>,
}

/// The counts of a reply so far.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: Counts,
    raw: Object,
}

impl Tally {
    /// Takes what an event says. Counts are cumulative: each replaces the one before, and what an event leaves out stands. What
    /// cannot be read is no reason to lose a reply.
    pub(super) fn take(&mut self, usage: &RawValue) {
        let Ok(new) = serde_json::from_str::<Counts>(usage.get()) else { return };
        let counts = &mut self.counts;
        for (known, new) in [
            (&mut counts.input_tokens, new.input_tokens),
            (&mut counts.output_tokens, new.output_tokens),
            (&mut counts.cache_read_input_tokens, new.cache_read_input_tokens),
            (&mut counts.cache_creation_input_tokens, new.cache_creation_input_tokens),
        ] {
            // A relay that has counted nothing says zero; that takes back nothing.
            if new.is_some_and(|new| new > 0 || known.is_none()) {
                *known = new;
            }
        }
        if let Ok(raw) = serde_json::from_str::<Object>(usage.get()) {
            self.raw.extend(raw.into_iter().filter(|(_, value)| !value.is_null()));
        }
    }

    /// In our words: the API counts cached tokens apart, and our prompt holds all of them.
    pub(super) fn usage(&self) -> Usage {
        let Counts { input_tokens, output_tokens, cache_read_input_tokens: read, cache_creation_input_tokens: written } =
            self.counts;
        let cached = read.unwrap_or(0).saturating_add(written.unwrap_or(0));
        let input = input_tokens.map(|input| input.saturating_add(cached));
        Usage {
            input_tokens: input,
            output_tokens,
            total_tokens: input.zip(output_tokens).map(|(input, output)| input.saturating_add(output)),
            cache_read_tokens: read,
            cache_write_tokens: written,
            reasoning_tokens: None,
            raw: self.raw.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Input, output, read from cache, written to it.
    #[track_caller]
    fn check(events: &[&str], expected: [Option<u64>; 4]) {
        let mut tally = Tally::default();
        for event in events {
            tally.take(serde_json::from_str(event).unwrap());
        }
        let usage = tally.usage();
        let known = [usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens];
        assert_eq!(known, expected, "{events:?}");
    }

    /// TYP-8, PRV-13: cached tokens are part of the prompt and told apart. Counts replace each other and are never added.
    #[test]
    fn counts_replace_each_other() {
        let start =
            r#"{"input_tokens":12,"cache_creation_input_tokens":0,"cache_read_input_tokens":900,"output_tokens":1}"#;
        check(&[start], [Some(912), Some(1), Some(900), Some(0)]);
        check(&[start, r#"{"output_tokens":42}"#], [Some(912), Some(42), Some(900), Some(0)]);
        check(
            &[start, r#"{"output_tokens":42}"#, r#"{"output_tokens":50}"#],
            [Some(912), Some(50), Some(900), Some(0)],
        );
        check(&[r#"{"input_tokens":0,"output_tokens":0}"#, r#"{"input_tokens":7}"#], [Some(7), Some(0), None, None]);
        check(&[r#"{"input_tokens":7}"#, r#"{"input_tokens":0,"output_tokens":3}"#], [Some(7), Some(3), None, None]);
        check(&[r#"{"output_tokens":null}"#, r#"{"input_tokens":"many"}"#, "[]", "null"], [None; 4]);
        check(&[], [None; 4]);
    }
}
