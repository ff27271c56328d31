use std::time::Duration;

use super::*;
use crate::Waiting;

fn refusal(kind: RefusalKind, status: Option<u16>) -> Refusal {
    Refusal {
        provider: "openai".into(),
        model: "m".into(),
        url: "http://h/v1".into(),
        status,
        kind,
        words: "the server's words".into(),
        redacted: false,
        hint: None,
        retry_after: None,
        should_retry: None,
        tokens: None,
        server_code: None,
        param: None,
        request_id: None,
    }
}

#[track_caller]
fn check(kind: RefusalKind, code: ErrorCode, fault: ModelFault) {
    let error = ProviderError::Refusal(Box::new(refusal(kind, Some(418))));
    let payload = error.payload();
    assert_eq!((payload.code, error.fault()), (code, fault));
    assert_eq!(payload.retryable, fault == ModelFault::Retryable);
    assert!(payload.message.contains("the server's words"), "{}", payload.message);
}

/// PRV-10: which code each kind of refusal has, and whether the loop may ask again.
#[test]
fn codes_of_refusals() {
    use ErrorCode::{
        ProviderAuthFailed, ProviderError as Failed, ProviderRateLimited, ProviderTimeout, UnsupportedCapability,
    };
    use ModelFault::{Fatal, Overflow, Retryable};
    check(RefusalKind::ContextTooLong, Failed, Overflow);
    check(RefusalKind::Auth, ProviderAuthFailed, Fatal);
    check(RefusalKind::Blocked, Failed, Fatal);
    check(RefusalKind::Billing, Failed, Fatal);
    check(RefusalKind::Quota, ProviderRateLimited, Fatal);
    check(RefusalKind::RateLimited, ProviderRateLimited, Retryable);
    check(RefusalKind::Overloaded, Failed, Retryable);
    check(RefusalKind::Timeout, ProviderTimeout, Retryable);
    check(RefusalKind::Unsupported, UnsupportedCapability, Fatal);
    check(RefusalKind::ModelNotFound, Failed, Fatal);
    check(RefusalKind::EndpointNotFound, Failed, Fatal);
    check(RefusalKind::Filtered, Failed, Fatal);
    check(RefusalKind::BadGeneration, Failed, Retryable);
    check(RefusalKind::Loading, Failed, Retryable);
    check(RefusalKind::Runner, Failed, Retryable);
    check(RefusalKind::InvalidRequest, Failed, Fatal);
    check(RefusalKind::Server, Failed, Retryable);
    check(RefusalKind::Unknown, Failed, Retryable);
}

/// PRV-8: the server's opinion counts where asking again is thinkable, and a price with a time is a matter of waiting.
#[test]
fn opinions_of_servers() {
    let again = |kind, status, should_retry| {
        let refusal = Refusal { should_retry, ..refusal(kind, Some(status)) };
        ProviderError::Refusal(Box::new(refusal)).verdict().again
    };
    assert_eq!(again(RefusalKind::Server, 500, Some(false)), Again::Never);
    assert_eq!(again(RefusalKind::InvalidRequest, 409, Some(true)), OFTEN);
    assert_eq!(again(RefusalKind::InvalidRequest, 400, Some(true)), Again::Never);
    assert_eq!(again(RefusalKind::Auth, 401, Some(true)), Again::Never);
    assert_eq!(again(RefusalKind::ContextTooLong, 500, Some(true)), Again::Shorter);
    let paid = Refusal { retry_after: Some(Duration::from_secs(3)), ..refusal(RefusalKind::Billing, Some(402)) };
    assert_eq!(ProviderError::Refusal(Box::new(paid)).verdict().again, OFTEN);
}

/// ERR-2: facts for programs stand in the details.
#[test]
fn details_of_a_refusal() {
    let full = Refusal {
        tokens: Some((9001, 4096)),
        retry_after: Some(Duration::from_millis(1500)),
        request_id: Some("req_1".into()),
        param: Some("tools".into()),
        server_code: Some("context_length_exceeded".into()),
        hint: Some("Shorten it.".into()),
        redacted: true,
        ..refusal(RefusalKind::ContextTooLong, Some(400))
    };
    let payload = ProviderError::Refusal(Box::new(full)).payload();
    assert_eq!(payload.message, "the prompt is too long for m at openai (HTTP 400): the server's words. Shorten it.");
    assert!(payload.redacted);
    assert_eq!(
        serde_json::Value::Object(payload.details),
        serde_json::json!({
            "kind": "context_too_long", "provider": "openai", "model": "m", "url": "http://h/v1", "status": 400,
            "requested_tokens": 9001, "limit_tokens": 4096, "retry_after_ms": 1500, "request_id": "req_1",
            "param": "tools", "server_code": "context_length_exceeded",
        })
    );
}

/// The message holds the causes once, from the outside in.
#[test]
fn messages_hold_their_causes() {
    let source = rustls::Error::General("no luck".into()).into();
    let error = ProviderError::Tls { provider: "openai".into(), source };
    assert_eq!(error.payload().message, "could not set up TLS for openai: unexpected error: no luck");
    let error = ProviderError::TimedOut {
        provider: "ollama".into(),
        url: "http://h".into(),
        waiting: Waiting::MoreBytes,
        limit: Duration::from_millis(1500),
    };
    assert_eq!(error.payload().message, "ollama at http://h sent no more of its reply within 1.5 s");
}
