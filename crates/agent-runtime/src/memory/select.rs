//! Which memories a query needs, chosen by a model (MEM-7).

use std::collections::BTreeSet;

use agent_engine::TokenCounter;
use agent_library::AssetId;
use agent_library::memory::{MemoryEntry, MemoryId, MemoryListing};
use agent_library::shown;
use agent_protocol::{ErrorCode, ErrorPayload, ModelFault, Object};
use agent_tool::CallContext;
use serde_json::json;

use super::answer::{Choice, choices};
use super::ask::system_text;
use super::memories::Memory;
use crate::raw;

/// Characters of a line in the list.
const LINE: usize = 300;

/// Why nothing was chosen.
#[derive(Debug)]
pub(super) enum NotChosen {
    /// The call was cancelled.
    Cancelled,
    /// In words.
    Failed(String),
}

impl Memory {
    /// The ids of the memories to bring back, the most useful first, each of them once and all of them from the list: of
    /// `listing` only what this project may see (MEM-12).
    pub(super) async fn choose(
        &self,
        listing: &MemoryListing,
        query: &str,
        context: &CallContext,
    ) -> Result<Vec<MemoryId>, NotChosen> {
        let top_k = self.settings().recall_top_k;
        let system = system_text(AssetId::MemoryRecall, &[("top_k", &top_k.to_string())]);
        let room = self.recall().room(&system);
        let (told, listed) = list(listing, self.project(), query, room);
        if listed.is_empty() {
            let is_any = listing.entries.iter().any(|entry| entry.is_visible_in(self.project()));
            let no_room = "the window of memory.recall_model_profile leaves no room for a list of them";
            return if is_any { Err(NotChosen::Failed(no_room.to_owned())) } else { Ok(Vec::new()) };
        }
        let told = context.secrets.redact(&told).text.into_owned();
        let metadata = Object::from_iter([(raw::RUN_ID.to_owned(), context.run_id.as_str().into())]);
        let cancel = context.cancel.clone();
        let reply =
            self.recall().ask(system, told, metadata, cancel).await.map_err(|unanswered| match unanswered.fault {
                ModelFault::Aborted => NotChosen::Cancelled,
                ModelFault::Overflow | ModelFault::Retryable | ModelFault::Fatal => {
                    NotChosen::Failed(unanswered.error.message)
                }
            })?;
        let chosen = choices(&reply.text()).map_err(NotChosen::Failed)?;
        let mut seen = BTreeSet::new();
        let known = chosen.into_iter().filter_map(|choice| match choice {
            Choice::Id(id) => listed.iter().find(|listed| listed.as_str() == id).cloned(),
            Choice::Number(number) => listed.get(number.checked_sub(1)?).cloned(),
        });
        Ok(known.filter(|id| seen.insert(id.clone())).take(top_k).collect())
    }
}

/// The query and a numbered list, newest first, as far as there is room; and the ids in it.
fn list(listing: &MemoryListing, project: &str, query: &str, room: u64) -> (String, Vec<MemoryId>) {
    let mut text = format!("The query: {}\n\nThe memories:\n", json!(query));
    let mut tokens = TokenCounter.text(&text);
    let mut ids = Vec::new();
    for entry in listing.entries.iter().filter(|entry| entry.is_visible_in(project)) {
        let line = format!("{}. {}\n", ids.len() + 1, line(entry));
        tokens += TokenCounter.text(&line);
        if tokens > room {
            break;
        }
        text.push_str(&line);
        ids.push(entry.id.clone());
    }
    (text, ids)
}

fn line(entry: &MemoryEntry) -> String {
    let tags = if entry.tags.is_empty() { String::new() } else { format!("; tags: {}", entry.tags.join(", ")) };
    let words = shown::line(&format!("{}{tags}", entry.summary), LINE);
    format!("{} [{}] {words}", entry.id, entry.category)
}

/// The call can go on without memories.
pub(super) fn recall_failed(why: &str) -> ErrorPayload {
    let why = why.trim_end_matches('.');
    let message = format!("no memories could be brought back: {why}. Go on without them");
    ErrorPayload::new(ErrorCode::MemoryRecallFailed, message)
}
