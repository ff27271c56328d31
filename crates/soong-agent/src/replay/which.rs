//! Which run of a session is meant.

use agent_core::RuntimeEvent;
use agent_core::archive::Archive;
use agent_core::event::LoopStarted;
use agent_core::id::{RunId, SessionId};

use crate::exit::Failure;
use crate::lines::counted;

/// The run a person means.
pub(super) enum WhichRun {
    /// The one that was started last.
    Last,
    /// The one that has this number in the timeline.
    Number(usize),
    /// This one.
    Id(RunId),
}

impl WhichRun {
    /// Reads it from where it was written: its id, its number as a timeline prints it, `last`.
    pub(super) fn parse(place: &str, text: &str) -> Result<Self, Failure> {
        let named = text.strip_prefix("run ").unwrap_or(text).trim();
        if named == "last" {
            return Ok(Self::Last);
        }
        if let Ok(number) = named.parse() {
            return Ok(Self::Number(number));
        }
        RunId::parse(text).map(Self::Id).map_err(|error| {
            let others = "or write its number in the timeline, or `last`";
            Failure::usage(format!("{place}: {error}; the timeline of the session names its runs; {others}"))
        })
    }

    /// Its id.
    pub(super) async fn find(&self, archive: &Archive, session: &SessionId) -> Result<RunId, Failure> {
        match self {
            Self::Id(id) => Ok(id.clone()),
            Self::Last => {
                let last = archive.session(session).await?.summary.last_run;
                Ok(last.ok_or_else(|| Failure::usage(format!("session {session} has no run yet")))?.run_id)
            }
            Self::Number(number) => numbered(archive, session, *number).await,
        }
    }
}

/// Whether a run begins that counts: one that core started for itself has no number. Where that cannot be read, the timeline says
/// so and counts on.
fn counts(event: &RuntimeEvent) -> bool {
    event.read::<LoopStarted>().is_ok_and(|started| started.purpose.is_none())
}

/// Counts as the timeline does: what waited and never began has no number, and neither has an internal run.
async fn numbered(archive: &Archive, session: &SessionId, number: usize) -> Result<RunId, Failure> {
    let (mut replay, mut begun) = (archive.replay_session(session, None, None, true).await?, 0);
    while let Some(page) = replay.next().await? {
        for event in page.events {
            let counts = counts(&event);
            let Some(run_id) = event.run_id.filter(|_| counts) else { continue };
            begun += 1;
            if begun == number {
                return Ok(run_id);
            }
        }
    }
    let runs = counted(begun as u64, "run");
    Err(Failure::usage(format!("there is no run {number}: session {session} has {runs}, counted from 1")))
}
