//! Making and claiming sessions (RUN-4): the system's lock, the fence, and the owner's name for messages.

use std::path::{Path, PathBuf};

use agent_protocol::{AgentStatus, SessionId, Timestamp};
use rusqlite::{Connection, params};

use super::agents;
use super::apply;
use super::fault::Outcome;
use super::json::encode;
use super::read;
use super::sql;
use crate::error::StoreError;
use crate::lease::{ClaimedSession, Lease};
use crate::lock::{self, SessionLock};
use crate::rows::{Owner, SessionStatus};
use crate::settings::Clock;
use crate::write::{NewAgent, NewSession};

/// Claims sessions in the name of this process.
#[derive(Debug, Clone)]
pub(super) struct Claimant {
    pub(super) pid: u32,
    pub(super) host: String,
    pub(super) sessions_dir: PathBuf,
    pub(super) clock: Clock,
}

/// The fence of a session that has just been made.
const FIRST_FENCE: u64 = 1;

impl Claimant {
    /// For this process.
    pub(super) fn new(sessions_dir: PathBuf, clock: Clock) -> Self {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self { pid: std::process::id(), host, sessions_dir, clock }
    }

    pub(super) fn create(&self, tx: &Connection, new: &NewSession) -> Outcome<Lease> {
        let now = self.clock.now();
        let metadata = encode("metadata_json", &new.metadata)?;
        let added = tx.prepare_cached(sql::ADD_SESSION)?.execute(params![
            new.session_id.as_str(),
            new.cwd,
            new.root_agent_id.as_str(),
            SessionStatus::Active.as_str(),
            metadata,
            now.as_str(),
            self.pid,
            self.host,
        ])?;
        if added == 0 {
            return Err(StoreError::SessionExists { session_id: new.session_id.clone() }.into());
        }
        apply::add_agent(tx, &new.session_id, &root_agent(new), &now)?;
        let lock = self.lock(&new.session_id, None)?;
        Ok(Lease::new(new.session_id.clone(), FIRST_FENCE, lock))
    }

    /// Claims a session, of that project if one is given.
    pub(super) fn claim(
        &self,
        tx: &Connection,
        session_id: &SessionId,
        project: Option<&str>,
    ) -> Outcome<ClaimedSession> {
        // First, so that nothing is made on disk for a session that does not exist or is not asked for.
        let Some(mut row) = read::session(tx, session_id)? else {
            return Err(StoreError::SessionNotFound { session_id: session_id.clone() }.into());
        };
        if let Some(project) = project.filter(|project| *project != row.cwd) {
            let (session_id, cwd, project) = (session_id.clone(), row.cwd, project.to_owned());
            return Err(StoreError::OtherProject { session_id, cwd, project }.into());
        }
        let lock = self.lock(session_id, row.owner.as_ref())?;
        let owner = self.owner(self.clock.now());
        let fence = tx
            .prepare_cached(sql::CLAIM_SESSION)?
            .query_row(params![session_id.as_str(), owner.pid, owner.host, owner.since.as_str()], |row| row.get(0))?;
        row.owner = Some(owner);
        let lease = Lease::new(session_id.clone(), fence, lock);
        let root = agents::root(tx, &row)?;
        let unfinished = read::unfinished_runs(tx, session_id)?;
        let written_files = agents::written_files(tx, session_id)?;
        Ok(ClaimedSession { row, root, lease, unfinished, written_files })
    }

    fn lock(&self, session_id: &SessionId, owner: Option<&Owner>) -> Result<SessionLock, StoreError> {
        lock::try_take(&self.sessions_dir, session_id)?
            .ok_or_else(|| StoreError::SessionActive { session_id: session_id.clone(), owner: owner.cloned() })
    }

    fn owner(&self, since: Timestamp) -> Owner {
        Owner { pid: self.pid, host: self.host.clone(), since }
    }
}

/// Who holds the lock of a session at this moment. The row names the last who claimed it: while the lock is held, that is
/// its holder.
pub(super) fn owner(conn: &Connection, sessions_dir: &Path, session_id: &SessionId) -> Outcome<Option<Owner>> {
    // First, since the row of an owner is written before its lease is given out.
    if !lock::is_held(sessions_dir, session_id)? {
        return Ok(None);
    }
    Ok(read::session(conn, session_id)?.and_then(|session| session.owner))
}

fn root_agent(new: &NewSession) -> NewAgent {
    NewAgent {
        agent_id: new.root_agent_id.clone(),
        parent_agent_id: None,
        agent_type: new.agent_type,
        created_by_run_id: None,
        fork_from_node_id: None,
        status: AgentStatus::Idle,
        metadata: agent_protocol::Object::new(),
    }
}
