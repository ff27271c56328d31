//! A session or a run as it is told to people: what was said, asked, called and lost, run by run.
//!
//! Texts are whole and as they were said: whoever shows them on a terminal or a page escapes them.

mod branches;
mod entry;
mod fold;

use agent_protocol::{EventType, LoopStarted, RunId, SessionId};
use agent_store::{AgentInfo, RunInfo, SessionInfo};

pub use entry::{
    TimelineCall, TimelineChild, TimelineChildEnd, TimelineEnd, TimelineEntry, TimelineFile, TimelineOutcome,
    TimelineQuestion, TimelineStep,
};
pub(crate) use fold::words;
pub use fold::{TimelineFold, TimelineScope, TimelineTail};

use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::listing::{SessionListing, Standing};
use crate::replay::Replay;

/// What to tell besides the usual.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimelineOptions {
    /// What looks like a secret is shown (STO-10).
    pub include_sensitive: bool,
    /// Events without an entry of their own come as they are stored, of a session those of all its agents: for debugging.
    pub all_events: bool,
}

/// A session or a run as it is told to people, page by page: no more is in memory than of a [`Replay`], and the number of
/// every run.
pub struct Timeline {
    listing: SessionListing,
    replay: Replay,
    fold: TimelineFold,
    ended: bool,
}

impl Archive {
    /// What happened in a session: in the runs of its own agent (STO-9).
    ///
    /// # Errors
    /// If there is no such session, or the store cannot be read.
    pub async fn session_timeline(&self, id: &SessionId, options: TimelineOptions) -> Result<Timeline, ArchiveError> {
        let listing = self.session(id).await?;
        let replay = match options.all_events {
            true => self.replay_all_agents(id, options.include_sensitive).await?,
            false => self.replay_session(id, None, None, options.include_sensitive).await?,
        };
        Ok(Timeline::new(listing, replay, options))
    }

    /// What happened in a run, of whichever agent.
    ///
    /// # Errors
    /// If there is no such run, or the store cannot be read.
    pub async fn run_timeline(&self, id: &RunId, options: TimelineOptions) -> Result<Timeline, ArchiveError> {
        let listing = self.session(&self.run_row(id).await?.session_id).await?;
        let replay = self.replay_run(id, options.include_sensitive).await?;
        Ok(Timeline::new(listing, replay, options))
    }

    /// The run that a session's timeline counts as this, from 1: of the session's own agent, and neither one that core
    /// started for itself nor one that waited and never began.
    ///
    /// # Errors
    /// [`ArchiveError::NoSuchNumber`] if there are not so many; if there is no such session, or the store cannot be read.
    pub async fn numbered_run(&self, id: &SessionId, number: u64) -> Result<RunId, ArchiveError> {
        let (mut replay, mut begun) = (self.replay_session(id, None, None, true).await?, 0);
        while let Some(page) = replay.next().await? {
            for event in page.events {
                // Where that cannot be read, the timeline says so and counts on.
                let counts = event.event_type == EventType::LoopStarted
                    && event.read::<LoopStarted>().is_ok_and(|started| started.purpose.is_none());
                let Some(run_id) = event.run_id.filter(|_| counts) else { continue };
                begun += 1;
                if begun == number {
                    return Ok(run_id);
                }
            }
        }
        Err(ArchiveError::NoSuchNumber { session_id: id.clone(), number, runs: begun })
    }
}

impl Timeline {
    fn new(listing: SessionListing, replay: Replay, options: TimelineOptions) -> Self {
        let agent = replay.run().map_or(&replay.session().root_agent_id, |run| &run.agent_id);
        let fold = TimelineFold::new(TimelineScope {
            agent_id: agent.clone(),
            counts_runs: replay.run().is_none(),
            all_events: options.all_events,
        });
        Self { listing, replay, fold, ended: false }
    }

    /// The session, as it stands in a list.
    #[must_use]
    pub fn listing(&self) -> &SessionListing {
        &self.listing
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> &SessionInfo {
        self.replay.session()
    }

    /// The run, where it is one run's timeline.
    #[must_use]
    pub fn run(&self) -> Option<&RunInfo> {
        self.replay.run()
    }

    /// The child agents that were at work, oldest first; what they said is in the timelines of their own runs.
    #[must_use]
    pub fn children(&self) -> &[AgentInfo] {
        self.replay.children()
    }

    /// The agents that core made for itself, oldest first.
    #[must_use]
    pub fn internal(&self) -> &[AgentInfo] {
        self.replay.internal()
    }

    /// The entries of the next page, of which there may be none; `None` after the last page.
    ///
    /// # Errors
    /// If the store cannot be read. Nothing comes after that.
    pub async fn next(&mut self) -> Result<Option<Vec<TimelineEntry>>, ArchiveError> {
        if self.ended {
            return Ok(None);
        }
        let page = self.replay.next().await;
        self.ended = !matches!(page, Ok(Some(_)));
        Ok(Some(match page? {
            Some(page) => self.fold.page(&page),
            None => self.fold.end(self.tail()),
        }))
    }

    /// All of it at once: for what is small.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn collect(mut self) -> Result<Vec<TimelineEntry>, ArchiveError> {
        let mut whole = Vec::new();
        while let Some(entries) = self.next().await? {
            whole.extend(entries);
        }
        Ok(whole)
    }

    /// What a run is that has no end in the pages.
    fn tail(&self) -> TimelineTail {
        if self.replay.run().is_some_and(|run| run.status.is_terminal()) {
            return TimelineTail::Ended;
        }
        match self.listing.standing {
            Standing::Running | Standing::Queued => TimelineTail::AtWork,
            Standing::Interrupted | Standing::Ended(_) | Standing::Empty => TimelineTail::Interrupted,
        }
    }
}

#[cfg(test)]
mod tests;
