//! Whether a request lets the model think.

use agent_protocol::{ModelMessage, ModelRequest, Object, ToolChoice};

use super::KEY;
use crate::reply::read_kept;

/// The API's least budget, in tokens.
pub(super) const LEAST_BUDGET: u64 = 1024;

/// A way to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thinking {
    Off,
    /// As much as the model finds right.
    Adaptive,
    /// Up to so many tokens.
    Budget(u64),
}

/// What a request says of thinking: what was asked for, unless the API would refuse it in this place. `budgets`: whether the
/// model takes any. `thoughtless`: the calls that are being answered were made without a thought before them, and with a
/// budget the API wants one.
pub(super) fn of_request(
    asked: Option<Thinking>,
    request: &ModelRequest,
    budgets: bool,
    thoughtless: impl FnOnce() -> bool,
) -> Option<Thinking> {
    let forced = matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Tool(_));
    match asked? {
        Thinking::Off => Some(Thinking::Off),
        _ if forced => None,
        Thinking::Adaptive => Some(Thinking::Adaptive),
        Thinking::Budget(_) if !budgets => Some(Thinking::Adaptive),
        Thinking::Budget(_) if thoughtless() => None,
        // The answer needs some of the limit, too.
        Thinking::Budget(budget) => {
            let budget = budget.min(request.max_output_tokens - request.max_output_tokens / 4);
            (budget >= LEAST_BUDGET).then_some(Thinking::Budget(budget))
        }
    }
}

/// Whether a message of the assistant begins with a thought. A server that signs none expects none.
pub(super) fn begins_with_thought(message: &ModelMessage, model: &str) -> bool {
    let kept = read_kept(message, KEY, model).unwrap_or_default();
    let sent = kept.iter().find(|(_, block)| may_be_sent(block));
    match sent {
        Some((before, block)) => *before == 0 && is_thought(block),
        None => kept.iter().any(|(_, block)| is_thought(block)),
    }
}

/// Whether a kept block may be sent: a thought without its signature is refused.
pub(super) fn may_be_sent(block: &Object) -> bool {
    let filled = |field: &str| block.get(field).and_then(|value| value.as_str()).is_some_and(|text| !text.is_empty());
    match block.get("type").and_then(|kind| kind.as_str()) {
        Some("thinking") => filled("signature"),
        Some("redacted_thinking") => filled("data"),
        _ => true,
    }
}

/// Whether a kept block is a thought.
pub(super) fn is_thought(block: &Object) -> bool {
    block.get("type").is_some_and(|kind| kind == "thinking" || kind == "redacted_thinking")
}
