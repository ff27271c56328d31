//! Doing a commit inside its transaction.

use agent_protocol::{
    AgentId, AgentStatus, EventDraft, EventId, Node, NodeDraft, NodeId, RunId, RunPatch, RunStatus, RuntimeEvent,
    SessionId, Timestamp, ToolCallId, Usage,
};
use rusqlite::blob::ZeroBlob;
use rusqlite::{Connection, OptionalExtension, ToSql, params};
use serde_json::Value;

use super::fault::{Fault, Outcome};
use super::json::{Encoded, encode, encode_within};
use super::{fence, long_content, sql};
use crate::artifact;
use crate::error::StoreError;
use crate::write::{Commit, Committed, NewAgent, NewArtifact, NewRun, Write};

/// The place of a node's content among the values of its row.
const CONTENT_OF_NODE: usize = 9;

/// Stores everything in `commit`; the caller's transaction makes it all or nothing.
pub(super) fn commit(
    tx: &Connection,
    session_id: &SessionId,
    number: u64,
    commit: &Commit,
    now: Timestamp,
) -> Outcome<Committed> {
    let active = commit.writes.iter().rev().find_map(|write| match write {
        Write::Activate(node_id) => Some(node_id),
        _ => None,
    });
    fence::hold(tx, session_id, number, &now, (&commit.agent_id, active))?;
    let last = Places::last(tx, session_id, &commit.run_id)?;
    let first_seq = last.seq + 1;
    let committed = Committed { nodes: Vec::new(), events: Vec::new() };
    let mut apply = Apply { tx, session_id, commit, now, last, first_seq, committed };
    for write in &commit.writes {
        apply.write(write)?;
    }
    // Last, since the run may be one of the writes.
    apply.check_run()?;
    Ok(apply.committed)
}

/// Places given out last; each place is the one before it plus one (STO-3).
struct Places {
    node_seq: u64,
    seq: u64,
    run_seq: u64,
}

impl Places {
    /// Read anew in every transaction, from the ends of indices: correct whatever was undone or written by others.
    fn last(tx: &Connection, session_id: &SessionId, run_id: &RunId) -> Outcome<Self> {
        let mut statement = tx.prepare_cached(sql::LAST_PLACES)?;
        Ok(statement.query_row([session_id.as_str(), run_id.as_str()], |row| {
            Ok(Self { node_seq: row.get(0)?, seq: row.get(1)?, run_seq: row.get(2)? })
        })?)
    }
}

struct Apply<'a> {
    tx: &'a Connection,
    session_id: &'a SessionId,
    commit: &'a Commit,
    now: Timestamp,
    last: Places,
    /// Of the first event of this commit, or of the one that comes next if it has none.
    first_seq: u64,
    committed: Committed,
}

impl Apply<'_> {
    fn write(&mut self, write: &Write) -> Outcome<()> {
        match write {
            Write::Agent(agent) => add_agent(self.tx, self.session_id, agent, &self.now),
            Write::AgentStatus { agent_id, status, result } => {
                self.set_agent(agent_id.as_str(), *status, result.as_ref())
            }
            Write::Run(run) => self.add_run(run),
            Write::RunPatch(patch) => self.set_run(patch),
            Write::Node(node) => self.add_node(node),
            Write::Event(event) => self.add_event(event),
            Write::Activate(node_id) => activate(self.tx, self.session_id, self.commit.agent_id.as_str(), node_id),
            Write::Artifact(artifact) => self.add_artifact(artifact),
            Write::Blob { hash, bytes } => {
                self.run(sql::ADD_BLOB, params![self.session_id.as_str(), hash.as_str(), bytes]).map(drop)
            }
            Write::FileVersion { path, hash, written } => self.set_file_version(path, hash, *written),
        }
    }

    fn set_agent(&self, agent_id: &str, status: AgentStatus, result: Option<&Value>) -> Outcome<()> {
        let result = result.map(|value| encode("result_json", value)).transpose()?;
        let changed = self.run(
            sql::SET_AGENT,
            params![agent_id, self.session_id.as_str(), status.as_str(), result, self.now.as_str()],
        )?;
        self.must_be_one(changed, "agent", agent_id)
    }

    fn add_run(&self, run: &NewRun) -> Outcome<()> {
        let added = self.run(
            sql::ADD_RUN,
            params![
                run.run_id.as_str(),
                self.session_id.as_str(),
                run.agent_id.as_str(),
                run.status.as_str(),
                run.start_node_id.as_ref().map(NodeId::as_str),
                encode("usage_json", &Usage::default())?,
                encode("metadata_json", &run.metadata)?,
                self.now.as_str(),
            ],
        )?;
        self.must_be_one(added, "agent", run.agent_id.as_str())?;
        // One that waits has not begun.
        if run.status != RunStatus::Queued {
            self.run(sql::USE_SESSION, params![self.session_id.as_str(), run.run_id.as_str()])?;
        }
        Ok(())
    }

    fn set_run(&self, patch: &RunPatch) -> Outcome<()> {
        let names = params![self.session_id.as_str(), self.commit.run_id.as_str()];
        let begins = matches!(patch.status, RunStatus::Pending | RunStatus::Running);
        if begins && self.run(sql::BEGIN_RUN, names)? == 1 {
            self.run(sql::USE_SESSION, names)?;
        }
        let error = patch.error.as_ref().map(|error| encode("error_json", error)).transpose()?;
        let changed = self.run(
            sql::SET_RUN,
            params![
                self.commit.run_id.as_str(),
                self.session_id.as_str(),
                patch.status.as_str(),
                patch.end_reason.map(|reason| reason.as_str()),
                patch.end_node_id.as_ref().map(NodeId::as_str),
                patch.turn_count,
                encode("usage_json", &patch.usage)?,
                error,
                self.now.as_str(),
            ],
        )?;
        self.must_be_one(changed, "run", self.commit.run_id.as_str())?;
        // The latest session is the one where something ended last, not only where something began last.
        if patch.status.is_terminal() {
            self.run(sql::USE_SESSION_AGAIN, params![self.session_id.as_str(), self.commit.agent_id.as_str()])?;
        }
        Ok(())
    }

    fn add_node(&mut self, draft: &NodeDraft) -> Outcome<()> {
        self.last.node_seq += 1;
        let node = Node {
            session_id: self.session_id.clone(),
            node_seq: self.last.node_seq,
            node_id: draft.node_id.clone(),
            parent_id: draft.parent_id.clone(),
            agent_id: self.commit.agent_id.clone(),
            run_id: self.commit.run_id.clone(),
            role: draft.role,
            node_type: draft.node_type,
            content: draft.content.clone(),
            metadata: draft.metadata.clone(),
            token_count: draft.token_count,
            created_at: self.now.clone(),
        };
        let parent = node.parent_id.as_ref().map(NodeId::as_str);
        self.check_parent(parent)?;
        let mut statement = self.tx.prepare_cached(sql::ADD_NODE)?;
        let long = match encode_within("content_json", &*node.content, long_content::FROM)? {
            // SQLite copies what it is given, and builds the row from the copy: the text is dropped in between.
            Encoded::Whole(content) => {
                statement.raw_bind_parameter(CONTENT_OF_NODE, &content)?;
                None
            }
            Encoded::Longer(bytes) => {
                statement.raw_bind_parameter(CONTENT_OF_NODE, "")?;
                Some(bytes)
            }
        };
        let metadata = encode("metadata_json", &node.metadata)?;
        let before: [&dyn ToSql; CONTENT_OF_NODE - 1] = [
            &node.session_id.as_str(),
            &node.node_seq,
            &node.node_id.as_str(),
            &parent,
            &node.agent_id.as_str(),
            &node.run_id.as_str(),
            &node.role.as_str(),
            &node.node_type.as_str(),
        ];
        // Room for it, which is filled afterwards.
        let room = long.map(|bytes| ZeroBlob(bytes as u64));
        let after: [&dyn ToSql; 4] = [&metadata, &node.token_count, &node.created_at.as_str(), &room];
        let places = (1..CONTENT_OF_NODE).zip(before).chain((CONTENT_OF_NODE + 1..).zip(after));
        for (place, value) in places {
            statement.raw_bind_parameter(place, value)?;
        }
        statement.raw_execute()?;
        // The statement is kept for the next one; what it was given is not.
        statement.clear_bindings();
        if long.is_some() {
            long_content::fill(self.tx, self.tx.last_insert_rowid(), &node.content)?;
        }
        drop(statement);
        self.committed.nodes.push(node);
        Ok(())
    }

    fn add_event(&mut self, draft: &EventDraft) -> Outcome<()> {
        self.last.seq += 1;
        self.last.run_seq += 1;
        let event_id = event_id(&self.commit.run_id, self.last.run_seq)?;
        self.run(
            sql::ADD_EVENT,
            params![
                self.session_id.as_str(),
                self.last.seq,
                self.last.run_seq,
                event_id.as_str(),
                self.commit.agent_id.as_str(),
                self.commit.run_id.as_str(),
                draft.level.as_str(),
                draft.event_type.as_str(),
                draft.node_id.as_ref().map(NodeId::as_str),
                draft.tool_call_id.as_ref().map(ToolCallId::as_str),
                encode("payload_json", &draft.payload)?,
                self.now.as_str(),
            ],
        )?;
        self.committed.events.push(RuntimeEvent {
            event_id,
            seq: Some(self.last.seq),
            run_seq: Some(self.last.run_seq),
            session_id: self.session_id.clone(),
            agent_id: Some(self.commit.agent_id.clone()),
            run_id: Some(self.commit.run_id.clone()),
            level: draft.level,
            event_type: draft.event_type,
            node_id: draft.node_id.clone(),
            tool_call_id: draft.tool_call_id.clone(),
            payload: draft.payload.clone(),
            created_at: self.now.clone(),
        });
        Ok(())
    }

    fn add_artifact(&self, new: &NewArtifact) -> Outcome<()> {
        self.run(
            sql::ADD_ARTIFACT,
            params![
                new.artifact_id.as_str(),
                self.session_id.as_str(),
                self.commit.agent_id.as_str(),
                self.commit.run_id.as_str(),
                new.node_id.as_ref().map(NodeId::as_str),
                new.tool_call_id.as_ref().map(ToolCallId::as_str),
                artifact::stored_path(self.session_id, &new.artifact_id, &new.filename),
                new.filename,
                new.mime_type,
                new.size_bytes,
                new.summary,
                encode("metadata_json", &new.metadata)?,
                self.now.as_str(),
                self.first_seq,
            ],
        )
        .map(drop)
    }

    fn set_file_version(&self, path: &str, hash: &str, written: bool) -> Outcome<()> {
        let (session, agent) = (self.session_id.as_str(), self.commit.agent_id.as_str());
        self.run(sql::SET_FILE_VERSION, params![session, agent, path, hash, written, self.now.as_str()]).map(drop)
    }

    /// A node goes below one of the same agent, or below the one its agent was forked from.
    fn check_parent(&self, parent: Option<&str>) -> Outcome<()> {
        let Some(parent) = parent else { return Ok(()) };
        let of_agent = [parent, self.session_id.as_str(), self.commit.agent_id.as_str()];
        let found = self.tx.prepare_cached(sql::MAY_BE_PARENT)?.exists(of_agent)?;
        self.must_be_one(usize::from(found), "node of that agent named", parent)
    }

    /// Nodes, events, artifacts and file versions name the commit's run and agent without a foreign key.
    fn check_run(&self) -> Outcome<()> {
        let (run, agent) = (self.commit.run_id.as_str(), self.commit.agent_id.as_str());
        let found = self
            .tx
            .prepare_cached(sql::RUN_IS_HERE)?
            .query_row([run, self.session_id.as_str(), agent], |_| Ok(()))
            .optional()?;
        self.must_be_one(usize::from(found.is_some()), "run of that agent named", run)
    }

    fn run(&self, sql: &str, params: &[&dyn ToSql]) -> Outcome<usize> {
        Ok(self.tx.prepare_cached(sql)?.execute(params)?)
    }

    /// Statements that name another row change nothing if this session does not have it.
    fn must_be_one(&self, changed: usize, kind: &'static str, id: &str) -> Outcome<()> {
        must_be_one(self.session_id, changed, kind, id)
    }
}

/// Moves an agent to a node it may go on from. If it is the root agent, the session is moved by whoever checks the fence.
pub(super) fn activate(tx: &Connection, session_id: &SessionId, agent_id: &str, node_id: &NodeId) -> Outcome<()> {
    let changed = tx.prepare_cached(sql::ACTIVATE)?.execute([session_id.as_str(), node_id.as_str(), agent_id])?;
    must_be_one(session_id, changed, "node of that agent named", node_id.as_str())
}

fn must_be_one(session_id: &SessionId, changed: usize, kind: &'static str, id: &str) -> Outcome<()> {
    if changed == 1 {
        return Ok(());
    }
    Err(StoreError::NotInSession { session_id: session_id.clone(), kind, id: id.to_owned() }.into())
}

pub(super) fn add_agent(tx: &Connection, session_id: &SessionId, agent: &NewAgent, now: &Timestamp) -> Outcome<()> {
    tx.prepare_cached(sql::ADD_AGENT)?.execute(params![
        agent.agent_id.as_str(),
        session_id.as_str(),
        agent.parent_agent_id.as_ref().map(AgentId::as_str),
        agent.agent_type.as_str(),
        agent.created_by_run_id.as_ref().map(RunId::as_str),
        agent.fork_from_node_id.as_ref().map(NodeId::as_str),
        agent.status.as_str(),
        encode("metadata_json", &agent.metadata)?,
        now.as_str(),
    ])?;
    Ok(())
}

/// Unique, and the same for everybody who counts the run's events.
fn event_id(run_id: &RunId, run_seq: u64) -> Outcome<EventId> {
    EventId::parse(&format!("{}{}_{run_seq}", EventId::PREFIX, run_id.stem()))
        .map_err(|error| Fault::rejected("name an event", error))
}
