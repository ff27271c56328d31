//! How a session stands, in the words of a list.

use agent_core::{RunStatus, SessionListing, Standing};

use crate::output::Colour;

/// How it stands, and the colour for that where it is worth one.
pub(crate) fn words(listing: &SessionListing) -> (String, Option<Colour>) {
    let plain = |words: &str| (words.to_owned(), None);
    let by = listing.owner.as_ref().map(|owner| format!(" by pid {}", owner.pid)).unwrap_or_default();
    match listing.standing {
        Standing::Running => (format!("running{by}"), Some(Colour::Green)),
        Standing::Queued => (format!("queued{by}"), Some(Colour::Green)),
        Standing::Interrupted => ("interrupted".to_owned(), Some(Colour::Yellow)),
        Standing::Ended(RunStatus::Failed) => ("failed".to_owned(), Some(Colour::Red)),
        Standing::Ended(RunStatus::Aborted | RunStatus::Cancelled) => plain("cancelled"),
        Standing::Ended(status) => plain(status.as_str()),
        Standing::Empty => plain("empty"),
    }
}
