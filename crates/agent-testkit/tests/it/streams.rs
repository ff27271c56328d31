//! Replies as each protocol's canonical stream.

use agent_testkit::{Call, Protocol, Reply, ScriptedServer, Stop};
use serde_json::{Value, json};

use crate::client::{answer, chat, events, remains, request, send, whole};

fn canonical() -> Reply {
    Reply::text("Sure")
        .thinking("Let me")
        .calls([Call::new("code.read_file", json!({"p": "a"})).id("call_k3x9a0qz"), Call::new("plain", json!({}))])
        .usage(210, 17)
}

/// One line per delta, each call whole, counts on the last line only.
#[tokio::test]
async fn ollama_sends_json_lines() {
    let server = ScriptedServer::start().await;
    server.push(canonical());
    let response = chat(&server, Protocol::Ollama).await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/x-ndjson");
    let (status, body) = whole(response).await;
    assert_eq!(status, 200);
    let head = r#"{"model":"scripted","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"#;
    let expected = [
        format!(r#"{head}"","thinking":"Let me"}},"done":false}}"#),
        format!(r#"{head}"Sure"}},"done":false}}"#),
        format!(
            r#"{head}"","tool_calls":[{{"id":"call_k3x9a0qz","function":{{"index":0,"name":"code__read_file","arguments":{{"p":"a"}}}}}}]}},"done":false}}"#
        ),
        format!(
            r#"{head}"","tool_calls":[{{"id":"call_00000001","function":{{"index":1,"name":"plain","arguments":{{}}}}}}]}},"done":false}}"#
        ),
        format!(
            r#"{head}""}},"done":true,"done_reason":"stop","total_duration":9,"load_duration":1,"prompt_eval_count":210,"prompt_eval_duration":3,"eval_count":17,"eval_duration":4}}"#
        ),
    ];
    assert_eq!(body, expected.join("\n") + "\n");
}

/// Role first, arguments in fragments after an empty one, finish, usage, `[DONE]`.
#[tokio::test]
async fn openai_sends_events() {
    let server = ScriptedServer::start().await;
    server.push(canonical());
    let response = chat(&server, Protocol::OpenAi).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let (status, body) = whole(response).await;
    assert_eq!(status, 200);
    let head = r#"data: {"id":"chatcmpl-0","object":"chat.completion.chunk","created":1767225600,"model":"scripted","choices":"#;
    let delta = |delta: &str| format!(r#"{head}[{{"index":0,"delta":{delta},"finish_reason":null}}],"usage":null}}"#);
    let fragment = |index: usize, text: &str| {
        delta(&format!(r#"{{"tool_calls":[{{"index":{index},"function":{{"arguments":{text}}}}}]}}"#))
    };
    let call = |index: usize, id: &str, name: &str| {
        delta(&format!(
            r#"{{"tool_calls":[{{"index":{index},"id":"{id}","type":"function","function":{{"name":"{name}","arguments":""}}}}]}}"#
        ))
    };
    let expected = [
        delta(r#"{"role":"assistant","content":"","refusal":null}"#),
        delta(r#"{"reasoning_content":"Let me"}"#),
        delta(r#"{"content":"Sure"}"#),
        call(0, "call_k3x9a0qz", "code__read_file"),
        fragment(0, r#""{\"p\"""#),
        fragment(0, r#"":\"a\"}""#),
        call(1, "call_00000001", "plain"),
        fragment(1, r#""{""#),
        fragment(1, r#""}""#),
        format!(r#"{head}[{{"index":0,"delta":{{}},"finish_reason":"tool_calls"}}],"usage":null}}"#),
        format!(
            r#"{head}[],"usage":{{"prompt_tokens":210,"completion_tokens":17,"total_tokens":227,"prompt_tokens_details":{{"cached_tokens":0}},"completion_tokens_details":{{"reasoning_tokens":0}}}}}}"#
        ),
        "data: [DONE]".to_owned(),
    ];
    assert_eq!(body, expected.join("\n\n") + "\n\n");
}

/// Named events; blocks one after the other, thoughts with a signature, arguments in fragments after an empty one.
#[tokio::test]
async fn anthropic_sends_named_events() {
    let server = ScriptedServer::start().await;
    server.push(canonical());
    let response = chat(&server, Protocol::Anthropic).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let (status, body) = whole(response).await;
    assert_eq!(status, 200);
    let event = |name: &str, rest: &str| format!("event: {name}\ndata: {{\"type\":\"{name}\"{rest}}}");
    let begin = |index: usize, block: &str| {
        event("content_block_start", &format!(r#","index":{index},"content_block":{block}"#))
    };
    let delta =
        |index: usize, delta: &str| event("content_block_delta", &format!(r#","index":{index},"delta":{delta}"#));
    let end = |index: usize| event("content_block_stop", &format!(r#","index":{index}"#));
    let json_delta =
        |index: usize, text: &str| delta(index, &format!(r#"{{"type":"input_json_delta","partial_json":{text}}}"#));
    let sign = body.split("\"signature\":\"sig-0-").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let expected = [
        event(
            "message_start",
            r#","message":{"id":"msg_0","type":"message","role":"assistant","model":"scripted","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":210,"output_tokens":1}}"#,
        ),
        event("ping", ""),
        begin(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"Let me"}"#),
        delta(0, &format!(r#"{{"type":"signature_delta","signature":"sig-0-{sign}"}}"#)),
        end(0),
        begin(1, r#"{"type":"text","text":""}"#),
        delta(1, r#"{"type":"text_delta","text":"Sure"}"#),
        end(1),
        begin(2, r#"{"type":"tool_use","id":"call_k3x9a0qz","name":"code__read_file","input":{}}"#),
        json_delta(2, r#""""#),
        json_delta(2, r#""{\"p\"""#),
        json_delta(2, r#"":\"a\"}""#),
        end(2),
        begin(3, r#"{"type":"tool_use","id":"call_00000001","name":"plain","input":{}}"#),
        json_delta(3, r#""""#),
        json_delta(3, r#""{""#),
        json_delta(3, r#""}""#),
        end(3),
        event(
            "message_delta",
            r#","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":17}"#,
        ),
        event("message_stop", ""),
    ];
    assert_eq!(body, expected.join("\n\n") + "\n\n");
}

#[tokio::test]
async fn openai_reports_usage_only_when_asked() {
    let server = ScriptedServer::start().await;
    server.push(Reply::text("x"));
    let mut body = request(Protocol::OpenAi);
    body.as_object_mut().unwrap().remove("stream_options");
    let response = send(&server, "POST", Protocol::OpenAi.path(), body.to_string()).await.unwrap();
    assert!(!whole(response).await.1.contains("usage"));
}

/// The text of all deltas, and how many there were.
fn text(protocol: Protocol, body: &str) -> (String, usize) {
    let delta = |event: &Value| match protocol {
        Protocol::OpenAi => event["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned(),
        Protocol::Anthropic => event["delta"]["text"].as_str().unwrap_or_default().to_owned(),
        _ => event["message"]["content"].as_str().unwrap_or_default().to_owned(),
    };
    let deltas: Vec<String> = events(protocol, body).iter().map(delta).filter(|delta| !delta.is_empty()).collect();
    (deltas.concat(), deltas.len())
}

#[tokio::test]
async fn text_is_split_as_asked() {
    let server = ScriptedServer::start().await;
    let long = "Grüße, 世界! \"quoted\" \\ and\nlines";
    for protocol in Protocol::ALL {
        for (chunks, deltas) in [(1, 1), (4, 4), (1000, long.chars().count())] {
            server.push(Reply::text(long).chunks(chunks));
            let (status, body) = answer(&server, *protocol).await;
            assert_eq!((status, text(*protocol, &body)), (200, (long.to_owned(), deltas)));
        }
    }
}

/// Every delta is there, in order.
#[tokio::test]
async fn a_flood_is_complete() {
    let server = ScriptedServer::start().await;
    for protocol in Protocol::ALL {
        server.push(Reply::flood(20_000, "word "));
        let (_, body) = answer(&server, *protocol).await;
        assert_eq!(text(*protocol, &body), ("word ".repeat(20_000), 20_000));
    }
}

/// The last events of a stream that stopped for this reason.
async fn stopped(protocol: Protocol, reply: Reply) -> Value {
    let server = ScriptedServer::start().await;
    server.push(reply.no_usage());
    let (_, body) = answer(&server, protocol).await;
    let events = events(protocol, &body);
    match protocol {
        Protocol::OpenAi => events[events.len() - 2]["choices"][0]["finish_reason"].clone(),
        Protocol::Anthropic => events[events.len() - 2]["delta"]["stop_reason"].clone(),
        _ => events[events.len() - 1]["done_reason"].clone(),
    }
}

#[tokio::test]
async fn stop_reasons_are_each_protocols_own() {
    let call = || Call::new("plain", json!({}));
    let cases = [
        (Reply::text("x"), "stop", "stop", "end_turn"),
        (Reply::text("x").calls([call()]), "stop", "tool_calls", "tool_use"),
        (Reply::text("x").calls([call()]).stop(Stop::Length), "length", "length", "max_tokens"),
        (Reply::empty().stop(Stop::Filter), "stop", "content_filter", "refusal"),
        (Reply::text("x").stop(Stop::Named("model_length".into())), "model_length", "model_length", "model_length"),
    ];
    for (reply, ollama, openai, anthropic) in cases {
        assert_eq!(stopped(Protocol::Ollama, reply.clone()).await, ollama);
        assert_eq!(stopped(Protocol::OpenAi, reply.clone()).await, openai);
        assert_eq!(stopped(Protocol::Anthropic, reply).await, anthropic);
    }
}

/// What a model writes instead of an object reaches the client as it is.
#[tokio::test]
async fn raw_arguments_are_not_mended() {
    let server = ScriptedServer::start().await;
    for (text, value) in [("{\"a\":1}{\"b\":2}", json!("{\"a\":1}{\"b\":2}")), ("null", json!(null)), ("", json!(""))] {
        server.script([
            Reply::empty().calls([Call::raw("plain", text)]),
            Reply::empty().calls([Call::raw("plain", text)]),
            Reply::empty().calls([Call::raw("plain", text)]),
        ]);
        let (_, body) = answer(&server, Protocol::Ollama).await;
        assert_eq!(events(Protocol::Ollama, &body)[0]["message"]["tool_calls"][0]["function"]["arguments"], value);
        let (_, body) = answer(&server, Protocol::OpenAi).await;
        let fragments: String = events(Protocol::OpenAi, &body)
            .iter()
            .filter_map(|event| event["choices"][0]["delta"]["tool_calls"][0]["function"]["arguments"].as_str())
            .collect();
        assert_eq!(fragments, text);
        let (_, body) = answer(&server, Protocol::Anthropic).await;
        let events = events(Protocol::Anthropic, &body);
        let fragments: String = events.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
        assert_eq!(fragments, text);
    }
}

/// An invented tool keeps its name; a mapping of the test's own is honoured; an id may be missing.
#[tokio::test]
async fn names_and_ids_follow_the_script() {
    let server = ScriptedServer::builder().wire_names(|name| name.replace("my.", "code__")).start().await;
    for protocol in Protocol::ALL {
        server.push(
            Reply::empty().calls([Call::new("my.read_file", json!({})).no_id(), Call::new("no.such", json!({}))]),
        );
        let (_, body) = answer(&server, *protocol).await;
        assert!(body.contains("\"name\":\"code__read_file\""), "{body}");
        assert!(body.contains("\"name\":\"no.such\""), "{body}");
        assert_eq!(body.matches("\"id\":\"call_").count(), 1, "{body}");
    }
}

/// Estimated counts depend on the request, as real ones do.
#[tokio::test]
async fn usage_is_estimated_unless_given_or_absent() {
    let server = ScriptedServer::start().await;
    server.script([Reply::text("12345678"), Reply::text("x").no_usage()]);
    let (_, body) = answer(&server, Protocol::Ollama).await;
    let last = events(Protocol::Ollama, &body).pop().unwrap();
    let bytes = server.requests()[0].raw.len() as u64;
    assert_eq!((&last["prompt_eval_count"], &last["eval_count"]), (&json!(bytes / 4 + 1), &json!(3)));
    let (_, body) = answer(&server, Protocol::Ollama).await;
    assert!(!body.contains("eval_count"));
}

#[tokio::test]
async fn raw_bodies_are_byte_exact() {
    let server = ScriptedServer::start().await;
    let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    for reply in
        [Reply::raw(bytes.clone(), "text/event-stream"), Reply::raw(bytes.clone(), "text/event-stream").pieces_of(7)]
    {
        server.push(reply);
        let response = chat(&server, Protocol::OpenAi).await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(remains(response).await, (bytes.clone(), true));
    }
}
