//! Puts tool calls together from their pieces.
//!
//! Servers disagree on what identifies a call: some repeat one index for all, some change the id with every piece, some
//! send neither. [`CallSlots::place`] decides by id first, then index, then order, and tells a new call from a
//! continuation by whether the call so far is complete. Nothing is parsed before the stream ends: text that already is an
//! object may go on.

use std::borrow::Cow;

use agent_protocol::{MAX_INVALID_ARGUMENTS_ECHO, ModelEvent, Object, ToolCall, ToolCallId};
use serde_json::Value;

use super::arguments;
use crate::BrokenStream;
use crate::names::NameTable;

/// Most calls of one reply.
const MAX_CALLS: usize = 256;
/// Stands for the name of a call that has none.
const UNNAMED: &str = "unnamed";

/// A piece of a call, as a server sends it. Empty strings count as absent.
#[derive(Debug, Default)]
pub(crate) struct CallPiece<'a> {
    /// The call comes in one piece: whatever it shares with an earlier one, it is another, unless it is the same again.
    pub(crate) whole: bool,
    pub(crate) index: Option<u64>,
    pub(crate) id: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
    pub(crate) arguments: Cow<'a, str>,
    /// What the server wants echoed with the call.
    pub(crate) extra: Option<Value>,
}

/// The calls of a reply, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct CallSlots {
    slots: Vec<Slot>,
    /// Which slot an index means now.
    indexes: Vec<(u64, usize)>,
}

#[derive(Debug, Default)]
struct Slot {
    ids: Vec<String>,
    name: String,
    arguments: String,
    balance: Balance,
    extra: Option<Value>,
    announced: bool,
}

impl CallSlots {
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.slots.iter().map(|slot| slot.name.as_str()).filter(|name| !name.is_empty())
    }

    /// What the server wants back with the last call.
    pub(super) fn last_extra(&mut self, extra: Value) {
        if let Some(slot) = self.slots.last_mut() {
            slot.extra = Some(extra);
        }
    }

    /// Takes a piece; says which call it belongs to and whether that call is new.
    pub(crate) fn add(
        &mut self,
        piece: CallPiece<'_>,
        names: &NameTable,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(usize, bool), BrokenStream> {
        if let Some(at) = self.slots.iter().position(|slot| slot.is_again(&piece)) {
            return Ok((at, false));
        }
        let before = self.slots.len();
        let at = self.place(&piece);
        if self.slots.len() > MAX_CALLS {
            return Err(BrokenStream::TooManyCalls { limit: MAX_CALLS });
        }
        let slot = &mut self.slots[at];
        slot.add(&piece, names);
        if let Some(index) = piece.index {
            self.indexes.retain(|(i, _)| *i != index);
            self.indexes.push((index, at));
        }
        self.slots[at].tell(at, &piece.arguments, names, false, out);
        Ok((at, self.slots.len() > before))
    }

    /// Which call a piece belongs to.
    fn place(&mut self, piece: &CallPiece<'_>) -> usize {
        if piece.whole {
            return self.begin();
        }
        let by_id = piece.id.and_then(|id| self.slots.iter().position(|slot| slot.ids.iter().any(|i| i == id)));
        if let Some(at) = by_id {
            return at;
        }
        let by_index = piece.index.and_then(|index| self.indexes.iter().find(|(i, _)| *i == index)).map(|(_, at)| *at);
        let begun = match piece.index {
            Some(_) => by_index.or_else(|| self.last_without_index(piece)),
            // Without an index, a new id or a name begins a call, unless the last one clearly goes on.
            None => self.slots.len().checked_sub(1),
        };
        match begun {
            Some(at) if self.slots[at].goes_on_with(piece) => at,
            _ => self.begin(),
        }
    }

    /// The last call, if no index names it and the piece says nothing but an index: a server that begins to count late.
    fn last_without_index(&self, piece: &CallPiece<'_>) -> Option<usize> {
        let last = self.slots.len().checked_sub(1)?;
        let says_nothing = piece.id.is_none() && piece.name.is_none();
        (says_nothing && self.indexes.iter().all(|(_, at)| *at != last)).then_some(last)
    }

    fn begin(&mut self) -> usize {
        self.slots.push(Slot::default());
        self.slots.len() - 1
    }

    /// The finished calls. `cut`: the output limit ended the reply, so the last call may lack its end.
    pub(crate) fn finish(
        self,
        cut: bool,
        names: &NameTable,
        assign: impl FnOnce(&[Option<String>]) -> Vec<ToolCallId>,
        out: &mut Vec<ModelEvent>,
    ) -> Vec<Option<ToolCall>> {
        let mut slots = self.slots;
        let last = slots.len().saturating_sub(1);
        for (at, slot) in slots.iter_mut().enumerate() {
            slot.tell(at, "", names, true, out);
        }
        let provider_ids: Vec<Option<String>> = slots.iter().map(|slot| slot.ids.first().cloned()).collect();
        let ids = assign(&provider_ids);
        slots
            .into_iter()
            .zip(ids)
            .enumerate()
            .map(|(at, (slot, id))| (!slot.is_blank()).then(|| slot.into_call(id, cut && at == last, names)))
            .collect()
    }
}

impl Slot {
    /// Whether a piece that points here by index, or by coming next, is more of this call.
    fn goes_on_with(&self, piece: &CallPiece<'_>) -> bool {
        let begins_object = piece.arguments.trim_start().starts_with('{');
        let complete = self.balance.is_complete();
        match (piece.id, piece.name) {
            // Without an index a new id is a new call; with one, some servers change the id with every piece.
            (Some(_), None) if piece.index.is_some() => !(complete && (piece.arguments.is_empty() || begins_object)),
            (Some(_), None) => (self.is_blank() && self.ids.is_empty()) || (self.balance.is_open() && !begins_object),
            (None, None) => true,
            (None, Some(name)) if piece.index.is_none() => {
                self.name.is_empty() || (self.name == name && self.balance.is_open() && !begins_object)
            }
            (None, Some(name)) => {
                // An empty object under an id is a placeholder for the one that follows.
                let placeholder = self.name == name && !self.ids.is_empty() && self.arguments.trim() == "{}";
                self.name.is_empty() || placeholder || !(complete && begins_object)
            }
            (Some(_), Some(_)) if piece.index.is_none() => self.ids.is_empty() && self.name.is_empty(),
            (Some(_), Some(_)) if self.ids.is_empty() => self.name.is_empty() || !(complete && begins_object),
            (Some(_), Some(_)) => self.balance.is_open() && !begins_object,
        }
    }

    /// A whole call under the same id: the server lists its calls again at the end.
    fn is_again(&self, piece: &CallPiece<'_>) -> bool {
        piece.whole
            && piece.id.is_some_and(|id| self.ids.iter().any(|i| i == id))
            && piece.name == Some(&self.name)
            && piece.arguments == self.arguments
    }

    /// An id alone is no call.
    fn is_blank(&self) -> bool {
        self.name.is_empty() && self.arguments.is_empty()
    }

    fn add(&mut self, piece: &CallPiece<'_>, names: &NameTable) {
        if let Some(id) = piece.id {
            // One more is enough to recognise a call by; unstable ids would fill memory.
            if self.ids.len() < 2 && !self.ids.iter().any(|i| i == id) {
                self.ids.push(id.to_owned());
            }
        }
        if let Some(name) = piece.name {
            self.add_name(name, names);
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
    fn tell(&mut self, index: usize, new: &str, names: &NameTable, last: bool, out: &mut Vec<ModelEvent>) {
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

    fn into_call(self, id: ToolCallId, cut: bool, names: &NameTable) -> ToolCall {
        let said = if self.name.is_empty() { UNNAMED } else { &self.name };
        let name = names.canonical(said).unwrap_or(said).to_owned();
        let mut metadata = Object::new();
        if self.name != name {
            metadata.insert("raw_name".to_owned(), self.name.into());
        }
        if let Some(raw) = self.ids.into_iter().next().filter(|raw| raw != id.as_str()) {
            metadata.insert("raw_id".to_owned(), raw.into());
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

impl CallPiece<'_> {
    /// Key in a call's metadata under which [`CallPiece::extra`] is kept.
    pub(crate) const EXTRA: &'static str = "extra_content";
    /// Key under which stands the host it came from: nobody else understands it.
    pub(crate) const ORIGIN: &'static str = "extra_content_from";
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

#[cfg(test)]
mod tests;
