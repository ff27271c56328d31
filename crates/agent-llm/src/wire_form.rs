//! Pieces of requests that protocols have in common. A piece is a pure function of what it says (and
//! of the tool names of the request), never of its neighbours, so that it can be kept for all later requests (PRV-15).

use std::borrow::Cow;
use std::sync::Arc;

use agent_protocol::{ContentBlock, ModelMessage, ModelRequest, SystemPrompt, ToolCallId, ToolList, ToolResultBlock};
use serde_json::Value;

use crate::ProviderError;
use crate::json::{ObjectWriter, push_value};
use crate::names::NameTable;

/// The pieces of a list, shared with what they stand for until the request is written.
#[derive(Default)]
pub(crate) struct Forms(Vec<Arc<str>>);

impl Forms {
    pub(crate) fn push(&mut self, form: Arc<str>) {
        if !form.is_empty() {
            self.0.push(form);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|form| &**form)
    }

    /// Room for all of them, brackets and commas included.
    pub(crate) fn room(&self) -> usize {
        self.0.iter().map(|form| form.len() + 1).sum::<usize>() + 2
    }

    /// Appends the list.
    pub(crate) fn write(&self, out: &mut String) {
        out.push('[');
        for (at, form) in self.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            out.push_str(form);
        }
        out.push(']');
    }
}

/// Appends a piece of a list. An empty piece is none.
pub(crate) fn push_form(list: &mut String, form: &str) {
    if !form.is_empty() {
        if !list.is_empty() {
            list.push(',');
        }
        list.push_str(form);
    }
}

/// Appends a message that is only text.
pub(crate) fn text_message(out: &mut String, role: &str, text: &str) {
    let mut object = ObjectWriter::open(out);
    object.string("role", role);
    object.string("content", text);
    object.close();
}

/// The system blocks as one text: servers and templates want a single system message.
pub(crate) fn system_text(system: &SystemPrompt) -> String {
    let blocks: Vec<&str> =
        system.blocks.iter().map(|block| block.content.as_str()).filter(|t| !t.is_empty()).collect();
    blocks.join("\n\n")
}

/// What the model reads of some blocks. Calls and results have places of their own.
pub(crate) fn text_of(blocks: &[ContentBlock], separator: &str) -> String {
    let texts: Vec<String> = blocks.iter().filter_map(ContentBlock::to_model_text).collect();
    texts.join(separator)
}

/// What the model reads of a result. These protocols have no mark for failure, so the text begins with one.
pub(crate) fn result_text(result: &ToolResultBlock) -> String {
    let text = text_of(&result.content, "\n");
    if !result.is_error {
        return text;
    }
    let (code, message) = match &result.error {
        Some(error) => (format!("[error: {}]", error.code), error.message.as_str()),
        None => ("[error]".to_owned(), ""),
    };
    let body = if text.is_empty() { message } else { &text };
    if body.is_empty() { code } else { format!("{code} {body}") }
}

/// The canonical name of the tool behind an id. Ids are unique on a path and a result comes after its call, so the answer
/// never changes while the result is in the conversation.
pub(crate) fn called_tool<'a>(before: &'a [Arc<ModelMessage>], id: &ToolCallId) -> Option<&'a str> {
    before
        .iter()
        .rev()
        .flat_map(|message| message.content.iter())
        .filter_map(ContentBlock::as_tool_call)
        .find(|call| call.tool_call_id == *id)
        .map(|call| call.name.as_str())
}

/// PRV-3: a schema no server takes ends the request before it is sent.
pub(crate) fn check_schemas(provider: &str, request: &ModelRequest) -> Result<(), ProviderError> {
    let takes_object = |schema: &Value| schema.as_object().is_some_and(|s| s.get("type").is_none_or(|t| t == "object"));
    match request.tools.tools.iter().find(|tool| !takes_object(&tool.input_schema)) {
        None => Ok(()),
        Some(tool) => Err(ProviderError::Unsupported {
            provider: provider.to_owned(),
            model: request.model.clone(),
            feature: format!("the tool {} has arguments that are not an object", tool.name),
        }),
    }
}

/// The list of tools, as functions. `schema` writes their arguments.
pub(crate) fn function_tools(tools: &ToolList, names: &NameTable, schema: fn(&Value) -> Cow<'_, Value>) -> String {
    let mut list = String::new();
    for tool in &tools.tools {
        let mut piece = String::new();
        let mut object = ObjectWriter::open(&mut piece);
        object.string("type", "function");
        let mut function = ObjectWriter::open(object.field("function"));
        function.string("name", &names.wire(&tool.name));
        function.string("description", &tool.description);
        push_value(function.field("parameters"), &schema(&tool.input_schema));
        function.close();
        object.close();
        push_form(&mut list, &piece);
    }
    format!("[{list}]")
}

/// The schema, with the two fields servers insist on.
pub(crate) fn parameters(schema: &Value) -> Cow<'_, Value> {
    match schema {
        Value::Object(schema) if !(schema.contains_key("type") && schema.contains_key("properties")) => {
            let mut schema = schema.clone();
            schema.entry("type").or_insert_with(|| "object".into());
            schema.entry("properties").or_insert_with(|| Value::Object(agent_protocol::Object::new()));
            Cow::Owned(Value::Object(schema))
        }
        schema => Cow::Borrowed(schema),
    }
}

#[cfg(test)]
mod tests {
    use agent_protocol::{ErrorCode, ErrorPayload, Object};

    use super::*;

    #[track_caller]
    fn check(is_error: bool, text: &str, error: Option<&str>, expected: &str) {
        let content = if text.is_empty() { vec![] } else { vec![ContentBlock::text(text)] };
        let error = error.map(|message| ErrorPayload::new(ErrorCode::FileNotFound, message));
        let tool_call_id = ToolCallId::parse("c1").unwrap();
        let result = ToolResultBlock { tool_call_id, is_error, content, error, metadata: Object::new() };
        assert_eq!(result_text(&result), expected);
    }

    /// TYP-3: the model is told of a failure, once, whatever of text and error there is.
    #[test]
    fn results_say_that_they_failed() {
        check(false, "ok", None, "ok");
        check(false, "", None, "");
        check(
            true,
            "a.txt does not exist",
            Some("a.txt does not exist"),
            "[error: file_not_found] a.txt does not exist",
        );
        check(true, "", Some("a.txt does not exist"), "[error: file_not_found] a.txt does not exist");
        check(true, "exit code 1", None, "[error] exit code 1");
        check(true, "", None, "[error]");
    }
}
