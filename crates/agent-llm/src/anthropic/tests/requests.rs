//! What requests look like.

use agent_protocol::{ContentBlock, ModelMessage, Role, ToolCall, ToolChoice};
use agent_testkit::{Protocol, validate_request};

use super::*;
use crate::testing::{call, request, result, said, system, tool};

pub(super) fn encoded(dialect: &Anthropic, request: &ModelRequest) -> String {
    let bytes = dialect.encode(request, &dialect.names(&request.tools)).unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The body, which every server would take.
#[track_caller]
pub(super) fn encode(dialect: &Anthropic, request: &ModelRequest) -> Value {
    let body = serde_json::from_str(&encoded(dialect, request)).unwrap();
    assert_eq!(validate_request(Protocol::Anthropic, &body), Ok(()), "{body}");
    body
}

fn assistant(blocks: Vec<ContentBlock>) -> Arc<ModelMessage> {
    Arc::new(ModelMessage::new(Role::Assistant, blocks))
}

/// A conversation with everything a message can hold.
fn conversation() -> ModelRequest {
    let mut request = request();
    request.system = system(&["RULE-42", " ", "more"]);
    request.temperature = Some(0.2);
    let calls = vec![
        ContentBlock::text("I look."),
        call("c1", "code.read_file", json!({"path": "a\"b"})),
        call("c2", "gone.tool", json!({})),
    ];
    request.messages.push(assistant(calls));
    request.messages.push(result("c1", "content of a"));
    request.messages.push(result("c2", ""));
    request.messages.push(said(Role::Assistant, "done"));
    request.messages.push(said(Role::User, "next"));
    request
}

/// STRM-01, PRV-4: every name that goes out is legal. PRV-13: marks on the last tool, the last system block and the last two
/// messages of the user. The answers of one turn's calls are one message.
#[test]
fn the_whole_request() {
    let mark = json!({"type": "ephemeral"});
    let mut tools = ["code__read_file", "code__write_file", "internal__load_skill"].map(|name| {
        let properties = json!({"path": {"type": "string"}});
        json!({"name": name, "description": format!("does {}", name.replace("__", ".")),
               "input_schema": {"type": "object", "properties": properties}})
    });
    tools[2]["cache_control"] = mark.clone();
    let body = encode(&anthropic(), &conversation());
    assert_eq!(
        body,
        json!({
            "model": "m", "max_tokens": 1000, "stream": true, "temperature": 0.2, "tools": tools,
            "system": [{"type": "text", "text": "RULE-42"}, {"type": "text", "text": "more", "cache_control": mark}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "hi"}]},
                {"role": "assistant", "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c1", "name": "code__read_file", "input": {"path": "a\"b"}},
                    {"type": "tool_use", "id": "c2", "name": "gone__tool", "input": {}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "content of a"},
                    {"type": "tool_result", "tool_use_id": "c2", "cache_control": mark},
                ]},
                {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
                {"role": "user", "content": [{"type": "text", "text": "next", "cache_control": mark}]},
            ],
        })
    );
}

/// What a cache mark takes: `,"cache_control":{…}`.
fn unmarked(text: &str) -> String {
    text.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

/// PRV-15, PERF-2: a later request begins with the earlier one's bytes, the moving mark aside, and writes only what is new.
/// PRV-13: marks stand on the last messages that stay, not on what is no history; one stands where the request before ended.
#[test]
fn requests_only_grow() {
    let dialect = anthropic();
    let mut request = conversation();
    let mut board = ModelMessage::new(Role::User, vec![ContentBlock::text("BOARD")]);
    board.metadata.insert("volatile".into(), true.into());
    let board = Arc::new(board);
    request.messages.push(board.clone());
    let first = encoded(&dialect, &request);
    assert!(first.ends_with(
        r#"{"type":"text","text":"next","cache_control":{"type":"ephemeral"}},{"type":"text","text":"BOARD"}]}]}"#
    ));
    request.messages.pop();
    request.messages.push(assistant(vec![call("c3", "code.read_file", json!({}))]));
    request.messages.push(result("c3", "r"));
    request.messages.push(board);
    let second = encoded(&dialect, &request);
    let kept = unmarked(&first);
    let kept = kept.strip_suffix(r#",{"type":"text","text":"BOARD"}]}]}"#).unwrap();
    assert!(unmarked(&second).starts_with(kept), "{second}");
    assert!(second.ends_with(
        r#""tool_use_id":"c3","content":"r","cache_control":{"type":"ephemeral"}},{"type":"text","text":"BOARD"}]}]}"#
    ));
    assert_eq!(second.matches("cache_control").count(), 4);
    assert!(second.contains(r#"{"type":"text","text":"next","cache_control":{"type":"ephemeral"}}"#));

    // The kept form is what is sent: were the message written anew, the mark would be gone.
    let marked = ModelMessage::new(Role::User, vec![ContentBlock::text("x")]);
    let shape = dialect.shape(&request, &dialect.options);
    let key = shape.memo_key(&dialect.names(&request.tools), "m");
    let form = marked.wire.get_or_make(key, || r#"{"type":"text","text":"MARK"}"#.to_owned());
    request.messages.push(Arc::new(marked));
    assert!(encoded(&dialect, &request).contains(form.strip_suffix('}').unwrap()));
}

/// PRV-13: how long the cache keeps what it read, or that it is not asked to.
#[test]
fn the_cache_can_be_told_otherwise() {
    let marks = |options: Value| {
        let text = encoded(&with_options(options), &conversation());
        (text.matches(r#""cache_control":{"type":"ephemeral"}"#).count(), text.matches(r#""ttl":"1h""#).count())
    };
    assert_eq!(marks(json!({})), (4, 0));
    assert_eq!(marks(json!({"cache": "5m"})), (4, 0));
    assert_eq!(marks(json!({"cache": "1h"})), (0, 4));
    assert_eq!(marks(json!({"cache": "off"})), (0, 0));
    // Where there are neither tools nor a system part, the message alone is marked.
    let bare = ModelRequest { tools: Arc::default(), ..request() };
    let body = encode(&anthropic(), &bare);
    assert_eq!((body.get("tools"), body.get("system")), (None, None));
    assert_eq!(body["messages"][0]["content"][0]["cache_control"], json!({"type": "ephemeral"}));
}

/// STRM-02: blank text is left out, a failed result says so, and a call whose arguments were broken goes back as a valid
/// object.
#[test]
fn what_the_api_refuses_is_not_sent() {
    let mut request = request();
    let ContentBlock::ToolCall(mut broken) = call("c1", "code.read_file", json!({})) else { panic!() };
    broken.metadata.insert(ToolCall::INVALID_ARGUMENTS.into(), "{\"path\": \"a\"}{".into());
    request.messages.push(said(Role::User, " \n"));
    request.messages.push(assistant(vec![ContentBlock::text("\n"), ContentBlock::ToolCall(broken)]));
    let ContentBlock::ToolResult(mut failed) = result("c1", "").content[0].clone() else { panic!() };
    failed.is_error = true;
    request.messages.push(Arc::new(ModelMessage::new(Role::Tool, vec![ContentBlock::ToolResult(failed)])));
    request.messages.push(said(Role::Assistant, "  "));
    assert_eq!(
        encode(&with_options(json!({"cache": "off"})), &request)["messages"],
        json!([
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "c1", "name": "code__read_file", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "[error]", "is_error": true},
            ]},
        ])
    );
}

#[test]
fn tool_choices() {
    let choice = |options: Value, choice: ToolChoice| {
        let request = ModelRequest { tool_choice: choice, ..request() };
        let dialect = with_options(options);
        let body = dialect.encode(&request, &dialect.names(&request.tools));
        body.map(|body| serde_json::from_slice::<Value>(&body).unwrap()["tool_choice"].clone())
    };
    let plain = |wanted: ToolChoice| choice(json!({}), wanted);
    assert_eq!(plain(ToolChoice::Auto).unwrap(), Value::Null);
    assert_eq!(plain(ToolChoice::None).unwrap(), json!({"type": "none"}));
    assert_eq!(plain(ToolChoice::Required).unwrap(), json!({"type": "any"}));
    let tool = plain(ToolChoice::Tool("code.read_file".into())).unwrap();
    assert_eq!(tool, json!({"type": "tool", "name": "code__read_file"}));
    let error = plain(ToolChoice::Tool("x".into())).unwrap_err();
    assert_eq!(error.payload().code, agent_protocol::ErrorCode::UnsupportedCapability);
    let single = |wanted: ToolChoice| choice(json!({"parallel_tool_calls": false}), wanted).unwrap();
    assert_eq!(single(ToolChoice::Auto), json!({"type": "auto", "disable_parallel_tool_use": true}));
    assert_eq!(single(ToolChoice::Required), json!({"type": "any", "disable_parallel_tool_use": true}));
    assert_eq!(single(ToolChoice::None), json!({"type": "none"}));
}

/// PRV-3: a tool that cannot be sent ends the request; it is not left out. One whose schema has a combinator at its root
/// can.
#[test]
fn schemas() {
    let mut bad = tool("user.odd");
    bad.input_schema = json!({"type": "string"});
    let odd = ModelRequest { tools: Arc::new(vec![tool("a.b"), bad].into()), ..request() };
    let error = anthropic().encode(&odd, &anthropic().names(&odd.tools)).unwrap_err();
    assert_eq!(error.payload().code, agent_protocol::ErrorCode::UnsupportedCapability);
    assert!(error.to_string().contains("user.odd"), "{error}");
    let mut either = tool("user.either");
    either.input_schema = json!({"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]});
    let body = encode(&anthropic(), &ModelRequest { tools: Arc::new(vec![either].into()), ..request() });
    assert_eq!(body["tools"][0]["input_schema"], json!({"type": "object", "properties": {"a": {}, "b": {}}}));
}

/// Thinking, temperature, forced calls and the limit get in each other's way; every outcome is a request that is taken.
#[test]
fn thinking_and_what_goes_with_it() {
    let shown = |model: &str, options: Value, limit: u64, choice: ToolChoice| {
        let request = ModelRequest {
            model: model.into(),
            temperature: Some(1.5),
            max_output_tokens: limit,
            tool_choice: choice,
            ..request()
        };
        let body = encode(&with_options(options), &request);
        format!("{} {}", body["thinking"], body["temperature"])
    };
    let auto = |model: &str, options: Value, limit: u64| shown(model, options, limit, ToolChoice::Auto);
    let old = "claude-sonnet-4-5";
    assert_eq!(auto(old, json!({}), 8000), "null 1.0");
    assert_eq!(auto("qwen", json!({}), 8000), "null 1.0");
    assert_eq!(auto("claude-opus-4-8", json!({}), 8000), "null null");
    assert_eq!(auto(old, json!({"thinking": "off"}), 8000), r#"{"type":"disabled"} 1.0"#);
    assert_eq!(
        auto(old, json!({"thinking": "adaptive", "thinking_display": "omitted"}), 8000),
        r#"{"type":"adaptive","display":"omitted"} null"#
    );
    assert_eq!(auto(old, json!({"thinking": 2048}), 8000), r#"{"type":"enabled","budget_tokens":2048} null"#);
    assert_eq!(auto(old, json!({"thinking": 20000}), 8000), r#"{"type":"enabled","budget_tokens":6000} null"#);
    assert_eq!(auto(old, json!({"thinking": 2048}), 1200), "null 1.0");
    assert_eq!(auto("claude-opus-5", json!({"thinking": 2048}), 8000), r#"{"type":"adaptive"} null"#);
    for options in [json!({"thinking": 2048}), json!({"thinking": "adaptive"})] {
        assert_eq!(shown(old, options.clone(), 8000, ToolChoice::Required), "null 1.0");
        assert!(!shown(old, options, 8000, ToolChoice::None).starts_with("null"));
    }
}

#[test]
fn options_shape_the_request() {
    let options = json!({
        "effort": "high", "stop_sequences": ["END"], "betas": ["a-1", "b-2"], "extra_body": {"top_k": 7},
        "headers": {"X-Title": "t", "anthropic-version": "2024-01-01"},
    });
    let dialect = with_options(options);
    let body = encode(&dialect, &request());
    assert_eq!(
        (&body["output_config"], &body["stop_sequences"], &body["top_k"]),
        (&json!({"effort": "high"}), &json!(["END"]), &json!(7))
    );
    let headers = dialect.headers(&request(), None).unwrap();
    assert_eq!((&headers["x-title"], &headers["anthropic-beta"]), (&"t".parse().unwrap(), &"a-1,b-2".parse().unwrap()));
    assert_eq!(headers["anthropic-version"], "2024-01-01");
    assert_eq!(anthropic().headers(&request(), None).unwrap()["anthropic-version"], "2023-06-01");
    assert!(anthropic().headers(&request(), None).unwrap().get("x-api-key").is_none());
    // Options of the request lie over those of the settings, and are checked like them.
    let over = |options: Value| ModelRequest { provider_options: object(options), ..request() };
    assert_eq!(encode(&dialect, &over(json!({"effort": "low"})))["output_config"]["effort"], "low");
    let wrong = over(json!({"efort": "low"}));
    assert!(dialect.encode(&wrong, &dialect.names(&wrong.tools)).is_err());
}

/// The address, with and without the API's version; and a common slip.
#[test]
fn addresses() {
    for (base, path) in [
        ("https://api.anthropic.com", "v1/messages"),
        ("https://api.anthropic.com/", "v1/messages"),
        ("https://api.anthropic.com/v1", "messages"),
        ("https://api.anthropic.com/v1/", "messages"),
        ("https://gateway/anthropic", "v1/messages"),
    ] {
        let endpoint = Endpoint::new(KEY, &ProviderSettings::new(base)).unwrap();
        let dialect = Anthropic::new(&ProviderSettings::new(base), endpoint.path()).unwrap();
        assert_eq!(dialect.path(), path, "{base}");
        assert!(endpoint.url(dialect.path()).path().ends_with("/v1/messages"));
    }
    let error = adapter(ProviderSettings::new("https://api.anthropic.com/v1/messages")).err().unwrap();
    assert_eq!(error.payload().code, agent_protocol::ErrorCode::ConfigError);
    assert!(error.to_string().contains("/messages"), "{error}");
}

fn refusal(words: &str) -> Refusal {
    use crate::fault::{Circumstances, ServerWords, classify};
    let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": words}}).to_string();
    Refusal {
        provider: KEY.into(),
        model: "m".into(),
        url: "u".into(),
        status: Some(400),
        kind: classify(&ServerWords::from_text(&body), Circumstances { status: Some(400), fills_window: false }),
        words: words.into(),
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

/// The adapter learns what the newest models no longer take; what is wrong with a value teaches nothing.
#[test]
fn lessons_from_refusals() {
    let dialect = with_options(json!({"thinking": 2048}));
    let plain = anthropic();
    let thinking = ModelRequest { max_output_tokens: 8000, ..request() };
    let warm = ModelRequest { temperature: Some(0.2), ..request() };
    for words in ["temperature: Input should be less than or equal to 1", "thinking.budget_tokens: too small"] {
        plain.learn(&refusal(words));
        dialect.learn(&refusal(words));
    }
    assert_eq!(encode(&plain, &warm)["temperature"], 0.2);
    assert_eq!(encode(&dialect, &thinking)["thinking"]["type"], "enabled");
    plain.learn(&refusal("`temperature` is deprecated for this model."));
    dialect
        .learn(&refusal("\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\""));
    assert_eq!(encode(&plain, &warm).get("temperature"), None);
    assert_eq!(encode(&dialect, &thinking)["thinking"]["type"], "adaptive");
}
