//! Paths: the spine first, out of a covering index, then the bodies of what is wanted (PERF-5).

use std::sync::Arc;

use agent_protocol::{Node, NodeId, NodeType, Role, SessionId};
use rusqlite::{Connection, Rows, Statement};

use super::fault::Outcome;
use super::fields::Fields;
use super::read::exists;
use super::{decode, sql};
use crate::error::StoreError;

/// One node of the path without its body.
pub(super) struct Vertebra {
    pub(super) node_id: NodeId,
    is_root: bool,
    pub(super) node_seq: u64,
    pub(super) role: Role,
    pub(super) node_type: NodeType,
    pub(super) token_count: u64,
}

/// Nodes of other paths that are passed over rather than looked around.
const MAX_GAP: u64 = 8;

pub(super) fn load_path(conn: &Connection, session_id: &SessionId, leaf: &NodeId) -> Outcome<Vec<Node>> {
    let mut statement = conn.prepare_cached(sql::SPINE)?;
    let mut walk = Walk::begin(conn, &mut statement, session_id, leaf)?;
    walk.walk_to_root()?;
    let places = walk.spine.iter().rev().map(|vertebra| vertebra.node_seq).collect::<Vec<_>>();
    bodies(conn, session_id, &places)
}

/// The nodes at these places, which grow.
pub(super) fn bodies(conn: &Connection, session_id: &SessionId, wanted: &[u64]) -> Outcome<Vec<Node>> {
    let mut nodes = Vec::with_capacity(wanted.len());
    // A path lies mostly in one piece: one scan for each piece costs a third of one lookup for each node.
    for piece in wanted.chunk_by(|before, after| after - before <= MAX_GAP) {
        load_piece(conn, session_id, piece, &mut nodes)?;
    }
    Ok(nodes)
}

/// Adds the bodies of nodes whose places lie close together.
fn load_piece(conn: &Connection, session_id: &SessionId, piece: &[u64], nodes: &mut Vec<Node>) -> Outcome<()> {
    let (Some(from), Some(to)) = (piece.first(), piece.last()) else {
        return Ok(());
    };
    let mut statement = conn.prepare_cached(sql::NODES)?;
    let mut rows = statement.query((session_id.as_str(), from, to))?;
    let mut wanted = piece.iter().peekable();
    while let Some(row) = rows.next()? {
        // Rows beside the path are not even decoded.
        let place: u64 = row.get("node_seq")?;
        if wanted.next_if(|wanted| **wanted == place).is_some() {
            nodes.push(decode::node(row)?);
        }
    }
    match wanted.next() {
        Some(lost) => Err(broken(&format!("{session_id} at {lost}")).into()),
        None => Ok(()),
    }
}

/// The way from a leaf towards the root, as far as it was gone.
pub(super) struct Walk<'s> {
    rows: Rows<'s>,
    /// The newest first.
    pub(super) spine: Vec<Vertebra>,
    /// Whether the root was reached.
    pub(super) ended: bool,
}

impl<'s> Walk<'s> {
    /// `statement` is [`sql::SPINE`].
    pub(super) fn begin(
        conn: &Connection,
        statement: &'s mut Statement<'_>,
        session_id: &SessionId,
        leaf: &NodeId,
    ) -> Outcome<Self> {
        if !exists(conn, sql::NODE_IS_HERE, [leaf.as_str(), session_id.as_str()])? {
            let (session_id, id) = (session_id.clone(), leaf.to_string());
            return Err(StoreError::NotInSession { session_id, kind: "node", id }.into());
        }
        let rows = statement.query([leaf.as_str()])?;
        Ok(Self { rows, spine: Vec::new(), ended: false })
    }

    /// One node further. Places shrink along the way.
    pub(super) fn step(&mut self) -> Outcome<()> {
        if self.ended {
            return Ok(());
        }
        if let Some(row) = self.rows.next()? {
            let mut fields = Fields::of("nodes", row);
            self.spine.push(Vertebra {
                node_id: fields.parsed(NodeId::parse)?,
                is_root: fields.optional_text()?.is_none(),
                node_seq: fields.count()?,
                role: fields.word(Role::from_stored)?,
                node_type: fields.word(NodeType::from_stored)?,
                token_count: fields.count()?,
            });
            return Ok(());
        }
        self.ended = true;
        match self.spine.last() {
            Some(Vertebra { is_root: true, .. }) => Ok(()),
            Some(Vertebra { node_id, .. }) => Err(broken(node_id.as_str()).into()),
            None => Err(broken("nodes").into()),
        }
    }

    pub(super) fn walk_to_root(&mut self) -> Outcome<()> {
        while !self.ended {
            self.step()?;
        }
        Ok(())
    }

    /// As far as this place, if it is not there yet.
    pub(super) fn to(&mut self, node_seq: u64) -> Outcome<()> {
        while !self.ended && self.spine.last().is_none_or(|vertebra| vertebra.node_seq > node_seq) {
            self.step()?;
        }
        Ok(())
    }

    /// Where a node stands on the way that was gone.
    pub(super) fn position(&self, node_id: &NodeId, node_seq: u64) -> Option<usize> {
        let at = self.spine.partition_point(|vertebra| vertebra.node_seq > node_seq);
        self.spine.get(at).is_some_and(|vertebra| vertebra.node_id == *node_id).then_some(at)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the path to the root is broken here")]
struct BrokenPath;

/// A node that a path names and that is not where it should be.
pub(super) fn broken(node: &str) -> StoreError {
    let (id, column) = (node.to_owned(), "parent_id".to_owned());
    StoreError::CorruptRow { table: "nodes", id, column, source: Arc::new(BrokenPath) }
}
