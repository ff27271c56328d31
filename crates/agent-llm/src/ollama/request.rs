//! Writes a request for `/api/chat`. Each message, the system prompt and the tools are written once and kept beside what
//! they say; a request is put together from those pieces (PERF-2, PRV-15).

use std::sync::Arc;

use agent_protocol::{
    ContentBlock, ModelMessage, ModelRequest, Role, SystemPrompt, ToolCall, ToolCallId, ToolChoice, ToolResultBlock,
};
use bytes::Bytes;
use serde_json::Value;

use super::{KEY, OllamaOptions};
use crate::ProviderError;
use crate::digest::digest;
use crate::json::ObjectWriter;
use crate::names::NameTable;
use crate::wire_form::{self, Forms, push_form};

/// Changes whenever the bytes of a form change.
const FORM: &[u8] = b"ollama/1";

pub(super) fn encode(
    request: &ModelRequest,
    names: &NameTable,
    options: &OllamaOptions,
    context_window: u64,
) -> Result<Bytes, ProviderError> {
    let offers_tools = match &request.tool_choice {
        ToolChoice::Auto => !request.tools.tools.is_empty(),
        // The API has no such field; a model without tools calls none.
        ToolChoice::None => false,
        ToolChoice::Required => return Err(unsupported(request, "to make the model call some tool".to_owned())),
        ToolChoice::Tool(name) => {
            return Err(unsupported(request, format!("to make the model call the tool {name}")));
        }
    };
    let key = digest([FORM, &names.fingerprint().to_le_bytes()[..]]);
    let mut messages = Forms::default();
    messages.push(request.system.wire.get_or_make(key, || system_form(&request.system)));
    for (at, message) in request.messages.iter().enumerate() {
        let tool_name = |id: &ToolCallId| wire_form::called_tool(&request.messages[..at], id);
        messages.push(message.wire.get_or_make(key, || message_form(message, names, tool_name)));
    }
    let tools = if offers_tools { Some(tools_form(request, names, key)?) } else { None };

    let mut body = String::with_capacity(messages.room() + tools.as_ref().map_or(0, |tools| tools.len()) + 512);
    let mut object = ObjectWriter::open(&mut body);
    object.string("model", &request.model);
    object.boolean("stream", true);
    // Without these two an over-long prompt is cut in silence instead of refused.
    object.boolean("truncate", false);
    object.boolean("shift", false);
    if let Some(think) = &options.think {
        object.value("think", think);
    }
    if let Some(keep_alive) = &options.keep_alive {
        object.value("keep_alive", keep_alive);
    }
    runner_options(object.field("options"), request, options, context_window);
    messages.write(object.field("messages"));
    if let Some(tools) = &tools {
        object.raw("tools", tools);
    }
    object.close();
    Ok(Bytes::from(body))
}

/// `num_ctx` first, and always: a request without it, or with another one, makes the server load the model anew (PRV-12).
fn runner_options(out: &mut String, request: &ModelRequest, options: &OllamaOptions, context_window: u64) {
    let mut object = ObjectWriter::open(out);
    object.number("num_ctx", context_window);
    object.number("num_predict", request.max_output_tokens);
    if let Some(temperature) = request.temperature {
        object.value("temperature", &Value::from(temperature));
    }
    for (key, value) in &options.runner {
        object.value(key, value);
    }
    object.close();
}

fn system_form(system: &SystemPrompt) -> String {
    let text = wire_form::system_text(system);
    let mut form = String::new();
    if !text.is_empty() {
        wire_form::text_message(&mut form, "system", &text);
    }
    form
}

fn message_form<'a>(
    message: &ModelMessage,
    names: &NameTable,
    tool_name: impl Fn(&ToolCallId) -> Option<&'a str>,
) -> String {
    let mut form = String::new();
    match message.role {
        Role::System | Role::User => {
            wire_form::text_message(&mut form, message.role.as_str(), &wire_form::text_of(&message.content, "\n\n"));
        }
        Role::Assistant => assistant(&mut form, message, names),
        Role::Tool => {
            for block in message.content.iter() {
                if let ContentBlock::ToolResult(result) = block {
                    let mut piece = String::new();
                    tool_result(&mut piece, result, tool_name(&result.tool_call_id), names);
                    push_form(&mut form, &piece);
                }
            }
        }
    }
    form
}

fn assistant(form: &mut String, message: &ModelMessage, names: &NameTable) {
    let mut object = ObjectWriter::open(form);
    object.string("role", "assistant");
    object.string("content", &wire_form::text_of(&message.content, ""));
    // Models that think between calls expect to see their own thoughts again.
    if let Some(Value::String(reasoning)) = message.metadata.get(ModelMessage::REASONING) {
        object.string("thinking", reasoning);
    }
    let mut calls = String::new();
    for call in message.content.iter().filter_map(ContentBlock::as_tool_call) {
        let mut piece = String::new();
        tool_call(&mut piece, call, names);
        push_form(&mut calls, &piece);
    }
    if !calls.is_empty() {
        object.raw("tool_calls", &format!("[{calls}]"));
    }
    object.close();
}

fn tool_call(out: &mut String, call: &ToolCall, names: &NameTable) {
    let mut object = ObjectWriter::open(out);
    object.string("id", call.tool_call_id.as_str());
    let mut function = ObjectWriter::open(object.field("function"));
    function.string("name", &names.wire(&call.name));
    function.object("arguments", &call.arguments);
    function.close();
    object.close();
}

/// With name and id: templates differ in which of them they show.
fn tool_result(out: &mut String, result: &ToolResultBlock, tool_name: Option<&str>, names: &NameTable) {
    let mut object = ObjectWriter::open(out);
    object.string("role", "tool");
    object.string("content", &wire_form::result_text(result));
    if let Some(name) = tool_name {
        object.string("tool_name", &names.wire(name));
    }
    object.string("tool_call_id", result.tool_call_id.as_str());
    object.close();
}

fn tools_form(request: &ModelRequest, names: &NameTable, key: u64) -> Result<Arc<str>, ProviderError> {
    wire_form::check_schemas(KEY, request)?;
    Ok(request.tools.wire.get_or_make(key, || wire_form::function_tools(&request.tools, names, wire_form::parameters)))
}

fn unsupported(request: &ModelRequest, feature: String) -> ProviderError {
    ProviderError::Unsupported { provider: KEY.to_owned(), model: request.model.clone(), feature }
}
