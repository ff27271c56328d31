//! Writes a request for `/chat/completions`. Each message, the system prompt and the tools are written once and kept
//! beside what they say; a request is put together from those pieces (PERF-2, PRV-15).

use agent_protocol::{ContentBlock, ModelMessage, ModelRequest, Role, SystemPrompt, ToolCall, ToolChoice};
use bytes::Bytes;
use serde_json::Value;

use super::KEY;
use super::options::{EmptyContent, OpenAiOptions};
use super::schema;
use crate::ProviderError;
use crate::digest::{digest, short};
use crate::json::ObjectWriter;
use crate::names::NameTable;
use crate::reply::CallPiece;
use crate::wire_form::{self, Forms, push_form};

/// Changes whenever the bytes of a form change.
const FORM: &[u8] = b"openai/2";
/// Longest id of a call that OpenAI takes.
const MAX_ID: usize = 40;
/// What Google documents for calls that its model did not make itself.
const STAND_IN: &str = r#"{"google":{"thought_signature":"skip_thought_signature_validator"}}"#;
/// How a user message begins and ends; what stands between is its text, escaped.
const USER_OPEN: &str = r#"{"role":"user","content":""#;
const USER_CLOSE: &str = r#""}"#;

/// How this request is written: options, and what was learnt about the server.
pub(super) struct Shape<'a> {
    pub(super) options: &'a OpenAiOptions,
    pub(super) completion_tokens: bool,
    pub(super) stream_options: bool,
    pub(super) temperature: bool,
    pub(super) merge_users: bool,
    pub(super) plain_schemas: bool,
    pub(super) messages: MessageShape<'a>,
}

/// The part of it that a message's form depends on.
pub(super) struct MessageShape<'a> {
    pub(super) developer_role: bool,
    pub(super) echo_reasoning: bool,
    pub(super) nine_ids: bool,
    pub(super) empty_content: EmptyContent,
    pub(super) stand_in_signatures: bool,
    /// The server: what another one gave along with a call is not for it.
    pub(super) host: &'a str,
}

impl Shape<'_> {
    /// What the form of a message depends on besides the message.
    pub(super) fn memo_key(&self, names: &NameTable) -> u64 {
        let shape = &self.messages;
        let flags = [
            u8::from(shape.developer_role),
            u8::from(shape.echo_reasoning),
            u8::from(shape.nine_ids),
            shape.empty_content as u8,
            u8::from(shape.stand_in_signatures),
        ];
        digest([FORM, &flags[..], &names.fingerprint().to_le_bytes()[..], shape.host.as_bytes()])
    }

    /// What the form of the tools depends on besides the tools.
    fn tools_key(&self, names: &NameTable) -> u64 {
        digest([FORM, &[u8::from(self.plain_schemas)][..], &names.fingerprint().to_le_bytes()[..]])
    }
}

pub(super) fn encode(request: &ModelRequest, names: &NameTable, shape: &Shape<'_>) -> Result<Bytes, ProviderError> {
    let key = shape.memo_key(names);
    let messages = messages(request, names, shape, key);
    let has_tools = !request.tools.tools.is_empty();
    if has_tools {
        wire_form::check_schemas(KEY, request)?;
    }
    let tools = has_tools.then(|| {
        let schema = if shape.plain_schemas { schema::plain } else { wire_form::parameters };
        let form = || wire_form::function_tools(&request.tools, names, schema);
        request.tools.wire.get_or_make(shape.tools_key(names), form)
    });
    let mut body = String::with_capacity(messages.room() + tools.as_ref().map_or(0, |tools| tools.len()) + 512);
    let mut object = ObjectWriter::open(&mut body);
    object.string("model", &request.model);
    object.boolean("stream", true);
    if shape.stream_options {
        object.raw("stream_options", r#"{"include_usage":true}"#);
    }
    let limit = if shape.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
    object.number(limit, request.max_output_tokens);
    if let Some(temperature) = request.temperature.filter(|_| shape.temperature) {
        object.value("temperature", &Value::from(temperature));
    }
    if let Some(effort) = &shape.options.reasoning_effort {
        object.string("reasoning_effort", effort);
    }
    for (field, value) in &shape.options.extra_body {
        object.value(field, value);
    }
    let list = object.field("messages");
    if shape.merge_users {
        write_merged(&messages, list)
    } else {
        messages.write(list)
    }
    if let Some(tools) = tools {
        object.raw("tools", &tools);
        tool_choice(&mut object, request, names)?;
        if let Some(parallel) = shape.options.parallel_tool_calls {
            object.boolean("parallel_tool_calls", parallel);
        }
    }
    object.close();
    Ok(Bytes::from(body))
}

fn tool_choice(object: &mut ObjectWriter<'_>, request: &ModelRequest, names: &NameTable) -> Result<(), ProviderError> {
    match &request.tool_choice {
        // The default where there are tools; some servers know no other value.
        ToolChoice::Auto => {}
        ToolChoice::None => object.string("tool_choice", "none"),
        ToolChoice::Required => object.string("tool_choice", "required"),
        ToolChoice::Tool(name) if request.tools.tools.iter().any(|tool| tool.name == *name) => {
            let mut choice = ObjectWriter::open(object.field("tool_choice"));
            choice.string("type", "function");
            let mut function = ObjectWriter::open(choice.field("function"));
            function.string("name", &names.wire(name));
            function.close();
            choice.close();
        }
        ToolChoice::Tool(name) => {
            return Err(ProviderError::Unsupported {
                provider: KEY.to_owned(),
                model: request.model.clone(),
                feature: format!("to make the model call {name}, which is not among its tools"),
            });
        }
    }
    Ok(())
}

fn messages(request: &ModelRequest, names: &NameTable, shape: &Shape<'_>, key: u64) -> Forms {
    let mut forms = Forms::default();
    let system = || system_form(&request.system, shape.messages.developer_role);
    forms.push(request.system.wire.get_or_make(key, system));
    for message in &request.messages {
        forms.push(message.wire.get_or_make(key, || message_form(message, names, &shape.messages)));
    }
    forms
}

/// Appends the messages with neighbouring user messages joined. The forms stay what they are: joining two leaves out the
/// end of one and the beginning of the other.
fn write_merged(forms: &Forms, out: &mut String) {
    out.push('[');
    let (mut first, mut after_user) = (true, false);
    for form in forms.iter() {
        let user = form.strip_prefix(USER_OPEN);
        match user {
            Some(rest) if after_user => {
                out.truncate(out.len() - USER_CLOSE.len());
                out.push_str(r"\n\n");
                out.push_str(rest);
            }
            _ => {
                if !std::mem::take(&mut first) {
                    out.push(',');
                }
                out.push_str(form);
            }
        }
        after_user = user.is_some();
    }
    out.push(']');
}

fn system_form(system: &SystemPrompt, developer_role: bool) -> String {
    let text = wire_form::system_text(system);
    let mut form = String::new();
    if !text.is_empty() {
        wire_form::text_message(&mut form, if developer_role { "developer" } else { "system" }, &text);
    }
    form
}

fn message_form(message: &ModelMessage, names: &NameTable, shape: &MessageShape<'_>) -> String {
    let mut form = String::new();
    match message.role {
        Role::System | Role::User => {
            wire_form::text_message(&mut form, message.role.as_str(), &wire_form::text_of(&message.content, "\n\n"));
        }
        Role::Assistant => assistant(&mut form, message, names, shape),
        Role::Tool => {
            for block in message.content.iter() {
                if let ContentBlock::ToolResult(result) = block {
                    let mut piece = String::new();
                    let mut object = ObjectWriter::open(&mut piece);
                    object.string("role", "tool");
                    object.string("tool_call_id", &wire_id(result.tool_call_id.as_str(), shape.nine_ids));
                    object.string("content", &wire_form::result_text(result));
                    object.close();
                    push_form(&mut form, &piece);
                }
            }
        }
    }
    form
}

fn assistant(form: &mut String, message: &ModelMessage, names: &NameTable, shape: &MessageShape<'_>) {
    let text = wire_form::text_of(&message.content, "");
    let mut calls = String::new();
    for call in message.content.iter().filter_map(ContentBlock::as_tool_call) {
        let mut piece = String::new();
        tool_call(&mut piece, call, names, shape, calls.is_empty());
        push_form(&mut calls, &piece);
    }
    let mut object = ObjectWriter::open(form);
    object.string("role", "assistant");
    // Beside calls, servers want the field and no text to be null; without calls, none takes null.
    match shape.empty_content {
        EmptyContent::Null if text.is_empty() && !calls.is_empty() => object.raw("content", "null"),
        EmptyContent::Absent if text.is_empty() && !calls.is_empty() => {}
        EmptyContent::Null | EmptyContent::Empty | EmptyContent::Absent => object.string("content", &text),
    }
    if shape.echo_reasoning {
        let reasoning = message.metadata.get(ModelMessage::REASONING).and_then(Value::as_str);
        object.string("reasoning_content", reasoning.unwrap_or_default());
    }
    if !calls.is_empty() {
        object.raw("tool_calls", &format!("[{calls}]"));
    }
    object.close();
}

fn tool_call(out: &mut String, call: &ToolCall, names: &NameTable, shape: &MessageShape<'_>, first: bool) {
    let mut arguments = String::new();
    crate::json::push_object(&mut arguments, &call.arguments);
    let mut object = ObjectWriter::open(out);
    object.string("id", &wire_id(call.tool_call_id.as_str(), shape.nine_ids));
    object.string("type", "function");
    let mut function = ObjectWriter::open(object.field("function"));
    function.string("name", &names.wire(&call.name));
    function.string("arguments", &arguments);
    function.close();
    // What the server gave along with the call and wants back, such as Gemini's signature of a thought.
    let ours = call.metadata.get(CallPiece::ORIGIN).is_some_and(|origin| origin == shape.host);
    match call.metadata.get(CallPiece::EXTRA).filter(|_| ours) {
        Some(extra) => object.value(CallPiece::EXTRA, extra),
        // Only the first call of a message carries one.
        None if shape.stand_in_signatures && first => object.raw(CallPiece::EXTRA, STAND_IN),
        None => {}
    }
    object.close();
}

/// An id that the server takes. Calls and results name the same id, so both are written alike.
fn wire_id(id: &str, nine: bool) -> std::borrow::Cow<'_, str> {
    let hash = |length| short(digest([id.as_bytes()]), length);
    if nine {
        let fits = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        return if fits { id.into() } else { hash(9).into() };
    }
    if id.len() <= MAX_ID {
        return id.into();
    }
    // Ids are ASCII, so every index is a border between characters.
    format!("{}_{}", id.get(..MAX_ID - 11).unwrap_or_default(), hash(10)).into()
}
