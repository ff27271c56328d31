//! From decisions to files. Blocks.

use agent_library::memory::{
    Action, Applied, Based, Decision, MemoryCategory, Moment, SourceKind, Sources, WriteError, Writer,
};
use agent_protocol::{ErrorCode, ErrorPayload};

use super::memories::{Memory, in_words};
use super::telling;

/// How long another process is waited for. Whoever writes is done in a moment, and a program that ends waits for this.
const LOCK_WAIT: std::time::Duration = std::time::Duration::from_secs(4);

/// What stands for something that was taken out. A memory of it is of no use to anybody.
const MARKERS: [&str; 2] = ["[redacted", "[secret "];

/// What a model decided, and what that is based on.
pub(super) struct Decided {
    pub(super) decisions: Vec<Decision>,
    pub(super) based: Based,
    pub(super) session_id: String,
    /// The messages that were shown.
    pub(super) node_ids: Vec<String>,
    /// RFC 3339.
    pub(super) now: String,
    /// What tells this job's memories from others made at the same time: letters and digits.
    pub(super) rand: String,
}

/// Writes what was decided (MEM-5). `is_secret` knows values and shapes.
pub(super) fn apply(
    memory: &Memory,
    mut decided: Decided,
    is_secret: impl Fn(&str) -> bool,
) -> Result<Applied, ErrorPayload> {
    for decision in &mut decided.decisions {
        if !is_kept(memory, decision) {
            decision.action = Action::Ignore;
        }
    }
    let nodes = decided.node_ids.into_iter().map(|id| (id, SourceKind::User)).collect();
    let sources = Sources { session_id: decided.session_id, project: memory.project().to_owned(), nodes };
    let now = Moment::parse(&decided.now).map_err(|error| failed(&error))?;
    let store = memory.store().map_err(|error| failed(&error))?.with_lock_wait(LOCK_WAIT);
    let is_secret = |text: &str| {
        MARKERS.iter().any(|marker| text.contains(marker)) || is_secret(text) || telling::tells_a_secret(text)
    };
    let writer = Writer::new(&store, &is_secret);
    writer.apply(&decided.decisions, &sources, &decided.based, &now, &decided.rand).map_err(|error| match error {
        WriteError::Store(error) => failed(&error),
        other => failed(&other),
    })
}

/// Whether a new memory is of a kind that is made here. One of no kind at all is for the writer to refuse.
fn is_kept(memory: &Memory, decision: &Decision) -> bool {
    let category = decision.category.as_deref().and_then(|word| MemoryCategory::parse(word).ok());
    decision.action != Action::New || category.is_none_or(|category| memory.settings().categories.contains(&category))
}

fn failed(error: &dyn std::error::Error) -> ErrorPayload {
    ErrorPayload::new(ErrorCode::MemoryWriteFailed, in_words(error))
}
