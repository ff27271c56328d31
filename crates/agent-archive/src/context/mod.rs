//! The report of every request for people and scripts: what went in, what was left out and why (CTX-1, CTX-9).

mod entry;
mod fold;
mod request;

use agent_engine::ContextMark;
use agent_protocol::{NodeId, RunId, SessionId};
use agent_store::{DamagedEntry, RunInfo, SessionInfo};

pub use entry::{
    CompactionBegun, CompactionOutcome, CompactionReport, ContextEnd, ContextEntry, ContextRun, PinnedNode,
    RequestOutcome, RequestReport, UnreadableEvent,
};
pub use request::{BlockReport, EpochContext, RequestContext, WindowShares};

use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::replay::Replay;
use crate::screen;
use fold::Fold;

/// Pinned nodes of a request that are looked up; of the others only the id is told.
const LOOKED_UP: usize = 32;

/// The report of every request of a session or run, page by page: no more is in memory than of a [`Replay`].
pub struct ContextReport {
    archive: Archive,
    replay: Replay,
    hides: bool,
    fold: Fold,
    ended: bool,
}

impl Archive {
    /// What the model was shown in every request of a session: of its own agent's runs.
    ///
    /// # Errors
    /// If there is no such session, or the store cannot be read.
    pub async fn session_context(
        &self,
        id: &SessionId,
        include_sensitive: bool,
    ) -> Result<ContextReport, ArchiveError> {
        let replay = self.replay_session(id, None, None, include_sensitive).await?;
        Ok(self.context(replay, include_sensitive))
    }

    /// What the model was shown in every request of a run.
    ///
    /// # Errors
    /// If there is no such run, or the store cannot be read.
    pub async fn run_context(&self, id: &RunId, include_sensitive: bool) -> Result<ContextReport, ArchiveError> {
        let replay = self.replay_run(id, include_sensitive).await?;
        Ok(self.context(replay, include_sensitive))
    }

    fn context(&self, replay: Replay, include_sensitive: bool) -> ContextReport {
        let fold = Fold::new(replay.run().is_none());
        ContextReport { archive: self.clone(), replay, hides: !include_sensitive, fold, ended: false }
    }
}

impl ContextReport {
    /// The session.
    #[must_use]
    pub fn session(&self) -> &SessionInfo {
        self.replay.session()
    }

    /// The run, where it is one run's report.
    #[must_use]
    pub fn run(&self) -> Option<&RunInfo> {
        self.replay.run()
    }

    /// The entries of the next page, of which there may be none; `None` after the last page.
    ///
    /// # Errors
    /// If the store cannot be read. Nothing comes after that.
    pub async fn next(&mut self) -> Result<Option<Vec<ContextEntry>>, ArchiveError> {
        if self.ended {
            return Ok(None);
        }
        let page = self.replay.next().await;
        self.ended = !matches!(page, Ok(Some(_)));
        let mut entries = Vec::new();
        match page? {
            Some(page) => {
                let mut damaged = page.damaged.iter().peekable();
                let tell = |row: &DamagedEntry| ContextEntry::Damaged { message: row.error.payload().message };
                for event in &page.events {
                    while let Some(row) = damaged.next_if(|row| event.seq.is_none_or(|seq| row.after < seq)) {
                        entries.push(tell(row));
                    }
                    self.fold.take(event, &mut entries);
                }
                entries.extend(damaged.map(tell));
            }
            None => self.fold.end(&mut entries),
        }
        for entry in &mut entries {
            if let ContextEntry::Request(request) = entry
                && request.context.epoch_part.is_some()
            {
                request.pinned = self.pinned(&request.context.pinned).await?;
            }
        }
        Ok(Some(entries))
    }

    /// All of it at once: for what is small.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn collect(mut self) -> Result<Vec<ContextEntry>, ArchiveError> {
        let mut whole = Vec::new();
        while let Some(entries) = self.next().await? {
            whole.extend(entries);
        }
        Ok(whole)
    }

    async fn pinned(&self, ids: &[NodeId]) -> Result<Vec<PinnedNode>, ArchiveError> {
        let mut pinned = Vec::with_capacity(ids.len());
        for (at, node_id) in ids.iter().enumerate() {
            let node = match at < LOOKED_UP {
                true => match self.archive.told(self.archive.store.node(node_id).await) {
                    // It is told where it stands.
                    Err(ArchiveError::Store(error)) if error.is_damage() => None,
                    read => read?,
                },
                false => None,
            };
            let mut known = PinnedNode { node_id: node_id.clone(), node_type: None, items: Vec::new() };
            if let Some(mut node) = node {
                if self.hides {
                    screen::node(self.archive.screen.patterns()?, &mut node);
                }
                let items = ContextMark::read(&node.metadata).map(|mark| mark.items).unwrap_or_default();
                known.node_type = Some(node.node_type);
                known.items = items.into_iter().map(|(key, _)| key).collect();
            }
            pinned.push(known);
        }
        Ok(pinned)
    }
}

#[cfg(test)]
mod tests;
