//! Where a run stops by itself.

use agent_protocol::event::TreeUsage;
use agent_protocol::{ErrorCode, ErrorPayload};

use super::spent::Spent;
use crate::price::Price;

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
    /// Most tokens of the user's run and all agents below it, if there is a limit.
    pub max_tokens: Option<u64>,
    /// Most money of all of them, in the price's currency, if there is a limit.
    pub max_cost: Option<f64>,
    /// What tokens of the run's model cost; without it they count nothing towards `max_cost`.
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

/// What other runs of a run's tree have used: they share its limits, and those below it its sum.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OthersSpent {
    /// All other runs of the tree.
    pub others: TreeUsage,
    /// Those of them that are below the run.
    pub below: TreeUsage,
}

impl Limits {
    /// Why the run may not go on, if the budget that it shares with its tree is used up (DEC-18).
    pub(super) fn over_budget(&self, spent: &Spent, others: &TreeUsage) -> Option<ErrorPayload> {
        let mut all = spent.told();
        all.add(others);
        let about = if all.is_estimate { "about " } else { "" };
        let total = all.usage.total_tokens.unwrap_or(0);
        // For a child they are its parent and its siblings, for the parent its children.
        let who = if others.usage.total_tokens.unwrap_or(0) > 0 { "the run and its child agents" } else { "the run" };
        let (over, key) = if let Some(limit) = self.max_tokens.filter(|limit| total >= *limit) {
            (format!("{who} used {about}{total} tokens, and runtime.max_tokens is {limit}"), "runtime.max_tokens")
        } else {
            let cost = all.cost?;
            let limit = self.max_cost.filter(|limit| cost >= *limit)?;
            (format!("{who} cost {about}{cost:.4}, and runtime.max_cost is {limit}"), "runtime.max_cost")
        };
        let why =
            if all.is_estimate { " (estimated, since the server's counts are missing or cannot be right)" } else { "" };
        let message = format!(
            "{over}{why}; it can be resumed with a new message, which begins to count anew, and config.toml can raise the limit"
        );
        let error = ErrorPayload::new(ErrorCode::Cancelled, message).detail("kind", "budget").detail("key", key);
        Some(if all.is_estimate { error.detail("estimated", true) } else { error })
    }
}
