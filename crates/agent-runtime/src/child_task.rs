//! What core says to a child, behind its task: what a list shows of a run is how its first message begins.

use agent_protocol::{AgentRole, ContentBlock};
use agent_tool::OutputSchema;

/// For a fork: behind its parent's conversation it would take itself for its parent (AGT-2).
const FORK: &str = "[You are a fork: an agent of its own, with the conversation above, made for this one job. The agent that spoke \
    above goes on without you; its plans and its other jobs are not yours. You cannot start agents, and you may have fewer tools \
    than were used above. Only your final message goes back.]";

/// The message that begins the run of a child: its task, who it is where nothing else tells it, and the form of its answer.
pub(crate) fn said(
    role: AgentRole,
    task: Vec<ContentBlock>,
    order: Option<ContentBlock>,
    output: Option<&OutputSchema>,
) -> Vec<ContentBlock> {
    let who = (role == AgentRole::Fork).then(|| ContentBlock::text(FORK));
    task.into_iter().chain(who).chain(order).chain(output.map(form)).collect()
}

fn form(output: &OutputSchema) -> ContentBlock {
    ContentBlock::text(format!(
        "[Your final message is read by a program: write nothing but JSON that is valid under this JSON schema: {}]",
        output.schema()
    ))
}
