//! Where a run stops by itself, and what it costs.

use agent_protocol::{ErrorCode, ErrorPayload, Usage};

use super::spent::Spent;

/// Where a run stops by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Most turns.
    pub max_turns: u32,
    /// Most continuations of a cut answer, in a row (RUN-7).
    pub continuations: u32,
    /// Most retries of an empty answer, in a row (RUN-9).
    pub empty_retries: u32,
    /// Most retries of a broken stream, in a row (RUN-23).
    pub model_retries: u32,
    /// Most times room is made in a row without an answer in between.
    pub overflows: u32,
    /// Most tokens of the whole run, if there is a limit.
    pub max_tokens: Option<u64>,
    /// Most money of the whole run, in the price's currency, if there is a limit.
    pub max_cost: Option<f64>,
    /// What tokens cost; without it `max_cost` cannot be held.
    pub price: Option<Price>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_turns: 100,
            continuations: 3,
            empty_retries: 1,
            model_retries: 2,
            overflows: 4,
            max_tokens: None,
            max_cost: None,
            price: None,
        }
    }
}

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

impl Limits {
    /// Why the run may not go on, if its budget is used up (DEC-18).
    pub(super) fn over_budget(&self, spent: &Spent) -> Option<ErrorPayload> {
        let about = if spent.is_estimate() { "about " } else { "" };
        let total = spent.usage().total_tokens.unwrap_or(0);
        let over = if let Some(limit) = self.max_tokens.filter(|limit| total >= *limit) {
            format!("the run used {about}{total} tokens, and runtime.max_tokens is {limit}")
        } else {
            let cost = self.price.as_ref()?.of(spent.usage());
            let limit = self.max_cost.filter(|limit| cost >= *limit)?;
            format!("the run cost {about}{cost:.4}, and runtime.max_cost is {limit}")
        };
        let why = if spent.is_estimate() {
            " (estimated, since the server's counts are missing or cannot be right)"
        } else {
            ""
        };
        let message = format!("{over}{why}; it can be resumed with a new message");
        let error = ErrorPayload::new(ErrorCode::Cancelled, message).detail("kind", "budget");
        Some(if spent.is_estimate() { error.detail("estimated", true) } else { error })
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
