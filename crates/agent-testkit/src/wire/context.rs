//! What a message needs to know of the request it answers.

use crate::call::Call;
use crate::names;
use crate::record::RecordedRequest;
use crate::reply::{Message, Usage};

/// What a message needs to know of the request it answers.
pub(crate) struct Context<'a> {
    pub(crate) request: &'a RecordedRequest,
    pub(crate) mapping: &'a dyn Fn(&str) -> String,
}

impl Context<'_> {
    pub(super) fn wire_name(&self, call: &Call) -> String {
        names::wire_name(&call.name, &self.request.tool_names(), self.mapping)
    }

    /// Input and output tokens, unless the reply keeps them to itself.
    pub(super) fn usage(&self, message: &Message) -> Option<(u64, u64)> {
        match message.usage {
            Usage::Absent => None,
            Usage::Exact { input, output } => Some((input, output)),
            Usage::Estimated => {
                let calls: usize = message.calls.iter().map(|call| call.name.len() + call.arguments_text().len()).sum();
                let output = message.thinking.len() + message.text.len() + calls;
                Some((tokens(self.request.raw.len()), tokens(output)))
            }
        }
    }
}

/// At least one: even an empty answer costs its end token.
fn tokens(bytes: usize) -> u64 {
    bytes as u64 / 4 + 1
}
