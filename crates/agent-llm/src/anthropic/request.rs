//! Writes a request for `/v1/messages`. Each message, the system prompt and the tools are written once and kept beside what
//! they say; a request is put together from those pieces (PERF-2, PRV-15). What changes from request to request comes last, so
//! that one request's bytes begin with the other's up to the end of the older conversation, the moving mark aside.

use std::sync::Arc;

use agent_protocol::{ModelRequest, SystemPrompt, ToolChoice, ToolList};
use bytes::Bytes;
use serde_json::Value;

use super::KEY;
use super::message::{MessageWriter, text_block};
use super::options::AnthropicOptions;
use super::schema;
use super::thinking::{self, Thinking};
use super::turns::{Turns, insert_mark};
use crate::ProviderError;
use crate::digest::digest;
use crate::json::{ObjectWriter, push_value};
use crate::names::NameTable;
use crate::wire_form::{self, push_form};

/// Changes whenever the bytes of a form change.
const FORM: &[u8] = b"anthropic/1";

/// How this request is written: options, and what is known of the model.
pub(super) struct Shape<'a> {
    pub(super) options: &'a AnthropicOptions,
    /// The model takes a budget for thinking.
    pub(super) budgets: bool,
    /// The model takes a temperature.
    pub(super) temperature: bool,
}

impl Shape<'_> {
    /// Earlier thoughts go back unless the user wants no thinking; a request that goes without it once changes nothing.
    fn sends_thoughts(&self) -> bool {
        self.options.thinking != Some(Thinking::Off)
    }

    /// What the form of a message depends on besides the message.
    pub(super) fn memo_key(&self, names: &NameTable, model: &str) -> u64 {
        let thoughts = [u8::from(self.sends_thoughts())];
        digest([FORM, &thoughts[..], model.as_bytes(), &names.fingerprint().to_le_bytes()[..]])
    }
}

pub(super) fn encode(request: &ModelRequest, names: &NameTable, shape: &Shape<'_>) -> Result<Bytes, ProviderError> {
    let key = shape.memo_key(names, &request.model);
    let writer = MessageWriter { names, model: &request.model, thoughts: shape.sends_thoughts() };
    let turns = Turns::new(&request.messages, &writer, key);
    let thinking =
        thinking::of_request(shape.options.thinking, request, shape.budgets, || turns.are_thoughtless(&writer));
    let fixed = Fixed::of(request, names, shape)?;
    let mut body = String::with_capacity(turns.room() + fixed.tools.len() + fixed.system.len() + 512);
    let mut object = ObjectWriter::open(&mut body);
    object.string("model", &request.model);
    object.number("max_tokens", request.max_output_tokens);
    object.boolean("stream", true);
    settings(&mut object, request, shape, thinking);
    if !fixed.tools.is_empty() {
        object.raw("tools", &fixed.tools);
        tool_choice(&mut object, request, names, shape.options.parallel_tool_calls == Some(false))?;
    }
    if !fixed.system.is_empty() {
        object.raw("system", &fixed.system);
    }
    turns.write(shape.options.cache.mark(), object.field("messages"));
    object.close();
    Ok(Bytes::from(body))
}

/// Everything that is neither prompt nor tools.
fn settings(object: &mut ObjectWriter<'_>, request: &ModelRequest, shape: &Shape<'_>, thinking: Option<Thinking>) {
    let options = shape.options;
    if let Some(how) = thinking {
        thinking_field(object, how, options.thinking_display);
    }
    if let Some(effort) = options.effort {
        let mut config = ObjectWriter::open(object.field("output_config"));
        config.string("effort", effort);
        config.close();
    }
    let thinks = matches!(thinking, Some(Thinking::Adaptive | Thinking::Budget(_)));
    if let Some(temperature) = request.temperature.filter(|_| shape.temperature && !thinks) {
        object.value("temperature", &Value::from(temperature.clamp(0.0, 1.0)));
    }
    if !options.stop_sequences.is_empty() {
        object.value("stop_sequences", &Value::from(options.stop_sequences.clone()));
    }
    for (field, value) in &options.extra_body {
        object.value(field, value);
    }
}

fn thinking_field(object: &mut ObjectWriter<'_>, how: Thinking, display: Option<&str>) {
    let mut field = ObjectWriter::open(object.field("thinking"));
    match how {
        Thinking::Off => field.string("type", "disabled"),
        Thinking::Adaptive => field.string("type", "adaptive"),
        Thinking::Budget(tokens) => {
            field.string("type", "enabled");
            field.number("budget_tokens", tokens);
        }
    }
    if let Some(display) = display.filter(|_| how != Thinking::Off) {
        field.string("display", display);
    }
    field.close();
}

fn tool_choice(
    object: &mut ObjectWriter<'_>,
    request: &ModelRequest,
    names: &NameTable,
    one_at_a_time: bool,
) -> Result<(), ProviderError> {
    let (kind, name) = match &request.tool_choice {
        // The default where there are tools.
        ToolChoice::Auto if !one_at_a_time => return Ok(()),
        ToolChoice::Auto => ("auto", None),
        ToolChoice::None => ("none", None),
        ToolChoice::Required => ("any", None),
        ToolChoice::Tool(name) if request.tools.tools.iter().any(|tool| tool.name == *name) => ("tool", Some(name)),
        ToolChoice::Tool(name) => {
            return Err(ProviderError::Unsupported {
                provider: KEY.to_owned(),
                model: request.model.clone(),
                feature: format!("to make the model call {name}, which is not among its tools"),
            });
        }
    };
    let mut choice = ObjectWriter::open(object.field("tool_choice"));
    choice.string("type", kind);
    if let Some(name) = name {
        choice.string("name", &names.wire(name));
    }
    if one_at_a_time && kind != "none" {
        choice.boolean("disable_parallel_tool_use", true);
    }
    choice.close();
    Ok(())
}

/// The parts that stay the same over a run, marks included. Empty: there is none.
struct Fixed {
    system: Arc<str>,
    tools: Arc<str>,
}

impl Fixed {
    fn of(request: &ModelRequest, names: &NameTable, shape: &Shape<'_>) -> Result<Self, ProviderError> {
        let mark = shape.options.cache.mark();
        let key = digest([FORM, mark.as_bytes(), &names.fingerprint().to_le_bytes()[..]]);
        let system = request.system.wire.get_or_make(key, || system_form(&request.system, mark));
        let tools = if request.tools.tools.is_empty() {
            Arc::default()
        } else {
            wire_form::check_schemas(KEY, request)?;
            request.tools.wire.get_or_make(key, || tools_form(&request.tools, names, mark))
        };
        Ok(Self { system, tools })
    }
}

fn system_form(system: &SystemPrompt, mark: &str) -> String {
    let mut list = String::new();
    for text in system.blocks.iter().map(|block| block.content.as_str()).filter(|text| !text.trim().is_empty()) {
        push_form(&mut list, &text_block(text));
    }
    listed(list, mark)
}

fn tools_form(tools: &ToolList, names: &NameTable, mark: &str) -> String {
    let mut list = String::new();
    for tool in &tools.tools {
        let (description, input_schema) = schema::of_tool(tool);
        let mut piece = String::new();
        let mut object = ObjectWriter::open(&mut piece);
        object.string("name", &names.wire(&tool.name));
        object.string("description", &description);
        push_value(object.field("input_schema"), &input_schema);
        object.close();
        push_form(&mut list, &piece);
    }
    listed(list, mark)
}

/// A list of blocks, the last one marked; nothing if there are none.
fn listed(mut blocks: String, mark: &str) -> String {
    if blocks.is_empty() {
        return blocks;
    }
    insert_mark(mark, &mut blocks);
    format!("[{blocks}]")
}
