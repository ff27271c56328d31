//! Where a run stops by itself, and what it costs.

use agent_protocol::{ErrorCode, ErrorPayload, Usage};

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
    /// Of the answer.
    pub output: f64,
}

impl Price {
    /// What this usage costs.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> f64 {
        let cached = usage.cache_read_tokens.unwrap_or(0);
        let fresh = usage.input_tokens.unwrap_or(0).saturating_sub(cached);
        let millions = |tokens: u64| tokens as f64 / 1e6;
        millions(fresh) * self.input
            + millions(cached) * self.cache_read
            + millions(usage.output_tokens.unwrap_or(0)) * self.output
    }
}

impl Limits {
    /// Why the run may not go on, if its budget is used up (DEC-18).
    pub(crate) fn over_budget(&self, usage: &Usage) -> Option<ErrorPayload> {
        let total = usage
            .total_tokens
            .unwrap_or_else(|| usage.input_tokens.unwrap_or(0).saturating_add(usage.output_tokens.unwrap_or(0)));
        if let Some(limit) = self.max_tokens.filter(|limit| total >= *limit) {
            return Some(budget_error(format!("the run used {total} tokens, and runtime.max_tokens is {limit}")));
        }
        let cost = self.price.as_ref()?.of(usage);
        let limit = self.max_cost.filter(|limit| cost >= *limit)?;
        Some(budget_error(format!("the run cost {cost:.4}, and runtime.max_cost is {limit}")))
    }
}

fn budget_error(message: String) -> ErrorPayload {
    let message = format!("{message}; it can be resumed with a new message");
    ErrorPayload::new(ErrorCode::Cancelled, message).detail("kind", "budget")
}
