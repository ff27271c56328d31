//! What requests look like.

use agent_protocol::{ContentBlock, ModelMessage, Role, ToolCall, ToolChoice};
use serde_json::{Value, json};
use std::sync::Arc;

use super::*;
use crate::testing::{call, object, request, result, said, system, tool};

fn with_options(options: Value) -> OpenAi {
    let mut settings = ProviderSettings::new("http://127.0.0.1:1/v1");
    settings.provider_options = object(options);
    OpenAi::new(&settings, "127.0.0.1").unwrap()
}

fn encode(dialect: &OpenAi, request: &ModelRequest) -> Value {
    let names = dialect.names(&request.tools);
    serde_json::from_slice(&dialect.encode(request, &names).unwrap()).unwrap()
}

/// A conversation with everything a message can hold.
fn conversation() -> ModelRequest {
    let mut request = request();
    request.system = system(&["RULE-42", "", "more"]);
    request.temperature = Some(0.2);
    let calls = vec![call("c1", "code.read_file", json!({"path": "a\"b"})), call("c2", "gone.tool", json!({}))];
    request.messages.push(Arc::new(ModelMessage::new(Role::Assistant, calls)));
    request.messages.push(result("c1", "content of a"));
    request.messages.push(result("c2", "no"));
    request.messages.push(said(Role::Assistant, "done"));
    request
}

/// STRM-01, PRV-4: every name that goes out is legal, also those of tools that are gone.
#[test]
fn the_whole_request() {
    let tools = ["code.read_file", "code.write_file", "internal.load_skill"].map(|name| {
        json!({
            "type": "function",
            "function": {"name": name.replace('.', "__"), "description": format!("does {name}"),
                         "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
        })
    });
    assert_eq!(
        encode(&openai(), &conversation()),
        json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 1000, "temperature": 0.2,
            "messages": [
                {"role": "system", "content": "RULE-42\n\nmore"},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "code__read_file", "arguments": "{\"path\":\"a\\\"b\"}"}},
                    {"id": "c2", "type": "function", "function": {"name": "gone__tool", "arguments": "{}"}},
                ]},
                {"role": "tool", "tool_call_id": "c1", "content": "content of a"},
                {"role": "tool", "tool_call_id": "c2", "content": "no"},
                {"role": "assistant", "content": "done"},
            ],
            "tools": tools,
        })
    );
}

/// PRV-15, PERF-2: a later request holds the earlier one's bytes, element by element, and writes only what is new: a
/// message that was written once is not looked at again.
#[test]
fn requests_only_grow() {
    let dialect = openai();
    let mut request = conversation();
    let names = dialect.names(&request.tools);
    let first = dialect.encode(&request, &names).unwrap();
    let first = std::str::from_utf8(&first).unwrap();
    request.messages.push(said(Role::User, "next"));
    let second = dialect.encode(&request, &names).unwrap();
    let second = std::str::from_utf8(&second).unwrap();
    let (head, tail) = first.split_once("],\"tools\"").unwrap();
    assert_eq!(second, format!("{head},{{\"role\":\"user\",\"content\":\"next\"}}],\"tools\"{tail}"));

    // The kept form is what is sent: were the message written anew, the mark would be gone.
    let marked = ModelMessage::new(Role::User, vec![ContentBlock::text("x")]);
    let shape = dialect.shape(&dialect.options);
    let mark = marked.wire.get_or_make(shape.memo_key(&names), || "\"MARK\"".to_owned());
    request.messages.push(Arc::new(marked));
    let third = dialect.encode(&request, &names).unwrap();
    assert!(std::str::from_utf8(&third).unwrap().contains(&*mark));
}

/// PRV-4: two tools that would share a wire name get names of their own, and history follows, also where its form was kept
/// before the second tool came.
#[test]
fn collisions_reach_the_history() {
    let dialect = openai();
    let mut request = conversation();
    let name = |request: &ModelRequest| {
        encode(&dialect, request)["messages"][2]["tool_calls"][0]["function"]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(name(&request), "code__read_file");
    request.tools = Arc::new(vec![tool("code.read_file"), tool("code__read_file")].into());
    let moved = name(&request);
    assert!(moved.starts_with("code__read_file_h"));
    let body = encode(&dialect, &request);
    assert_eq!(body["tools"][0]["function"]["name"], moved);
    assert_eq!(body["tools"][1]["function"]["name"], "code__read_file");
}

/// STRM-02: a call whose arguments were broken goes back as a valid object.
#[test]
fn broken_calls_are_replayed_valid() {
    let mut request = request();
    let ContentBlock::ToolCall(mut broken) = call("c1", "code.read_file", json!({})) else { panic!() };
    broken.metadata.insert(ToolCall::INVALID_ARGUMENTS.into(), "{\"path\": \"a\"}{".into());
    request.messages.push(Arc::new(ModelMessage::new(Role::Assistant, vec![ContentBlock::ToolCall(broken)])));
    let body = encode(&openai(), &request);
    assert_eq!(body["messages"][1]["tool_calls"][0]["function"]["arguments"], "{}");
}

#[test]
fn tool_choices() {
    let choice = |choice: ToolChoice| {
        let request = ModelRequest { tool_choice: choice, ..request() };
        let names = openai().names(&request.tools);
        openai()
            .encode(&request, &names)
            .map(|body| serde_json::from_slice::<Value>(&body).unwrap()["tool_choice"].clone())
    };
    assert_eq!(choice(ToolChoice::Auto).unwrap(), Value::Null);
    assert_eq!(choice(ToolChoice::None).unwrap(), "none");
    assert_eq!(choice(ToolChoice::Required).unwrap(), "required");
    let tool = choice(ToolChoice::Tool("code.read_file".into())).unwrap();
    assert_eq!(tool, json!({"type": "function", "function": {"name": "code__read_file"}}));
    let error = choice(ToolChoice::Tool("x".into())).unwrap_err();
    assert_eq!(error.payload().code, agent_protocol::ErrorCode::UnsupportedCapability);
}

/// PRV-3: a tool that cannot be sent ends the request; it is not left out.
#[test]
fn impossible_schemas_are_refused() {
    let mut bad = tool("user.odd");
    bad.input_schema = json!({"type": "string"});
    let request = ModelRequest { tools: Arc::new(vec![tool("a.b"), bad].into()), ..request() };
    let error = openai().encode(&request, &openai().names(&request.tools)).unwrap_err();
    assert_eq!(error.payload().code, agent_protocol::ErrorCode::UnsupportedCapability);
    for part in ["openai", "for m needs", "user.odd"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let mut bare = tool("user.bare");
    bare.input_schema = json!({});
    let request = ModelRequest { tools: Arc::new(vec![bare].into()), ..request };
    let schema = &encode(&openai(), &request)["tools"][0]["function"]["parameters"];
    assert_eq!(*schema, json!({"type": "object", "properties": {}}));
}

#[test]
fn options_shape_the_request() {
    let dialect = with_options(json!({
        "reasoning_effort": "low", "max_tokens_field": "max_completion_tokens", "stream_options": false,
        "system_role": "developer", "parallel_tool_calls": false, "extra_body": {"seed": 7}, "echo_reasoning": true,
    }));
    let mut request = conversation();
    let mut thought = ModelMessage::new(Role::Assistant, vec![ContentBlock::text("yes")]);
    thought.metadata.insert(ModelMessage::REASONING.into(), "hm".into());
    request.messages.push(Arc::new(thought));
    let body = encode(&dialect, &request);
    assert_eq!(
        (&body["reasoning_effort"], &body["max_completion_tokens"], &body["seed"]),
        (&json!("low"), &json!(1000), &json!(7))
    );
    assert_eq!(
        (&body["parallel_tool_calls"], body.get("stream_options"), body.get("max_tokens")),
        (&json!(false), None, None)
    );
    assert_eq!(body["messages"][0]["role"], "developer");
    assert_eq!(
        (&body["messages"][2]["reasoning_content"], &body["messages"][6]["reasoning_content"]),
        (&json!(""), &json!("hm"))
    );
    let headers = |options: Value| {
        let request = ModelRequest { provider_options: object(options), ..crate::testing::request() };
        dialect.headers(&request, None).unwrap()
    };
    assert!(headers(json!({})).get("x-title").is_none());
    assert_eq!(headers(json!({"headers": {"X-Title": "t"}}))["x-title"], "t");
    // Options of the request lie over those of the settings, and are checked like them.
    request.provider_options = object(json!({"reasoning_effort": "high"}));
    assert_eq!(encode(&dialect, &request)["reasoning_effort"], "high");
    request.provider_options = object(json!({"reasoning": "high"}));
    assert!(dialect.encode(&request, &dialect.names(&request.tools)).is_err());
}

/// RUN-19: where a template insists on alternating roles, neighbouring user messages are joined; kept forms stay as they
/// are.
#[test]
fn user_messages_are_merged_on_demand() {
    let mut request = conversation();
    request.messages.extend([
        said(Role::User, "one"),
        said(Role::User, "two"),
        said(Role::Assistant, "x"),
        said(Role::User, "three"),
    ]);
    let plain = encode(&openai(), &request);
    assert_eq!(plain["messages"].as_array().unwrap().len(), 10);
    let merged = encode(&with_options(json!({"merge_user_messages": true})), &request);
    let messages = merged["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 9);
    assert_eq!(messages[6], json!({"role": "user", "content": "one\n\ntwo"}));
    assert_eq!(encode(&openai(), &request), plain);
}

/// Ids over 40 characters are shortened, alike in call and result.
#[test]
fn long_ids_are_shortened() {
    let long = "x".repeat(60);
    let mut request = request();
    request.messages.push(Arc::new(ModelMessage::new(Role::Assistant, vec![call(&long, "a", json!({}))])));
    request.messages.push(result(&long, "r"));
    let body = encode(&openai(), &request);
    let sent = body["messages"][1]["tool_calls"][0]["id"].as_str().unwrap();
    assert_eq!(sent.len(), 40);
    assert_eq!(body["messages"][2]["tool_call_id"], sent);
}

/// Mistral's ids: what fits stays, the rest is written alike in call and result, and never like another's.
#[test]
fn ids_of_nine_characters() {
    let dialect = with_options(json!({"call_ids": "nine"}));
    let mut request = request();
    let ids = ["abcDEF123", "call_run_1", "call_run_2"];
    request
        .messages
        .push(Arc::new(ModelMessage::new(Role::Assistant, ids.map(|id| call(id, "a", json!({}))).to_vec())));
    request.messages.extend(ids.map(|id| result(id, "r")));
    let body = encode(&dialect, &request);
    let sent: Vec<&str> =
        body["messages"][1]["tool_calls"].as_array().unwrap().iter().map(|call| call["id"].as_str().unwrap()).collect();
    assert_eq!(sent[0], "abcDEF123");
    assert!(sent.iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())), "{sent:?}");
    assert_ne!(sent[1], sent[2]);
    for (at, id) in sent.iter().enumerate() {
        assert_eq!(body["messages"][2 + at]["tool_call_id"], **id);
    }
}

/// What a server gave along with a call goes back to it, and to no other.
#[test]
fn signatures_go_back_to_their_server() {
    let extra = json!({"google": {"thought_signature": "s"}});
    let sent = |origin: Option<&str>| {
        let ContentBlock::ToolCall(mut signed) = call("c1", "code.read_file", json!({})) else { panic!() };
        signed.metadata.insert("extra_content".into(), extra.clone());
        signed.metadata.extend(origin.map(|origin| ("extra_content_from".to_owned(), origin.into())));
        let mut request = request();
        request.messages.push(Arc::new(ModelMessage::new(Role::Assistant, vec![ContentBlock::ToolCall(signed)])));
        encode(&openai(), &request)["messages"][1]["tool_calls"][0].get("extra_content").cloned()
    };
    assert_eq!(sent(Some("127.0.0.1")), Some(extra.clone()));
    assert_eq!(sent(Some("elsewhere.example")), None);
    assert_eq!(sent(None), None);
}

/// Beside calls, what stands for no text can be chosen.
#[test]
fn empty_content_can_be_chosen() {
    for (option, expected) in [("null", Some(Value::Null)), ("empty", Some(json!(""))), ("absent", None)] {
        let body = encode(&with_options(json!({"empty_content": option})), &conversation());
        assert_eq!(body["messages"][2].get("content").cloned(), expected);
        assert_eq!(body["messages"][5]["content"], "done");
    }
}

fn refusal(words: &str, param: Option<&str>) -> Refusal {
    use crate::fault::{Circumstances, ServerWords, classify};
    let said = ServerWords::from_text(words);
    Refusal {
        provider: KEY.into(),
        model: "m".into(),
        url: "u".into(),
        status: Some(400),
        kind: classify(&said, Circumstances { status: Some(400), fills_window: false }),
        words: words.into(),
        redacted: false,
        hint: None,
        retry_after: None,
        should_retry: None,
        tokens: None,
        server_code: None,
        param: param.map(str::to_owned),
        request_id: None,
    }
}

/// The adapter learns what its server does not know; what is wrong with a value teaches nothing.
#[test]
fn lessons_from_refusals() {
    let dialect = openai();
    let request = conversation();
    let keys = |dialect: &OpenAi| {
        let body = encode(dialect, &request);
        ["stream_options", "max_tokens", "max_completion_tokens", "temperature"]
            .into_iter()
            .filter(|key| body.get(key).is_some())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(keys(&dialect), "stream_options max_tokens temperature");
    dialect
        .learn(&refusal("max_tokens is too large: 1000000. This model supports at most 4096 completion tokens.", None));
    dialect.learn(&refusal("temperature must be between 0 and 1", None));
    dialect.learn(&refusal("messages: roles are odd", None));
    assert_eq!(keys(&dialect), "stream_options max_tokens temperature");
    dialect.learn(&refusal(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        Some("max_tokens"),
    ));
    assert_eq!(keys(&dialect), "stream_options max_completion_tokens temperature");
    dialect.learn(&refusal(r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"]}]}"#, None));
    assert_eq!(keys(&dialect), "max_completion_tokens temperature");
    dialect
        .learn(&refusal("Unsupported value: 'temperature' does not support 0.2 with this model.", Some("temperature")));
    assert_eq!(keys(&dialect), "max_completion_tokens");
    let users =
        ModelRequest { messages: vec![said(Role::User, "a"), said(Role::User, "b")], ..crate::testing::request() };
    dialect.learn(&refusal("Conversation roles must alternate user/assistant/user/assistant", None));
    assert_eq!(encode(&dialect, &users)["messages"].as_array().unwrap().len(), 1);
}

/// OpenAI itself wants the new name of the limit.
#[test]
fn the_limit_is_called_after_the_host() {
    for (host, field) in [
        ("api.openai.com", "max_completion_tokens"),
        ("x.openai.azure.com", "max_completion_tokens"),
        ("x.services.ai.azure.com", "max_completion_tokens"),
        ("openai.example", "max_tokens"),
    ] {
        let dialect = OpenAi::new(&ProviderSettings::new("https://h"), host).unwrap();
        assert!(encode(&dialect, &request()).get(field).is_some(), "{host}");
    }
}
