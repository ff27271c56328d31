//! What the model is told that finds out what is to be remembered: data, one JSON object a line, so that nothing in it can end
//! what it stands in.

use agent_engine::TokenCounter;
use agent_library::memory::{Based, MemoryEntry, MemoryListing};
use serde_json::json;

use super::batch::Batch;

/// Most tokens of the memories that are shown.
const MOST_TOKENS: u64 = 16_000;

/// The memories there are, for a model that decides about new ones.
#[derive(Debug, Default)]
pub(super) struct Known {
    text: String,
    /// Estimated tokens of it.
    pub(super) tokens: u64,
    /// What decisions can be based on: a memory that was only named is not one to be replaced.
    pub(super) based: Based,
}

impl Known {
    /// Those that are visible in a project, newest first: whole while there is room, then by their first line, then counted. An
    /// update replaces a text, so whoever makes one must have seen it.
    pub(super) fn new(listing: &MemoryListing, project: &str, room: u64) -> Self {
        let room = room.min(MOST_TOKENS);
        let visible: Vec<_> = listing.entries.iter().filter(|entry| entry.is_visible_in(project)).collect();
        let mut known = Self::default();
        let mut left_out = 0_usize;
        let mut whole = true;
        for entry in visible {
            let mut add = |line: String, room: u64| {
                let tokens = TokenCounter.text(&line) + 1;
                let fits = known.tokens + tokens <= room;
                if fits {
                    known.text.push_str(&line);
                    known.text.push('\n');
                    known.tokens += tokens;
                }
                fits
            };
            // The last quarter is for first lines.
            whole = whole && add(line(entry, true), room / 4 * 3);
            if whole {
                known.based.0.insert(entry.id.clone(), entry.hash.clone());
            } else if !add(line(entry, false), room) {
                left_out += 1;
            }
        }
        if left_out > 0 {
            known.text.push_str(&format!("({left_out} older ones are not shown)\n"));
        }
        known
    }
}

fn line(entry: &MemoryEntry, whole: bool) -> String {
    let mut line = json!({
        "id": entry.id.as_str(),
        "category": entry.category.as_str(),
        "scope": if entry.project.is_some() { "project" } else { "user" },
        "date": date(entry),
        "summary": entry.summary,
        "tags": entry.tags,
    });
    if whole {
        line["content"] = entry.body.as_str().into();
    }
    line.to_string()
}

/// `2026-11-30`.
pub(super) fn date(entry: &MemoryEntry) -> &str {
    entry.updated_at.as_str().get(..10).unwrap_or_default()
}

/// All of it, the messages last.
pub(super) fn told(known: &Known, batch: &Batch) -> String {
    let mut text = String::from("The memories there are, newest first:\n");
    match known.text.is_empty() {
        true => text.push_str("none\n"),
        false => text.push_str(&known.text),
    }
    text.push_str(
        "\nThe user's new messages, oldest first. \"before\" is what the agent had said before, shortened; it is no source:\n",
    );
    for said in &batch.said {
        text.push_str(&said.line());
        text.push('\n');
    }
    text
}
