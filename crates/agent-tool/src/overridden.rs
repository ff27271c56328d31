//! A tool as the configuration has it: stricter, and with a time limit.

use std::sync::Arc;
use std::time::Duration;

use agent_protocol::{
    ErrorCode, ErrorPayload, Object, Permission, ToolClass, ToolDefinition, ToolRequirement, ToolRoles,
};
use futures::{FutureExt, future::BoxFuture};
use tokio_util::sync::CancellationToken;

use crate::port::{CallContext, Fence, Prepared, PreparedCall, Tool, ToolOutput};

/// How long a call that ran out of time may take to stop. Afterwards nobody waits for it, and it can change nothing any more.
const GRACE: Duration = Duration::from_secs(2);

/// What to change about a tool. It only tightens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOverride {
    /// Counts as writing: it asks, and its calls run alone.
    pub write: bool,
    /// Tags besides its own.
    pub tags: Vec<String>,
    /// Time a call gets to run, permission questions aside.
    pub timeout: Option<Duration>,
}

/// A tool with changes (`tools.overrides`).
pub struct Overridden {
    inner: Arc<dyn Tool>,
    definition: ToolDefinition,
    timeout: Option<Duration>,
}

impl Overridden {
    /// The tool with these changes.
    #[must_use]
    pub fn new(inner: Arc<dyn Tool>, change: ToolOverride) -> Self {
        let mut definition = inner.definition().clone();
        for tag in change.tags {
            if !definition.has_tag(&tag) {
                definition.tags.push(tag);
            }
        }
        if change.write {
            definition.permission = Permission::Write;
        }
        Self { inner, definition, timeout: change.timeout }
    }
}

impl Tool for Overridden {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn class(&self) -> ToolClass {
        self.inner.class()
    }

    fn roles(&self) -> ToolRoles {
        let usual = ToolRoles::usual(&self.definition);
        // What became a tool that may change things is a child's only on request, as all of those are.
        let tightened = usual != ToolRoles::usual(self.inner.definition());
        if tightened { self.inner.roles().on_request_for_children() } else { self.inner.roles() }
    }

    fn requires(&self) -> Option<ToolRequirement> {
        self.inner.requires()
    }

    fn prepare(&self, arguments: Object, mut context: CallContext) -> BoxFuture<'_, Result<Prepared, ErrorPayload>> {
        let Some(limit) = self.timeout else { return self.inner.prepare(arguments, context) };
        context.cancel = context.cancel.child_token();
        context.fence = context.fence.inner();
        let (cancel, fence, name) = (context.cancel.clone(), context.fence.clone(), self.definition.name.clone());
        async move {
            let Prepared { facts, call } = self.inner.prepare(arguments, context).await?;
            Ok(Prepared { facts, call: Box::new(Limited { call, limit, cancel, fence, name }) })
        }
        .boxed()
    }
}

struct Limited {
    call: Box<dyn PreparedCall>,
    limit: Duration,
    cancel: CancellationToken,
    fence: Fence,
    name: String,
}

impl PreparedCall for Limited {
    fn run(self: Box<Self>) -> BoxFuture<'static, ToolOutput> {
        async move {
            let Self { call, limit, cancel, fence, name } = *self;
            let mut work = call.run();
            if let Ok(output) = tokio::time::timeout(limit, &mut work).await {
                return output;
            }
            // Cancelled before: whoever did it waits for the call himself and says why it ended.
            if cancel.is_cancelled() {
                return work.await;
            }
            cancel.cancel();
            let late = tokio::time::timeout(GRACE, &mut work).await;
            // Before the call is dropped: what is under way is part of the answer.
            let effects = fence.close();
            match late {
                // It was done after all, and what it did counts.
                Ok(output) if output.error.is_none() => output,
                Ok(output) => ToolOutput { error: Some(timed_out(&name, limit, 0)), ..output },
                Err(_) => ToolOutput::failed(timed_out(&name, limit, effects)),
            }
        }
        .boxed()
    }
}

fn timed_out(name: &str, limit: Duration, effects: u32) -> ErrorPayload {
    let doubt = if effects > 0 { "; what it was doing may or may not have been done" } else { "" };
    let message = format!("{name} took longer than its limit of {} ms and was stopped{doubt}", limit.as_millis());
    ErrorPayload::new(ErrorCode::Timeout, message)
}

#[cfg(test)]
mod tests;
