//! Which run of a session is meant.

use agent_core::archive::Archive;
use agent_core::id::{RunId, SessionId};

use crate::exit::Failure;

/// The run a person means.
pub(super) enum WhichRun {
    /// The one that was started last.
    Last,
    /// The one that has this number in the timeline.
    Number(u64),
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
            Self::Number(number) => Ok(archive.numbered_run(session, *number).await?),
        }
    }
}
