//! What a user has said: read by whoever looks for something worth remembering (MEM-2, MEM-3).

use agent_protocol::{AgentId, Node, SessionId};
use rusqlite::{Connection, params};

use super::decode;
use super::fault::Outcome;
use super::listing::SYNTHETIC;

/// Messages behind a place, in the order of the statement: [`USER_MESSAGES`](super::sql::USER_MESSAGES) or the newest first.
pub(super) fn messages(
    conn: &Connection,
    sql: &str,
    session_id: &SessionId,
    agent_id: &AgentId,
    after: u64,
    limit: u32,
) -> Outcome<Vec<Node>> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params![session_id.as_str(), agent_id.as_str(), after])?;
    let mut nodes = Vec::new();
    while nodes.len() < limit as usize
        && let Some(row) = rows.next()?
    {
        let node = decode::node(row)?;
        if !node.metadata.contains_key(SYNTHETIC) {
            nodes.push(node);
        }
    }
    Ok(nodes)
}
