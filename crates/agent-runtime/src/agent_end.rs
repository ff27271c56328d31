//! What becomes of an agent with its run.

use agent_protocol::{AgentId, AgentStatus, RunStatus};
use agent_store::Write;
use serde_json::json;

/// What an agent's row keeps its part under where its type does not tell it: a worker is a sub agent that lives on.
pub(crate) const ROLE: &str = "role";

/// Whether an agent has more to do when its run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentEnd {
    /// The session's own agent waits for its next run, whatever became of this one, and goes on where this one ends.
    WaitsForMore,
    /// A worker waits for its next dispatch, whatever became of this one, and begins anew then (WRK-2).
    Idles,
    /// A child that was made for this run is done with it, and keeps what it brought back.
    Done,
    /// The same for one whose reply is used elsewhere.
    DoneWithoutResult,
}

impl AgentEnd {
    /// Whether another run of the agent goes on with its conversation.
    pub(crate) fn goes_on(self) -> bool {
        self == Self::WaitsForMore
    }

    /// The agent's row, for a run that stands so; `answer` gives the text of one that has ended, and is asked only where it is kept.
    pub(crate) fn write(self, agent_id: &AgentId, run: RunStatus, answer: impl FnOnce() -> Option<String>) -> Write {
        let status = status_of(self, run);
        let is_over = self == Self::Done && run.is_terminal();
        let result = is_over.then(|| json!({ "status": status.as_str(), "summary": answer().unwrap_or_default() }));
        Write::AgentStatus { agent_id: agent_id.clone(), status, result }
    }
}

/// Where an agent stands while its run stands so.
fn status_of(end: AgentEnd, run: RunStatus) -> AgentStatus {
    match run {
        RunStatus::Queued | RunStatus::Pending => AgentStatus::Idle,
        RunStatus::Running => AgentStatus::Running,
        _ if matches!(end, AgentEnd::WaitsForMore | AgentEnd::Idles) => AgentStatus::Idle,
        RunStatus::Completed => AgentStatus::Completed,
        RunStatus::Failed => AgentStatus::Failed,
        RunStatus::Aborted | RunStatus::Cancelled => AgentStatus::Cancelled,
    }
}
