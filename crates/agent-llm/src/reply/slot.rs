//! One tool call while its pieces come.

use agent_protocol::{MAX_INVALID_ARGUMENTS_ECHO, ModelEvent, Object, ToolCall, ToolCallId, bounded_name};
use serde_json::Value;

use super::arguments;
use super::piece::CallPiece;
use crate::names::NameTable;

/// Stands for the name of a call that has none.
const UNNAMED: &str = "unnamed";

/// A call as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Slot {
    ids: Vec<String>,
    name: String,
    arguments: String,
    balance: Balance,
    extra: Option<Value>,
    announced: bool,
    /// The message of the server in which it began.
    message: u64,
    /// A name that came by itself after the arguments were complete: said once more, or that of a call whose arguments follow.
    next_name: Option<String>,
    /// The call before it under the same id.
    follows: Option<usize>,
}

impl Slot {
    pub(super) fn new(message: u64) -> Self {
        Self { message, ..Self::default() }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The server's name for it.
    pub(super) fn id(&self) -> Option<&str> {
        self.ids.first().map(String::as_str)
    }

    pub(super) fn has_id(&self, id: &str) -> bool {
        self.ids.iter().any(|known| known == id)
    }

    pub(super) fn set_extra(&mut self, extra: Value) {
        self.extra = Some(extra);
    }

    pub(super) fn follows(&mut self, at: usize) {
        self.follows = Some(at);
    }

    /// Takes over name and id that were said after `before` was complete.
    pub(super) fn take_head_of(&mut self, before: &Self) {
        if let Some(name) = &before.next_name {
            self.name.clone_from(name);
            self.ids.clone_from(&before.ids);
        }
    }

    /// Whether this text can be nothing but more of the arguments so far.
    pub(super) fn lacks(&self, arguments: &str) -> bool {
        !arguments.is_empty() && !begins_object(arguments) && self.balance.is_open()
    }

    /// Whether a piece that points here by id, by index, or by coming next, is more of this call.
    pub(super) fn goes_on_with(&self, piece: &CallPiece<'_>, has_its_id: bool, names: &NameTable) -> bool {
        let begins_object = begins_object(&piece.arguments);
        let complete = self.balance.is_complete();
        // An empty object under an id is a placeholder for the one that follows.
        let placeholder = !self.ids.is_empty() && self.arguments.trim() == "{}";
        let begins_anew = complete && begins_object;
        let new_id = piece.id.filter(|_| !has_its_id);
        match (new_id, piece.name) {
            // Without an index a new id is a new call; with one, some servers change the id with every piece.
            (Some(_), None) if piece.index.is_some() => !(complete && (piece.arguments.is_empty() || begins_object)),
            (Some(_), None) => (self.is_blank() && self.ids.is_empty()) || (self.balance.is_open() && !begins_object),
            (None, None) => !(begins_anew && self.next_name.is_some()),
            (None, Some(name)) if piece.index.is_some() || has_its_id => {
                let stands_in = placeholder && self.name == name;
                self.name.is_empty() || stands_in || !(begins_anew || self.is_ended_by(name, names))
            }
            (None, Some(name)) => {
                self.name.is_empty() || (self.name == name && self.balance.is_open() && !begins_object)
            }
            (Some(_), Some(_)) if piece.index.is_none() => self.ids.is_empty() && self.name.is_empty(),
            (Some(_), Some(_)) if self.ids.is_empty() => self.name.is_empty() || !begins_anew,
            (Some(_), Some(_)) => self.balance.is_open() && !begins_object,
        }
    }

    /// Whether a tool's name is that of another call: this one has its own, and is not in the middle of its arguments.
    fn is_ended_by(&self, name: &str, names: &NameTable) -> bool {
        if self.name == name || !names.has_wire(name) {
            return false;
        }
        let may_be_a_piece = !names.has_wire(&self.name) || names.begins_wire(&format!("{}{name}", self.name));
        self.balance.is_complete() || (self.arguments.is_empty() && !may_be_a_piece)
    }

    /// Whether a whole call of a later message, under the same id, is this one: the server lists its calls again at the end.
    pub(super) fn is_said_again_by(&self, piece: &CallPiece<'_>, message: u64) -> bool {
        self.message < message
            && piece.id.is_some_and(|id| self.has_id(id))
            && piece.name == Some(&self.name)
            && piece.arguments == self.arguments
    }

    /// Whether it says once more what a call before it under the same id said, in a message of its own.
    pub(super) fn is_repeated(&self, slots: &[Self]) -> bool {
        self.follows.and_then(|at| slots.get(at)).is_some_and(|before| {
            before.message < self.message
                && before.name == self.name
                && before.arguments.trim() == self.arguments.trim()
        })
    }

    /// An id alone is no call.
    pub(super) fn is_blank(&self) -> bool {
        self.name.is_empty() && self.arguments.is_empty()
    }

    pub(super) fn add(&mut self, piece: &CallPiece<'_>, names: &NameTable) {
        if let Some(id) = piece.id {
            // One more is enough to recognise a call by; unstable ids would fill memory.
            if self.ids.len() < 2 && !self.has_id(id) {
                self.ids.push(id.to_owned());
            }
        }
        if let Some(name) = piece.name {
            if self.balance.is_complete() && piece.arguments.trim().is_empty() {
                self.next_name = Some(bounded_name(name).into_owned());
            }
            self.add_name(&bounded_name(name), names);
        }
        if piece.extra.is_some() {
            self.extra.clone_from(&piece.extra);
        }
        self.balance.feed(&piece.arguments);
        self.arguments.push_str(&piece.arguments);
    }

    /// A name may come in pieces, or again and again.
    fn add_name(&mut self, name: &str, names: &NameTable) {
        if self.name.is_empty() {
            name.clone_into(&mut self.name);
        } else if self.name != name && self.arguments.is_empty() {
            let longer = format!("{}{name}", self.name);
            if names.begins_wire(&longer) {
                self.name = longer;
            }
        }
    }

    /// Shows a piece, once the name is certain: it is a tool's, or arguments have begun, or nothing more comes.
    pub(super) fn tell(&mut self, index: usize, new: &str, names: &NameTable, last: bool, out: &mut Vec<ModelEvent>) {
        if self.announced {
            if !new.is_empty() {
                out.push(ModelEvent::ToolCallDelta { index, name: None, fragment: new.to_owned() });
            }
        } else if !self.name.is_empty() && (last || !self.arguments.is_empty() || names.has_wire(&self.name)) {
            let name = names.canonical(&self.name).unwrap_or(&self.name).to_owned();
            out.push(ModelEvent::ToolCallDelta { index, name: Some(name), fragment: self.arguments.clone() });
            self.announced = true;
        }
    }

    pub(super) fn into_call(self, id: ToolCallId, cut: bool, names: &NameTable) -> ToolCall {
        let said = if self.name.is_empty() { UNNAMED } else { &self.name };
        let name = names.canonical(said).unwrap_or(said).to_owned();
        let mut metadata = Object::new();
        if self.name != name {
            metadata.insert("raw_name".to_owned(), self.name.into());
        }
        if let Some(raw) = self.ids.into_iter().next().filter(|raw| raw != id.as_str()) {
            metadata.insert("raw_id".to_owned(), bounded_name(&raw).into());
        }
        if let Some(extra) = self.extra {
            metadata.insert(CallPiece::EXTRA.to_owned(), extra);
        }
        let arguments = arguments::parse(&self.arguments).unwrap_or_else(|reason| {
            let reason = if cut { format!("cut at the output limit: {reason}") } else { reason };
            let echo: String = self.arguments.chars().take(MAX_INVALID_ARGUMENTS_ECHO).collect();
            metadata.insert(ToolCall::INVALID_ARGUMENTS.to_owned(), echo.into());
            metadata.insert(ToolCall::ARGUMENTS_ERROR.to_owned(), reason.into());
            Object::new()
        });
        ToolCall { tool_call_id: id, name, arguments, metadata }
    }
}

fn begins_object(arguments: &str) -> bool {
    arguments.trim_start().starts_with('{')
}

/// Follows braces through argument text as it comes, so that asking "is this object complete?" costs nothing.
#[derive(Debug, Default, Clone, Copy)]
struct Balance {
    depth: u32,
    begun: bool,
    in_string: bool,
    escaped: bool,
}

impl Balance {
    fn feed(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => {
                    self.in_string = true;
                    self.begun = true;
                }
                b'{' | b'[' => {
                    self.depth += 1;
                    self.begun = true;
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn is_complete(self) -> bool {
        self.begun && self.depth == 0 && !self.in_string
    }

    /// Begun and not complete.
    fn is_open(self) -> bool {
        self.begun && !self.is_complete()
    }
}
