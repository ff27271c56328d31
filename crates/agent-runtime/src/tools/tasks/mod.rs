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
mod roles;
mod show;
mod statuses;
mod step_input;
mod update;
mod update_step;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use agent_tool::Tool;

use crate::tools::port_tool::PortCall;

/// All of them.
pub(super) fn task_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        PortCall::<create::Create>::shared(),
        PortCall::<get::Get>::shared(),
        PortCall::<list::List>::shared(),
        PortCall::<update::Update>::shared(),
        PortCall::<query_steps::QuerySteps>::shared(),
        PortCall::<claim_step::ClaimStep>::shared(),
        PortCall::<update_step::UpdateStep>::shared(),
        PortCall::<close::Complete>::shared(),
        PortCall::<close::Fail>::shared(),
        PortCall::<close::Cancel>::shared(),
    ]
}
