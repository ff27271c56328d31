//! What was said where it is not the answer: beside calls, in place of a call, before a reply broke off.

use agent_protocol::{ContentBlock, NodeId, NodeType, Reply, Role, StopKind};

use super::Run;
use crate::words::shortened;
use crate::written_calls::{WrittenCall, find_written_call};

/// Most estimated tokens of a broken answer that the model is told again.
const MOST_SHOWN: u64 = 2_000;

/// Whether there is more than blanks.
pub(super) fn has_text(content: &[ContentBlock]) -> bool {
    content.iter().filter_map(ContentBlock::as_text).any(|text| !text.trim().is_empty())
}

impl Run {
    /// The reply that made the last calls of this run, if it said something beside them and all of them succeeded. A model that
    /// says nothing more afterwards has given its answer there (RUN-9).
    pub(super) fn said_beside_last_calls(&self) -> Option<NodeId> {
        for node in self.path.nodes().iter().rev() {
            let content = &node.message.content;
            match (node.node_type, node.message.role) {
                (NodeType::Message, Role::Tool) => {
                    let failed =
                        |block: &ContentBlock| matches!(block, ContentBlock::ToolResult(result) if result.is_error);
                    if content.iter().any(failed) {
                        return None;
                    }
                }
                (NodeType::Message, Role::Assistant) => {
                    let makes_calls = content.iter().any(|block| block.as_tool_call().is_some());
                    let text: String = content.iter().filter_map(ContentBlock::as_text).collect();
                    let is_answer = makes_calls && has_text(content) && self.written_call_in(&text, false).is_none();
                    return is_answer.then(|| node.node_id.clone());
                }
                // The user's message begins the run.
                (NodeType::Message, _) => return None,
                // What core adds in between.
                _ => {}
            }
        }
        None
    }

    /// What the newest reply of this run said that said something, be it beside calls.
    pub(super) fn said_last(&self) -> Option<String> {
        let nodes = self.path.nodes().iter().rev().filter(|node| node.node_type == NodeType::Message);
        let own = nodes.take_while(|node| node.message.role != Role::User);
        let said = own.filter(|node| node.message.role == Role::Assistant && has_text(&node.message.content));
        said.map(|node| node.message.content.iter().filter_map(ContentBlock::as_text).collect()).next()
    }

    /// A call of one of the run's tools that the model has written into its answer.
    pub(super) fn written_call(&self, reply: &Reply) -> Option<WrittenCall> {
        self.written_call_in(&reply.text(), reply.stop.kind == StopKind::MaxTokens)
    }

    fn written_call_in(&self, text: &str, is_cut: bool) -> Option<WrittenCall> {
        let tools = &self.sources.as_ref()?.tools.list.tools;
        find_written_call(text, is_cut, tools.iter().map(|tool| tool.name.as_str()))
    }

    /// Remembers what of a broken answer was shown, as much of it as the model is to be told.
    pub(super) fn note_what_was_shown(&mut self, partial: Option<&Reply>) {
        let Some(text) = partial.map(Reply::text) else { return };
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let room = self.sources.as_ref().map_or(MOST_SHOWN, |sources| sources.budgets.messages / 8).min(MOST_SHOWN);
        self.shown = Some(shortened(text, room).unwrap_or_else(|| text.to_owned()));
    }
}
