//! How a session stands, in the words of a list.

use agent_core::archive::{SessionListing, Standing};
use agent_core::event::PermissionRequested;
use agent_core::runtime::RunStatus;

use crate::lines;
use crate::output::Colour;

/// How it stands, in a word, and the colour for that where it is worth one.
pub(crate) fn word(listing: &SessionListing) -> (&'static str, Option<Colour>) {
    match listing.standing {
        Standing::Running if listing.question.is_some() => ("asks", Some(Colour::Yellow)),
        Standing::Running => ("running", Some(Colour::Green)),
        Standing::Queued => ("queued", Some(Colour::Green)),
        Standing::Interrupted => ("interrupted", Some(Colour::Yellow)),
        Standing::Ended(RunStatus::Failed) => ("failed", Some(Colour::Red)),
        Standing::Ended(RunStatus::Aborted | RunStatus::Cancelled) => ("cancelled", None),
        Standing::Ended(status) => (status.as_str(), None),
        Standing::Empty => ("empty", None),
    }
}

/// The same with the process that is at work.
pub(crate) fn words(listing: &SessionListing) -> String {
    let word = word(listing).0;
    match (listing.standing, &listing.owner) {
        (Standing::Running | Standing::Queued, Some(owner)) => format!("{word} by pid {}", owner.pid),
        _ => word.to_owned(),
    }
}

/// What a person is asked at this moment.
pub(crate) fn question(listing: &SessionListing) -> Option<String> {
    let asked = listing.question.as_ref()?;
    Some(match asked.read::<PermissionRequested>() {
        Ok(asked) => lines::question(&asked.tool_name, asked.targets(), &listing.summary.session.cwd),
        Err(error) => lines::unreadable(&error),
    })
}
