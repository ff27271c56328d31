//! How rows become values. Strict: see [`Fields`].

use std::path::Path;
use std::sync::Arc;

use agent_protocol::{
    AgentId, AgentStatus, AgentType, ArtifactId, ContentBlock, EndReason, EventId, EventType, Node, NodeId, NodeType,
    Role, RunId, RunStatus, RuntimeEvent, SessionId, ToolCallId,
};
use rusqlite::Row;

use super::fields::{Fields, level};
use crate::artifact::stored_path;
use crate::error::StoreError;
use crate::hash::ContentHash;
use crate::rows::{AgentInfo, ArtifactInfo, FileVersion, Owner, RunInfo, SessionInfo, SessionStatus};

pub(super) fn session(row: &Row<'_>) -> Result<SessionInfo, StoreError> {
    let mut fields = Fields::of("sessions", row);
    Ok(SessionInfo {
        session_id: fields.parsed(SessionId::parse)?,
        cwd: fields.text()?.to_owned(),
        root_agent_id: fields.parsed(AgentId::parse)?,
        active_node_id: fields.optional(NodeId::parse)?,
        parent_session_id: fields.optional(SessionId::parse)?,
        status: fields.word(SessionStatus::from_stored)?,
        metadata: fields.json()?,
        created_at: fields.time()?,
        updated_at: fields.time()?,
        owner: owner(&mut fields)?,
    })
}

fn owner(fields: &mut Fields<'_, '_>) -> Result<Option<Owner>, StoreError> {
    let (pid, host, since) = (fields.optional_count()?, fields.optional_text()?, fields.optional_time()?);
    match (pid, host, since) {
        (Some(pid), Some(host), Some(since)) => Ok(Some(Owner { pid, host: host.to_owned(), since })),
        (None, None, None) => Ok(None),
        _ => Err(fields.corrupt(HalfAnOwner)),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("an owner has a process, a host and a time, or none of them")]
struct HalfAnOwner;

pub(super) fn agent(row: &Row<'_>) -> Result<AgentInfo, StoreError> {
    let mut fields = Fields::of("agents", row);
    Ok(AgentInfo {
        agent_id: fields.parsed(AgentId::parse)?,
        session_id: fields.parsed(SessionId::parse)?,
        parent_agent_id: fields.optional(AgentId::parse)?,
        agent_type: fields.word(AgentType::from_stored)?,
        created_by_run_id: fields.optional(RunId::parse)?,
        fork_from_node_id: fields.optional(NodeId::parse)?,
        active_node_id: fields.optional(NodeId::parse)?,
        status: fields.word(AgentStatus::from_stored)?,
        result: fields.optional_json()?,
        metadata: fields.json()?,
        created_at: fields.time()?,
        updated_at: fields.time()?,
    })
}

pub(super) fn run(row: &Row<'_>) -> Result<RunInfo, StoreError> {
    let mut fields = Fields::of("runs", row);
    Ok(RunInfo {
        run_id: fields.parsed(RunId::parse)?,
        session_id: fields.parsed(SessionId::parse)?,
        agent_id: fields.parsed(AgentId::parse)?,
        status: fields.word(RunStatus::from_stored)?,
        start_node_id: fields.optional(NodeId::parse)?,
        end_node_id: fields.optional(NodeId::parse)?,
        end_reason: fields.optional_word(EndReason::from_stored)?,
        turn_count: fields.count()?,
        usage: fields.json()?,
        error: fields.optional_json()?,
        metadata: fields.json()?,
        created_at: fields.time()?,
        updated_at: fields.time()?,
    })
}

pub(super) fn node(row: &Row<'_>) -> Result<Node, StoreError> {
    let mut fields = Fields::of("nodes", row);
    Ok(Node {
        node_id: fields.parsed(NodeId::parse)?,
        session_id: fields.parsed(SessionId::parse)?,
        node_seq: fields.count()?,
        parent_id: fields.optional(NodeId::parse)?,
        agent_id: fields.parsed(AgentId::parse)?,
        run_id: fields.parsed(RunId::parse)?,
        role: fields.word(Role::from_stored)?,
        node_type: fields.word(NodeType::from_stored)?,
        content: fields.json::<Vec<ContentBlock>>()?.into(),
        metadata: fields.json()?,
        token_count: fields.count()?,
        created_at: fields.time()?,
    })
}

/// Bytes of a node's bodies.
pub(super) fn node_size(row: &Row<'_>) -> usize {
    size(row, 8) + size(row, 9)
}

/// Bytes of an event's body.
pub(super) fn event_size(row: &Row<'_>) -> usize {
    size(row, 10)
}

fn size(row: &Row<'_>, column: usize) -> usize {
    row.get_ref(column).ok().and_then(|value| value.as_bytes().ok()).map_or(0, <[u8]>::len)
}

pub(super) fn event(row: &Row<'_>) -> Result<RuntimeEvent, StoreError> {
    EventReader::default().event(row)
}

/// Reads events one after the other. Neighbours mostly have the same session, run, agent and node, whose ids are then
/// shared instead of checked and copied again.
#[derive(Default)]
pub(super) struct EventReader {
    session_id: Option<SessionId>,
    agent_id: Option<AgentId>,
    run_id: Option<RunId>,
    node_id: Option<NodeId>,
}

impl EventReader {
    pub(super) fn event(&mut self, row: &Row<'_>) -> Result<RuntimeEvent, StoreError> {
        let mut fields = Fields::of("events", row);
        Ok(RuntimeEvent {
            event_id: fields.parsed(EventId::parse)?,
            seq: Some(fields.count()?),
            run_seq: fields.optional_count()?,
            session_id: fields.parsed(|text| again(&mut self.session_id, text, SessionId::as_str, SessionId::parse))?,
            agent_id: fields.optional(|text| again(&mut self.agent_id, text, AgentId::as_str, AgentId::parse))?,
            run_id: fields.optional(|text| again(&mut self.run_id, text, RunId::as_str, RunId::parse))?,
            level: fields.word(level)?,
            event_type: fields.word(EventType::from_stored)?,
            node_id: fields.optional(|text| again(&mut self.node_id, text, NodeId::as_str, NodeId::parse))?,
            tool_call_id: fields.optional(ToolCallId::parse)?,
            payload: fields.json()?,
            created_at: fields.time()?,
        })
    }
}

/// The last id if it reads the same, else the one that is read, which is the last one from now on.
fn again<T: Clone, E>(
    last: &mut Option<T>,
    text: &str,
    as_str: fn(&T) -> &str,
    parse: fn(&str) -> Result<T, E>,
) -> Result<T, E> {
    match last {
        Some(id) if as_str(id) == text => Ok(id.clone()),
        _ => Ok(last.insert(parse(text)?).clone()),
    }
}

/// A row whose path is not the one its ids give is damaged: no path out of the database leads anywhere else.
pub(super) fn artifact(row: &Row<'_>, sessions_dir: &Path) -> Result<ArtifactInfo, StoreError> {
    artifact_of(&mut Fields::of("artifacts", row), sessions_dir)
}

/// An artifact and where it stands in its timeline.
pub(super) fn placed_artifact(row: &Row<'_>, sessions_dir: &Path) -> Result<(ArtifactInfo, u64), StoreError> {
    let mut fields = Fields::of("artifacts", row);
    Ok((artifact_of(&mut fields, sessions_dir)?, fields.count()?))
}

fn artifact_of(fields: &mut Fields<'_, '_>, sessions_dir: &Path) -> Result<ArtifactInfo, StoreError> {
    let artifact_id = fields.parsed(ArtifactId::parse)?;
    let session_id = fields.parsed(SessionId::parse)?;
    let (agent_id, run_id) = (fields.optional(AgentId::parse)?, fields.optional(RunId::parse)?);
    let (node_id, tool_call_id) = (fields.optional(NodeId::parse)?, fields.optional(ToolCallId::parse)?);
    let path = fields.text()?;
    let filename = fields.text()?.to_owned();
    if filename.contains('/') || path != stored_path(&session_id, &artifact_id, &filename) {
        return Err(fields.corrupt(WrongPath));
    }
    Ok(ArtifactInfo {
        artifact_id,
        session_id,
        agent_id,
        run_id,
        node_id,
        tool_call_id,
        path: sessions_dir.join(path),
        filename,
        mime_type: fields.optional_text()?.map(str::to_owned),
        size_bytes: fields.count()?,
        summary: fields.optional_text()?.map(str::to_owned),
        metadata: fields.json()?,
        created_at: fields.time()?,
    })
}

#[derive(Debug, thiserror::Error)]
#[error("path and name are not those of the artifact")]
struct WrongPath;

pub(super) fn file_version(row: &Row<'_>) -> Result<FileVersion, StoreError> {
    let mut fields = Fields::of("file_versions", row);
    Ok(FileVersion {
        path: fields.text()?.to_owned(),
        agent_id: fields.parsed(AgentId::parse)?,
        hash: fields.text()?.to_owned(),
        written: fields.flag()?,
        seen_at: fields.time()?,
    })
}

/// The bytes are what their hash says, or the row is damaged.
pub(super) fn blob(row: &Row<'_>) -> Result<Arc<[u8]>, StoreError> {
    let mut fields = Fields::of("blobs", row);
    let hash = fields.parsed(ContentHash::parse)?;
    let bytes = fields.bytes()?;
    if ContentHash::of(bytes) == hash { Ok(bytes.into()) } else { Err(fields.corrupt(WrongHash)) }
}

#[derive(Debug, thiserror::Error)]
#[error("the bytes are not those that were stored under this hash")]
struct WrongHash;
