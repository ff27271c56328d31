//! What a tool is to those who call it.

mod artifact;
mod children;
mod context;
mod fence;
mod loaded;
mod output;
mod progress;
mod tasks;
mod versions;
mod workers;

pub use artifact::{ArtifactFile, ArtifactSink};
pub use children::{ChildAgents, ChildDefinition, ChildKind, ChildReport, ChildTask, NoChildren};
pub use context::{CallContext, CallGroup};
pub use fence::{EffectGuard, Fence, FenceClosed};
pub use loaded::{ContextNode, LoadedContext, NothingLoaded};
pub use output::ToolOutput;
pub use progress::ProgressSink;
pub use tasks::{
    ListedTask, NewTask, NoTasks, SessionTasks, StepQuery, TaskChange, TaskHeader, TaskList, TaskLook, TaskQuery,
    TaskSteps, TaskWritten, UnavailableTask, WorkerScope, WrittenLine,
};
pub use versions::{FileStamp, FileVersion, FileVersions, WriteGuard};
pub use workers::{Dispatch, DispatchReport, NoWorkers, SelectionReason, WorkerAgents, WorkerInfo, WorkerStatus};

use std::fmt;

use agent_policy::Facts;
use agent_protocol::{ErrorPayload, Object, ToolClass, ToolDefinition, ToolRequirement, ToolRoles};
use futures::future::BoxFuture;

/// Something a model can call, in two phases (TOL-9).
pub trait Tool: Send + Sync {
    /// What the tool says of itself.
    fn definition(&self) -> &ToolDefinition;

    /// How its calls are scheduled (RUN-11).
    fn class(&self) -> ToolClass;

    /// Which agents get it (AGT-8). What a tool says here only matters within what its origin and the configuration allow.
    fn roles(&self) -> ToolRoles {
        ToolRoles::usual(self.definition())
    }

    /// What there must be for it to be of use; without it runs are not offered the tool.
    fn requires(&self) -> Option<ToolRequirement> {
        None
    }

    /// Looks, and changes nothing: validates, resolves, opens what will be touched, computes what a person should see.
    ///
    /// `arguments` have passed the registry's check ([`crate::Registered::check_arguments`]).
    ///
    /// # Errors
    /// What makes the call impossible whatever anybody decides, as the model is to be told.
    fn prepare(&self, arguments: Object, context: CallContext) -> BoxFuture<'_, Result<Prepared, ErrorPayload>>;
}

/// A call that could run now: the facts to decide on, and the handle that does it.
pub struct Prepared {
    /// What a permission decision may depend on.
    pub facts: Facts,
    /// Does it; dropping it instead has no effect on anything.
    pub call: Box<dyn PreparedCall>,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// The second phase of a call.
pub trait PreparedCall: Send {
    /// Does what was prepared, and nothing else. A failure is part of the output, not an error of this function.
    fn run(self: Box<Self>) -> BoxFuture<'static, ToolOutput>;
}

/// A future factory is a prepared call, so that tools need no type of their own for it.
impl<F> PreparedCall for F
where
    F: FnOnce() -> BoxFuture<'static, ToolOutput> + Send,
{
    fn run(self: Box<Self>) -> BoxFuture<'static, ToolOutput> {
        self()
    }
}
