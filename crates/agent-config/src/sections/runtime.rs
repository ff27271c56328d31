//! `[runtime]`

use crate::schema::{count, millis, number, real, section};

section! {
    /// `[runtime]`: what bounds a run as a whole.
    pub struct RuntimeConfig {
        /// How long `cancel()` waits for running calls to end before it returns; the clean-up goes on behind it.
        cancel_timeout_ms: u64 = 10_000, millis(1);
        /// Model turns of one run before it ends as `max_turns`. The backstop against loops that nothing else notices.
        max_turns: u32 = 100, number(1, 100_000);
        /// What one run may cost, together with all child agents below it, in the currency of `model.price`, before they end. It is
        /// looked at before each request, so that each agent at work may pass it by one. Not set: no limit. Needs `model.price`,
        /// since nothing can be counted without it.
        max_cost: Option<f64> = None, real(0.000_001, 1_000_000.0);
        /// Tokens, read and written, that one run may use, together with all child agents below it, before they end; looked at before
        /// each request, and estimated where the server counts nothing. Not set: no limit.
        max_tokens: Option<u64> = None, count(1, 1_000_000_000_000, "tokens");
    }
}
