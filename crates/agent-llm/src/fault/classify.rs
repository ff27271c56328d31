//! From a server's words and status to a [`RefusalKind`]. A table, read from top to bottom; the first row that fits wins.

use super::{RefusalKind, ServerWords, overflow};

/// What we know besides the server's words.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Circumstances {
    /// The HTTP status; none for an error inside a reply, where the status was 200 and says nothing.
    pub(crate) status: Option<u16>,
    /// Whether the prompt seems to fill the model's window, by our own estimate.
    pub(crate) fills_window: bool,
}

/// One row of the table: any of these statuses, words (codes or types) or text fragments (lower case) gives the kind.
struct Row {
    kind: RefusalKind,
    statuses: &'static [u16],
    words: &'static [&'static str],
    fragments: &'static [&'static str],
}

const fn row(
    kind: RefusalKind,
    statuses: &'static [u16],
    words: &'static [&'static str],
    fragments: &'static [&'static str],
) -> Row {
    Row { kind, statuses, words, fragments }
}

/// Gateways mix the vocabularies of OpenAI, Anthropic and Google, so each row knows all of them.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    row(RefusalKind::Unsupported, &[501],
        &["not_supported_error", "unsupported_parameter", "unsupported_value", "extra_forbidden"],
        &["does not support tools", "does not support thinking", "does not support vision", "does not support chat",
          "does not support function", "does not support tool", "support tool use", "tool use is not supported",
          "tools are not supported", "tool calling is not supported", "function calling is not supported",
          "image input is not supported", "enable-auto-tool-choice", "requires --jinja", "unknown name \"",
          "thinking.type.enabled", "does not support assistant message prefill",
          "prefill is incompatible with enable_thinking"]),
    row(RefusalKind::Auth, &[401],
        &["authentication_error", "invalid_api_key", "invalid_authentication", "unauthenticated"],
        &["api key not valid", "incorrect api key", "invalid api key"]),
    row(RefusalKind::Blocked, &[],
        &["moderation_error"],
        &["moderation", "guardrail", "flagged", "cloud is disabled"]),
    row(RefusalKind::Filtered, &[],
        &["content_filter", "content_policy_violation", "responsibleaipolicyviolation"],
        &["content management policy"]),
    row(RefusalKind::Auth, &[403], &["permission_error", "permission_denied"], &[]),
    row(RefusalKind::Quota, &[],
        &["insufficient_quota", "enforced_spend_limit_reached"],
        &["exceeded your current quota"]),
    row(RefusalKind::Billing, &[402],
        &["billing_error", "insufficient_balance"],
        &["insufficient balance", "insufficient credits", "specified api usage limits"]),
    row(RefusalKind::RateLimited, &[429, 498],
        &["rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "throttlingexception", "too_many_requests"],
        &["maximum pending requests exceeded", "rate limit reached", "too many requests"]),
    row(RefusalKind::Loading, &[], &["unavailable_error"], &["loading model", "model is loading"]),
    row(RefusalKind::Overloaded, &[529], &["overloaded_error", "insufficient_system_resource"], &["overloaded"]),
    row(RefusalKind::Timeout, &[408, 425, 504, 522, 524], &["timeout_error", "deadline_exceeded"], &[]),
    row(RefusalKind::BadGeneration, &[],
        &["tool_use_failed"],
        &["error parsing tool call", "invalid tool call arguments", "malformed function call", "malformed_function_call"]),
    row(RefusalKind::Runner, &[],
        &[],
        &["model runner has unexpectedly stopped", "llama-server process has terminated", "out of memory",
          "llama runner process", "requires more system memory"]),
    row(RefusalKind::ModelNotFound, &[],
        &["model_not_found", "deploymentnotfound"],
        &["try pulling it first", "model not found", "no such model", "is not a valid model id",
          "no endpoints found for"]),
    row(RefusalKind::EndpointNotFound, &[],
        &[],
        &["unexpected endpoint or method", "unknown request url", "invalid url (post"]),
    row(RefusalKind::Server, &[],
        &["api_error", "server_error", "internal_server_error", "internalservererror", "internal_error"],
        &[]),
    row(RefusalKind::InvalidRequest, &[400, 422],
        &["invalid_request_error", "badrequesterror", "invalid_argument"],
        &["\" must be of type"]),
];

impl Row {
    fn fits(&self, words: &ServerWords, status: Option<u16>, text: &str) -> bool {
        status.is_some_and(|status| self.statuses.contains(&status))
            || self.words.iter().any(|word| words.says(word))
            || self.fragments.iter().any(|fragment| text.contains(fragment))
    }
}

/// What the server means.
pub(crate) fn classify(words: &ServerWords, around: Circumstances) -> RefusalKind {
    let status = around.status.or(words.status);
    if status == Some(413)
        || overflow::is_overflow(words, status, around.fills_window)
        || overflow::can_never_fit(words)
    {
        return RefusalKind::ContextTooLong;
    }
    let text = words.message.to_lowercase();
    if let Some(row) = TABLE.iter().find(|row| row.fits(words, status, &text)) {
        return row.kind;
    }
    match status {
        // Ollama and others quote the model's name inside the sentence.
        Some(404) if text.contains("model") || words.says("not_found_error") => RefusalKind::ModelNotFound,
        Some(404 | 405) => RefusalKind::EndpointNotFound,
        Some(400..500) => RefusalKind::InvalidRequest,
        Some(_) => RefusalKind::Server,
        None => RefusalKind::Unknown,
    }
}

/// Tokens asked for and the limit, for a refusal of this kind.
pub(crate) fn tokens(words: &ServerWords, kind: RefusalKind) -> Option<(u64, u64)> {
    (kind == RefusalKind::ContextTooLong).then(|| overflow::tokens(words)).flatten()
}

#[cfg(test)]
mod tests;
