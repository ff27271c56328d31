//! Which checks there are. Another one is a function in a file of its kind, a line here, and a row in `tests/cases.rs`.

mod answers;
mod cache;
mod cancel;
mod history;
mod refusals;
mod results;
mod thinking;
mod tools;

use futures::FutureExt;

use super::check::Check;
#[cfg(test)]
pub(in crate::probe) use refusals::{NO_KEY, NO_MODEL};

/// A check, from its name, what it proves and an async function.
macro_rules! check {
    ($name:literal, $proves:literal, $run:path) => {
        Check { name: $name, proves: $proves, run: |target| $run(target).boxed() }
    };
}

/// All of them, what others build on first.
#[rustfmt::skip]
pub(crate) const CHECKS: &[Check] = &[
    check!("answer", "an answer streams in several deltas that join to it", answers::plain),
    check!("usage", "tokens of prompt and answer are counted", answers::usage),
    check!("stop-reason", "an answer that is done ends the turn", answers::stop_reason),
    check!("max-tokens", "an answer that is cut says so and keeps what had come", answers::max_tokens),
    check!("bare", "no system prompt and a single user message are enough", answers::bare),
    check!("unicode", "emoji, CJK and combining characters survive both ways", answers::unicode),
    check!("tool-call", "a tool is called with the arguments it wants", tools::auto),
    check!("tool-required", "a call can be forced", tools::required),
    check!("tool-named", "a call of one tool can be forced", tools::named),
    check!("tool-none", "calls can be forbidden while tools stay in the request", tools::none),
    check!("tool-result", "call, result and an answer that uses it", results::round_trip),
    check!("parallel-calls", "the model makes two calls in one turn and reads both results", tools::parallel),
    check!("parallel-results", "two calls and their results in one turn are accepted", results::two),
    check!("long-result", "a result of up to 30 KB is accepted and not cut", results::long),
    check!("odd-results", "results of nothing and of JSON are accepted", results::odd),
    check!("odd-history", "broken arguments, an illegal tool name, an orphan call and another's thinking are accepted", history::odd),
    check!("cancel", "a cancelled answer ends at once, its connection too, and the server goes on serving", cancel::mid_stream),
    check!("wrong-model", "an unknown model is told from other errors, in words one can read", refusals::wrong_model),
    check!("wrong-key", "a refused key is told from other errors and not repeated", refusals::wrong_key),
    check!("overflow", "a prompt beyond the window is recognised as one", refusals::overflow),
    check!("thinking", "what the model thinks comes as reasoning, not as text", thinking::apart),
    check!("prefix-cache", "a second request with the same beginning is cheaper (informational)", cache::prefix),
];
