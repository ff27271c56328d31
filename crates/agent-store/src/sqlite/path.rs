//! Paths: the spine first, out of a covering index, then the bodies of what is wanted (PERF-5).

use std::sync::Arc;

use agent_protocol::{Node, NodeId, NodeType, Role, SessionId};
use rusqlite::Connection;

use super::fault::Outcome;
use super::fields::Fields;
use super::read::{all, exists};
use super::{decode, sql};
use crate::error::StoreError;

/// One node of the path without its body.
pub(super) struct Vertebra {
    pub(super) node_id: NodeId,
    is_root: bool,
    node_seq: u64,
    pub(super) role: Role,
    pub(super) node_type: NodeType,
    pub(super) token_count: u64,
}

/// Nodes of other paths that are passed over rather than looked around.
const MAX_GAP: u64 = 8;

pub(super) fn load_path(conn: &Connection, session_id: &SessionId, leaf: &NodeId) -> Outcome<Vec<Node>> {
    let spine = spine(conn, session_id, leaf)?;
    bodies(conn, session_id, spine.iter().collect())
}

pub(super) fn bodies(conn: &Connection, session_id: &SessionId, wanted: Vec<&Vertebra>) -> Outcome<Vec<Node>> {
    let mut nodes = Vec::with_capacity(wanted.len());
    // A path lies mostly in one piece: one scan for each piece costs a third of one lookup for each node.
    for piece in wanted.chunk_by(|before, after| after.node_seq - before.node_seq <= MAX_GAP) {
        load_piece(conn, session_id, piece, &mut nodes)?;
    }
    Ok(nodes)
}

/// Adds the bodies of vertebrae whose places lie close together.
fn load_piece(conn: &Connection, session_id: &SessionId, piece: &[&Vertebra], nodes: &mut Vec<Node>) -> Outcome<()> {
    let (Some(from), Some(to)) = (piece.first(), piece.last()) else {
        return Ok(());
    };
    let mut statement = conn.prepare_cached(sql::NODES)?;
    let mut rows = statement.query((session_id.as_str(), from.node_seq, to.node_seq))?;
    let mut wanted = piece.iter().peekable();
    while let Some(row) = rows.next()? {
        // Rows beside the path are not even decoded.
        if wanted
            .next_if(|vertebra| row.get_ref(0).is_ok_and(|id| id.as_str() == Ok(vertebra.node_id.as_str())))
            .is_some()
        {
            nodes.push(decode::node(row)?);
        }
    }
    match wanted.next() {
        Some(lost) => Err(broken(&lost.node_id).into()),
        None => Ok(()),
    }
}

/// From the root to the leaf. Places grow along it.
pub(super) fn spine(conn: &Connection, session_id: &SessionId, leaf: &NodeId) -> Outcome<Vec<Vertebra>> {
    if !exists(conn, sql::NODE_IS_HERE, [leaf.as_str(), session_id.as_str()])? {
        let (session_id, id) = (session_id.clone(), leaf.to_string());
        return Err(StoreError::NotInSession { session_id, kind: "node", id }.into());
    }
    let mut spine = all(conn, sql::SPINE, [leaf.as_str()], |row| {
        let mut fields = Fields::of("nodes", row);
        Ok(Vertebra {
            node_id: fields.parsed(NodeId::parse)?,
            is_root: fields.optional_text()?.is_none(),
            node_seq: fields.count()?,
            role: fields.word(Role::from_stored)?,
            node_type: fields.word(NodeType::from_stored)?,
            token_count: fields.count()?,
        })
    })?;
    spine.reverse();
    match spine.first() {
        Some(Vertebra { is_root: true, .. }) => Ok(spine),
        Some(Vertebra { node_id, .. }) => Err(broken(node_id).into()),
        None => Err(broken(leaf).into()),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the path to the root is broken here")]
struct BrokenPath;

/// A node that a path names and that is not where it should be.
pub(super) fn broken(node_id: &NodeId) -> StoreError {
    let (id, column) = (node_id.to_string(), "parent_id".to_owned());
    StoreError::CorruptRow { table: "nodes", id, column, source: Arc::new(BrokenPath) }
}
