//! Recognises "the prompt is too long" in any server's words. It drives recovery compaction, so both mistakes cost: a miss
//! ends the run, a false alarm throws conversation away.

use super::ServerWords;

/// Words that prove the opposite: throttling texts speak of too many tokens, too.
const VETO: [&str; 3] = ["rate limit", "too many requests", "throttlingexception"];

/// Codes and types that say it outright.
const CODES: [&str; 4] =
    ["context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded", "request_too_large"];

/// Fragments of texts, lower case. The servers they were seen from stand beside them.
const FRAGMENTS: [&str; 36] = [
    "prompt is too long",                                                 // Anthropic
    "exceed context limit",                                               // Anthropic
    "maximum context length is",                                          // OpenAI, Azure, DeepSeek, vLLM, OpenRouter
    "exceeds the context window",                                         // OpenAI
    "max_tokens must be at least 1, got -",                               // vLLM, with no room left for a reply
    "longer than the maximum model length",                               // vLLM
    "exceeds the available context size",                                 // llama.cpp
    "context size has been exceeded",                                     // llama.cpp, LM Studio
    "context shift is disabled",                                          // llama.cpp
    "longer than the context length currently available",                 // Ollama
    "prompt too long; exceeded",                                          // Ollama
    "input length exceeds the context length",                            // Ollama
    "tokens to keep from the initial prompt is greater than the context", // LM Studio
    "tokens when context the overflows",                                  // LM Studio
    "input does not fit in context length",                               // LM Studio
    "exceeds the maximum allowed input length",                           // OpenRouter
    "exceeds the maximum number of tokens allowed",                       // Gemini
    "reduce the length of the messages or completion",                    // Groq
    "too large for model with",                                           // Mistral
    "longer than the model's context length",                             // Together
    "maximum prompt length is",                                           // xAI
    "input is too long for requested model",                              // Bedrock
    "prompt token count of",                                              // Copilot: "… exceeds the limit of"
    "exceeded model token limit",                                         // Kimi
    "context window exceeds limit",                                       // MiniMax
    "context_length_exceeded",
    "context length exceeded",
    "exceeds the context length",
    "exceeds context length",
    "exceeds the model's context",
    "exceeds the model's maximum context",
    "maximum context window",
    "token limit exceeded",
    "too many tokens",
    "model_context_window_exceeded",
    "context window of this model",
];

/// Ollama's template has lost the user's message to front truncation. Means this only if the prompt was long.
const LOST_USER_MESSAGE: &str = "no user query found in messages";

/// Whether the server says that the prompt is too long. `fills_window` is our own estimate.
pub(super) fn is_overflow(words: &ServerWords, fills_window: bool) -> bool {
    if CODES.iter().any(|code| words.says(code)) {
        return true;
    }
    let text = words.message.to_lowercase();
    if VETO.iter().any(|veto| text.contains(veto)) {
        return false;
    }
    words.param.as_deref().is_some_and(|param| param.contains("input_tokens"))
        || FRAGMENTS.iter().any(|fragment| text.contains(fragment))
        || (fills_window && text.contains(LOST_USER_MESSAGE))
}

/// "Request too large … Limit 30000, Requested 41000": a rate limit that no waiting satisfies.
pub(super) fn can_never_fit(words: &ServerWords) -> bool {
    let text = words.message.to_lowercase();
    let after = |word: &str| text.find(word).and_then(|at| integers(&text[at + word.len()..]).next());
    text.contains("request too large")
        && matches!((after("limit"), after("requested")), (Some(limit), Some(asked)) if asked > limit)
}

/// Tokens asked for and the limit. The texts name them in either order, but the limit is always the smaller one.
pub(super) fn tokens(words: &ServerWords) -> Option<(u64, u64)> {
    if words.tokens.is_some() {
        return words.tokens;
    }
    if let Some(counts) = sum_over_limit(&words.message) {
        return Some(counts);
    }
    let mut numbers = integers(&words.message).filter(|n| *n >= 100);
    let (first, second) = (numbers.next()?, numbers.next()?);
    (first != second).then_some((first.max(second), first.min(second)))
}

/// "190000 + 20000 > 200000": prompt and answer together, and the window.
fn sum_over_limit(text: &str) -> Option<(u64, u64)> {
    let (asked, limit) = text.split_once('>')?;
    let (input, output) = asked.rsplit_once('+')?;
    let (input, output) = (integers(input).last()?, integers(output).next()?);
    Some((input.checked_add(output)?, integers(limit).next()?))
}

/// Whole numbers in a text; `200,000` is one.
fn integers(text: &str) -> impl Iterator<Item = u64> + '_ {
    text.split(|c: char| !c.is_ascii_digit() && c != ',').filter_map(|run| {
        let digits: String = run.chars().filter(char::is_ascii_digit).collect();
        digits.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, overflow: bool, numbers: Option<(u64, u64)>) {
        let words = ServerWords::from_text(body);
        assert_eq!(is_overflow(&words, false), overflow, "{words:?}");
        if overflow {
            assert_eq!(tokens(&words), numbers, "{words:?}");
        }
    }

    /// PRV-10: the servers' texts that mean "context too long", with the numbers they hold.
    #[test]
    fn overflow_is_recognised() {
        check("prompt is too long: 208310 tokens > 200000 maximum", true, Some((208_310, 200_000)));
        check(
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            true,
            Some((210_000, 200_000)),
        );
        check(
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.","code":"context_length_exceeded"}}"#,
            true,
            Some((9001, 8192)),
        );
        check(
            r#"{"error":"{\"error\":{\"code\":400,\"message\":\"request (9001 tokens) exceeds the available context size (4096 tokens)\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":9001,\"n_ctx\":4096}}"}"#,
            true,
            Some((9001, 4096)),
        );
        check("max_tokens must be at least 1, got -344", true, None);
        check("the prompt is longer than the context length currently available to the model", true, None);
        check(
            "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5000>= n_ctx: 4096)",
            true,
            Some((5000, 4096)),
        );
        check(
            "input token count (40,000) exceeds the maximum number of tokens allowed (32,768)",
            true,
            Some((40_000, 32_768)),
        );
        check(
            "Prompt contains 40000 tokens … too large for model with 32768 maximum context length",
            true,
            Some((40_000, 32_768)),
        );
        check(r#"{"object":"error","message":"bad","param":"input_tokens","code":400}"#, true, None);
        check(
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            true,
            None,
        );
    }

    /// PRV-10: throttling is not overflow, whatever it says about tokens.
    #[test]
    fn throttling_is_not_overflow() {
        check("Rate limit reached: too many tokens per minute", false, None);
        check("Too many requests: Too many tokens, please wait", false, None);
        check("ThrottlingException: Too many tokens, please wait before trying again.", false, None);
        check("invalid tool call arguments", false, None);
        check("no user query found in messages", false, None);
        assert!(is_overflow(&ServerWords::from_text("no user query found in messages"), true));
    }

    #[test]
    fn a_request_over_its_rate_limit_can_never_fit() {
        let text = |asked| {
            ServerWords::from_text(&format!("Request too large for gpt-x on TPM: Limit 30000, Requested {asked}."))
        };
        assert!(can_never_fit(&text(41_000)));
        assert!(!can_never_fit(&text(20_000)));
    }
}
