//! A run that ended without a word to the model: its process was killed, nothing could be stored any more, or core itself failed
//! (RUN-20, RUN-21). The agent's next run says so, with the calls of which nobody knows what they did.

use agent_protocol::{
    CutCall, CutCause, CutShort, ErrorCode, Permission, RunId, RunStatus, ToolDefinition, ToolStarted,
};
use agent_store::RunInfo;

/// What the error of a run holds under `kind` whose process ended.
pub(crate) const INTERRUPTED: &str = "interrupted";

/// A run that was cut short, as the store tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CutRun {
    run_id: RunId,
    cause: CutCause,
    /// Its calls that had begun and have no result on the path.
    calls: Vec<ToolStarted>,
}

impl CutRun {
    /// The agent's last run, if it was cut short, with the begun calls that have no result.
    pub(crate) fn of(run: &RunInfo, calls: Vec<ToolStarted>) -> Option<Self> {
        Some(Self { run_id: run.run_id.clone(), cause: cause(run)?, calls })
    }

    /// What is said of it, by the tools there are now. Calls that change nothing need not be; of a tool that is not there any more
    /// everything must be assumed.
    pub(crate) fn told<'a>(self, tool: impl Fn(&str) -> Option<&'a ToolDefinition>) -> CutShort {
        let Self { run_id, cause, calls } = self;
        let told = |ToolStarted { tool_name, summary }: ToolStarted| {
            let definition = tool(&tool_name);
            let is_readonly = definition.is_some_and(|tool| tool.permission == Permission::Readonly);
            let is_dangerous = |tool: &ToolDefinition| tool.tags.iter().any(|tag| tag == ToolDefinition::DANGEROUS);
            // Where the process lived on, it ended what the call had started.
            let may_still_run = cause == CutCause::ProcessEnded && definition.is_none_or(is_dangerous);
            (!is_readonly).then_some(CutCall { tool_name, summary, may_still_run })
        };
        CutShort { run_id, cause, calls: calls.into_iter().filter_map(told).collect() }
    }
}

/// What cut a run short, if something did.
fn cause(run: &RunInfo) -> Option<CutCause> {
    let error = run.error.as_ref().filter(|_| run.status == RunStatus::Failed)?;
    let is_interrupted = error.details.get("kind").is_some_and(|kind| kind == INTERRUPTED);
    match error.code {
        ErrorCode::InternalError if is_interrupted => Some(CutCause::ProcessEnded),
        ErrorCode::InternalError => Some(CutCause::InternalError),
        ErrorCode::StorageError => Some(CutCause::StorageFailed),
        _ => None,
    }
}
