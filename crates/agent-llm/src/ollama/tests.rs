//! Bodies as Ollama sends them, and what becomes of them; and what requests look like.

use std::sync::Arc;

use agent_protocol::{ContentBlock, ErrorCode, ModelMessage, Role, ToolChoice};
use serde_json::{Value, json};

use super::*;
use crate::testing::{call, check_body, decode, object, replay, request, result, said};

fn ollama(options: Value) -> Ollama {
    let mut settings = ProviderSettings::new("http://127.0.0.1:1");
    settings.context_window = 1000;
    settings.provider_options = object(options);
    Ollama::new(&settings).unwrap()
}

fn body(lines: &[&str]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

#[track_caller]
fn check(lines: &[&str], expected: &[&str]) {
    check_body(&ollama(json!({})), &body(lines), expected);
}

const SURE: &str = r#"{"model":"gemma4","created_at":"2026-09-01T10:00:00Z","message":{"role":"assistant","content":"Sure"},"done":false}"#;
const DONE: &str = r#"{"model":"gemma4","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":9,"load_duration":1,"prompt_eval_count":210,"prompt_eval_duration":3,"eval_count":17,"eval_duration":4}"#;
const CALL: &str = r#"{"model":"gemma4","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_k3x9a0qz","function":{"index":0,"name":"code__read_file","arguments":{"path":"a"}}}]},"done":false}"#;

#[test]
fn canonical_text() {
    check(&[SURE, DONE], &["started gemma4", "text \"Sure\"", "done end_turn 210+17 \"Sure\""]);
}

/// PRV-11: thinking is kept apart; one line may hold both.
#[test]
fn thinking_is_kept_apart() {
    let both = r#"{"model":"g","message":{"role":"assistant","content":"Yes","thinking":"hm"},"done":false}"#;
    check(&[both, DONE], &["started g", "think \"hm\"", "text \"Yes\"", "done end_turn 210+17 think\"hm\" \"Yes\""]);
}

/// STRM-01: calls come before the last line or on it, whole, with `stop` as reason all the same.
#[test]
fn calls_wherever_they_stand() {
    let expected = [
        "started gemma4",
        "call 0 code.read_file {\"path\":\"a\"}",
        r#"done tool_use 210+17 call_k3x9a0qz:code.read_file{"path":"a"}"#,
    ];
    check(&[CALL, DONE], &expected);
    let on_last =
        CALL.replace("\"done\":false", r#""done":true,"done_reason":"stop","prompt_eval_count":210,"eval_count":17"#);
    check(&[&on_last], &expected);
    // Listed again at the end: still one call.
    check(&[CALL, &on_last], &expected);
}

/// PRV-5, PRV-6: without ids they are made; arguments may be missing, null, or text.
#[test]
fn calls_of_all_kinds() {
    let line = |calls: &str| {
        format!(r#"{{"message":{{"role":"assistant","content":"","tool_calls":[{calls}]}},"done":false}}"#)
    };
    let end = |calls: &str| replay(&ollama(json!({})), &body(&[&line(calls), DONE])).pop().unwrap();
    let two = r#"{"function":{"index":0,"name":"code__read_file","arguments":{}}},{"function":{"index":0,"name":"code__read_file","arguments":{}}}"#;
    assert_eq!(end(two), "done tool_use 210+17 call_run_1:code.read_file{} call_run_2:code.read_file{}");
    for (arguments, expected) in [
        ("", "{}"),
        (r#","arguments":null"#, "{}"),
        (r#","arguments":"{\"path\":\"a\"}""#, r#"{"path":"a"}"#),
        (r#","arguments":[1]"#, "{}!(the arguments must be a JSON object, not an array)"),
        (
            r#","arguments":"{\"path\"""#,
            "{}!(the arguments end too early: EOF while parsing an object at line 1 column 7)",
        ),
    ] {
        let call = format!(r#"{{"id":"c1","function":{{"name":"code__read_file"{arguments}}}}}"#);
        assert_eq!(end(&call), format!("done tool_use 210+17 c1:code.read_file{expected}"));
    }
}

/// STRM-07: the output limit.
#[test]
fn the_output_limit() {
    let length = DONE.replace("\"stop\"", "\"length\"");
    check(&[SURE, &length], &["started gemma4", "text \"Sure\"", "done max_tokens 210+17 \"Sure\""]);
}

/// STRM-06, STRM-21, PRV-7: cut at any byte, a reply is never complete before its last line, and no call is left of it.
#[test]
fn cut_at_any_byte() {
    let bytes = body(&[SURE, CALL, DONE]);
    let mark = bytes.len() - 1;
    for end in 0..bytes.len() {
        let last = decode(&ollama(json!({})), [&bytes[..end]]).pop().unwrap();
        assert_eq!(last.starts_with("done tool_use"), end >= mark, "cut at {end}: {last}");
        let bytewise = decode(&ollama(json!({})), bytes[..end].chunks(1)).pop();
        assert_eq!(bytewise.as_deref(), Some(&*last), "cut at {end}, byte by byte");
        if end < mark {
            assert!(last.starts_with("failed the connection ended early"), "{last}");
            assert!(!last.contains("call_k3x9a0qz"), "{last}");
        }
    }
}

/// PRV-7: after its first output Ollama reports errors in a line; the text may be JSON inside JSON.
#[test]
fn errors_inside_a_stream() {
    check(
        &[SURE, r#"{"error":"an error was encountered while running the model"}"#],
        &[
            "started gemma4",
            "text \"Sure\"",
            "failed said \"an error was encountered while running the model\" | error \"Sure\"",
        ],
    );
    let nested =
        r#"{"error":"{\"error\":{\"code\":400,\"message\":\"too big\",\"type\":\"exceed_context_size_error\"}}"}"#;
    check(&[nested], &["failed said \"too big\" | nothing"]);
    check(
        &[SURE, "{nonsense}"],
        &[
            "started gemma4",
            "text \"Sure\"",
            "failed a piece of the stream is not valid: key must be a string at line 1 column 2 in {nonsense} | error \"Sure\"",
        ],
    );
}

/// Lines that say `done` and are no answer.
#[test]
fn ends_that_are_no_answer() {
    let done = |fields: &str| format!(r#"{{"message":{{"role":"assistant","content":""}},"done":true,{fields}}}"#);
    check(&[&done(r#""done_reason":"load""#)], &["failed the server reports \"load\" instead of an answer | nothing"]);
    check(
        &[&done(r#""done_reason":"stop","eval_count":40"#)],
        &["failed the server generated 40 tokens and delivered none of them | nothing"],
    );
    check(&[&done(r#""done_reason":"length","prompt_eval_count":999"#)], &["failed prompt 999 of 1000 | nothing"]);
    // STRM-17: an honest empty answer is complete, for the loop to deal with.
    check(&[&done(r#""done_reason":"stop","eval_count":1"#)], &["started m", "done end_turn"]);
    check(&[r#"{"done":true}"#], &["started m", "done end_turn"]);
    check(&[], &["failed the connection ended early, before the reply was complete | nothing"]);
}

/// Blank lines, CRLF, a byte order mark, unknown fields, other characters.
#[test]
fn oddities() {
    let text = "\u{feff}\r\n{\"message\":{\"content\":\"你😀\\u2028\"},\"remote_host\":{\"x\":[1]},\"done\":false}\r\n\r\n{\"done\":true}\r\n";
    check_body(
        &ollama(json!({})),
        text.as_bytes(),
        &["started m", "text \"你😀\\u{2028}\"", "done end_turn \"你😀\\u{2028}\""],
    );
}

fn encode(dialect: &Ollama, request: &ModelRequest) -> Result<Value, ProviderError> {
    let names = dialect.names(&request.tools);
    Ok(serde_json::from_slice(&dialect.encode(request, &names)?).unwrap())
}

/// PRV-12: `num_ctx` goes with every request, and truncation in silence is switched off.
#[test]
fn the_whole_request() {
    let mut request = request();
    request.temperature = Some(0.2);
    let mut thought = ModelMessage::new(
        Role::Assistant,
        vec![ContentBlock::text("I look."), call("c1", "code.read_file", json!({"path": "a"}))],
    );
    thought.metadata.insert(ModelMessage::REASONING.into(), "hm".into());
    request.messages.push(Arc::new(thought));
    request.messages.push(result("c1", "content"));
    let dialect = ollama(json!({"keep_alive": "10m", "think": false, "options": {"seed": 7}}));
    let mut body = encode(&dialect, &request).unwrap();
    let tools = body.as_object_mut().unwrap().remove("tools").unwrap();
    assert_eq!(tools[0]["function"]["name"], "code__read_file");
    assert_eq!(
        body,
        json!({
            "model": "m", "stream": true, "truncate": false, "shift": false, "think": false, "keep_alive": "10m",
            "options": {"num_ctx": 1000, "num_predict": 1000, "temperature": 0.2, "seed": 7},
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "I look.", "thinking": "hm", "tool_calls": [
                    {"id": "c1", "function": {"name": "code__read_file", "arguments": {"path": "a"}}},
                ]},
                {"role": "tool", "content": "content", "tool_name": "code__read_file", "tool_call_id": "c1"},
            ],
        })
    );
    assert_eq!(encode(&ollama(json!({})), &request).unwrap().get("think"), None);
}

/// PRV-15: a later request holds the earlier one's bytes, element by element; also after the call has left the window.
#[test]
fn requests_only_grow() {
    let dialect = ollama(json!({}));
    let mut request = request();
    request.messages.push(Arc::new(ModelMessage::new(Role::Assistant, vec![call("c1", "code.read_file", json!({}))])));
    request.messages.push(result("c1", "r"));
    let first = encode(&dialect, &request).unwrap();
    request.messages.push(said(Role::Assistant, "done"));
    request.messages.push(said(Role::User, "next"));
    let second = encode(&dialect, &request).unwrap();
    for (at, element) in first["messages"].as_array().unwrap().iter().enumerate() {
        assert_eq!(second["messages"][at].to_string(), element.to_string());
    }
    assert_eq!(second["tools"].to_string(), first["tools"].to_string());
    assert_eq!(second["options"], first["options"]);
}

/// PRV-3: what the API cannot do is said, never dropped.
#[test]
fn tool_choices() {
    let choose = |choice: ToolChoice| encode(&ollama(json!({})), &ModelRequest { tool_choice: choice, ..request() });
    assert!(choose(ToolChoice::Auto).unwrap().get("tools").is_some());
    assert!(choose(ToolChoice::None).unwrap().get("tools").is_none());
    for choice in [ToolChoice::Required, ToolChoice::Tool("code.read_file".into())] {
        let error = choose(choice).unwrap_err();
        assert_eq!(error.payload().code, ErrorCode::UnsupportedCapability);
        assert!(
            error.to_string().starts_with("ollama cannot do what the request for m needs: to make the model call"),
            "{error}"
        );
    }
}

/// A common slip: the address of the imitation of OpenAI.
#[test]
fn the_address_of_the_other_api_is_refused() {
    let error = adapter(ProviderSettings::new("http://127.0.0.1:11434/v1")).err().unwrap();
    assert_eq!(error.payload().code, ErrorCode::ConfigError);
    assert!(error.to_string().contains("/v1"), "{error}");
}

pub(crate) mod quirks;
