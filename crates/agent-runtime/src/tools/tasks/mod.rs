//! The tools of Tasks: ten ways to [`SessionTasks`](agent_tool::SessionTasks), with the contract's names and arguments. What a call may
//! do is decided behind that port; here arguments get their types, and results their size.

mod claim_step;
mod close;
mod create;
mod fit;
mod get;
mod list;
mod operations;
mod query_steps;
mod show;
mod statuses;
mod step_input;
mod task_tool;
mod update;
mod update_step;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use agent_tool::Tool;

use task_tool::TaskCall;

/// All of them.
pub(super) fn task_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        TaskCall::<create::Create>::shared(),
        TaskCall::<get::Get>::shared(),
        TaskCall::<list::List>::shared(),
        TaskCall::<update::Update>::shared(),
        TaskCall::<query_steps::QuerySteps>::shared(),
        TaskCall::<claim_step::ClaimStep>::shared(),
        TaskCall::<update_step::UpdateStep>::shared(),
        TaskCall::<close::Complete>::shared(),
        TaskCall::<close::Fail>::shared(),
        TaskCall::<close::Cancel>::shared(),
    ]
}
