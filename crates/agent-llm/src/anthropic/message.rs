//! One message as the API's blocks.

use agent_protocol::{ContentBlock, ModelMessage, Object, Role, ToolCall, ToolResultBlock};

use super::key::KEY;
use super::thinking;
use crate::json::{ObjectWriter, push_object, push_string};
use crate::names::NameTable;
use crate::reply::read_kept;
use crate::wire_form::{self, push_form};

/// Writes messages as blocks.
pub(super) struct MessageWriter<'a> {
    pub(super) names: &'a NameTable,
    /// Whose thoughts go back.
    pub(super) model: &'a str,
    pub(super) thoughts: bool,
}

impl MessageWriter<'_> {
    /// Whether an assistant's message begins with a thought that goes back.
    pub(super) fn begins_with_thought(&self, message: &ModelMessage) -> bool {
        self.thoughts && thinking::begins_with_thought(message, self.model)
    }

    /// The blocks of a message, with commas between them. Empty: it says nothing the API would take.
    pub(super) fn form(&self, message: &ModelMessage) -> String {
        match message.role {
            Role::System | Role::User => filled_text(&wire_form::text_of(&message.content, "\n\n")),
            Role::Assistant => self.assistant(message),
            Role::Tool => {
                let mut form = String::new();
                for block in message.content.iter() {
                    if let ContentBlock::ToolResult(result) = block {
                        push_form(&mut form, &tool_result(result));
                    }
                }
                form
            }
        }
    }

    fn assistant(&self, message: &ModelMessage) -> String {
        let kept = read_kept(message, KEY, self.model).unwrap_or_default();
        let mut kept = kept.into_iter().filter(|(_, block)| self.sends(block)).peekable();
        let mut blocks: Vec<(String, bool)> = Vec::new();
        for (at, block) in message.content.iter().enumerate() {
            while let Some((_, kept)) = kept.next_if(|(before, _)| *before <= at) {
                blocks.push((written(kept), thinking::is_thought(kept)));
            }
            blocks.push((self.block(block), false));
        }
        blocks.extend(kept.map(|(_, kept)| (written(kept), thinking::is_thought(kept))));
        // A message may not end with a thought.
        let end = blocks.iter().rposition(|(form, thought)| !thought && !form.is_empty()).map_or(0, |at| at + 1);
        let mut form = String::new();
        for (block, _) in &blocks[..end] {
            push_form(&mut form, block);
        }
        form
    }

    fn sends(&self, block: &Object) -> bool {
        thinking::may_be_sent(block) && (self.thoughts || !thinking::is_thought(block))
    }

    fn block(&self, block: &ContentBlock) -> String {
        match block {
            ContentBlock::ToolCall(call) => self.tool_use(call),
            other => filled_text(&other.to_model_text().unwrap_or_default()),
        }
    }

    fn tool_use(&self, call: &ToolCall) -> String {
        let mut form = String::new();
        let mut object = ObjectWriter::open(&mut form);
        object.string("type", "tool_use");
        object.string("id", call.tool_call_id.as_str());
        object.string("name", &self.names.wire(&call.name));
        object.object("input", &call.arguments);
        object.close();
        form
    }
}

fn tool_result(result: &ToolResultBlock) -> String {
    let text = wire_form::result_text(result);
    let mut form = String::new();
    let mut object = ObjectWriter::open(&mut form);
    object.string("type", "tool_result");
    object.string("tool_use_id", result.tool_call_id.as_str());
    // Blank text is refused, no content is not.
    if !text.trim().is_empty() {
        object.string("content", &text);
    }
    if result.is_error {
        object.boolean("is_error", true);
    }
    object.close();
    form
}

fn written(block: &Object) -> String {
    let mut form = String::new();
    push_object(&mut form, block);
    form
}

/// A block of text; none where the API would find nothing in it.
fn filled_text(text: &str) -> String {
    if text.trim().is_empty() { String::new() } else { text_block(text) }
}

pub(super) fn text_block(text: &str) -> String {
    let mut form = String::from(r#"{"type":"text","text":"#);
    push_string(&mut form, text);
    form.push('}');
    form
}
