//! Timelines, page by page (STO-9).

use std::collections::HashSet;
use std::sync::Arc;

use agent_protocol::internal::{COMPACT, PURPOSE};
use agent_protocol::{AgentId, Node, RunId, RuntimeEvent, SessionId};
use agent_store::{
    AgentInfo, ArtifactInfo, DamagedEntry, ReplayCursor, ReplayPage, ReplayScope, RunInfo, SessionArchive, SessionInfo,
    StoreError,
};
use tokio::sync::mpsc;

use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::screen::{self, Screen};
use crate::stored;

/// Runs read at once.
const RUNS: u32 = 256;

type Piece = Result<ReplayPage, ArchiveError>;

/// A timeline in pages, of about a megabyte at most: while one is worked on, the next is made ready and the one after it
/// read. No more than these three are in memory, whatever the size of the session.
pub struct Replay {
    session: SessionInfo,
    run: Option<RunInfo>,
    children: Vec<AgentInfo>,
    internal: Vec<AgentInfo>,
    /// Agents that cannot be read: told with the first page.
    damaged: Vec<DamagedEntry>,
    pages: mpsc::Receiver<Piece>,
    ended: bool,
}

/// A whole timeline.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplayResult {
    /// Events, by `seq`.
    pub events: Vec<RuntimeEvent>,
    /// Nodes, by `node_seq`.
    pub nodes: Vec<Node>,
    /// Artifacts, in the order in which they were stored.
    pub artifacts: Vec<ArtifactInfo>,
    /// What of it cannot be read.
    pub damaged: Vec<DamagedEntry>,
}

impl Replay {
    /// The session.
    #[must_use]
    pub fn session(&self) -> &SessionInfo {
        &self.session
    }

    /// The run, where it is one run's timeline.
    #[must_use]
    pub fn run(&self) -> Option<&RunInfo> {
        self.run.as_ref()
    }

    /// The child agents that were at work, oldest first; what they said is not in the pages (STO-9).
    #[must_use]
    pub fn children(&self) -> &[AgentInfo] {
        &self.children
    }

    /// The agents that core made for itself, oldest first: those that summarised earlier turns (CMP-4).
    #[must_use]
    pub fn internal(&self) -> &[AgentInfo] {
        &self.internal
    }

    /// The next page; `None` after the last one. Dropping the future loses nothing.
    ///
    /// # Errors
    /// If the store cannot be read. Nothing comes after that. A row that cannot be read is no error: the page names it.
    pub async fn next(&mut self) -> Result<Option<ReplayPage>, ArchiveError> {
        if self.ended {
            return Ok(None);
        }
        let piece = self.pages.recv().await.unwrap_or(Err(ArchiveError::BrokeOff { work: "reading a timeline" }));
        self.ended = !matches!(&piece, Ok(page) if page.next.is_some());
        let mut page = piece?;
        page.damaged.splice(0..0, std::mem::take(&mut self.damaged));
        let empty =
            page.events.is_empty() && page.nodes.is_empty() && page.artifacts.is_empty() && page.damaged.is_empty();
        Ok((!self.ended || !empty).then_some(page))
    }

    /// All of it at once: for what is small.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn collect(mut self) -> Result<ReplayResult, ArchiveError> {
        let mut whole = ReplayResult::default();
        while let Some(page) = self.next().await? {
            whole.events.extend(page.events);
            whole.nodes.extend(page.nodes);
            whole.artifacts.extend(page.artifacts);
            whole.damaged.extend(page.damaged);
        }
        Ok(whole)
    }
}

impl Archive {
    /// Events, nodes and artifacts of a session from `from_seq` to `to_seq`, both included; of its own agent only, the others
    /// are summarised (STO-9).
    ///
    /// # Errors
    /// If there is no such session, or the store cannot be read.
    pub async fn replay_session(
        &self,
        id: &SessionId,
        from_seq: Option<u64>,
        to_seq: Option<u64>,
        include_sensitive: bool,
    ) -> Result<Replay, ArchiveError> {
        let session = self.session_row(id).await?;
        let scope = ReplayScope::Session {
            session_id: id.clone(),
            from_seq,
            to_seq,
            agent_id: Some(session.root_agent_id.clone()),
        };
        self.replay(session, None, scope, include_sensitive).await
    }

    /// The same of all its agents, internal ones as well: for debugging.
    ///
    /// # Errors
    /// If there is no such session, or the store cannot be read.
    pub async fn replay_all_agents(&self, id: &SessionId, include_sensitive: bool) -> Result<Replay, ArchiveError> {
        let session = self.session_row(id).await?;
        let scope = ReplayScope::Session { session_id: id.clone(), from_seq: None, to_seq: None, agent_id: None };
        self.replay(session, None, scope, include_sensitive).await
    }

    /// Events, nodes and artifacts of a run.
    ///
    /// # Errors
    /// If there is no such run, or the store cannot be read.
    pub async fn replay_run(&self, id: &RunId, include_sensitive: bool) -> Result<Replay, ArchiveError> {
        let run = self.run_row(id).await?;
        let session = self.session_row(&run.session_id).await?;
        self.replay(session, Some(run), ReplayScope::Run(id.clone()), include_sensitive).await
    }

    pub(super) async fn replay(
        &self,
        mut session: SessionInfo,
        mut run: Option<RunInfo>,
        scope: ReplayScope,
        include_sensitive: bool,
    ) -> Result<Replay, ArchiveError> {
        let Children { agents: mut children, damaged } = self.children(&session, run.as_ref()).await?;
        if !include_sensitive {
            let patterns = self.screen.patterns()?;
            screen::session(patterns, &mut session);
            run.iter_mut().for_each(|run| screen::run(patterns, run));
            children.iter_mut().for_each(|child| screen::agent(patterns, child));
        }
        let (internal, children) = children.into_iter().partition(is_internal);
        let (out, pages) = mpsc::channel(1);
        let ahead =
            Ahead { archive: Arc::clone(&self.archive), scope, hides: !include_sensitive, screen: self.screen.clone() };
        tokio::spawn(ahead.read(out));
        let damaged = damaged.into_iter().map(|error| DamagedEntry { after: 0, error }).collect();
        Ok(Replay { session, run, children, internal, damaged, pages, ended: false })
    }

    /// The child agents of a run, or of a whole session.
    pub(super) async fn children(
        &self,
        session: &SessionInfo,
        run: Option<&RunInfo>,
    ) -> Result<Children, ArchiveError> {
        let mut children = Children::default();
        for agent in self.told(self.archive.agents(&session.session_id).await)? {
            match agent {
                Ok(agent) => children.agents.push(agent),
                Err(error) => children.damaged.push(self.screen.damage(error)),
            }
        }
        let Some(run) = run else {
            children.agents.retain(|agent| agent.agent_id != session.root_agent_id);
            return Ok(children);
        };
        let made = |agent: &AgentInfo| agent.created_by_run_id.as_ref() == Some(&run.run_id);
        let may_be_sent = |agent: &AgentInfo| agent.agent_id != session.root_agent_id && !is_internal(agent);
        let mut sent = HashSet::new();
        // An agent that lives on may have been made by an earlier run.
        if children.agents.iter().any(|agent| may_be_sent(agent) && !made(agent)) {
            match self.sent_by(session, &run.run_id).await {
                Ok(agents) => sent = agents,
                Err(ArchiveError::Store(error)) if error.is_damage() => children.damaged.push(error),
                Err(error) => return Err(error),
            }
        }
        children.agents.retain(|agent| made(agent) || sent.contains(&agent.agent_id));
        Ok(children)
    }

    /// The agents whose runs say that this run asked for them.
    async fn sent_by(&self, session: &SessionInfo, run_id: &RunId) -> Result<HashSet<AgentId>, ArchiveError> {
        let (mut sent, mut offset) = (HashSet::new(), 0);
        loop {
            let page = self.told(self.archive.runs(&session.session_id, RUNS, offset).await)?;
            let complete = page.len() < RUNS as usize;
            for run in page {
                let origin = self.told(stored::origin_of(&run))?;
                if origin.is_some_and(|origin| origin.parent_run_id == *run_id) {
                    sent.insert(run.agent_id);
                }
            }
            if complete {
                return Ok(sent);
            }
            offset += RUNS;
        }
    }
}

/// The agents of a session but its own, or those that a run made.
#[derive(Default)]
pub(super) struct Children {
    pub(super) agents: Vec<AgentInfo>,
    /// Those of the session that cannot be read.
    pub(super) damaged: Vec<StoreError>,
}

/// Whether core made an agent for itself.
fn is_internal(agent: &AgentInfo) -> bool {
    agent.metadata.get(PURPOSE).is_some_and(|purpose| purpose == COMPACT)
}

/// Reads ahead of the consumer.
struct Ahead {
    archive: Arc<dyn SessionArchive>,
    scope: ReplayScope,
    hides: bool,
    screen: Screen,
}

impl Ahead {
    /// Until the end, a failure, or until the consumer is gone. While secrets are taken out of a page the one after it is read;
    /// both only once the page before has been taken.
    async fn read(self, out: mpsc::Sender<Piece>) {
        let mut read = Some(self.page(ReplayCursor::default()).await);
        while let Some(piece) = read {
            let Ok(place) = out.reserve().await else { return };
            let next = piece.as_ref().ok().and_then(|page| page.next);
            let show = async { place.send(self.show(piece).await) };
            let go_on = async {
                match next {
                    Some(after) => Some(self.page(after).await),
                    None => None,
                }
            };
            ((), read) = futures::join!(show, go_on);
        }
    }

    async fn page(&self, after: ReplayCursor) -> Piece {
        self.archive.replay(&self.scope, after).await.map_err(|error| self.screen.error(error))
    }

    async fn show(&self, piece: Piece) -> Piece {
        match piece {
            Ok(page) if self.hides => self.screen.shown(page, screen::page).await,
            piece => piece,
        }
    }
}

#[cfg(test)]
mod tests;
