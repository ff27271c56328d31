//! What a run says that ends by itself without an answer.

use agent_protocol::{ErrorCode, ErrorPayload, StopReason};

use crate::budget::OutputBound;
use crate::compose::Overflow;

/// Where an answer was cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct OutputLimit {
    /// The limit of the request.
    pub(super) asked: u64,
    /// What it comes from.
    pub(super) bound: OutputBound,
    /// Tokens of the answer, as counted or estimated.
    pub(super) written: u64,
}

impl OutputLimit {
    /// Far below what was asked for, so that the limit is another one.
    fn is_the_servers(&self) -> bool {
        self.written < self.asked / 2
    }

    /// At which limit, and what to raise.
    fn words(&self) -> (String, String) {
        let Self { asked, bound, written } = self;
        if self.is_the_servers() {
            let at = format!("the server's own limit, after about {written} of the {asked} tokens that were asked for");
            return (at, "Raise the output limit or the context window of the server".to_owned());
        }
        let quarter = if bound.window { ", a quarter of the context window" } else { "" };
        (format!("the output limit of {asked} tokens{quarter}"), format!("Raise {}", bound.keys()))
    }
}

pub(super) fn max_turns(limit: u32) -> ErrorPayload {
    ErrorPayload::new(
        ErrorCode::Cancelled,
        format!(
            "the run took {limit} turns without finishing. Resume the session with a new message, or raise runtime.max_turns"
        ),
    )
    .detail("kind", "max_turns")
}

pub(super) fn prompt_too_long(overflow: Overflow, window: u64, said: Option<&ErrorPayload>) -> ErrorPayload {
    let error = ErrorPayload::new(
        ErrorCode::ProviderError,
        format!(
            "the message does not fit the model's context window: it takes about {} tokens, and a window of {window} has \
             room for {}. Send less text (put it into a file of the project), or raise model.context_window",
            overflow.needed, overflow.available
        ),
    )
    .detail("kind", "prompt_too_long")
    .detail("needed", overflow.needed)
    .detail("available", overflow.available);
    match said {
        Some(said) => error.detail("provider_said", said.message.as_str()),
        None => error,
    }
}

pub(super) fn smaller_than_said(window: u64, said: &ErrorPayload) -> ErrorPayload {
    ErrorPayload::new(
        ErrorCode::ProviderError,
        format!(
            "the server refuses the prompt as too long, although little more than the message is left of it. Its real context window \
             seems to be smaller than model.context_window = {window}: set that to what the server has"
        ),
    )
    .detail("kind", "prompt_too_long")
    .detail("provider_said", said.message.as_str())
}

pub(super) fn no_recovery(overflow: Overflow, window: u64) -> ErrorPayload {
    ErrorPayload::new(
        ErrorCode::ProviderError,
        format!(
            "the conversation does not fit the model's context window of {window} tokens any more (it takes about {}, and there is \
             room for {}), and the configuration forbids to summarise it in need. Set compact.recovery_sync = true, raise \
             model.context_window, or begin a new session",
            overflow.needed, overflow.available
        ),
    )
    .detail("kind", "prompt_too_long")
    .detail("needed", overflow.needed)
    .detail("available", overflow.available)
}

pub(super) fn no_room_for_summary(needed: u64, room: u64) -> ErrorPayload {
    ErrorPayload::new(
        ErrorCode::ProviderError,
        format!(
            "a request for a summary has room for {room} tokens of the conversation, and its oldest exchange takes {needed}. Give the \
             model that summarises (compact.model_profile) a larger context_window"
        ),
    )
    .detail("kind", "no_room")
    .detail("needed", needed)
    .detail("available", room)
}

pub(super) fn output_limit(limit: &OutputLimit) -> ErrorPayload {
    let (at, advice) = limit.words();
    ErrorPayload::new(ErrorCode::ProviderError, format!("the answer was cut at {at}, again and again. {advice}"))
        .detail("kind", "max_output_tokens_recovery")
}

pub(super) fn output_limit_in_call(limit: &OutputLimit) -> ErrorPayload {
    let (at, advice) = limit.words();
    ErrorPayload::new(
        ErrorCode::ProviderError,
        format!("the answer was cut while it wrote a tool call, at {at}, again and again. {advice}"),
    )
    .detail("kind", "max_output_tokens_recovery")
}

pub(super) fn filtered() -> ErrorPayload {
    ErrorPayload::new(
        ErrorCode::ProviderError,
        "the provider's content filter withheld the answer; say it in other words",
    )
    .detail("kind", "filtered")
}

pub(super) fn empty(stop: &StopReason) -> ErrorPayload {
    let said = stop.raw.as_deref().unwrap_or(stop.kind.as_str());
    ErrorPayload::new(
        ErrorCode::ProviderError,
        format!(
            "the model answered with neither text nor a tool call, twice (it stopped with \"{said}\"). \
             Try again, or use another model"
        ),
    )
    .detail("kind", "empty")
}

/// All of it was taken for thoughts, since what opened them was never closed.
pub(super) fn unclosed_thoughts() -> ErrorPayload {
    ErrorPayload::new(
        ErrorCode::ProviderError,
        "the model began with <think> and never ended it, twice, so that all it wrote counts as thinking and no answer is left. If its \
         answer is in there, set inline_thinking = false in the provider's table of model.provider_options",
    )
    .detail("kind", "empty")
}

pub(super) fn written_call(tool: &str, form: &str) -> ErrorPayload {
    ErrorPayload::new(
        ErrorCode::ProviderError,
        format!(
            "the model wrote its call of {tool} into the text of its answer ({form}) instead of making it, twice; nothing was run. \
             Use a model that is trained to call tools, or a server that parses its calls (with llama.cpp: --jinja; with vLLM: \
             --enable-auto-tool-choice and --tool-call-parser)"
        ),
    )
    .detail("kind", "written_call")
    .detail("tool", tool)
}

pub(super) fn only_thoughts(limit: &OutputLimit) -> ErrorPayload {
    let (at, advice) = limit.words();
    ErrorPayload::new(
        ErrorCode::ProviderError,
        format!(
            "the model was cut at {at}, while it was still thinking, twice, and answered nothing. {advice}, or let it think less \
             with the provider's options"
        ),
    )
    .detail("kind", "empty")
}

pub(super) fn prompt_cut(counted: u64, expected: u64) -> ErrorPayload {
    ErrorPayload::new(
        ErrorCode::ProviderError,
        format!(
            "the provider read {counted} tokens of a prompt of about {expected}: it has cut the conversation without saying so, \
             so its answer is not to all of it"
        ),
    )
    .detail("kind", "context_truncated")
    .detail("counted_tokens", counted)
    .detail("expected_tokens", expected)
}

pub(super) fn compaction_loop() -> ErrorPayload {
    ErrorPayload::new(
        ErrorCode::InternalError,
        "the run went round in circles: the conversation was summarised again and again, and in between the model only repeated \
         calls whose results it had seen. Ask for less at once, or raise model.context_window",
    )
    .detail("kind", "compaction_loop")
}

pub(super) fn tool_loop(tool: &str, times: usize) -> ErrorPayload {
    ErrorPayload::new(
        ErrorCode::InternalError,
        format!(
            "the model went round in circles: it called {tool} {times} times with the same arguments and the same result. \
             Say more precisely what you want, or use another model"
        ),
    )
    .detail("kind", "tool_loop")
    .detail("tool", tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cut answer names the keys that bound it, all of them, or the server where it stopped far below what was asked for.
    #[test]
    fn the_limit_that_bound_is_named() {
        let keys = ["model.max_output_tokens", "context.reserve_output_tokens", "model.context_window"];
        for bits in 1..8_u8 {
            let is = |bit: u8| bits & (1 << bit) != 0;
            let bound = OutputBound { max_output_tokens: is(0), reserve_output_tokens: is(1), window: is(2) };
            for written in [5, 1_900, 2_048, 4_000] {
                let limit = OutputLimit { asked: 2_048, bound, written };
                for error in [output_limit(&limit), output_limit_in_call(&limit), only_thoughts(&limit)] {
                    for (bit, key) in keys.iter().enumerate() {
                        let expected = written > 5 && is(bit as u8);
                        assert_eq!(error.message.contains(key), expected, "{written} {bound:?}: {}", error.message);
                    }
                    assert_eq!(error.message.contains("server"), written == 5, "{}", error.message);
                }
            }
        }
    }
}
