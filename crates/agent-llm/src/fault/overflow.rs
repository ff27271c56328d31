//! Recognises "the prompt is too long" in any server's words. It drives recovery compaction, so both mistakes cost: a miss
//! ends the run, a false alarm throws conversation away.

use super::ServerWords;

/// Words that prove the opposite: throttling texts speak of too many tokens, too.
const VETO: [&str; 4] = ["rate limit", "too many requests", "throttlingexception", "quota"];

/// Codes and types that prove it.
const VETO_CODES: [&str; 6] = [
    "throttlingexception",
    "rate_limit_error",
    "rate_limit_exceeded",
    "resource_exhausted",
    "too_many_requests",
    "overloaded_error",
];

/// Statuses of servers that have too much to do.
const VETO_STATUSES: [u16; 3] = [429, 503, 529];

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
pub(super) fn is_overflow(words: &ServerWords, status: Option<u16>, fills_window: bool) -> bool {
    if CODES.iter().any(|code| words.says(code)) {
        return true;
    }
    let text = words.message.to_lowercase();
    let busy = status.is_some_and(|status| VETO_STATUSES.contains(&status));
    if busy || VETO_CODES.iter().any(|code| words.says(code)) || VETO.iter().any(|veto| text.contains(veto)) {
        return false;
    }
    words.param.as_deref().is_some_and(|param| param.contains("input_tokens"))
        || FRAGMENTS.iter().any(|fragment| text.contains(fragment))
        || (fills_window && text.contains(LOST_USER_MESSAGE))
        // Cerebras says nothing at all.
        || (fills_window && status == Some(400) && text.is_empty())
}

/// "Request too large … Limit 30000, Requested 41000": a rate limit that no waiting satisfies.
pub(super) fn can_never_fit(words: &ServerWords) -> bool {
    let text = words.message.to_lowercase();
    text.contains("request too large") && limit_and_requested(&text).is_some_and(|(asked, limit)| asked > limit)
}

/// Tokens asked for and the limit. The texts name them in either order, but the limit is always the smaller one.
pub(super) fn tokens(words: &ServerWords) -> Option<(u64, u64)> {
    if words.tokens.is_some() {
        return words.tokens;
    }
    let text = words.message.to_lowercase();
    if let Some(counts) = sum_over_limit(&text).or_else(|| limit_and_requested(&text)) {
        return Some(counts);
    }
    let mut numbers = integers(&text).filter(|n| *n >= 100);
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

/// "Limit 10000, Requested 15000", whatever numbers stand before it.
fn limit_and_requested(text: &str) -> Option<(u64, u64)> {
    let after = |word: &str| integers(text.split_once(word)?.1).next();
    Some((after("requested")?, after("limit ").or_else(|| after("limit: "))?))
}

/// Whole numbers in a text; `200,000` is one. Digits of a name, such as `gpt-4-0613` or `org-8fK39`, are none.
fn integers(text: &str) -> impl Iterator<Item = u64> + '_ {
    let part_of_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ',');
    text.split(move |c: char| !part_of_word(c)).filter_map(|word| {
        let number = word.trim_matches(',').strip_suffix("-token").unwrap_or(word.trim_matches(','));
        let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
        let digits: String = number.chars().filter(char::is_ascii_digit).collect();
        if plain { digits.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, overflow: bool, numbers: Option<(u64, u64)>) {
        let words = ServerWords::from_text(body);
        assert_eq!(is_overflow(&words, words.status, false), overflow, "{words:?}");
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

    /// PRV-10: every fragment is one that some server writes: each has a sample that holds it and no other.
    #[test]
    fn every_fragment_has_a_server() {
        const SAMPLES: [&str; 24] = [
            "The sum is 9 and input length and max_tokens exceed context limit",
            "Your input exceeds the context window of this model",
            "The prompt (9001) is longer than the maximum model length",
            "Context size has been exceeded.",
            "the request does not fit and context shift is disabled",
            "prompt too long; exceeded max context length by 12 tokens",
            "the input length exceeds the context length",
            "Trying to keep the first 9001 tokens when context the overflows.",
            "Input does not fit in context length",
            "Input exceeds the maximum allowed input length of 4096",
            "Please reduce the length of the messages or completion.",
            "The input (9001 tokens) is longer than the model's context length (8192 tokens).",
            "This model's maximum prompt length is 8192 but the request contains 9001 tokens.",
            "Input is too long for requested model.",
            "prompt token count of 9001 exceeds the limit of 8192",
            "Invalid request: Your request exceeded model token limit: 8192",
            "invalid params, context window exceeds limit",
            "context_length_exceeded",
            "context length exceeded",
            "it exceeds context length",
            "it exceeds the model's context",
            "it exceeds the model's maximum context",
            "more than the maximum context window, token limit exceeded",
            "too many tokens; model_context_window_exceeded",
        ];
        const OTHERS: [&str; 9] = [
            "prompt is too long: 208310 tokens > 200000 maximum",
            "This model's maximum context length is 8192 tokens.",
            "max_tokens must be at least 1, got -344",
            "exceeds the available context size (4096 tokens)",
            "longer than the context length currently available",
            "The number of tokens to keep from the initial prompt is greater than the context length",
            "exceeds the maximum number of tokens allowed",
            "too large for model with 32768 maximum context length",
            "this exceeds the context length",
        ];
        let samples: Vec<String> = SAMPLES.iter().chain(&OTHERS).map(|text| text.to_lowercase()).collect();
        for fragment in FRAGMENTS {
            assert!(samples.iter().any(|sample| sample.contains(fragment)), "{fragment}");
        }
        for sample in &samples {
            assert!(is_overflow(&ServerWords::from_text(sample), Some(400), false), "{sample}");
        }
    }

    /// PRV-10: throttling is not overflow, whatever it says about tokens, in whichever place it says so.
    #[test]
    fn throttling_is_not_overflow() {
        check("Rate limit reached: too many tokens per minute", false, None);
        check("Too many requests: Too many tokens, please wait", false, None);
        check("ThrottlingException: Too many tokens, please wait before trying again.", false, None);
        check(r#"{"__type":"ThrottlingException","message":"Too many tokens, please wait."}"#, false, None);
        check(r#"{"error":{"message":"TPM token limit exceeded","code":"rate_limit_exceeded"}}"#, false, None);
        check(r#"{"error":{"code":429,"message":"Too many tokens, slow down"}}"#, false, None);
        check("invalid tool call arguments", false, None);
        check("no user query found in messages", false, None);
        assert!(is_overflow(&ServerWords::from_text("no user query found in messages"), None, true));
        assert!(!is_overflow(&ServerWords::from_text("Too many tokens"), Some(429), false));
        check(r#"{"error":{"code":"context_length_exceeded","status":429,"message":"x"}}"#, true, None);
    }

    /// A refusal without a word is one of a prompt that seems to fill the window.
    #[test]
    fn no_words_at_all() {
        assert!(is_overflow(&ServerWords::default(), Some(400), true));
        assert!(!is_overflow(&ServerWords::default(), Some(400), false));
        assert!(!is_overflow(&ServerWords::default(), Some(500), true));
    }

    /// Names and ids hold digits that count nothing.
    #[test]
    fn numbers_of_names_are_none() {
        let text = "Request too large for gpt-4-0613 in organization org-8fK3921x on tokens per min (TPM): Limit 10000, Requested 15000.";
        let words = ServerWords::from_text(text);
        assert!(can_never_fit(&words));
        assert_eq!(tokens(&words), Some((15_000, 10_000)));
        let words = ServerWords::from_text("model-2024 has a 4096-token window; 5000 tokens were sent");
        assert_eq!(tokens(&words), Some((5000, 4096)));
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
