//! How the context window is shared out (CFG-8). Everything is derived, so that any sane configuration gives a working run.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::path::forgetting::Memory;
use crate::tokens::Calibration;

/// What the configuration asks for, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetConfig {
    /// `model.context_window`.
    pub context_window: u64,
    /// `model.max_output_tokens`.
    pub max_output_tokens: u64,
    /// `context.reserve_output_tokens`.
    pub reserve_output_tokens: u64,
    /// `context.dynamic_system_budget`.
    pub dynamic_system: u64,
    /// `compact.reserve_tokens`.
    pub compact_reserve: u64,
    /// `compact.keep_recent_tokens`.
    pub keep_recent: u64,
    /// `compact.max_summary_tokens`.
    pub max_summary: u64,
}

/// What a run works with, in tokens. Every share is clamped to what fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budgets {
    /// W: the model's context window.
    pub window: u64,
    /// F: the fixed part, static system blocks and tool schemas, as measured.
    pub fixed: u64,
    /// O: room for the answer; a request's output limit never exceeds it.
    pub output: u64,
    /// What bounds it.
    pub output_bound: OutputBound,
    /// D: room for dynamic system blocks.
    pub dynamic: u64,
    /// M: room for messages.
    pub messages: u64,
    /// Messages above this are compacted.
    pub compact_at: u64,
    /// S: room for a compaction summary.
    pub summary: u64,
    /// K: what a compaction keeps as it is.
    pub keep_recent: u64,
    /// Room for catalogs and the task board together.
    pub catalogs: u64,
}

/// Which of the three the room for an answer comes from; several where they are equal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputBound {
    /// `model.max_output_tokens`.
    pub max_output_tokens: bool,
    /// `context.reserve_output_tokens`.
    pub reserve_output_tokens: bool,
    /// A quarter of the context window.
    pub window: bool,
}

impl OutputBound {
    /// The keys to raise for longer answers.
    pub(crate) fn keys(self) -> String {
        let keys = [
            (self.max_output_tokens, "model.max_output_tokens"),
            (self.reserve_output_tokens, "context.reserve_output_tokens"),
            (self.window, "model.context_window"),
        ];
        keys.iter().filter(|(bounds, _)| *bounds).map(|(_, key)| *key).collect::<Vec<_>>().join(" and ")
    }
}

/// The fixed part leaves less than a quarter of the window for the work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BudgetError {
    message: String,
}

impl Budgets {
    /// Shares the window out. `parts` are the fixed part's pieces by name, in tokens.
    ///
    /// # Errors
    /// When less than a quarter of the window is left; the message lists the largest parts.
    pub fn derive(config: &BudgetConfig, parts: &[(String, u64)]) -> Result<Self, BudgetError> {
        let window = config.context_window;
        let fixed = parts.iter().map(|(_, tokens)| tokens).sum::<u64>();
        let output = config.reserve_output_tokens.min(config.max_output_tokens).min(window / 4);
        let available = window.saturating_sub(output).saturating_sub(fixed);
        if available < window / 4 || available == 0 {
            return Err(BudgetError { message: too_small(window, output, available, parts) });
        }
        let dynamic = config.dynamic_system.min(available / 4);
        let messages = available - dynamic;
        Ok(Self {
            window,
            fixed,
            output,
            output_bound: OutputBound {
                max_output_tokens: output == config.max_output_tokens,
                reserve_output_tokens: output == config.reserve_output_tokens,
                window: output == window / 4,
            },
            dynamic,
            messages,
            compact_at: messages - config.compact_reserve.min(messages / 4),
            summary: config.max_summary.min(messages / 5),
            keep_recent: config.keep_recent.min(2 * messages / 5),
            catalogs: available / 8,
        })
    }

    /// What a window slide frees down to: 60 % of the room for messages (PRV-15).
    #[must_use]
    pub fn slide_to(&self) -> u64 {
        self.messages * 3 / 5
    }

    /// The same in the provider's tokens, where it counts more than we estimate: what the fixed part and `dynamic` estimated tokens
    /// of other system blocks take more is missing for messages. What is left is shared out in the same proportions.
    #[must_use]
    pub fn calibrated(&self, calibration: Calibration, dynamic: u64) -> Self {
        let system = calibration.apply(self.fixed + dynamic);
        let messages = self.messages.min((self.window - self.output).saturating_sub(system));
        if messages == self.messages {
            return *self;
        }
        let share = |tokens: u64| {
            let share = u128::from(tokens) * u128::from(messages) / u128::from(self.messages.max(1));
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        Self {
            messages,
            compact_at: share(self.compact_at),
            summary: share(self.summary),
            keep_recent: share(self.keep_recent),
            ..*self
        }
    }

    /// The shares of the window that the provider has said to have. They stay what they are where that is too small to work with.
    #[must_use]
    pub(crate) fn learned(&self, calibration: Calibration) -> Self {
        calibration.window().and_then(|window| self.within(window)).unwrap_or(*self)
    }

    /// The same in a smaller window; `None` where too little of it is left to work with.
    fn within(&self, window: u64) -> Option<Self> {
        if window >= self.window {
            return Some(*self);
        }
        let output = self.output.min(window / 4);
        let available = window.saturating_sub(output).saturating_sub(self.fixed);
        if available < window / 4 || available == 0 {
            return None;
        }
        let dynamic = self.dynamic.min(available / 4);
        let messages = available - dynamic;
        let share = |tokens: u64| {
            let share = u128::from(tokens) * u128::from(messages) / u128::from(self.messages.max(1));
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        Some(Self {
            window,
            fixed: self.fixed,
            output,
            output_bound: match output < self.output {
                true => OutputBound { window: true, ..OutputBound::default() },
                false => self.output_bound,
            },
            dynamic,
            messages,
            compact_at: share(self.compact_at),
            summary: share(self.summary),
            keep_recent: share(self.keep_recent),
            catalogs: self.catalogs.min(available / 8),
        })
    }

    /// How much the fixed part may still grow before too little is left to work with (CFG-8).
    #[must_use]
    pub fn spare(&self) -> u64 {
        (self.messages + self.dynamic).saturating_sub(self.window / 4)
    }

    /// Room for the user's own words out of turns that are gone, a part of what a compaction or a slide keeps.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.messages / 10
    }

    /// Room for skills, memories and notices from before what is kept as it is: the newest stay.
    #[must_use]
    pub fn pinned(&self) -> u64 {
        Self::pinned_of(self.messages)
    }

    /// The same, of this much room for messages.
    pub(crate) fn pinned_of(messages: u64) -> u64 {
        messages / 4
    }

    /// What is kept of a path from run to run. Estimates are off by half at most where more is counted than that, so twice the
    /// window is more than a request holds.
    pub(crate) fn memory(&self) -> Memory {
        Memory {
            end: self.window.saturating_mul(2),
            results: self.window / 16,
            pinned: self.window / 2,
            words: self.window / 10,
        }
    }

    /// The most that the results of one turn may take, as estimated; longer ones are shortened for the model. It leaves room
    /// for an estimate that is off by half.
    #[must_use]
    pub fn results_of_a_turn(&self) -> u64 {
        self.messages * 2 / 5
    }
}

fn too_small(window: u64, output: u64, available: u64, parts: &[(String, u64)]) -> String {
    let mut largest: Vec<_> = parts.iter().collect();
    largest.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
    let mut message = format!(
        "model.context_window = {window} leaves {available} tokens for the conversation, and at least {} are needed: \
         {output} are reserved for the answer",
        window / 4
    );
    for (name, tokens) in largest.iter().take(5) {
        // Writing to a String does not fail.
        let _ = write!(message, ", {tokens} go to {name}");
    }
    // A quarter for the answer and a quarter for the conversation: then half is enough for the rest.
    let fixed: u64 = parts.iter().map(|(_, tokens)| tokens).sum();
    let least = (2 * fixed).next_multiple_of(256);
    let _ = write!(
        message,
        ". Raise model.context_window to {least} or more, or switch off tools with tools.disabled, which also takes out what the model \
         is told about them."
    );
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEED: BudgetConfig = BudgetConfig {
        context_window: 8192,
        max_output_tokens: 4096,
        reserve_output_tokens: 4096,
        dynamic_system: 12_000,
        compact_reserve: 8000,
        keep_recent: 16_000,
        max_summary: 2048,
    };

    fn fixed(tokens: u64) -> Vec<(String, u64)> {
        vec![("system.core".into(), tokens / 3), ("the tool schemas".into(), tokens - tokens / 3)]
    }

    /// CFG-8: the contract's own defaults give a working run.
    #[test]
    fn the_contracts_defaults_work() {
        let budgets = Budgets::derive(&SEED, &fixed(1500)).unwrap();
        assert_eq!(
            budgets,
            Budgets {
                window: 8192,
                fixed: 1500,
                output: 2048,
                output_bound: OutputBound { window: true, ..OutputBound::default() },
                dynamic: 1161,
                messages: 3483,
                compact_at: 2613,
                summary: 696,
                keep_recent: 1393,
                catalogs: 580,
            }
        );
    }

    /// CFG-8, CTX-7: whatever the provider counts, a request that fits the budgets fits the window beside its answer.
    #[test]
    fn the_whole_request_fits() {
        let budgets = Budgets::derive(&SEED, &fixed(1500)).unwrap();
        assert_eq!(budgets.calibrated(Calibration::of(0.7), 900), budgets);
        for ratio in [1.0, 1.2, 1.7, 2.5] {
            let calibration = Calibration::of(ratio);
            let shares = budgets.calibrated(calibration, 900);
            let whole = calibration.apply(budgets.fixed + 900) + shares.messages + shares.output;
            assert!(whole <= budgets.window, "{ratio}: {whole}");
            assert!(shares.summary + shares.keep_recent <= shares.compact_at && shares.compact_at <= shares.messages);
        }
    }

    /// CFG-8: a fixed part that is too big is an error that lists the largest parts.
    #[test]
    fn an_impossible_window_says_what_fills_it() {
        let error = Budgets::derive(&SEED, &fixed(5000)).unwrap_err().to_string();
        assert!(error.contains("3334 go to the tool schemas, 1666 go to system.core"), "{error}");
        assert!(error.contains("8192"), "{error}");
    }

    /// FND-72: the window that a refusal names is big enough, and nothing much smaller is.
    #[test]
    fn the_least_window_is_named() {
        for tokens in (300..20_000).step_by(77) {
            let of = |context_window| Budgets::derive(&BudgetConfig { context_window, ..SEED }, &fixed(tokens));
            let Err(error) = of(tokens) else { panic!("{tokens} fit into themselves") };
            let error = error.to_string();
            let named = error.split("to ").find_map(|rest| rest.split(" or more").next()?.parse::<u64>().ok()).unwrap();
            assert!(of(named).is_ok(), "{tokens}: {error}");
            assert!(tokens > 8_000 || of(named - 512).is_err(), "{tokens}: {error}");
        }
    }

    proptest! {
        /// CFG-8: over windows 2k–2M and arbitrary configurations: what a compaction leaves lies below what starts one,
        /// the answer's room never exceeds a quarter, and the parts never exceed the window.
        #[test]
        fn a_compaction_always_gets_below_its_trigger(
            context_window in 2_000_u64..2_000_000,
            max_output_tokens in 1_u64..200_000,
            reserve_output_tokens in 1_u64..200_000,
            dynamic_system in 0_u64..200_000,
            compact_reserve in 0_u64..200_000,
            keep_recent in 0_u64..200_000,
            max_summary in 0_u64..200_000,
            fixed_part in 0_u64..20_000,
        ) {
            let config = BudgetConfig {
                context_window, max_output_tokens, reserve_output_tokens, dynamic_system, compact_reserve, keep_recent,
                max_summary,
            };
            match Budgets::derive(&config, &fixed(fixed_part)) {
                Ok(b) => {
                    prop_assert!(b.output <= max_output_tokens && b.output <= context_window / 4);
                    prop_assert!(b.fixed + b.output + b.dynamic + b.messages == context_window);
                    prop_assert!(b.messages > 0);
                    prop_assert!(10 * (b.summary + b.keep_recent) <= 6 * b.messages + 10);
                    prop_assert!(4 * b.compact_at >= 3 * b.messages);
                    prop_assert!(b.summary + b.keep_recent <= b.compact_at);
                    prop_assert!(b.slide_to() < b.messages || b.messages < 2);
                }
                Err(_) => prop_assert!(fixed_part + context_window / 4 > context_window / 2),
            }
        }
    }
}
