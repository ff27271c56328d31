//! Anthropic's messages in the shape that the other protocols share, so that a test looks at all of them alike.

use serde_json::{Map, Value, json};

/// The blocks of a message's content; text alone has none.
pub(crate) fn blocks(content: &Value) -> &[Value] {
    content.as_array().map_or(&[], Vec::as_slice)
}

/// The system part, then one message for each user's text and each result, and one for each of the assistant's turns.
pub(crate) fn of_request(body: &Value) -> Vec<Value> {
    let mut view = Vec::new();
    if let Some(system) = body.get("system") {
        view.push(json!({"role": "system", "content": text_of(system, "\n\n")}));
    }
    for message in body["messages"].as_array().into_iter().flatten() {
        match (message["role"].as_str(), &message["content"]) {
            (Some("user"), Value::Array(blocks)) => view.extend(blocks.iter().map(of_user)),
            (Some("assistant"), content @ Value::Array(_)) => view.push(of_assistant(content)),
            _ => view.push(message.clone()),
        }
    }
    view
}

fn of_user(block: &Value) -> Value {
    if block["type"] == "tool_result" {
        let content = text_of(&block["content"], "\n");
        return json!({"role": "tool", "tool_call_id": block["tool_use_id"], "content": content});
    }
    match block["text"].as_str() {
        Some(text) => json!({"role": "user", "content": text}),
        None => json!({"role": "user", "content": [block]}),
    }
}

fn of_assistant(content: &Value) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), json!("assistant"));
    message.insert("content".to_owned(), json!(text_of(content, "")));
    let calls: Vec<Value> = of_kind(content, &["tool_use"])
        .map(|call| json!({"id": call["id"], "function": {"name": call["name"], "arguments": call["input"]}}))
        .collect();
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), json!(calls));
    }
    let thoughts: Vec<&Value> = of_kind(content, &["thinking", "redacted_thinking"]).collect();
    if !thoughts.is_empty() {
        message.insert("thinking".to_owned(), json!(thoughts));
    }
    Value::Object(message)
}

fn of_kind<'a>(content: &'a Value, kinds: &'static [&'static str]) -> impl Iterator<Item = &'a Value> {
    blocks(content).iter().filter(|block| block["type"].as_str().is_some_and(|kind| kinds.contains(&kind)))
}

fn text_of(content: &Value, between: &str) -> String {
    match content {
        Value::String(text) => text.clone(),
        content => {
            let texts: Vec<&str> = of_kind(content, &["text"]).filter_map(|block| block["text"].as_str()).collect();
            texts.join(between)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_look_alike() {
        let mark = json!({"type": "ephemeral"});
        let body = json!({
            "system": [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "cache_control": mark}],
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "ok"},
                    {"type": "tool_result", "tool_use_id": "c2"},
                    {"type": "text", "text": "state", "cache_control": mark},
                ]},
            ],
        });
        assert_eq!(
            json!(of_request(&body)),
            json!([
                {"role": "system", "content": "a\n\nb"},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "I look.",
                 "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"a": 1}}}],
                 "thinking": [{"type": "thinking", "thinking": "hm", "signature": "s"}]},
                {"role": "tool", "tool_call_id": "c1", "content": "ok"},
                {"role": "tool", "tool_call_id": "c2", "content": ""},
                {"role": "user", "content": "state"},
            ])
        );
        assert_eq!(of_request(&json!(null)), Vec::<Value>::new());
    }
}
