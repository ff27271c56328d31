//! Conversations that other providers began, or that broke off, and what becomes of thoughts. Whatever a history looks like,
//! the request is one that is taken.

use agent_protocol::{ContentBlock, ModelMessage, Object, Reply, Role, ToolChoice};
use agent_testkit::{Protocol, validate_request};
use proptest::prelude::*;

use super::requests::{encode, encoded};
use super::*;
use crate::ollama::Ollama;
use crate::openai::OpenAi;
use crate::testing::{call, properties, reply_to, request, result, said, system};

fn message(role: Role, content: Vec<ContentBlock>) -> Arc<ModelMessage> {
    Arc::new(ModelMessage::new(role, content))
}

/// A reply as the loop puts it into the conversation.
fn replied(reply: &Reply) -> ModelMessage {
    let mut message = ModelMessage::new(Role::Assistant, reply.content.clone());
    if let Some(reasoning) = reply.metadata.get(ModelMessage::REASONING) {
        message.metadata.insert(ModelMessage::REASONING.into(), reasoning.clone());
    }
    message
}

/// Thoughts of all kinds around text and a call, as the server sent them.
fn thoughtful() -> [Value; 6] {
    [
        json!({"type": "thinking", "thinking": "H\u{e4}, \"m\"\n/", "signature": "EqQB/+="}),
        json!({"type": "redacted_thinking", "data": "Zm9v"}),
        json!({"type": "text", "text": "I look."}),
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": [1, 2.5, null]}}),
        json!({"type": "thinking", "thinking": "", "signature": "s2"}),
        json!({"type": "tool_use", "id": "c1", "name": "code__read_file", "input": {"path": "a"}}),
    ]
}

/// A conversation after that reply and the call's result.
fn after(blocks: &[Value], model: &str) -> ModelRequest {
    let mut request = ModelRequest { model: model.to_owned(), max_output_tokens: 8000, ..request() };
    let starts: Vec<String> = blocks.iter().enumerate().map(|(at, block)| start(at, &block.to_string())).collect();
    let body = events(&around(&starts, &message_delta("tool_use")));
    let reply = reply_to(&anthropic(), request.clone(), &body);
    request.messages.push(Arc::new(replied(&reply)));
    request.messages.push(result("c1", "ok"));
    request
}

/// PRV-11: what the model thought goes back to it in its place, byte for byte, and the request is taken.
#[test]
fn thoughts_go_back_as_they_came() {
    for thinking in [json!({}), json!({"thinking": 2048}), json!({"thinking": "adaptive"})] {
        let body = encode(&with_options(thinking), &after(&thoughtful(), "m"));
        assert_eq!(body["messages"][1]["content"], json!(thoughtful()));
    }
    // The text of a request holds the very bytes.
    let text = encoded(&anthropic(), &after(&thoughtful(), "m"));
    for block in thoughtful() {
        assert!(text.contains(&block.to_string()), "{block}");
    }
}

/// PRV-11: another model gets no thoughts, nor does one that shall not think; a thought without signature, or one that was changed
/// since, goes to nobody. The request is taken all the same.
#[test]
fn thoughts_that_stay_behind() {
    let kinds = |options: Value, request: &ModelRequest| {
        let body = encode(&with_options(options), request);
        let blocks = body["messages"][1]["content"].as_array().unwrap().clone();
        let kinds: Vec<&str> = blocks.iter().map(|block| block["type"].as_str().unwrap()).collect();
        format!("{} {}", kinds.join(" "), body["thinking"])
    };
    let mut request = after(&thoughtful(), "m");
    assert_eq!(kinds(json!({"thinking": "off"}), &request), r#"text server_tool_use tool_use {"type":"disabled"}"#);
    // The API wants a thought before these calls, and there is none that it knows: this request goes without thinking.
    request.model = "m2".into();
    assert_eq!(kinds(json!({"thinking": 2048}), &request), "text tool_use null");
    assert_eq!(kinds(json!({"thinking": "adaptive"}), &request), r#"text tool_use {"type":"adaptive"}"#);
    request.messages.push(said(Role::User, "Stop."));
    assert_eq!(kinds(json!({"thinking": 2048}), &request), "text tool_use null");
    request.messages.extend([said(Role::Assistant, "Yes."), said(Role::User, "A new question.")]);
    assert_eq!(kinds(json!({"thinking": 2048}), &request), r#"text tool_use {"type":"enabled","budget_tokens":2048}"#);

    let mut changed = after(&thoughtful(), "m");
    let mut message = ModelMessage::clone(&changed.messages[1]);
    let reasoning = message.metadata.get_mut(ModelMessage::REASONING).unwrap();
    *reasoning.pointer_mut("/blocks/0/block/thinking").unwrap() = json!("[secret]");
    message.wire = Default::default();
    changed.messages[1] = Arc::new(message);
    assert_eq!(kinds(json!({"thinking": 2048}), &changed), "text tool_use null");

    let unsigned = [json!({"type": "thinking", "thinking": "hm"}), thoughtful()[2].clone(), thoughtful()[5].clone()];
    let mut unsigned = after(&unsigned, "m");
    assert_eq!(kinds(json!({}), &unsigned), "text tool_use null");
    // A server that signs nothing asks for no thought either.
    unsigned.messages.truncate(2);
    let body = encoded(&with_options(json!({"thinking": 2048})), &unsigned);
    assert!(body.contains(r#""thinking":{"type":"enabled""#), "{body}");
}

/// A message may not end with a thought, and one of thoughts alone says nothing.
#[test]
fn thoughts_do_not_end_a_message() {
    let mut request = request();
    for content in [vec![], vec![ContentBlock::text("\n")]] {
        let blocks = thoughtful().into_iter().take(1).collect::<Vec<_>>();
        let thought = after(&[blocks[0].clone(), json!({"type": "text", "text": "x"})], "m").messages[1].clone();
        let mut message = ModelMessage::new(Role::Assistant, content);
        message.metadata = thought.metadata.clone();
        request.messages.push(Arc::new(message));
    }
    request.messages.push(said(Role::User, "next"));
    let body = encode(&anthropic(), &request);
    assert_eq!(body["messages"].as_array().unwrap().len(), 1, "{body}");
    assert_eq!(body["messages"][0]["content"][1]["text"], "next");
}

/// PRV-11: thoughts of Anthropic's models mean nothing to others, and what others thought nothing to Anthropic's.
#[test]
fn thoughts_do_not_change_hands() {
    let settings = ProviderSettings::new("http://127.0.0.1:1/v1");
    let mut echoing = settings.clone();
    echoing.provider_options = object(json!({"echo_reasoning": true}));
    let openai = OpenAi::new(&echoing, "127.0.0.1").unwrap();
    let ollama = Ollama::new(&ProviderSettings::new("http://127.0.0.1:1")).unwrap();
    let others: [(Protocol, &dyn Dialect); 2] = [(Protocol::OpenAi, &openai), (Protocol::Ollama, &ollama)];
    let request = after(&thoughtful(), "m");
    for (protocol, dialect) in others {
        let body = dialect.encode(&request, &dialect.names(&request.tools)).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(validate_request(protocol, &body), Ok(()), "{body}");
        let text = body.to_string();
        assert!(text.contains("I look.") && !text.contains("EqQB") && !text.contains("web_search"), "{text}");
    }
    let mut request = request;
    let mut message = ModelMessage::new(Role::Assistant, vec![call("c1", "code.read_file", json!({}))]);
    message.metadata.insert(ModelMessage::REASONING.into(), "what another model thought".into());
    request.messages[1] = Arc::new(message);
    for options in [json!({}), json!({"thinking": 2048})] {
        let body = encode(&with_options(options), &request);
        assert!(!body.to_string().contains("another model"), "{body}");
        assert_eq!(body.get("thinking"), None);
    }
}

/// RUN-19, STRM-09: every call is answered in the next message, before anything else; an answer to no call is left
/// out. The conversation begins and ends with the user.
#[test]
fn gaps_are_filled() {
    let mut request = ModelRequest { tools: Arc::default(), ..request() };
    request.messages = vec![
        said(Role::Assistant, "I begin."),
        said(Role::User, "one"),
        message(
            Role::Assistant,
            vec![call("c1", "a", json!({})), call("c2", "b", json!({})), call("c3", "c", json!({}))],
        ),
        result("c2", "ok"),
        said(Role::User, "stopped"),
        result("gone", "x"),
        result("c1", "late"),
        result("c2", "again"),
        message(Role::Assistant, vec![ContentBlock::text("two"), call("c4", "a", json!({}))]),
        message(Role::Assistant, vec![ContentBlock::text("three")]),
        message(Role::Assistant, vec![ContentBlock::text("four")]),
    ];
    let dialect = with_options(json!({"cache": "off"}));
    let none = |id: &str| {
        let content = "[error] There is no result of this call.";
        json!({"type": "tool_result", "tool_use_id": id, "content": content, "is_error": true})
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    let tool_use = |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    let ok = |id: &str, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": text});
    let messages = encode(&dialect, &request)["messages"].clone();
    assert_eq!(
        messages,
        json!([
            {"role": "user", "content": [text("[The beginning of the conversation is left out.]")]},
            {"role": "assistant", "content": [text("I begin.")]},
            {"role": "user", "content": [text("one")]},
            {"role": "assistant", "content": [tool_use("c1", "a"), tool_use("c2", "b"), tool_use("c3", "c")]},
            {"role": "user", "content": [ok("c2", "ok"), ok("c1", "late"), none("c3"), text("stopped")]},
            {"role": "assistant", "content": [text("two"), tool_use("c4", "a")]},
            {"role": "user", "content": [none("c4")]},
            {"role": "assistant", "content": [text("three"), text("four")]},
            {"role": "user", "content": [text("Go on.")]},
        ])
    );
    request.messages.clear();
    assert_eq!(encode(&dialect, &request)["messages"], json!([{"role": "user", "content": [text("Go on.")]}]));
}

/// RUN-19: neighbouring user messages are one, and the blocks of the first stay what they were.
#[test]
fn neighbours_are_merged() {
    let mut request = request();
    request.messages.push(said(Role::User, "two"));
    let body = encode(&with_options(json!({"cache": "off"})), &request);
    let texts = json!([{"type": "text", "text": "hi"}, {"type": "text", "text": "two"}]);
    assert_eq!(body["messages"], json!([{"role": "user", "content": texts}]));
}

/// Any content a history may hold, legal or not.
fn block() -> impl Strategy<Value = ContentBlock> {
    let name = prop::sample::select(vec!["code.read_file", "gone.tool", "schön", "a b", "", "code__read_file"]);
    let id = prop::sample::select(vec!["c1", "c2", "c3", "call_4"]);
    prop_oneof![
        prop::sample::select(vec!["", " \n", "x", "\u{2028}\"", "trailing "]).prop_map(ContentBlock::text),
        (id, name).prop_map(|(id, name)| call(id, name, json!({"path": "a"}))),
        Just(ContentBlock::json(json!({"a": [1]}))),
    ]
}

fn any_message() -> impl Strategy<Value = Arc<ModelMessage>> {
    let result_of = prop::sample::select(vec!["c1", "c2", "c3", "call_4", "gone"]);
    let reasoning = prop::sample::select(vec![
        Value::Null,
        json!("a text"),
        json!({"provider": "anthropic", "model": "m", "blocks": [], "digest": "x"}),
        json!({"provider": "anthropic"}),
        json!(7),
    ]);
    prop_oneof![
        prop::collection::vec(block(), 0..2).prop_map(|content| {
            let text = content.into_iter().filter(|block| block.as_tool_call().is_none()).collect::<Vec<_>>();
            message(Role::User, text)
        }),
        (result_of, prop::sample::select(vec!["", "ok"])).prop_map(|(id, text)| result(id, text)),
        (prop::collection::vec(block(), 0..3), reasoning).prop_map(|(content, reasoning)| {
            let mut message = ModelMessage::new(Role::Assistant, content);
            message.metadata.insert(ModelMessage::REASONING.into(), reasoning);
            Arc::new(message)
        }),
        Just(Arc::new(after(&thoughtful(), "m").messages[1].as_ref().clone())),
    ]
}

/// Ids are unique in a conversation (PRV-5); the messages keep their first.
fn with_unique_ids(messages: Vec<Arc<ModelMessage>>) -> Vec<Arc<ModelMessage>> {
    let mut seen = std::collections::HashSet::new();
    let mut unique = |message: Arc<ModelMessage>| {
        let mut fresh = |block: &ContentBlock| {
            block.as_tool_call().is_none_or(|call| seen.insert(call.tool_call_id.as_str().to_owned()))
        };
        let content: Vec<ContentBlock> = message.content.iter().filter(|block| fresh(block)).cloned().collect();
        let mut copy = ModelMessage::new(message.role, content);
        copy.metadata = message.metadata.clone();
        Arc::new(copy)
    };
    messages.into_iter().map(&mut unique).collect()
}

fn thinking_options() -> impl Strategy<Value = Value> {
    let all = vec![json!({}), json!({"thinking": 2048}), json!({"thinking": "adaptive"}), json!({"thinking": "off"})];
    prop::sample::select(all)
}

proptest! {
    #![proptest_config(properties())]

    /// RUN-19, STRM-09: whatever a history looks like, the request is one that is taken.
    #[test]
    fn any_history_gives_a_valid_request(
        messages in prop::collection::vec(any_message(), 0..12),
        options in thinking_options(),
        forced in any::<bool>(),
    ) {
        let request = ModelRequest {
            messages: with_unique_ids(messages),
            system: system(&["RULE-42"]),
            temperature: Some(0.2),
            max_output_tokens: 8000,
            tool_choice: if forced { ToolChoice::Required } else { ToolChoice::Auto },
            ..request()
        };
        let body: Value = serde_json::from_str(&encoded(&with_options(options), &request)).unwrap();
        prop_assert_eq!(validate_request(Protocol::Anthropic, &body), Ok(()), "{}", body);
    }

    /// PRV-15: a conversation that goes on with answered calls only ever adds to what was sent, the moving mark aside.
    #[test]
    fn a_growing_conversation_only_adds(
        turns in prop::collection::vec((any::<bool>(), "[a-z ]{0,5}", 0_usize..4), 1..8),
        options in thinking_options(),
    ) {
        let dialect = with_options(options);
        let mut request = ModelRequest { max_output_tokens: 8000, system: system(&["RULE-42"]), ..request() };
        let mut before = String::new();
        for (number, (thinks, text, calls)) in turns.into_iter().enumerate() {
            let now = encoded(&dialect, &request).replace(r#","cache_control":{"type":"ephemeral"}"#, "");
            // Settings may change, what is read may not.
            let now = &now[now.find("\"tools\":").unwrap()..now.len() - "]}]}".len()];
            prop_assert!(now.starts_with(&before), "{} does not begin with {}", now, before);
            before = now.to_owned();
            let mut content = vec![ContentBlock::text(text)];
            let ids: Vec<String> = (0..calls).map(|call| format!("c{number}_{call}")).collect();
            content.extend(ids.iter().map(|id| call(id, "code.read_file", json!({}))));
            let mut turn = ModelMessage::new(Role::Assistant, content);
            if thinks {
                turn.metadata = after(&thoughtful(), "m").messages[1].metadata.clone();
            }
            request.messages.push(Arc::new(turn));
            request.messages.extend(ids.iter().map(|id| result(id, "ok")));
            if calls == 0 {
                request.messages.push(said(Role::User, "next"));
            }
        }
    }

    /// A history that the loop may leave behind is taken in every protocol, whoever began it.
    #[test]
    fn a_whole_history_is_taken_everywhere(
        turns in prop::collection::vec((any::<bool>(), "[a-z ]{0,5}", 0_usize..4, any::<bool>()), 1..6),
    ) {
        let mut request = ModelRequest { max_output_tokens: 8000, ..request() };
        for (number, (thinks, text, calls, broken)) in turns.into_iter().enumerate() {
            let mut content = if text.is_empty() { vec![] } else { vec![ContentBlock::text(text)] };
            let ids: Vec<String> = (0..calls).map(|call| format!("c{number}_{call}")).collect();
            content.extend(ids.iter().map(|id| call(id, if broken { "user.schön" } else { "code.read_file" }, json!({}))));
            if content.is_empty() {
                continue;
            }
            let mut turn = ModelMessage::new(Role::Assistant, content);
            turn.metadata = if thinks {
                after(&thoughtful(), "m").messages[1].metadata.clone()
            } else {
                Object::from_iter([(ModelMessage::REASONING.to_owned(), "hm".into())])
            };
            request.messages.push(Arc::new(turn));
            request.messages.extend(ids.iter().map(|id| result(id, "ok")));
            request.messages.push(said(Role::User, "next"));
        }
        let settings = ProviderSettings::new("http://127.0.0.1:1");
        let openai = OpenAi::new(&settings, "127.0.0.1").unwrap();
        let ollama = Ollama::new(&settings).unwrap();
        let anthropic = with_options(json!({"thinking": 2048}));
        let all: [(Protocol, &dyn Dialect); 3] =
            [(Protocol::OpenAi, &openai), (Protocol::Ollama, &ollama), (Protocol::Anthropic, &anthropic)];
        for (protocol, dialect) in all {
            let body = dialect.encode(&request, &dialect.names(&request.tools)).unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            prop_assert_eq!(validate_request(protocol, &body), Ok(()), "{}", body);
        }
    }
}
