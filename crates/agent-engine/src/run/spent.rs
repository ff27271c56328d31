//! What the requests of a run used, for its limits (DEC-18): the provider's counts, and estimates where it counts nothing.

use agent_protocol::{Reply, Usage};

use crate::tokens::TokenCounter;

/// Tokens so far.
#[derive(Debug, Default)]
pub(super) struct Spent {
    usage: Usage,
    is_estimate: bool,
}

impl Spent {
    /// A request came to this reply, or to the part of it that arrived. `prompt` is the estimate of the prompt.
    pub(super) fn add(&mut self, prompt: u64, reply: &Reply) {
        let mut used = reply.usage.clone();
        // Servers that count nothing leave the fields out, or say 0.
        let counted = |tokens: Option<u64>| tokens.filter(|tokens| *tokens > 0);
        let (input, output, total) =
            (counted(used.input_tokens), counted(used.output_tokens), counted(used.total_tokens));
        let written = TokenCounter.reply(reply);
        let output = output.or_else(|| total.zip(input).map(|(total, input)| total.saturating_sub(input)));
        let input = input.or_else(|| total.map(|total| total.saturating_sub(output.unwrap_or(written))));
        self.is_estimate |= input.is_none() || (output.is_none() && written > 0);
        let (input, output) = (input.unwrap_or(prompt), output.unwrap_or(written));
        used.input_tokens = Some(input);
        used.output_tokens = Some(output);
        used.total_tokens = Some(total.unwrap_or(0).max(input.saturating_add(output)));
        self.usage.add(&used);
    }

    pub(super) fn usage(&self) -> &Usage {
        &self.usage
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
        spent.add(100, &Reply { content, usage, stop: StopReason::new(StopKind::EndTurn), metadata: Object::new() });
        let sum = spent.usage();
        (sum.input_tokens.unwrap(), sum.output_tokens.unwrap(), sum.total_tokens.unwrap(), spent.is_estimate())
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
