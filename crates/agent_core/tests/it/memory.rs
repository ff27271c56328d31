//! Long-term memory, from what a user says to what a later session is told (MEM-1 to MEM-12).

mod children;
mod extraction;
mod forms;
mod recall;
mod refusals;
mod together;
mod triggers;

use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_core::id::SessionId;
use agent_core::message::Object;
use agent_core::{AgentRuntime, EventType};
use agent_testkit::{Protocol, RecordedRequest, Reply};
use serde_json::{Value, json};

use crate::support::World;

/// What a request to one of memory's own models says.
pub(crate) struct Told {
    pub(crate) text: String,
}

impl Told {
    /// The messages that are shown, oldest first.
    fn messages(&self) -> Vec<Value> {
        let lines = self.text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter(|line| line.get("node_id").is_some()).collect()
    }

    /// Their texts.
    fn texts(&self) -> Vec<String> {
        self.messages().iter().map(|message| message["text"].as_str().unwrap().to_owned()).collect()
    }

    /// The id of the message that holds these words.
    #[track_caller]
    fn id_of(&self, words: &str) -> String {
        let messages = self.messages();
        let found = messages.iter().find(|message| message["text"].as_str().unwrap().contains(words));
        found.unwrap_or_else(|| panic!("{words} is not in {}", self.text))["node_id"].as_str().unwrap().to_owned()
    }
}

fn said_to(request: &RecordedRequest, heading: &str) -> Option<Told> {
    let messages = request.messages();
    let system = messages.first()?["content"].as_str()?;
    let text = messages.last()?["content"].as_str()?;
    system.starts_with(heading).then(|| Told { text: text.to_owned() })
}

/// What the model was told that finds out what is to be remembered; nothing if that is not what a request is for.
pub(crate) fn extraction(request: &RecordedRequest) -> Option<Told> {
    said_to(request, "# Extract memories")
}

/// What the model was told that chooses what is brought back.
pub(crate) fn selection(request: &RecordedRequest) -> Option<Told> {
    said_to(request, "# Choose memories")
}

/// All requests of the first kind so far.
pub(crate) fn extractions(world: &World) -> Vec<Told> {
    world.server.requests().iter().filter_map(extraction).collect()
}

/// A server that finds out by this, and answers everything else with a word.
pub(crate) fn extracting(world: &World, decide: impl Fn(&Told) -> Value + Send + Sync + 'static) {
    world.server.respond_with(move |request, _| match extraction(request) {
        Some(told) => Reply::text(json!({ "decisions": decide(&told) }).to_string()),
        None => Reply::text("Done."),
    });
}

/// One decision to remember what a message says.
pub(crate) fn new(name: &str, content: &str, sources: &[String]) -> Value {
    json!({
        "action": "new", "category": "user", "scope": "project", "name": name, "summary": format!("About {name}"),
        "tags": ["tag"], "content": content, "source_node_ids": sources, "memory_id": null,
    })
}

pub(crate) async fn world(name: &str, extra: &str) -> World {
    World::with(name, Protocol::OpenAi, extra).await
}

/// Waits for what goes on beside runs; never for long.
pub(crate) async fn rest(runtime: &AgentRuntime) {
    tokio::time::timeout(Duration::from_secs(20), runtime.background_work()).await.expect("work beside runs ends");
}

/// The payloads of a session's events of one type.
pub(crate) async fn payloads(runtime: &AgentRuntime, session: &SessionId, event_type: EventType) -> Vec<Object> {
    let mut replay = runtime.replay_session(session, None, None, true).await.unwrap();
    let mut found = Vec::new();
    while let Some(page) = replay.next().await.unwrap() {
        let events = page.events.into_iter().filter(|event| event.event_type == event_type);
        found.extend(events.map(|event| event.payload));
    }
    found
}

pub(crate) async fn completed(runtime: &AgentRuntime, session: &SessionId) -> Vec<Object> {
    payloads(runtime, session, EventType::MemoryExtractionCompleted).await
}

pub(crate) async fn failed(runtime: &AgentRuntime, session: &SessionId) -> Vec<Object> {
    payloads(runtime, session, EventType::MemoryExtractionFailed).await
}

pub(crate) fn folder(world: &World) -> PathBuf {
    world.home.home.join("memory")
}

/// The files of memories, as paths below the folder, with their content; in the order of their names.
pub(crate) fn memories(world: &World) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for category in ["feedback", "reference", "user"] {
        let entries = std::fs::read_dir(folder(world).join(category)).into_iter().flatten().flatten();
        found.extend(entries.map(|entry| {
            let name = format!("{category}/{}", entry.file_name().to_str().unwrap());
            (name, std::fs::read_to_string(entry.path()).unwrap())
        }));
    }
    found.sort();
    found
}

/// A memory that somebody wrote earlier; `project` is none for one that holds everywhere.
pub(crate) fn remember(world: &World, id: &str, project: Option<&Path>, summary: &str, body: &str) -> PathBuf {
    let project = project.map_or(Value::Null, |project| json!(project));
    let time = "2026-11-30T09:41:43Z";
    let text = format!(
        "---\nid: {id}\ncategory: user\nsummary: {summary}\ntags: []\ncreated_at: {time}\nupdated_at: {time}\n\
         source_session_id: sess_1\nsource_node_ids: [node_1]\nproject: {project}\n---\n\n{body}\n"
    );
    let path = folder(world).join(format!("user/x-20261130-{id}.md"));
    world.home.write(&path, text);
    path
}
