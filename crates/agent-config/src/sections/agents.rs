//! `[agents]`, `[plan]`, `[task]`: who works besides the main agent, and on what.

use crate::path_value::PathValue;
use crate::schema::{millis, number, section};
use crate::texts::{ID, PLAN_TEMPLATE, TOOL};

section! {
    /// `[agents]`: child agents and workers.
    pub struct AgentsConfig {
        /// Live children of one run.
        max_children_per_run: u32 = 4, number(0, 1000);
        /// Live children of one session.
        max_concurrent_children_per_session: u32 = 8, number(0, 1000);
        /// Definition of a sub-agent that names none.
        default_sub_agent_definition: String = "default_sub_agent".to_owned(), ID;
        /// Definition of a fork that names none.
        default_fork_agent_definition: String = "default_fork_agent".to_owned(), ID;
        /// How long a child may run when its call gives no time.
        default_child_timeout_ms: u64 = 600_000, millis(1);
        /// How long a cancelled child may take to end.
        child_cancel_timeout_ms: u64 = 30_000, millis(1);
        /// The workers an Orchestrator may use; a run with `--orchestrator` needs one. Never implicit: a file without them has none.
        worker_pools: Vec<WorkerPool> = vec![WorkerPool::packaged()];
    }
}

section! {
    /// `[[agents.worker_pools]]`: a list of workers, in the order in which they are asked.
    pub struct WorkerPool {
        /// Name of the pool; unique.
        pool_id: String, ID;
        /// Its workers, one entry each.
        workers: Vec<WorkerEntry>;
    }
}

section! {
    /// `[[agents.worker_pools.workers]]`: one long-lived worker.
    pub struct WorkerEntry {
        /// Its id, unique in the pool. Not set: made from pool, position and definition, the same after every restart as
        /// long as these stay the same.
        worker_id: Option<String> = None, ID;
        /// The agent definition it is made from.
        agent_definition_id: String, ID;
        /// The tools it may use. Not set: reading and writing back its task step, and the read-only file tools.
        allowed_tools: Option<Vec<String>> = None, TOOL;
    }
}

section! {
    /// `[plan]`: plans as Markdown files.
    pub struct PlanConfig {
        /// Folder proposed for plans.
        default_dir: PathValue = PathValue::in_project(".soong-agent/plans");
        /// Packaged template `template.plan.NAME`.
        template_name: String = "default".to_owned(), PLAN_TEMPLATE;
    }
}

section! {
    /// `[task]`: the journals of tasks.
    pub struct TaskConfig {
        /// Folder of the journals.
        wal_dir: PathValue = PathValue::in_project(".soong-agent/tasks");
        /// How long a worker holds a step without a sign of life.
        step_lease_timeout_ms: u64 = 300_000, millis(1);
    }
}

impl WorkerPool {
    /// The pool of the packaged file.
    fn packaged() -> Self {
        let tools = [
            "agent.task_get",
            "agent.task_query_steps",
            "agent.task_claim_step",
            "agent.task_update_step",
            "code.read_file",
            "code.search",
        ];
        let worker = WorkerEntry {
            worker_id: Some("worker_general_1".to_owned()),
            agent_definition_id: "default_worker_agent".to_owned(),
            allowed_tools: Some(tools.map(str::to_owned).to_vec()),
        };
        Self { pool_id: "default".to_owned(), workers: vec![worker] }
    }

    /// The id of each worker, in the order of the pool: its own, or the derived one (CFG-6).
    #[must_use]
    pub fn worker_ids(&self) -> Vec<String> {
        let workers = self.workers.iter().enumerate();
        workers
            .map(|(index, worker)| match &worker.worker_id {
                Some(id) => id.clone(),
                None => derived_worker_id(&self.pool_id, index, &worker.agent_definition_id),
            })
            .collect()
    }
}

/// The id of a worker without one of its own: `worker_POOL_POSITION_DEFINITION`. `index` counts from 0, the position in
/// the id from 1. It depends on nothing else, so it is the same after a restart.
#[must_use]
pub fn derived_worker_id(pool_id: &str, index: usize, agent_definition_id: &str) -> String {
    format!("worker_{pool_id}_{}_{agent_definition_id}", index + 1)
}
