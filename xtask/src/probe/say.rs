//! What the checks say: messages, tools, and text without end.

use agent_protocol::{
    ContentBlock, ModelMessage, Object, Permission, Reply, Role, SystemBlock, ToolCall, ToolCallId, ToolDefinition,
    ToolResultBlock,
};
use serde_json::{Value, json};

/// A tool whose name, like all of ours, no server takes as it is.
pub(crate) const WEATHER: &str = "probe.weather";
/// Another one.
pub(crate) const CLOCK: &str = "probe.clock";

/// A message of plain text.
pub(crate) fn text(role: Role, text: &str) -> ModelMessage {
    ModelMessage::new(role, vec![ContentBlock::text(text)])
}

/// A block of the system prompt.
pub(crate) fn system(text: &str) -> SystemBlock {
    SystemBlock {
        block_id: "probe".to_owned(),
        source: "probe".to_owned(),
        content: text.to_owned(),
        priority: 0,
        dynamic: false,
        token_count: 0,
        metadata: Object::new(),
    }
}

/// An assistant's message of calls, given as id, name and arguments.
pub(crate) fn calls<const N: usize>(calls: [(&ToolCallId, &str, Value); N]) -> ModelMessage {
    let call = |(id, name, arguments): (&ToolCallId, &str, Value)| {
        ContentBlock::ToolCall(ToolCall {
            tool_call_id: id.clone(),
            name: name.to_owned(),
            arguments: object(arguments),
            metadata: Object::new(),
        })
    };
    ModelMessage::new(Role::Assistant, calls.map(call).to_vec())
}

/// A reply as it comes back in the next request: as the engine keeps it, reasoning included.
pub(crate) fn earlier(reply: &Reply) -> ModelMessage {
    let mut message = ModelMessage::new(Role::Assistant, reply.content.clone());
    if let Some(reasoning) = reply.metadata.get(ModelMessage::REASONING) {
        message.metadata.insert(ModelMessage::REASONING.to_owned(), reasoning.clone());
    }
    message
}

/// A tool's answer.
pub(crate) fn result(id: &ToolCallId, content: Vec<ContentBlock>) -> ModelMessage {
    ModelMessage::new(Role::Tool, vec![ContentBlock::ToolResult(result_block(id, content))])
}

/// The block of a tool's answer.
pub(crate) fn result_block(id: &ToolCallId, content: Vec<ContentBlock>) -> ToolResultBlock {
    ToolResultBlock { tool_call_id: id.clone(), is_error: false, content, error: None, metadata: Object::new() }
}

/// A tool that wants a city.
pub(crate) fn weather() -> ToolDefinition {
    tool(WEATHER, "Gives the current weather of a city.", "city", "Name of the city, such as Berlin")
}

/// A tool that wants a time zone.
pub(crate) fn clock() -> ToolDefinition {
    tool(CLOCK, "Gives the current time of a time zone.", "zone", "Name of the time zone, such as CET")
}

fn tool(name: &str, description: &str, argument: &str, meaning: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {argument: {"type": "string", "description": meaning}},
            "required": [argument],
            "additionalProperties": false,
        }),
        permission: Permission::Readonly,
        tags: Vec::new(),
        metadata: Object::new(),
    }
}

/// An object from a literal; anything else is the empty one.
pub(crate) fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::new(),
    }
}

/// Common words, so that every tokenizer makes about one token of each.
const WORDS: [&str; 24] = [
    "river", "stone", "market", "winter", "garden", "letter", "window", "bread", "music", "summer", "paper", "forest",
    "street", "silver", "morning", "friend", "water", "table", "island", "bridge", "story", "doctor", "engine",
    "cloud",
];

/// About `bytes` bytes of lines that mean nothing and do not repeat soon.
pub(crate) fn filler(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    let mut random = 7_usize;
    let mut column = 0;
    while text.len() < bytes {
        random = random.wrapping_mul(1_103_515_245).wrapping_add(12_345) & 0x7fff_ffff;
        let word = WORDS[(random >> 16) % WORDS.len()];
        text.push_str(word);
        column += word.len() + 1;
        text.push(if column > 70 { '\n' } else { ' ' });
        column = if column > 70 { 0 } else { column };
    }
    text
}
