//! Which worker is sent (WRK-4, WRK-10). No relevance is weighed: the configuration's order decides.

use std::collections::{BTreeSet, HashSet};

use agent_protocol::task::{PoolId, TaskId};
use agent_protocol::{AgentId, ErrorCode, ErrorPayload, SelectionReason};

use super::roster::Worker;

/// What is asked of a worker.
pub(super) struct Wanted<'a> {
    pub(super) task_id: &'a TaskId,
    pub(super) pool_id: Option<&'a PoolId>,
    pub(super) worker: Option<&'a AgentId>,
    pub(super) allowed_tools: Option<&'a HashSet<String>>,
    /// Whose steps those in scope are; none: every pool's.
    pub(super) pools: &'a BTreeSet<Option<PoolId>>,
}

/// Chooses among the workers of the pool that was asked for, in the order of the configuration. `take` takes one if it is idle.
///
/// # Errors
/// Why nobody can be sent: nobody has been taken then.
pub(super) fn choose<'w, T>(
    wanted: &Wanted<'_>,
    workers: &[&'w Worker],
    mut take: impl FnMut(&Worker) -> Option<T>,
) -> Result<(&'w Worker, T, SelectionReason), ErrorPayload> {
    if let Some(named) = wanted.worker {
        let worker = workers.iter().find(|worker| worker.agent_id == *named).ok_or_else(|| unknown(wanted, named))?;
        passes(wanted, worker)?;
        let taken = take(worker).ok_or_else(|| {
            let message = format!("worker {named} is busy: wait until its run has ended, or send another one");
            ErrorPayload::new(ErrorCode::WorkerBusy, message)
        })?;
        return Ok((worker, taken, SelectionReason::Named));
    }
    let (mut first_fault, mut is_anybody_busy) = (None, false);
    for worker in workers {
        match passes(wanted, worker) {
            Ok(()) => match take(worker) {
                Some(taken) => return Ok((worker, taken, SelectionReason::FirstIdle)),
                None => is_anybody_busy = true,
            },
            Err(fault) => {
                first_fault.get_or_insert(fault);
            }
        }
    }
    match first_fault {
        Some(fault) if !is_anybody_busy => Err(fault),
        _ => {
            let of = wanted.pool_id.map_or_else(|| "of any pool".to_owned(), |pool| format!("of pool {pool}"));
            let message = format!("no worker {of} that could be sent is idle: wait until a run has ended");
            Err(ErrorPayload::new(ErrorCode::WorkerPoolBusy, message))
        }
    }
}

fn unknown(wanted: &Wanted<'_>, named: &AgentId) -> ErrorPayload {
    let place = wanted.pool_id.map_or_else(|| "session".to_owned(), |pool| format!("pool {pool}"));
    let message = format!("there is no worker {named} in this {place}; agent.list_workers lists them");
    ErrorPayload::new(ErrorCode::WorkerNotAvailable, message)
}

/// Whether a worker could do it at all.
fn passes(wanted: &Wanted<'_>, worker: &Worker) -> Result<(), ErrorPayload> {
    let id = &worker.agent_id;
    if let Some(why) = &worker.unavailable {
        let message = format!("worker {id} ({}) cannot be sent: {why}", worker.worker_id);
        return Err(ErrorPayload::new(ErrorCode::WorkerNotAvailable, message));
    }
    if let (Some(ceiling), Some(allowed)) = (&worker.tools, wanted.allowed_tools) {
        let mut above: Vec<_> = allowed.difference(ceiling).collect();
        above.sort_unstable();
        if let Some(name) = above.first() {
            let mut own: Vec<_> = ceiling.iter().map(String::as_str).collect();
            own.sort_unstable();
            let message = format!(
                "`allowed_tools` names {name}, which worker {id} ({}) cannot have; its entry allows {}",
                worker.worker_id,
                own.join(", ")
            );
            return Err(ErrorPayload::new(ErrorCode::ValidationError, message).detail("tool", name.as_str()));
        }
    }
    let is_of = |pool: &Option<PoolId>| pool.as_ref().is_none_or(|pool| *pool == worker.pool_id);
    if !wanted.pools.is_empty() && !wanted.pools.iter().any(is_of) {
        let pools: Vec<_> = wanted.pools.iter().flatten().map(PoolId::as_str).collect();
        let message = format!(
            "worker {id} is of pool {}, and the open steps of task {} in this dispatch's scope are for other pools: {}",
            worker.pool_id,
            wanted.task_id,
            pools.join(", ")
        );
        return Err(ErrorPayload::new(ErrorCode::ValidationError, message));
    }
    Ok(())
}
