//! One line about a session that is gone on with.

use agent_core::archive::{Archive, SessionListing};
use agent_core::id::SessionId;
use agent_core::text::shorten;

use crate::lines::{counted, one_line};
use crate::moment;
use crate::standing;

/// Begins the line.
pub(crate) const MARK: &str = "going on with";
/// The beginning of a message that a person recognises it by.
const WORDS: usize = 60;

/// Which session it is. Nothing where it cannot be looked at: then it cannot be gone on with either, and that says why.
pub(crate) async fn of(archive: &Archive, session: &SessionId) -> Option<String> {
    let listing = archive.session(session).await.ok()?;
    Some(line(&listing, moment::now()))
}

fn line(listing: &SessionListing, now: u64) -> String {
    let summary = &listing.summary;
    let runs = counted(summary.runs, "run");
    let last = summary.last_run.as_ref().map(|run| {
        let ago = moment::ago(&run.updated_at, now);
        format!(", last {ago} ({})", standing::words(listing))
    });
    let words = summary.first_message.as_deref().map(one_line).filter(|words| !words.is_empty());
    let words = words.map(|words| format!(": \"{}\"", shorten(&words, WORDS))).unwrap_or_default();
    format!("{}: {runs}{}{words}", summary.session.session_id, last.unwrap_or_default())
}
