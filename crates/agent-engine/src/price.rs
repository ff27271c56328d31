//! What tokens cost.

use agent_protocol::Usage;

/// What a million tokens cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Of the prompt.
    pub input: f64,
    /// Of the prompt, read from a cache.
    pub cache_read: f64,
    /// Of the prompt, written to a cache.
    pub cache_write: f64,
    /// Of the answer.
    pub output: f64,
}

impl Price {
    /// What this usage costs.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> f64 {
        let prompt = usage.input_tokens.unwrap_or(0);
        let read = usage.cache_read_tokens.unwrap_or(0).min(prompt);
        let written = usage.cache_write_tokens.unwrap_or(0).min(prompt - read);
        let millions = |tokens: u64| tokens as f64 / 1e6;
        millions(prompt - read - written) * self.input
            + millions(read) * self.cache_read
            + millions(written) * self.cache_write
            + millions(usage.output_tokens.unwrap_or(0)) * self.output
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FND-44: each kind of token has its own price, and what a server says of its cache is never more than the prompt.
    #[test]
    fn prices_of_cached_tokens() {
        let price = Price { input: 100.0, cache_read: 10.0, cache_write: 125.0, output: 500.0 };
        let cost = |input, read, written, output| {
            let usage = Usage {
                input_tokens: Some(input),
                cache_read_tokens: Some(read),
                cache_write_tokens: Some(written),
                output_tokens: Some(output),
                ..Usage::default()
            };
            price.of(&usage)
        };
        for (counts, expected) in [
            ((1_000_000, 0, 0, 0), 100.0),
            ((1_000_000, 400_000, 0, 0), 64.0),
            ((1_000_000, 400_000, 400_000, 0), 74.0),
            ((1_000_000, 0, 1_000_000, 1_000_000), 625.0),
            ((100_000, 400_000, 400_000, 0), 1.0),
            ((0, 9, 9, 0), 0.0),
        ] {
            let (input, read, written, output) = counts;
            let found = cost(input, read, written, output);
            assert!((found - expected).abs() < 1e-9, "{counts:?}: {found}");
        }
        assert_eq!(price.of(&Usage::default()), 0.0);
    }
}
