//! What only a conversation with Anthropic's API shows.

use agent_llm::KeySource;
use agent_protocol::{ErrorCode, ModelEvent, ModelFault, ModelRequest, StopKind};
use agent_testkit::{MODEL, Protocol, Reply, ScriptedServer, Stop};
use serde_json::json;

use crate::ask::{adapter, build, completed, events, failed, request, settings};
use crate::raw::{Answer, RawServer, begun, chunked, whole};

const START: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"claude-x\",\
                     \"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n";
const HI: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\
                  \"text_delta\",\"text\":\"Hi\"}}\n\n";
const DONE: &str = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\
                    \"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
const OVERLOADED: &str = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\
                          \"Overloaded\"}}\n\n";

fn scripted() -> ModelRequest {
    ModelRequest { model: MODEL.to_owned(), ..request() }
}

/// The kinds of the failures after which the adapter asked again.
fn retries(events: &[ModelEvent]) -> Vec<&serde_json::Value> {
    events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::Retry { error, .. } => error.details.get("kind"),
            _ => None,
        })
        .collect()
}

/// The head of a request: the version, the key in its own header, or as a bearer token where a gateway wants one.
#[tokio::test]
async fn the_head_of_a_request() {
    let answer = || Answer::Keep(chunked(&[START, HI, DONE].concat()));
    let server = RawServer::start([answer(), answer()]).await;
    let mut settings = settings(&format!("{}/v1", server.url()));
    settings.api_key = Some(KeySource::new("K", "w", "n", || Some("sk-ant-1".to_owned())));
    completed(&events(&*build("anthropic", settings.clone()), request()).await);
    settings.provider_options.insert("key_header".into(), "authorization".into());
    settings.provider_options.insert("betas".into(), json!(["a", "b"]));
    completed(&events(&*build("anthropic", settings), request()).await);
    let heads: Vec<String> = server.requests().iter().map(|request| request.to_lowercase()).collect();
    for head in &heads {
        for line in ["post /v1/messages http/1.1", "anthropic-version: 2023-06-01", "accept: text/event-stream"] {
            assert!(head.contains(line), "{line}: {head}");
        }
    }
    assert!(heads[0].contains("x-api-key: sk-ant-1") && !heads[0].contains("authorization"), "{}", heads[0]);
    assert!(heads[1].contains("authorization: bearer sk-ant-1") && !heads[1].contains("x-api-key"), "{}", heads[1]);
    assert!(heads[1].contains("anthropic-beta: a,b"), "{}", heads[1]);
}

/// PRV-7, PRV-8: an overloaded server is asked again while nothing of the reply has come, whether it says so with a status or
/// inside a stream that it has begun; after that only the loop may.
#[tokio::test]
async fn overloaded() {
    let status = whole(529, "", OVERLOADED.split_once("data: ").unwrap().1.as_bytes());
    for first in [status, chunked(OVERLOADED), chunked(&[START, OVERLOADED].concat())] {
        let server = RawServer::start([Answer::Keep(first), Answer::Keep(chunked(&[START, HI, DONE].concat()))]).await;
        let all = events(&*adapter("anthropic", &server.url()), request()).await;
        assert_eq!(retries(&all), ["overloaded"]);
        assert_eq!(completed(&all).0.text(), "Hi");
    }
    for begun in [
        HI,
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":\
                      {\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n",
    ] {
        let server = RawServer::start([Answer::Keep(chunked(&[START, begun, OVERLOADED].concat()))]).await;
        let all = events(&*adapter("anthropic", &server.url()), request()).await;
        let (fault, error, partial) = failed(&all);
        assert_eq!(
            (fault, error.code, retries(&all)),
            (ModelFault::Retryable, ErrorCode::ProviderError, Vec::<&serde_json::Value>::new())
        );
        assert!(error.message.ends_with("broke off its reply for gemma4: Overloaded"), "{}", error.message);
        assert_eq!(partial.unwrap().stop.kind, StopKind::Error);
        assert_eq!(server.requests().len(), 1);
    }
}

/// PRV-8, PRV-10: what the API's errors mean, as it words them.
#[tokio::test]
async fn errors_of_the_api() {
    let says =
        |kind: &str, message: &str| json!({"type": "error", "error": {"type": kind, "message": message}}).to_string();
    let invalid = |message: &str| says("invalid_request_error", message);
    let spend = json!({"type": "error", "error": {"type": "rate_limit_error", "message": "Spend limit reached",
                       "details": {"error_code": "enforced_spend_limit_reached"}}})
    .to_string();
    let (fatal, overflow) = (ModelFault::Fatal, ModelFault::Overflow);
    for (status, body, fault, code, kind, asked) in [
        (400, invalid("messages.1: odd"), fatal, ErrorCode::ProviderError, "invalid_request", 1),
        (
            400,
            invalid("max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens"),
            fatal,
            ErrorCode::ProviderError,
            "invalid_request",
            1,
        ),
        (
            400,
            invalid("prompt is too long: 208310 tokens > 200000 maximum"),
            overflow,
            ErrorCode::ProviderError,
            "context_too_long",
            1,
        ),
        (
            400,
            invalid("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
            overflow,
            ErrorCode::ProviderError,
            "context_too_long",
            1,
        ),
        (
            400,
            invalid("You have reached your specified API usage limits."),
            fatal,
            ErrorCode::ProviderError,
            "billing",
            1,
        ),
        (
            400,
            invalid("This model does not support assistant message prefill."),
            fatal,
            ErrorCode::UnsupportedCapability,
            "unsupported",
            1,
        ),
        (401, says("authentication_error", "invalid x-api-key"), fatal, ErrorCode::ProviderAuthFailed, "auth", 1),
        (402, says("billing_error", "no credit"), fatal, ErrorCode::ProviderError, "billing", 1),
        (403, says("permission_error", "no access"), fatal, ErrorCode::ProviderAuthFailed, "auth", 1),
        (404, says("not_found_error", "model: gemma4"), fatal, ErrorCode::ProviderError, "model_not_found", 2),
        (413, "<html>too large</html>".to_owned(), overflow, ErrorCode::ProviderError, "context_too_long", 1),
        (
            413,
            says("request_too_large", "Request exceeds the maximum size"),
            overflow,
            ErrorCode::ProviderError,
            "context_too_long",
            1,
        ),
        (429, says("rate_limit_error", "slow down"), fatal, ErrorCode::ProviderRateLimited, "rate_limited", 3),
        (429, spend, fatal, ErrorCode::ProviderRateLimited, "quota", 1),
        (500, says("api_error", "Internal server error"), fatal, ErrorCode::ProviderError, "server", 3),
        (504, says("timeout_error", "timed out"), fatal, ErrorCode::ProviderTimeout, "timeout", 3),
        (529, says("overloaded_error", "Overloaded"), fatal, ErrorCode::ProviderError, "overloaded", 3),
    ] {
        let server = RawServer::start((0..4).map(|_| Answer::Keep(whole(status, "", body.as_bytes())))).await;
        let all = events(&*adapter("anthropic", &server.url()), request()).await;
        let (said, error, _) = failed(&all);
        assert_eq!((said, error.code, error.details["kind"].as_str()), (fault, code, Some(kind)), "{body}");
        assert_eq!(server.requests().len(), asked, "{body}");
    }
}

/// PRV-10: both numbers of a refused prompt are read where the answer's room is part of it.
#[tokio::test]
async fn counts_of_an_overflow() {
    let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"}}"#;
    let server = RawServer::start([Answer::Keep(whole(400, "request-id: req_1\r\n", body.as_bytes()))]).await;
    let all = events(&*adapter("anthropic", &server.url()), request()).await;
    let details = &failed(&all).1.details;
    assert_eq!((&details["requested_tokens"], &details["limit_tokens"]), (&json!(210_000), &json!(200_000)));
    assert_eq!(details["request_id"], "req_1");
}

/// PRV-19: a model that is not there says what is.
#[tokio::test]
async fn a_model_that_is_not_there() {
    let refused = r#"{"type":"error","error":{"type":"not_found_error","message":"model: gemma4"}}"#;
    let list = r#"{"data":[{"type":"model","id":"claude-a","display_name":"A"},{"type":"model","id":"claude-b"}],"has_more":false}"#;
    let json = "Content-Type: application/json\r\n";
    for base in ["", "/v1"] {
        let server = RawServer::start([
            Answer::Keep(whole(404, json, refused.as_bytes())),
            Answer::Keep(whole(200, json, list.as_bytes())),
        ])
        .await;
        let all = events(&*adapter("anthropic", &format!("{}{base}", server.url())), request()).await;
        let message = &failed(&all).1.message;
        assert!(
            message.ends_with("has no model gemma4 (HTTP 404): model: gemma4. The server has claude-a, claude-b."),
            "{message}"
        );
        assert!(server.requests()[1].starts_with("GET /v1/models "));
    }
}

/// PRV-18: a server that echoes the key tells nobody.
#[tokio::test]
async fn keys_do_not_come_back() {
    const KEY: &str = "sk-ant-very-secret/123";
    fn key(request: &str) -> String {
        request.lines().find(|line| line.to_lowercase().starts_with("x-api-key:")).unwrap_or_default().to_owned()
    }
    let echoes: [fn(&str) -> Vec<u8>; 4] = [
        |request| whole(401, "", format!("{{\"error\":{{\"message\":\"bad {}\"}}}}", key(request)).as_bytes()),
        |request| chunked(&format!("event: error\ndata: {{\"error\":{{\"message\":\"{}\"}}}}\n\n", key(request))),
        |request| chunked(&format!("event: message_start\ndata: {{\"message\":\"{}\"}}\n\n", key(request))),
        |request| begun(&format!("data: {{not json {}}}\n\n", key(request))),
    ];
    for echo in echoes {
        let server = RawServer::start((0..3).map(|_| Answer::Echo(echo))).await;
        let mut settings = settings(&server.url());
        settings.api_key = Some(KeySource::new("K", "w", "n", || Some(KEY.to_owned())));
        let all = events(&*build("anthropic", settings), request()).await;
        assert!(key(&server.requests()[0]).contains(KEY), "the key was sent");
        let shown = format!("{all:?}");
        assert!(!shown.contains(KEY) && !shown.contains("very-secret"), "{shown}");
        assert!(shown.contains("[redacted]") && failed(&all).1.redacted, "{shown}");
    }
}

/// PRV-13: what was read from a cache and written to it is told, as part of the prompt and apart from it.
#[tokio::test]
async fn cache_usage_is_reported() {
    let start = START.replace(
        "\"input_tokens\":5",
        "\"input_tokens\":5,\"cache_read_input_tokens\":900,\"cache_creation_input_tokens\":7",
    );
    let server = RawServer::start([Answer::Keep(chunked(&[&start, HI, DONE].concat()))]).await;
    let all = events(&*adapter("anthropic", &server.url()), request()).await;
    let usage = &completed(&all).0.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (Some(912), Some(2), Some(914)));
    assert_eq!((usage.cache_read_tokens, usage.cache_write_tokens), (Some(900), Some(7)));
    assert_eq!(usage.raw["cache_read_input_tokens"], 900);
}

/// A refusal of the model is told as one.
#[tokio::test]
async fn the_model_refuses() {
    let server = ScriptedServer::start_blocking();
    server.push(Reply::text("I will not.").stop(Stop::Filter));
    let all = events(&*adapter("anthropic", &server.base_url(Protocol::Anthropic)), scripted()).await;
    let (reply, _) = completed(&all);
    assert_eq!((reply.stop.kind, reply.stop.raw.as_deref()), (StopKind::ContentFilter, Some("refusal")));
}
