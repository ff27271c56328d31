//! Puts tool calls together from their pieces.
//!
//! Servers disagree on what identifies a call: some repeat one index for all, some one id, some change the id with every piece,
//! some send neither. `place` looks for the call that has both id and index, then for the id, then for the index,
//! then takes the last one; and `goes_on_with` tells a new call from a continuation by its name and by whether the
//! call so far is complete. Nothing is parsed before the stream ends: text that already is an object may go on.

use agent_protocol::{ModelEvent, ToolCall, ToolCallId};
use serde_json::Value;

use super::piece::CallPiece;
use super::slot::Slot;
use crate::BrokenStream;
use crate::names::NameTable;

/// Most calls of one reply.
const MAX_CALLS: usize = 256;

/// The calls of a reply, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct CallSlots {
    slots: Vec<Slot>,
    /// Which slot an index means now.
    indexes: Vec<(u64, usize)>,
    /// Which of the server's messages is being read.
    message: u64,
}

impl CallSlots {
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.slots.iter().map(Slot::name).filter(|name| !name.is_empty())
    }

    /// What the server wants back with the last call.
    pub(super) fn last_extra(&mut self, extra: Value) {
        if let Some(slot) = self.slots.last_mut() {
            slot.set_extra(extra);
        }
    }

    /// The pieces that follow stand in another message of the server's. A call that is said twice in one message is two calls.
    pub(super) fn next_message(&mut self) {
        self.message += 1;
    }

    /// Takes a piece; says which call it belongs to and whether that call is new.
    pub(crate) fn add(
        &mut self,
        piece: CallPiece<'_>,
        names: &NameTable,
        out: &mut Vec<ModelEvent>,
    ) -> Result<(usize, bool), BrokenStream> {
        if piece.whole
            && let Some(at) = self.slots.iter().position(|slot| slot.is_said_again_by(&piece, self.message))
        {
            return Ok((at, false));
        }
        let before = self.slots.len();
        let at = self.place(&piece, names);
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
    fn place(&mut self, piece: &CallPiece<'_>, names: &NameTable) -> usize {
        if piece.whole {
            return self.begin(Slot::new(self.message));
        }
        let by_index = piece.index.and_then(|index| self.indexes.iter().find(|(i, _)| *i == index)).map(|(_, at)| *at);
        if let Some(at) = self.with_id(piece, by_index) {
            return self.go_on(at, true, piece, names);
        }
        let begun = match piece.index {
            Some(_) => by_index.or_else(|| self.last_without_index(piece)),
            // Without an index, a new id or a name begins a call, unless the last one clearly goes on.
            None => self.slots.len().checked_sub(1),
        };
        match begun {
            Some(at) => self.go_on(at, false, piece, names),
            None => self.begin(Slot::new(self.message)),
        }
    }

    /// The call that the piece's id names. Where several share it, the index tells, else the last one is meant. An index that no
    /// call has had names another call than the id does, unless the piece can only be more of that one.
    fn with_id(&self, piece: &CallPiece<'_>, by_index: Option<usize>) -> Option<usize> {
        let id = piece.id?;
        if let Some(at) = by_index.filter(|at| self.slots[*at].has_id(id)) {
            return Some(at);
        }
        let at = self.slots.iter().rposition(|slot| slot.has_id(id))?;
        let is_other = piece.index.is_some() && by_index.is_none() && self.has_index(at);
        (!is_other || self.slots[at].lacks(&piece.arguments)).then_some(at)
    }

    /// The call at `at`, if the piece is more of it, or else one that begins.
    fn go_on(&mut self, at: usize, has_its_id: bool, piece: &CallPiece<'_>, names: &NameTable) -> usize {
        let slot = &self.slots[at];
        if slot.goes_on_with(piece, has_its_id, names) {
            return at;
        }
        let mut next = Slot::new(self.message);
        if has_its_id {
            next.follows(at);
        }
        if piece.name.is_none() {
            next.take_head_of(slot);
        }
        self.begin(next)
    }

    fn has_index(&self, at: usize) -> bool {
        self.indexes.iter().any(|(_, slot)| *slot == at)
    }

    /// The last call, if no index names it and the piece says nothing but an index: a server that begins to count late.
    fn last_without_index(&self, piece: &CallPiece<'_>) -> Option<usize> {
        let last = self.slots.len().checked_sub(1)?;
        let says_nothing = piece.id.is_none() && piece.name.is_none();
        (says_nothing && !self.has_index(last)).then_some(last)
    }

    fn begin(&mut self, slot: Slot) -> usize {
        self.slots.push(slot);
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
        let is_call: Vec<bool> = slots.iter().map(|slot| !slot.is_blank() && !slot.is_repeated(&slots)).collect();
        let provider_ids: Vec<Option<String>> = slots.iter().map(|slot| slot.id().map(str::to_owned)).collect();
        let ids = assign(&provider_ids);
        slots
            .into_iter()
            .zip(ids)
            .enumerate()
            .map(|(at, (slot, id))| is_call[at].then(|| slot.into_call(id, cut && at == last, names)))
            .collect()
    }
}

#[cfg(test)]
mod tests;
