//! What the requests of a run used, for its limits (DEC-18): the provider's counts, and estimates where it counts nothing
//! or what cannot be the count.

use agent_protocol::event::TreeUsage;
use agent_protocol::{Reply, Usage};

use super::prompt_counts::is_tiny;
use crate::price::Price;
use crate::tokens::TokenCounter;

/// Tokens so far, and what they cost.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    usage: Usage,
    /// Of the requests to models with a price.
    cost: Option<f64>,
    is_estimate: bool,
}

impl Spent {
    /// A request came to this reply, or to the part of it that arrived. `prompt` is the estimate of the prompt. `is_counted`: nothing
    /// else speaks against the server's count of it. `price` is that of the model that was asked.
    pub(crate) fn add(&mut self, prompt: u64, is_counted: bool, reply: &Reply, price: Option<&Price>) {
        let mut used = reply.usage.clone();
        // Servers that count nothing leave the fields out, or say 0.
        let counted = |tokens: Option<u64>| tokens.filter(|tokens| *tokens > 0);
        let (input, output, total) =
            (counted(used.input_tokens), counted(used.output_tokens), counted(used.total_tokens));
        let written = TokenCounter.reply(reply);
        let output = output.or_else(|| total.zip(input).map(|(total, input)| total.saturating_sub(input)));
        let input = input.or_else(|| total.map(|total| total.saturating_sub(output.unwrap_or(written))));
        // A server that says the same of each request would let a run go on for ever.
        let input = input.filter(|input| is_counted && !is_tiny(*input, prompt));
        let output = output.filter(|output| !is_tiny(*output, written));
        self.is_estimate |= input.is_none() || (output.is_none() && written > 0);
        let (input, output) = (input.unwrap_or(prompt), output.unwrap_or(written));
        used.input_tokens = Some(input);
        used.output_tokens = Some(output);
        used.total_tokens = Some(total.unwrap_or(0).max(input.saturating_add(output)));
        if let Some(price) = price {
            self.cost = Some(self.cost.unwrap_or(0.0) + price.of(&used));
        }
        self.usage.add(&used);
    }

    /// As a part of a tree's sum.
    pub(crate) fn told(&self) -> TreeUsage {
        TreeUsage { children: 0, usage: self.usage.clone(), cost: self.cost, is_estimate: self.is_estimate }
    }

    /// In the prices of the models that were asked; absent where none has one.
    pub(super) fn cost(&self) -> Option<f64> {
        self.cost
    }

    /// Whether any of it is our own estimate.
    pub(super) fn is_estimate(&self) -> bool {
        self.is_estimate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_protocol::{ContentBlock, Object, StopKind, StopReason};

    /// Input, output and total after one reply that takes about ten tokens, with these counts, to a prompt of about 100.
    fn spent(input: Option<u64>, output: Option<u64>, total: Option<u64>) -> (u64, u64, u64, bool) {
        let mut spent = Spent::default();
        let usage = Usage { input_tokens: input, output_tokens: output, total_tokens: total, ..Usage::default() };
        let content = vec![ContentBlock::text("x".repeat(24))];
        spent.add(
            100,
            true,
            &Reply { content, usage, stop: StopReason::new(StopKind::EndTurn), metadata: Object::new() },
            None,
        );
        let sum = spent.told().usage;
        (sum.input_tokens.unwrap(), sum.output_tokens.unwrap(), sum.total_tokens.unwrap(), spent.is_estimate())
    }

    /// DEC-226: a count that is tiny beside the estimate, or that something speaks against, is none.
    #[test]
    fn what_cannot_be_the_count_is_estimated() {
        let reply = |input, output, total| Reply {
            content: vec![ContentBlock::text("x".repeat(2_000))],
            usage: Usage { input_tokens: input, output_tokens: output, total_tokens: total, ..Usage::default() },
            stop: StopReason::new(StopKind::EndTurn),
            metadata: Object::new(),
        };
        for (is_counted, counts, expected) in [
            (true, (Some(42), Some(1), None), (8_000, 504, 8_504, true)),
            (true, (Some(42), Some(1), Some(43)), (8_000, 504, 8_504, true)),
            (true, (None, None, Some(43)), (8_000, 504, 8_504, true)),
            (true, (Some(5_000), Some(1), None), (5_000, 504, 5_504, true)),
            (true, (Some(42), Some(900), None), (8_000, 900, 8_900, true)),
            (true, (Some(5_000), Some(400), None), (5_000, 400, 5_400, false)),
            (true, (Some(30_000), Some(4_000), None), (30_000, 4_000, 34_000, false)),
            (false, (Some(5_000), Some(400), None), (8_000, 400, 8_400, true)),
        ] {
            let mut spent = Spent::default();
            spent.add(8_000, is_counted, &reply(counts.0, counts.1, counts.2), None);
            let sum = spent.told().usage;
            let found = (sum.input_tokens.unwrap(), sum.output_tokens.unwrap(), sum.total_tokens.unwrap());
            let (input, output, total, is_estimate) = expected;
            assert_eq!((found, spent.is_estimate()), ((input, output, total), is_estimate), "{is_counted} {counts:?}");
        }
    }

    /// FND-44: each count that is missing, or 0, is estimated, and only those.
    #[test]
    fn what_is_not_counted_is_estimated() {
        let none = [None, Some(0)];
        for input in [None, Some(0), Some(80)] {
            for output in [None, Some(0), Some(7)] {
                for total in [None, Some(0), Some(90)] {
                    let (counted_in, counted_out) = (!none.contains(&input), !none.contains(&output));
                    let expected = match (counted_in, counted_out, !none.contains(&total)) {
                        (true, true, true) => (80, 7, 90, false),
                        (true, true, false) => (80, 7, 87, false),
                        (true, false, true) => (80, 10, 90, false),
                        (true, false, false) => (80, 10, 90, true),
                        (false, true, true) => (83, 7, 90, false),
                        (false, true, false) => (100, 7, 107, true),
                        (false, false, true) => (80, 10, 90, true),
                        (false, false, false) => (100, 10, 110, true),
                    };
                    assert_eq!(spent(input, output, total), expected, "{input:?} {output:?} {total:?}");
                }
            }
        }
    }
}
