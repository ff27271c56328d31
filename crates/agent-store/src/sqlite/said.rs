//! What a user has said: read by whoever looks for something worth remembering (MEM-2, MEM-3).

use agent_protocol::{AgentId, Node, Object, SessionId};
use rusqlite::{Connection, params};

use super::fault::Outcome;
use super::fields::Fields;
use super::listing::SYNTHETIC;
use super::read::all;
use super::{decode, sql};
use crate::rows::UserMessages;

pub(super) fn messages(
    conn: &Connection,
    session_id: &SessionId,
    agent_id: &AgentId,
    after: u64,
    limit: u32,
) -> Outcome<Vec<Node>> {
    let mut statement = conn.prepare_cached(sql::USER_MESSAGES)?;
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

/// How many there are, without reading them.
pub(super) fn in_short(
    conn: &Connection,
    session_id: &SessionId,
    agent_id: &AgentId,
    after: u64,
) -> Outcome<UserMessages> {
    let names = params![session_id.as_str(), agent_id.as_str(), after];
    let said = all(conn, sql::USER_MESSAGES_IN_SHORT, names, |row| {
        let mut fields = Fields::of("nodes", row);
        fields.text()?;
        let is_synthetic = fields.json::<Object>()?.contains_key(SYNTHETIC);
        Ok((is_synthetic, fields.count::<u64>()?, fields.count::<u64>()?))
    })?;
    let said = said.into_iter().filter(|(is_synthetic, ..)| !is_synthetic);
    Ok(said.fold(UserMessages::default(), |sum, (_, node_seq, tokens)| UserMessages {
        count: sum.count + 1,
        tokens: sum.tokens.saturating_add(tokens),
        last_node_seq: Some(node_seq),
    }))
}
