//! What a run counts.

use crate::numbers::{JobNo, RequestNo};

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) turns: u32,
    pub(super) nodes: u64,
    pub(super) calls: u64,
    pub(super) request: RequestNo,
    /// Tokens of that request's prompt, as estimated.
    pub(super) estimated: u64,
    pub(super) job: JobNo,
    /// In a row.
    pub(super) continuations: u32,
    pub(super) empty_replies: u32,
    pub(super) written_calls: u32,
    /// Answers that were not as the task wants them, in the whole run.
    pub(super) off_answers: u32,
    pub(super) model_retries: u32,
    pub(super) overflows: u32,
    pub(super) recoveries: u32,
}
