//! Calls of earlier runs that never got a result (RUN-20).

use std::collections::HashSet;

use agent_protocol::{CutShort, ToolCall, ToolCallId};

use super::tools::{Called, cancelled};
use super::{Out, Run};
use crate::notes;

impl Run {
    /// Says which of the path's unanswered calls were written down as begun, so that the others can be told not to have run.
    ///
    /// `tool_started` is committed before any call runs, of whatever class, so a call without one did not run. That holds for a
    /// process that ended and for a store that failed. It does not hold where the machine lost its power, since the store's
    /// latest commits may be lost while files that a call wrote are not: leave it out there, and where the events could not be
    /// read. Ids beyond the unanswered ones do no harm.
    #[must_use]
    pub fn with_started_calls(mut self, started: HashSet<ToolCallId>) -> Self {
        self.started_calls = Some(started);
        self
    }

    /// Names child agents whose runs were cut short with their process, so that the model is told that their work is lost.
    #[must_use]
    pub fn with_lost_children(mut self, children: Vec<String>) -> Self {
        self.lost_children = children;
        self
    }

    /// Says that the agent's run before was cut short without a word to the model, which is told with this run's first request.
    #[must_use]
    pub fn with_cut_short(mut self, cut_short: Option<CutShort>) -> Self {
        self.cut_short = cut_short;
        self
    }

    /// Says once what became of them.
    pub(super) fn tell_of_lost_children(&mut self, out: &mut Out) {
        let lost = std::mem::take(&mut self.lost_children);
        if !lost.is_empty() {
            self.note(&notes::lost_children(&lost), out);
        }
    }

    /// Gives every call without a result one that says what is known.
    pub(super) fn answer_interrupted(&mut self, out: &mut Out) {
        let mut ends = Vec::new();
        for (_, calls) in self.path.open_calls() {
            for call in &calls {
                let may_have_run = self.may_have_run(call, &calls);
                let note = if may_have_run { notes::INTERRUPTED } else { notes::NOT_BEGUN };
                let called = Called { id: call.tool_call_id.clone(), tool: call.name.clone(), summary: None };
                ends.push((called, note));
            }
        }
        for (called, note) in ends {
            self.write_result(&called, &cancelled(note), out);
        }
    }

    /// `open` are the unanswered calls of the same reply: equal readonly ones run once and only the first is written down as
    /// begun (RUN-10), so a call that equals a begun one may have run as well.
    fn may_have_run(&self, call: &ToolCall, open: &[&ToolCall]) -> bool {
        let Some(started) = &self.started_calls else { return true };
        let equal = |other: &&&ToolCall| other.name == call.name && other.arguments == call.arguments;
        open.iter().filter(equal).any(|other| started.contains(&other.tool_call_id))
    }
}
