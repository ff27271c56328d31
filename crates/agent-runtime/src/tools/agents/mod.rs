//! The tools of agents: ways to [`ChildAgents`](agent_tool::ChildAgents) and [`WorkerAgents`](agent_tool::WorkerAgents), with the
//! contract's names and arguments. What a call may start is decided behind those ports; here arguments get their types, and what a
//! child brings back gets its size.

mod answer;
mod arguments;
mod create_sub_agent;
mod dispatch_worker;
mod fork_agent;
mod list_agent_definitions;
mod list_workers;
mod report;
mod roles;

use std::sync::Arc;

use agent_tool::Tool;

use super::port_tool::PortCall;

/// All of them.
pub(super) fn agent_tools() -> Vec<Arc<dyn Tool>> {
    vec![
        PortCall::<list_agent_definitions::List>::shared(),
        PortCall::<create_sub_agent::Create>::shared(),
        PortCall::<fork_agent::Fork>::shared(),
        PortCall::<list_workers::ListWorkers>::shared(),
        PortCall::<dispatch_worker::DispatchWorker>::shared(),
    ]
}

#[cfg(test)]
mod tests;
