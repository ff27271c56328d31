//! The calls of one reply and the order they are worked off in (RUN-11…13).

use std::ops::Range;

use agent_protocol::{NodeId, ToolCall, ToolCallId, ToolClass};

use crate::outcome::{AfterNode, Outcome, ResultKind};

/// The calls of one reply.
#[derive(Debug)]
pub struct Batch {
    /// The assistant node that makes them.
    pub assistant: NodeId,
    /// One per call, in the model's order.
    pub slots: Vec<Slot>,
    /// The group at work begins here.
    pub cursor: usize,
    /// Whether the group at work has been started.
    pub(crate) started: bool,
    /// Set once an earlier call forbids later ones.
    pub(crate) halt: Option<Halt>,
    /// Nodes that join the path after the last result.
    pub(crate) after: Vec<AfterNode>,
}

/// One call.
#[derive(Debug)]
pub struct Slot {
    /// Its id on this path.
    pub id: ToolCallId,
    /// The call.
    pub call: ToolCall,
    /// How it is scheduled.
    pub class: ToolClass,
    /// Where it stands.
    pub state: SlotState,
    /// Stands for tool and arguments in the loop window.
    pub(crate) key: u64,
    /// What will be done, in one line, once it is prepared.
    pub(crate) summary: Option<String>,
}

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotState {
    /// Not begun.
    Waiting,
    /// Its arguments are checked and its targets opened.
    Preparing,
    /// Somebody decides.
    Authorizing,
    /// At work.
    Running,
    /// The same call as an earlier one of its group: gets that one's result.
    TwinOf(usize),
    /// Has its result.
    Done(ResultKind),
}

impl SlotState {
    /// Somebody outside works on it and will report back.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Self::Preparing | Self::Authorizing | Self::Running)
    }

    pub(crate) fn is_done(self) -> bool {
        matches!(self, Self::Done(_))
    }
}

/// Why later calls of a reply do not run.
#[derive(Debug, Clone)]
pub(crate) struct Halt {
    pub(crate) scope: HaltScope,
    /// The tool whose call it was.
    pub(crate) tool: String,
    /// "failed", "was denied".
    pub(crate) how: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HaltScope {
    /// No later call runs: a write failed or was denied (RUN-13).
    All,
    /// No later write runs: something readonly was denied (RUN-22).
    Writes,
}

impl Batch {
    pub(crate) fn new(assistant: NodeId, slots: Vec<Slot>) -> Self {
        Self { assistant, slots, cursor: 0, started: false, halt: None, after: Vec::new() }
    }

    pub(crate) fn group(&self) -> Range<usize> {
        next_group(&self.slots, self.cursor)
    }

    pub(crate) fn find(&self, id: &ToolCallId) -> Option<usize> {
        self.slots.iter().position(|slot| slot.id == *id)
    }

    /// Ids of the calls somebody outside works on.
    pub(crate) fn open(&self) -> impl Iterator<Item = &ToolCallId> {
        self.slots.iter().filter(|slot| slot.state.is_open()).map(|slot| &slot.id)
    }

    /// Whether the halt covers a call of this class.
    pub(crate) fn halted(&self, class: ToolClass) -> Option<&Halt> {
        self.halt.as_ref().filter(|halt| match halt.scope {
            HaltScope::All => true,
            HaltScope::Writes => class == ToolClass::Write,
        })
    }

    /// What a result means for the later calls of the reply.
    pub(crate) fn note_result(&mut self, at: usize, kind: ResultKind) {
        let slot = &self.slots[at];
        let how = match kind {
            ResultKind::Ok | ResultKind::Skipped => return,
            ResultKind::Failed => "failed",
            ResultKind::Denied => "was denied",
            ResultKind::Aborted => "was stopped",
        };
        let scope = match (slot.class, kind) {
            (ToolClass::Write, _) => HaltScope::All,
            (ToolClass::Readonly, ResultKind::Denied) => HaltScope::Writes,
            (ToolClass::Readonly | ToolClass::Ordered | ToolClass::Agent, _) => return,
        };
        let stronger = self.halt.as_ref().is_none_or(|halt| halt.scope == HaltScope::Writes);
        if stronger {
            self.halt = Some(Halt { scope, tool: slot.call.name.clone(), how });
        }
    }

    /// Calls of the group that are the same as the one at `at` and wait for its result.
    pub(crate) fn twins_of(&self, at: usize) -> Vec<usize> {
        let same = |(_, slot): &(usize, &Slot)| slot.state == SlotState::TwinOf(at);
        self.slots.iter().enumerate().filter(same).map(|(index, _)| index).collect()
    }
}

/// The calls that may be worked on together from `from` on: the longest run of neighbours of one class; writes and ordered
/// calls stand alone.
#[must_use]
pub fn next_group(slots: &[Slot], from: usize) -> Range<usize> {
    let Some(first) = slots.get(from) else { return from..from };
    let len = match first.class {
        ToolClass::Write | ToolClass::Ordered => 1,
        class @ (ToolClass::Readonly | ToolClass::Agent) => {
            slots[from..].iter().take_while(|slot| slot.class == class).count()
        }
    };
    from..from + len
}

/// What a twin gets: the same words, nothing that happens twice.
pub(crate) fn twin_outcome(outcome: &Outcome) -> Outcome {
    Outcome { after: Vec::new(), ..outcome.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_protocol::Object;

    fn slots(classes: &str) -> Vec<Slot> {
        let slot = |(index, class): (usize, char)| Slot {
            id: ToolCallId::parse(&format!("c{index}")).unwrap(),
            call: ToolCall {
                tool_call_id: ToolCallId::parse(&format!("c{index}")).unwrap(),
                name: "t".into(),
                arguments: Object::new(),
                metadata: Object::new(),
            },
            class: match class {
                'r' => ToolClass::Readonly,
                'w' => ToolClass::Write,
                'o' => ToolClass::Ordered,
                _ => ToolClass::Agent,
            },
            state: SlotState::Waiting,
            key: 0,
            summary: None,
        };
        classes.chars().enumerate().map(slot).collect()
    }

    /// RUN-11: neighbours of a class together, writes and ordered calls alone.
    #[test]
    fn groups() {
        for (classes, expected) in
            [("", ""), ("rrr", "rrr"), ("rrwr", "rr|w|r"), ("wwo", "w|w|o"), ("aarrao", "aa|rr|a|o")]
        {
            let slots = slots(classes);
            let (mut at, mut groups) = (0, Vec::new());
            while at < slots.len() {
                let group = next_group(&slots, at);
                groups.push(classes[group.clone()].to_owned());
                at = group.end;
            }
            assert_eq!(groups.join("|"), expected);
        }
    }
}
