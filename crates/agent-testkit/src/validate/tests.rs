use serde_json::json;

use super::*;

mod anthropic;

/// The protocols whose tools are functions; they share most of their rules.
const FUNCTIONS: [Protocol; 2] = [Protocol::Ollama, Protocol::OpenAi];

/// Two parallel calls answered in the other order, then a second round.
fn valid(protocol: Protocol) -> Value {
    let tools = json!([{"type": "function", "function": {
        "name": "code__read_file", "description": "Reads.", "parameters": {"type": "object", "properties": {}}}}]);
    match protocol {
        Protocol::Ollama => {
            let call = |id: &str, path: &str| json!({"id": id, "function": {"name": "code__read_file", "arguments": {"path": path}}});
            let result =
                |id: &str| json!({"role": "tool", "tool_name": "code__read_file", "tool_call_id": id, "content": "x"});
            json!({
                "model": "m", "stream": true, "think": false, "keep_alive": "10m",
                "options": {"num_ctx": 8192, "temperature": 0.2, "stop": ["END"], "mirostat": 1},
                "tools": tools,
                "messages": [
                    {"role": "system", "content": "RULE-42"},
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [call("c1", "a"), call("c2", "b")]},
                    result("c2"),
                    result("c1"),
                    {"role": "assistant", "content": "", "tool_calls": [call("c3", "c")]},
                    result("c3"),
                    {"role": "user", "content": "state", "images": []},
                ],
            })
        }
        Protocol::OpenAi => {
            let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "code__read_file", "arguments": arguments}});
            let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
            json!({
                "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 100,
                "temperature": 0.2, "tools": tools, "tool_choice": "auto",
                "messages": [
                    {"role": "system", "content": [{"type": "text", "text": "RULE-42"}]},
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "content": null, "tool_calls": [call("c1", "{}"), call("c2", "{\"a\":1}")]},
                    result("c2"),
                    result("c1"),
                    {"role": "assistant", "content": "more", "tool_calls": [call("c3", "{}")]},
                    result("c3"),
                    {"role": "user", "content": "state"},
                ],
            })
        }
        Protocol::Anthropic => anthropic::valid(),
    }
}

/// Sets one place of a valid request and expects exactly these violations.
#[track_caller]
fn check(protocol: Protocol, pointer: &str, value: Value, expected: &[&str]) {
    let mut body = valid(protocol);
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match body.pointer_mut(parent).unwrap() {
        Value::Object(fields) => fields.insert(key.to_owned(), value.clone()),
        Value::Array(items) => Some(std::mem::replace(&mut items[key.parse::<usize>().unwrap()], value.clone())),
        other => panic!("{parent} is {other}"),
    };
    let found = validate_request(protocol, &body).err().unwrap_or_default();
    assert_eq!(found, expected, "{protocol:?} with {pointer} = {value}");
}

#[track_caller]
fn check_both(pointer: &str, value: Value, expected: &[&str]) {
    for protocol in &FUNCTIONS {
        check(*protocol, pointer, value.clone(), expected);
    }
}

#[test]
fn a_request_every_server_takes_passes() {
    for protocol in Protocol::ALL {
        assert_eq!(validate_request(*protocol, &valid(*protocol)), Ok(()));
    }
}

#[test]
fn what_is_no_request_at_all() {
    for protocol in &FUNCTIONS {
        assert_eq!(validate_request(*protocol, &json!([])), Err(vec!["body: is not a JSON object".to_owned()]));
    }
    check_both("/model", json!(""), &["model: is not a name"]);
    check_both("/model", json!(7), &["model: is not a name"]);
    check_both("/messages", json!([]), &["messages: is empty or no array"]);
    check_both("/messages", json!("hi"), &["messages: is empty or no array"]);
    check_both("/stream", json!(false), &["stream: is not true: streaming is the only path"]);
    check_both("/session_id", json!("s"), &["body: unknown field `session_id`"]);
}

#[test]
fn roles_and_their_order() {
    check_both("/messages/1/role", json!("User"), &["messages[1]: has no legal role"]);
    check_both(
        "/messages/7",
        json!({"role": "system", "content": "late"}),
        &["messages[7]: a system message may only be the first"],
    );
    for protocol in &FUNCTIONS {
        let mut body = valid(*protocol);
        body["messages"] = json!([{"role": "system", "content": "alone"}]);
        let found = validate_request(*protocol, &body);
        assert_eq!(found, Err(vec!["messages: no user query found in messages".to_owned()]));
    }
}

/// What a cancelled, crashed or interrupted run leaves behind is refused unless it was mended.
#[test]
fn every_call_is_answered_directly_and_once() {
    let user = json!({"role": "user", "content": "go on"});
    let open =
        |i: usize, id: &str| format!("messages[{i}]: call code__read_file ({id}) has no result directly after it");
    for (protocol, name) in [(Protocol::Ollama, "code__read_file"), (Protocol::OpenAi, "a call")] {
        let orphan = |i: usize, id: &str| {
            format!("messages[{i}]: the result for {name} ({id}) answers no open call directly before it")
        };
        // A result gone, another role in its place.
        check(protocol, "/messages/4", user.clone(), &[&open(2, "c1")]);
        // Another role between the results: the second comes too late.
        check(protocol, "/messages/3", user.clone(), &[&open(2, "c1"), &open(2, "c2"), &orphan(4, "c1")]);
        // The call gone, its result left.
        check(protocol, "/messages/5", user.clone(), &[&orphan(6, "c3")]);
        // A result for an earlier round.
        check(protocol, "/messages/6/tool_call_id", json!("c1"), &[&orphan(6, "c1"), &open(5, "c3")]);
        // The same call answered twice, the other never.
        check(protocol, "/messages/4/tool_call_id", json!("c2"), &[&orphan(4, "c2"), &open(2, "c1")]);
        // Nothing at all after the call.
        let mut body = valid(protocol);
        body["messages"].as_array_mut().unwrap().truncate(6);
        assert_eq!(validate_request(protocol, &body), Err(vec![open(5, "c3")]));
    }
}

#[test]
fn call_ids_are_unique() {
    for protocol in &FUNCTIONS {
        let mut body = valid(*protocol);
        body["messages"][5]["tool_calls"][0]["id"] = json!("c1");
        body["messages"][6]["tool_call_id"] = json!("c1");
        let found = validate_request(*protocol, &body);
        assert_eq!(found, Err(vec!["messages[5]: the id of call code__read_file (c1) was used before".to_owned()]));
    }
}

/// Older Ollama servers send no ids: names pair calls and results then.
#[test]
fn ollama_calls_without_ids_pair_by_name() {
    let mut body = valid(Protocol::Ollama);
    body["messages"][5]["tool_calls"][0].as_object_mut().unwrap().remove("id");
    body["messages"][6].as_object_mut().unwrap().remove("tool_call_id");
    assert_eq!(validate_request(Protocol::Ollama, &body), Ok(()));
    body["messages"][6]["tool_name"] = json!("other");
    assert!(validate_request(Protocol::Ollama, &body).unwrap_err()[0].contains("answers no open call"));
}

/// One illegal name makes a server refuse the whole request.
#[test]
fn names_match_the_strictest_pattern() {
    let wrong = |at: &str, name: &str| format!("{at}: the name \"{name}\" does not match ^[a-zA-Z0-9_-]{{1,64}}$");
    let long = "x".repeat(65);
    for name in ["code.read_file", "", "a b", "ü", &long] {
        check_both("/tools/0/function/name", json!(name), &[&wrong("tools[0]", name)]);
    }
    for protocol in &FUNCTIONS {
        let mut body = valid(*protocol);
        body["messages"][5]["tool_calls"][0]["function"]["name"] = json!("code.read_file");
        if *protocol == Protocol::Ollama {
            body["messages"][6]["tool_name"] = json!("code.read_file");
        }
        assert_eq!(validate_request(*protocol, &body), Err(vec![wrong("messages[5]", "code.read_file")]));
    }
    check_both("/tools/0/function/name", json!("x".repeat(64)), &[]);
}

#[test]
fn tools_are_functions_with_an_object_schema() {
    check_both("/tools", json!({}), &["tools: is no array"]);
    check_both("/tools", json!([]), &["tools: is empty: leave it out instead"]);
    check_both("/tools/0/type", json!("custom"), &["tools[0]: type is not `function`"]);
    check_both("/tools/0/name", json!("x"), &["tools[0]: unknown field `name`"]);
    check_both("/tools/0/function/kind", json!("x"), &["tools[0]: unknown field `kind`"]);
    check_both("/tools/0/function/description", json!(1), &["tools[0]: description is no text"]);
    for parameters in [json!(null), json!({}), json!({"type": "array"}), json!({"type": ["object", "null"]})] {
        check_both("/tools/0/function/parameters", parameters, &["tools[0]: parameters' root type is not `object`"]);
    }
    for protocol in &FUNCTIONS {
        let mut body = valid(*protocol);
        let twin = body["tools"][0].clone();
        body["tools"].as_array_mut().unwrap().push(twin);
        let expected = "tools[1]: the name \"code__read_file\" is taken by a tool before it".to_owned();
        assert_eq!(validate_request(*protocol, &body), Err(vec![expected]));
    }
}

/// Arguments that are no object must never come back as history.
#[test]
fn arguments_are_objects() {
    let place = "/messages/5/tool_calls/0/function/arguments";
    for arguments in [json!("{}"), json!(null), json!([]), json!(3)] {
        check(Protocol::Ollama, place, arguments, &["messages[5]: a call's arguments are no object"]);
    }
    let texts = ["", "null", "[]", "3", "\"{}\"", "{\"a\":1}{\"b\":2}", "{\"a\":"].map(|text| json!(text));
    for arguments in texts.into_iter().chain([json!({}), json!(null)]) {
        check(
            Protocol::OpenAi,
            place,
            arguments,
            &["messages[5]: a call's arguments are no text that holds a JSON object"],
        );
    }
}

#[test]
fn what_only_ollama_minds() {
    let check = |pointer: &str, value: Value, expected: &str| check(Protocol::Ollama, pointer, value, &[expected]);
    check("/messages/1/content", json!([{"type": "text", "text": "x"}]), "messages[1]: content is no text");
    check("/messages/1/content", json!(null), "messages[1]: content is no text");
    check("/messages/1/name", json!("x"), "messages[1]: unknown field `name`");
    check("/messages/6/tool_name", json!(null), "messages[6]: has no tool_name: some templates render nothing else");
    check(
        "/messages/6/tool_name",
        json!("other"),
        "messages[6]: the result for other (c3) belongs to call code__read_file (c3)",
    );
    check("/messages/5/tool_calls/0/kind", json!("x"), "messages[5]: unknown field `kind`");
    check("/messages/5/tool_calls/0/function/kind", json!("x"), "messages[5]: unknown field `kind`");
    check("/think", json!("very"), "think: is neither a boolean nor a level");
    check("/options", json!([]), "options: is no object");
    check("/options/num_ctx", json!("8192"), "options: option \"num_ctx\" must be a positive integer");
    check("/options/num_predict", json!(1.5), "options: option \"num_predict\" must be an integer");
    check("/options/temperature", json!("0"), "options: option \"temperature\" must be a number");
    check("/options/stop", json!("END"), "options: option \"stop\" must be a list of texts");
    check("/max_tokens", json!(1), "body: unknown field `max_tokens`");
}

#[test]
fn what_only_openai_minds() {
    let check = |pointer: &str, value: Value, expected: &str| check(Protocol::OpenAi, pointer, value, &[expected]);
    check("/messages/7/content", json!(null), "messages[7]: content is null without tool calls");
    check("/messages/7/content", json!([]), "messages[7]: content is neither text nor a list of parts");
    check("/messages/7/content", json!([{"type": "text"}]), "messages[7]: content is neither text nor a list of parts");
    check("/messages/1/images", json!([]), "messages[1]: unknown field `images`");
    check(
        "/messages/7",
        json!({"role": "assistant", "content": null}),
        "messages[7]: content is null without tool calls",
    );
    check(
        "/messages/7",
        json!({"role": "assistant", "content": "x", "tool_calls": []}),
        "messages[7]: tool_calls is empty or no array: leave it out instead",
    );
    check("/messages/5/tool_calls/0/type", json!(null), "messages[5]: a call's type is not `function`");
    check("/messages/5/tool_calls/0/index", json!(0), "messages[5]: unknown field `index`");
    check("/options", json!({}), "body: unknown field `options`");
    check("/max_completion_tokens", json!(9), "max_tokens: and max_completion_tokens exclude each other");
    check("/stop", json!(["a", "b", "c", "d", "e"]), "stop: are more than 4");
    check("/temperature", json!(2.5), "temperature: is no number from 0 to 2");
    let mut body = valid(Protocol::OpenAi);
    body.as_object_mut().unwrap().remove("tools");
    let expected = "tool_choice: is only allowed when tools are given".to_owned();
    assert_eq!(validate_request(Protocol::OpenAi, &body), Err(vec![expected]));
}

#[test]
fn openai_ids_are_one_to_forty_bytes() {
    for (id, legal) in [("x".repeat(40), true), ("x".repeat(41), false), (String::new(), false)] {
        let mut body = valid(Protocol::OpenAi);
        body["messages"][5]["tool_calls"][0]["id"] = json!(id);
        body["messages"][6]["tool_call_id"] = json!(id);
        let expected = format!("messages[5]: a call's id \"{id}\" is no text of 1 to 40 bytes");
        assert_eq!(validate_request(Protocol::OpenAi, &body), if legal { Ok(()) } else { Err(vec![expected]) });
    }
}

#[test]
fn openai_takes_at_most_128_tools() {
    let tool =
        |n: usize| json!({"type": "function", "function": {"name": format!("t{n}"), "parameters": {"type": "object"}}});
    check(Protocol::OpenAi, "/tools", (0..128).map(tool).collect(), &[]);
    check(Protocol::OpenAi, "/tools", (0..129).map(tool).collect(), &["tools: are more than 128"]);
}

#[test]
fn a_test_may_allow_further_fields() {
    let mut body = valid(Protocol::OpenAi);
    body["cache_prompt"] = json!(true);
    assert!(validate_request(Protocol::OpenAi, &body).is_err());
    assert_eq!(validate_with(Protocol::OpenAi, &body, &["cache_prompt".to_owned()]), Ok(()));
}
