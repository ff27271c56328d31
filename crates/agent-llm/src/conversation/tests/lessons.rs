//! What refusals teach, in the words of real servers.

use agent_protocol::{ModelMessage, Role};

use super::*;
use crate::testing::{call, result, tool};

/// What a server does not know is left out at once, without waiting or counting, and told.
#[tokio::test(start_paused = true)]
async fn lessons_are_applied_at_once() {
    let refused = |text: &str| {
        Scene::status(400, &json!({"error": {"message": text, "type": "invalid_request_error"}}).to_string())
    };
    let script = script([
        refused("Unsupported parameter: 'stream_options'"),
        refused("Unsupported parameter: 'max_tokens' is not supported with this model."),
        good(),
        refused("Unsupported parameter: 'stream_options'"),
    ]);
    let adapter = adapter(&script, 1);
    let events: Vec<_> = adapter.stream(request(), CancellationToken::new()).collect().await;
    assert_eq!(events[2..].iter().map(line).collect::<Vec<_>>(), GOOD);
    let adapted: Vec<_> = events[..2]
        .iter()
        .map(|event| match event {
            ModelEvent::Retry { attempt: 1, wait_ms: 0, error } => error.details["adapted"].as_str().unwrap(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(adapted, ["stream_options is left out", "the output limit goes under its other name"]);
    let Some(ModelEvent::Completed(reply)) = events.last() else { panic!() };
    assert_eq!(reply.metadata["adapted"], json!(adapted));
    let calls: Vec<Value> = script.calls.lock().unwrap().iter().map(|(_, _, body)| body.clone()).collect();
    assert!(calls[0].get("stream_options").is_some() && calls[1].get("stream_options").is_none());
    assert!(calls[1].get("max_tokens").is_some() && calls[2].get("max_completion_tokens").is_some());
    // It is remembered; and a refusal that teaches nothing new is a refusal.
    let lines: Vec<_> = adapter.stream(request(), CancellationToken::new()).map(|e| line(&e)).collect().await;
    assert_eq!(lines, ["failed fatal provider_error invalid_request | nothing"]);
    assert_eq!(script.calls.lock().unwrap()[3].2, calls[2]);
}

/// A conversation that was held with another server: a call without a signature, reasoning, no text beside the call.
fn foreign() -> ModelRequest {
    let mut request = request();
    let mut said = ModelMessage::new(Role::Assistant, vec![call("call_run_1", "code.read_file", json!({"path": "a"}))]);
    said.metadata.insert(ModelMessage::REASONING.into(), "hm".into());
    request.messages.push(Arc::new(said));
    request.messages.push(result("call_run_1", "content"));
    request
}

/// PRV-3, PRV-15: a refusal that would repeat with every request of the session is met once, in the words of real servers, and
/// the request after it is the one the server asked for.
#[tokio::test(start_paused = true)]
async fn refusals_that_would_repeat() {
    let first_call = "/messages/1/tool_calls/0";
    for (status, body, pointer, expected) in [
        (
            400,
            r#"{"object":"error","message":"Tool call id was call_run_1 but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_function_call","param":null,"code":"3280","raw_status_code":400}"#,
            "/messages/2/tool_call_id".to_owned(),
            json!(crate::digest::short(crate::digest::digest([&b"call_run_1"[..]]), 9)),
        ),
        (
            500,
            r#"{"error":"Tool call id was call_run_1 but must be a-z, A-Z, 0-9, with a length of 9."}"#,
            format!("{first_call}/id"),
            json!(crate::digest::short(crate::digest::digest([&b"call_run_1"[..]]), 9)),
        ),
        (
            400,
            r#"{"error":{"message":"The `reasoning_content` in the thinking mode must be passed back to the API.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
            "/messages/1/reasoning_content".to_owned(),
            json!("hm"),
        ),
        (
            422,
            r#"{"detail":[{"type":"string_type","loc":["body","messages",1,"content"],"msg":"Input should be a valid string","input":null}]}"#,
            "/messages/1/content".to_owned(),
            json!(""),
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.","status":"INVALID_ARGUMENT"}}]"#,
            "/tools/0/function/parameters".to_owned(),
            json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts.","status":"INVALID_ARGUMENT"}}]"#,
            format!("{first_call}/extra_content/google/thought_signature"),
            json!("skip_thought_signature_validator"),
        ),
        (
            422,
            r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error","param":null,"code":null}"#,
            "/stream".to_owned(),
            json!(true),
        ),
    ] {
        let mut request = foreign();
        let mut tool = tool("code.read_file");
        tool.input_schema["additionalProperties"] = json!(false);
        request.tools = Arc::new(vec![tool].into());
        let script = script([Scene::status(status, body), good(), good()]);
        let adapter = adapter(&script, 1);
        let lines: Vec<_> = adapter.stream(request.clone(), CancellationToken::new()).map(|e| line(&e)).collect().await;
        assert_eq!(lines[1..], GOOD, "{body}: {lines:?}");
        let again: Vec<_> = adapter.stream(request, CancellationToken::new()).map(|e| line(&e)).collect().await;
        assert_eq!(again, GOOD, "{body}");
        let calls = script.calls.lock().unwrap();
        assert_ne!(calls[0].2.pointer(&pointer), (pointer != "/stream").then_some(&expected), "{body}");
        assert_eq!(calls[1].2.pointer(&pointer), Some(&expected), "{body}");
        assert_eq!(calls[2], calls[1], "{body}");
        assert_eq!(calls[1].2["messages"][1]["tool_calls"][0]["id"], calls[1].2["messages"][2]["tool_call_id"]);
    }
}

/// A second lesson of the same kind takes the other way out, and a third is a refusal.
#[tokio::test(start_paused = true)]
async fn lessons_end() {
    let null =
        r#"{"error":{"message":"messages[1].content must be a string, not null","type":"invalid_request_error"}}"#;
    let empty =
        r#"{"error":{"message":"messages: text content blocks must be non-empty","type":"invalid_request_error"}}"#;
    let script = script([Scene::status(400, null), Scene::status(400, empty), Scene::status(400, null)]);
    let stream = adapter(&script, 1).stream(foreign(), CancellationToken::new());
    let lines: Vec<_> = stream.map(|e| line(&e)).collect().await;
    assert_eq!(
        lines,
        [
            "retry 1 0 invalid_request",
            "retry 1 0 invalid_request",
            "failed fatal provider_error invalid_request | nothing"
        ]
    );
    let calls = script.calls.lock().unwrap();
    let content: Vec<_> = calls.iter().map(|(_, _, body)| body["messages"][1].get("content").cloned()).collect();
    assert_eq!(content, [Some(Value::Null), Some(json!("")), None]);
}
