//! What is stored of a run that cannot end itself.

use agent_protocol::{EndReason, ErrorPayload, Level, NodeId, RunEnd, RunPatch, RunStatus, Usage};
use agent_store::{RunInfo, Write};

/// The end of a run that could not end itself.
pub(crate) fn failed(run: RunInfo, error: &ErrorPayload) -> Vec<Write> {
    failed_patch(error, run.end_node_id, run.turn_count, run.usage)
}

/// The same for one of which this much is known.
pub(crate) fn failed_patch(
    error: &ErrorPayload,
    end_node_id: Option<NodeId>,
    turn_count: u32,
    usage: Usage,
) -> Vec<Write> {
    vec![
        Write::Event(RunEnd { error: Some(error.clone()), ..RunEnd::default() }.into_event_at(Level::Error)),
        Write::RunPatch(RunPatch {
            status: RunStatus::Failed,
            end_reason: Some(EndReason::Failed),
            end_node_id,
            turn_count,
            usage,
            error: Some(error.clone()),
        }),
    ]
}
