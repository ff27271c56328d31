//! The fence: writes of an owner whose session has been taken over change nothing (DB-06).

use agent_protocol::{AgentId, NodeId, SessionId, Timestamp};
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::{Fault, Outcome};
use super::read;
use super::sql;
use crate::error::StoreError;

/// Fails if the session has been claimed since the lease was given, and dates the session.
///
/// The session's active node follows in the same statement, if `agent_id` is the root agent and moves to another node. Whether
/// the agent may stand there is checked by whoever moves it.
pub(super) fn hold(
    tx: &Connection,
    session_id: &SessionId,
    fence: u64,
    now: &Timestamp,
    (agent_id, active): (&AgentId, Option<&NodeId>),
) -> Outcome<()> {
    let held = tx.prepare_cached(sql::HOLD_FENCE)?.execute(params![
        session_id.as_str(),
        fence,
        now.as_str(),
        agent_id.as_str(),
        active.map(NodeId::as_str),
    ])?;
    if held == 1 { Ok(()) } else { Err(lost(session_id)) }
}

/// The same without dating it: for what is done to a session and not in it.
pub(super) fn check(tx: &Connection, session_id: &SessionId, fence: u64) -> Outcome<()> {
    match read::exists(tx, sql::HAS_FENCE, params![session_id.as_str(), fence])? {
        true => Ok(()),
        false => Err(lost(session_id)),
    }
}

/// The same, and the session's active node is this one now. Gives the id of the root agent, which is to follow.
pub(super) fn check_and_move(tx: &Connection, session_id: &SessionId, fence: u64, node_id: &NodeId) -> Outcome<String> {
    let root = tx
        .prepare_cached(sql::MOVE_SESSION)?
        .query_row(params![session_id.as_str(), fence, node_id.as_str()], |row| row.get(0))
        .optional()?;
    root.ok_or_else(|| lost(session_id))
}

fn lost(session_id: &SessionId) -> Fault {
    StoreError::FenceLost { session_id: session_id.clone() }.into()
}
