//! What has been acknowledged, and whether it is stored (RUN-20).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::PathBuf;

use agent_core::session::{Node, NodeType, Role};
use agent_testkit::RecordedRequest;
use serde_json::Value;

use crate::model::{RAN, marks};
use crate::process::Ended;
use crate::record::{Record, Stored, result_of, text};
use crate::world::{World, session_of};

/// Everything that was acknowledged in a world so far.
#[derive(Default)]
pub(crate) struct Ledger {
    /// Requests that have been held against the store.
    requests: usize,
    /// Which session begins with which message.
    sessions: HashMap<String, String>,
    /// Marks that processes have shown to people, by session.
    shown: BTreeMap<String, Vec<String>>,
}

impl Ledger {
    /// Takes down what a process of this session has said. Without a session there was none when it died.
    pub(crate) fn said(&mut self, session: Option<&str>, ended: &Ended) -> Vec<String> {
        let mut acknowledged = marks(&ended.stdout);
        let quoted = ended.stderr.lines().filter(|line| line.starts_with("> "));
        acknowledged.extend(quoted.flat_map(marks));
        match session.or(session_of(ended)) {
            Some(session) => self.shown.entry(session.to_owned()).or_default().extend(acknowledged),
            None if acknowledged.is_empty() => {}
            None => return vec![format!("{acknowledged:?} was shown, and there is no session")],
        }
        Vec::new()
    }

    /// Everything acknowledged in `session`, and by requests in any session, that is not stored.
    pub(crate) fn losses(&mut self, world: &World, session: Option<&str>) -> Vec<String> {
        self.look(world, session).0
    }

    /// The same, and what is stored of the session.
    pub(crate) fn look(&mut self, world: &World, session: Option<&str>) -> (Vec<String>, Option<Stored>) {
        let record = Record::open(&world.database());
        let (mut losses, sessions) = match &record {
            Ok(record) if record.has_schema() => (record.faults(), record.sessions()),
            // Nothing has ever been stored in what is not there.
            _ => (Vec::new(), Vec::new()),
        };
        drop(record);
        let without_lock = |id: &&String| !world.seen_home().join("sessions").join(id).join("lock").is_file();
        losses.extend(sessions.iter().filter(without_lock).map(|id| format!("{id} has no lock file")));
        let stored = match session {
            Some(id) if !sessions.iter().any(|stored| stored == id) => Err(format!("session {id} is gone")),
            Some(id) => try_read(world, id).map(Some),
            None => Ok(None),
        };
        let stored = stored.unwrap_or_else(|error| {
            losses.push(error);
            None
        });
        if let (Some(session), Some(stored)) = (session, &stored) {
            losses.extend(self.losses_in(world, session, stored));
        }
        losses.extend(self.unknown_requests(world));
        (losses, stored)
    }

    /// The same for every session there is.
    pub(crate) fn all_losses(&mut self, world: &World) -> Vec<String> {
        let record = Record::open(&world.database()).ok().filter(Record::has_schema);
        let sessions = record.map(|record| record.sessions()).unwrap_or_default();
        let (mut losses, mut said) = (Vec::new(), HashSet::new());
        for session in &sessions {
            match try_read(world, session) {
                Ok(stored) => {
                    said.extend(stored.path.iter().flat_map(|node| marks(&text(node))));
                    losses.extend(self.losses_in(world, session, &stored));
                }
                Err(error) => losses.push(error),
            }
        }
        let strays = effects(world).into_iter().filter(|(_, mark)| !said.contains(mark));
        losses.extend(strays.map(|(file, _)| format!("{} is there, and nobody has asked for it", file.display())));
        let shown_only = self.shown.keys().filter(|session| !sessions.contains(session));
        losses.extend(shown_only.map(|session| format!("session {session} is gone")));
        losses.extend(self.losses(world, None));
        losses
    }

    /// The part of them that is about this session.
    fn losses_in(&mut self, world: &World, session: &str, stored: &Stored) -> Vec<String> {
        if let Some(first) = stored.first_message() {
            self.sessions.insert(first, session.to_owned());
        }
        let mut losses = self.new_requests(world, session, stored);
        let on_path =
            |mark: &str| stored.path.iter().any(|node| node.role == Role::Assistant && text(node).contains(mark));
        for mark in self.shown.get(session).into_iter().flatten().filter(|mark| !on_path(mark)) {
            // A reply that was broken off is kept beside the path (RUN-8).
            if !stored.beside.iter().any(|node| node.contains(mark.as_str())) {
                losses.push(format!("{mark} was shown and is not stored in {session}"));
            }
        }
        losses.extend(unannounced_effects(world, stored));
        losses
    }

    /// Requests since the last time: whatever they show of this session must be on its path.
    fn new_requests(&mut self, world: &World, session: &str, stored: &Stored) -> Vec<String> {
        let mut losses = Vec::new();
        while let Some(request) = self.next_request(world) {
            let known = first_message(&request).and_then(|first| self.sessions.get(&first));
            if known.is_none_or(|known| known != session) {
                break;
            }
            losses.extend(forgotten(&request, &stored.path));
            self.requests += 1;
        }
        losses
    }

    /// What is left over belongs to other sessions: a request may come in after its process was killed.
    fn unknown_requests(&mut self, world: &World) -> Vec<String> {
        let mut losses = Vec::new();
        while let Some(request) = self.next_request(world) {
            let first = first_message(&request);
            match first.as_ref().and_then(|first| self.sessions.get(first)).cloned() {
                Some(session) => losses.extend(forgotten(&request, &read(world, &session).path)),
                None => losses.push(format!("a request shows {first:?}, with which no session begins")),
            }
            self.requests += 1;
        }
        losses
    }

    fn next_request(&self, world: &World) -> Option<RecordedRequest> {
        let more = self.requests < world.server.request_count();
        more.then(|| world.server.wait_for_request_blocking(self.requests))
    }
}

/// A session as it is stored, where it must be whole.
#[track_caller]
pub(crate) fn read(world: &World, session: &str) -> Stored {
    try_read(world, session).unwrap_or_else(|error| panic!("{error}"))
}

fn try_read(world: &World, session: &str) -> Result<Stored, String> {
    use agent_store::SessionStore;
    let mut stored = world.runtime.block_on(async {
        let store = world.store().await;
        let stored = Stored::read(&store, session).await;
        store.close().await;
        stored
    })?;
    stored.beside = Record::open(&world.database()).unwrap().partial_nodes(session);
    Ok(stored)
}

/// What the last process on a session said it had done with calls, but did not store.
pub(crate) fn untold_calls(ended: &Ended, stored: &Stored) -> Vec<String> {
    let mut losses = Vec::new();
    for (line, event_type) in [("ok", "tool_completed"), ("exit", "tool_completed"), ("failed", "tool_failed")] {
        let kept = stored.last_run().filter(|event| event.event_type.as_str() == event_type).count();
        let beginning = format!("{line:6} ");
        let said = ended.stderr.lines().filter(|said| said.starts_with(&beginning)).count();
        if said > kept {
            losses.push(format!("{said} lines say {line:?} and {kept} events {event_type} are stored"));
        }
    }
    losses
}

/// Effects in the project that no stored `tool_started` announces (RUN-14), or that took place twice.
fn unannounced_effects(world: &World, stored: &Stored) -> Vec<String> {
    let mut losses = Vec::new();
    let started = stored.told("tool_started", "summary");
    let of_session: Vec<_> = stored.path.iter().flat_map(|node| marks(&text(node))).collect();
    for (file, mark) in effects(world).into_iter().filter(|(_, mark)| of_session.contains(mark)) {
        if !started.iter().any(|summary| summary.contains(&mark)) {
            losses.push(format!("{} is there, and no tool_started is stored", file.display()));
        }
        let is_log = file.extension().is_some_and(|extension| extension == RAN);
        if is_log && fs::read_to_string(file).unwrap_or_default().lines().count() > 1 {
            losses.push(format!("the command of {mark} ran twice"));
        }
    }
    losses
}

/// What calls have left in the project, each file with the mark of the reply that asked for it.
fn effects(world: &World) -> Vec<(PathBuf, String)> {
    let files = fs::read_dir(&world.home.project).unwrap().flatten().map(|file| file.path());
    files.filter_map(|path| Some((path.clone(), marks(path.file_name()?.to_str()?).pop()?))).collect()
}

/// The first message that is not the system's.
fn first_message(request: &RecordedRequest) -> Option<String> {
    let first = request.messages().iter().find(|message| message["role"] == "user")?;
    first["content"].as_str().map(|text| undated(text).to_owned())
}

/// What the user said, without the date that the model reads behind it.
fn undated(text: &str) -> &str {
    text.split("\n\n[The user's local date: ").next().unwrap_or_default()
}

/// What a request shows as history and the path does not hold in its place.
fn forgotten(request: &RecordedRequest, path: &[Node]) -> Vec<String> {
    let shown = request.messages().iter().filter(|message| message["role"] != "system");
    let missing = shown.enumerate().filter(|(at, message)| !place(path, *at).iter().any(|node| is_of(message, node)));
    let words = missing.map(|(at, message)| {
        let nodes: Vec<_> = place(path, at).iter().map(|node| (node.role, &node.content)).collect();
        format!("request {} shows {message} in place {at}, stored is {nodes:?}", request.at)
    });
    words.take(2).collect()
}

/// Whether a request shows all of a path, each node in its place.
pub(crate) fn shows_all(request: &RecordedRequest, path: &[Node]) -> bool {
    let shown: Vec<_> = request.messages().iter().filter(|message| message["role"] != "system").collect();
    shown.len() > path.len() && (0..path.len()).all(|at| place(path, at).iter().any(|node| is_of(shown[at], node)))
}

/// The nodes that a message in this place may show: one, or the results of one reply, which are stored as they come
/// and shown in the order of their calls (RUN-12).
fn place(path: &[Node], at: usize) -> &[Node] {
    let is_result = |node: &Node| node.role == Role::Tool;
    if !path.get(at).is_some_and(is_result) {
        return path.get(at..=at).unwrap_or_default();
    }
    let from = path[..at].iter().rposition(|node| !is_result(node)).map_or(0, |before| before + 1);
    let to = path[at..].iter().position(|node| !is_result(node)).map_or(path.len(), |after| at + after);
    &path[from..to]
}

/// Whether a message of a request shows exactly this node.
fn is_of(message: &Value, node: &Node) -> bool {
    let said = message["content"].as_str().unwrap_or_default();
    if message["role"] != node.role.as_str() {
        return false;
    }
    if node.role == Role::Tool {
        let mut results = node.content.iter().filter_map(result_of);
        return results.any(|(id, text)| same_call(&message["tool_call_id"], &id) && said.ends_with(&text));
    }
    let calls: Vec<_> = node.content.iter().filter_map(|block| block.as_tool_call()).collect();
    let asked = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    let all = calls.len() == asked.len()
        && calls.iter().zip(asked).all(|(call, asked)| same_call(&asked["id"], call.tool_call_id.as_str()));
    // Notes of ours stand in a frame.
    let same =
        if node.node_type == NodeType::Message { undated(said) == text(node) } else { said.contains(&text(node)) };
    same && all
}

/// Ollama's messages need no ids.
fn same_call(on_the_wire: &Value, stored: &str) -> bool {
    on_the_wire.as_str().is_none_or(|id| id == stored)
}
