//! What only Anthropic minds.

use super::*;

/// Two parallel calls answered in the other order, then a second round, with thoughts.
pub(super) fn valid() -> Value {
    let call = |id: &str, path: &str| json!({"type": "tool_use", "id": id, "name": "code__read_file", "input": {"path": path}});
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
    let thought = json!({"type": "thinking", "thinking": "", "signature": "s"});
    let mark = json!({"type": "ephemeral"});
    json!({
        "model": "m", "max_tokens": 4096, "stream": true, "thinking": {"type": "enabled", "budget_tokens": 2048},
        "system": [{"type": "text", "text": "RULE-42", "cache_control": mark}],
        "tools": [{"name": "code__read_file", "description": "Reads.",
                   "input_schema": {"type": "object", "properties": {}}, "cache_control": mark}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": [thought, call("c1", "a"), call("c2", "b")]},
            {"role": "user", "content": [result("c2"), result("c1")]},
            {"role": "assistant", "content": [{"type": "text", "text": "more"}, call("c3", "c")]},
            {"role": "user", "content": [result("c3"), {"type": "text", "text": "state", "cache_control": mark}]},
        ],
    })
}

#[track_caller]
fn check(pointer: &str, value: Value, expected: &[&str]) {
    super::check(Protocol::Anthropic, pointer, value, expected);
}

#[test]
fn the_frame() {
    check("/model", json!(""), &["model: is not a name"]);
    check("/stream", json!(false), &["stream: is not true: streaming is the only path"]);
    check("/n", json!(1), &["body: unknown field `n`"]);
    check("/max_tokens", json!(0), &["max_tokens: is no positive integer"]);
    check("/messages", json!([]), &["messages: is empty or no array"]);
    check("/system", json!(7), &["system: is neither text nor a list of blocks"]);
    check("/system/0/text", json!(" \n"), &["system[0]: text content blocks must contain non-whitespace text"]);
    check("/system/0/type", json!("image"), &["system[0]: is no text block"]);
}

#[test]
fn roles_take_turns() {
    let alternate = |i: usize| format!("messages[{i}]: roles must alternate, beginning with user");
    let text = |role: &str| json!({"role": role, "content": "x"});
    let found = |messages: Value| {
        let mut body = valid();
        body["messages"] = messages;
        body.as_object_mut().unwrap().shift_remove("thinking");
        validate_request(Protocol::Anthropic, &body).err().unwrap_or_default()
    };
    assert_eq!(found(json!([text("user"), text("assistant"), text("user")])), Vec::<String>::new());
    assert_eq!(found(json!([text("assistant"), text("user")])), [alternate(0)]);
    assert_eq!(found(json!([text("user"), text("user")])), [alternate(1)]);
    assert_eq!(found(json!([text("user"), text("tool"), text("user")])), ["messages[1]: has no legal role"]);
    assert_eq!(
        found(json!([text("user"), text("assistant")])),
        ["messages: the conversation must end with a user message"]
    );
}

/// What a cancelled, crashed or interrupted run leaves behind is refused unless it was mended.
#[test]
fn every_call_is_answered_in_the_next_message() {
    let open = |i: usize, id: &str| {
        format!("messages[{i}]: `tool_use` ids were found without `tool_result` blocks immediately after: {id}")
    };
    let orphan =
        |i: usize, id: &str| format!("messages[{i}]: unexpected `tool_use_id` found in `tool_result` blocks: {id}");
    check("/messages/2/content/1", json!({"type": "text", "text": "x"}), &[&open(1, "c1")]);
    check("/messages/2/content/0/tool_use_id", json!("c1"), &[&orphan(2, "c1"), &open(1, "c2")]);
    check("/messages/4/content/0/tool_use_id", json!("c1"), &[&orphan(4, "c1"), &open(3, "c3")]);
    check("/messages/3/content/1", json!({"type": "text", "text": "x"}), &[&orphan(4, "c3")]);
    check(
        "/messages/3/content/1/id",
        json!("c1"),
        &["messages[3]: `tool_use` ids must be unique: c1", &orphan(4, "c3"), &open(3, "c1")],
    );
    let late = json!([{"type": "text", "text": "x"}, {"type": "tool_result", "tool_use_id": "c3", "content": "x"}]);
    check("/messages/4/content", late, &["messages[4]: `tool_result` blocks must come before all others"]);
    let mut body = valid();
    body["messages"].as_array_mut().unwrap().truncate(4);
    assert_eq!(
        validate_request(Protocol::Anthropic, &body),
        Err(vec![open(3, "c3"), "messages: the conversation must end with a user message".to_owned()])
    );
}

#[test]
fn blocks_say_something() {
    let blank = "text content blocks must contain non-whitespace text";
    check("/messages/0/content", json!("  "), &["messages[0]: text content must be non-empty"]);
    check("/messages/0/content", json!([]), &["messages[0]: all messages must have non-empty content"]);
    check("/messages/0/content", json!(1), &["messages[0]: content is neither text nor a list of blocks"]);
    check("/messages/0/content/0/text", json!("\n"), &[&format!("messages[0]: {blank}")]);
    check("/messages/3/content/0/text", json!(""), &[&format!("messages[3]: {blank}")]);
    let empty = json!([{"type": "text", "text": ""}]);
    check("/messages/2/content/0/content", empty, &[&format!("messages[2]: {blank}")]);
    check("/messages/2/content/0/content", json!(""), &[]);
    check("/messages/2/content/0/name", json!("x"), &["messages[2]: unknown field `name`"]);
    check("/messages/0/name", json!("x"), &["messages[0]: unknown field `name`"]);
    check("/messages/0/content/0/type", json!("thinking"), &["messages[0]: a user's block may not be `thinking`"]);
    let failed = json!({"type": "tool_result", "tool_use_id": "c2", "is_error": true});
    check("/messages/2/content/0", failed, &["messages[2]: a `tool_result` with is_error must say something"]);
}

#[test]
fn calls_have_legal_names_ids_and_input() {
    check(
        "/messages/1/content/1/name",
        json!("code.read_file"),
        &["messages[1]: the name \"code.read_file\" does not match ^[a-zA-Z0-9_-]{1,64}$"],
    );
    check("/messages/1/content/1/input", json!("{}"), &["messages[1]: a call's input is no object"]);
    for id in ["", "a.b", "a b"] {
        let mut body = valid();
        body["messages"][3]["content"][1]["id"] = json!(id);
        body["messages"][4]["content"][0]["tool_use_id"] = json!(id);
        let expected = format!("messages[3]: a call's id \"{id}\" does not match ^[a-zA-Z0-9_-]+$");
        assert_eq!(validate_request(Protocol::Anthropic, &body), Err(vec![expected]));
    }
}

#[test]
fn thoughts_are_signed_and_in_their_place() {
    let field = "messages[1]: thinking.signature: Field required";
    check("/messages/1/content/0/signature", json!(""), &[field]);
    check("/messages/1/content/0/signature", json!(null), &[field]);
    check("/messages/1/content/0/thinking", json!(null), &[field]);
    check("/messages/1/content/0", json!({"type": "redacted_thinking", "data": "d"}), &[]);
    check(
        "/messages/1/content/0",
        json!({"type": "redacted_thinking"}),
        &["messages[1]: redacted_thinking.data: Field required"],
    );
    check("/messages/1/content/0/cache_control", json!({}), &["messages[1]: unknown field `cache_control`"]);
    check(
        "/messages/1/content/0",
        json!({"type": "text", "text": "x"}),
        &["messages[1]: Expected `thinking` or `redacted_thinking`, but found another block"],
    );
    check(
        "/messages/1/content/0",
        json!({"type": "server_tool_use", "id": "s"}),
        &["messages[1]: Expected `thinking` or `redacted_thinking`, but found another block"],
    );
    let thought = json!({"type": "thinking", "thinking": "a", "signature": "s"});
    let mut body = valid();
    body["messages"][3]["content"].as_array_mut().unwrap().push(thought);
    assert_eq!(
        validate_request(Protocol::Anthropic, &body),
        Err(vec!["messages[3]: the final block in an assistant message cannot be `thinking`".to_owned()])
    );
}

#[test]
fn thinking_and_sampling_get_in_each_others_way() {
    let budget = "thinking: budget_tokens is not from 1024 to less than max_tokens";
    check("/thinking/budget_tokens", json!(1023), &[budget]);
    check("/thinking/budget_tokens", json!(4096), &[budget]);
    check("/thinking/type", json!("auto"), &["thinking: has no legal type"]);
    check("/temperature", json!(0.2), &["temperature: may only be 1 when thinking is enabled"]);
    check("/temperature", json!(1), &[]);
    check("/tool_choice", json!({"type": "any"}), &["tool_choice: may not force tool use when thinking is enabled"]);
    check("/tool_choice", json!({"type": "auto"}), &[]);
    let mut body = valid();
    body["thinking"] = json!({"type": "disabled"});
    body["temperature"] = json!(0.2);
    assert_eq!(validate_request(Protocol::Anthropic, &body), Ok(()));
    body["temperature"] = json!(1.5);
    assert_eq!(
        validate_request(Protocol::Anthropic, &body),
        Err(vec!["temperature: is no number from 0 to 1".to_owned()])
    );
}

#[test]
fn tools_have_flat_schemas() {
    check("/tools", json!([]), &["tools: is empty or no array: leave it out instead"]);
    check("/tools/0/function", json!({}), &["tools[0]: unknown field `function`"]);
    check("/tools/0/name", json!("a.b"), &["tools[0]: the name \"a.b\" does not match ^[a-zA-Z0-9_-]{1,64}$"]);
    check("/tools/0/description", json!(1), &["tools[0]: description is no text"]);
    check("/tools/0/input_schema/type", json!("string"), &["tools[0]: input_schema's root type is not `object`"]);
    check(
        "/tools/0/input_schema/anyOf",
        json!([]),
        &["tools[0]: input_schema does not support anyOf at the top level"],
    );
    let mut body = valid();
    let twin = body["tools"][0].clone();
    body["tools"].as_array_mut().unwrap().push(twin);
    let found = validate_request(Protocol::Anthropic, &body).unwrap_err();
    assert_eq!(found, ["tools[1]: the name \"code__read_file\" is taken by a tool before it"]);
    let mut body = valid();
    body.as_object_mut().unwrap().shift_remove("tools");
    body["tool_choice"] = json!({"type": "auto"});
    let found = validate_request(Protocol::Anthropic, &body).unwrap_err();
    assert_eq!(found, ["tool_choice: is only allowed when tools are given"]);
}

/// Three marks are in the valid request; arguments that look like one are none.
#[test]
fn at_most_four_marks() {
    let mark = json!({"type": "ephemeral"});
    let mut body = valid();
    body["messages"][0]["content"][0]["cache_control"] = mark.clone();
    body["messages"][1]["content"][1]["input"]["cache_control"] = mark.clone();
    assert_eq!(validate_request(Protocol::Anthropic, &body), Ok(()));
    body["messages"][2]["content"][0]["cache_control"] = mark;
    let found = validate_request(Protocol::Anthropic, &body).unwrap_err();
    assert_eq!(found, ["body: more than 4 blocks with cache_control"]);
}
