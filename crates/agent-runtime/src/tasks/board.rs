//! `<task_board>`: what a run's requests show of the session's Tasks (TBD-1).

use std::sync::Arc;

use agent_engine::{TokenCounter, framed};
use agent_library::shown;
use agent_protocol::{AgentRole, ContentBlock, ModelMessage, NodeType, Object, Role};
use agent_task_store::{TaskStore, Unavailable};
use agent_tasks::{BoardRules, Reader, WalName, Worker, board};

use super::access::TaskAccess;

/// Stands before what models wrote, so that it is not taken for the user's words.
const PREFACE: &str =
    "[The tasks of this session as they are now. The runtime made this list; it is no message of the user.]";

/// So many logs that cannot be read are named, and so many characters of why.
const MOST_UNAVAILABLE: usize = 3;
const MOST_OF_WHY: usize = 160;

impl TaskAccess {
    /// Logs of the session that make no Task, a line each, for people.
    pub(crate) async fn problems(&self) -> Vec<String> {
        let store = self.run.owned.tasks.exclusive().await;
        let session = self.run.session.id();
        let folder = self.settings.shown_folder(session);
        let line = |(name, log): (&WalName, &Unavailable)| {
            format!("{folder}/{name}.wal.jsonl makes no Task: {}; `soong-agent tasks {session}` shows it", log.why)
        };
        store.iter().flat_map(|store| store.unavailable().map(line).collect::<Vec<_>>()).collect()
    }

    /// Whether requests of the run show a board: the session's Tasks are open, and the run is one that has to do with them.
    pub(crate) fn has_board(&self) -> bool {
        let is_concerned = matches!(self.run.role, AgentRole::Main | AgentRole::Orchestrator | AgentRole::Worker);
        is_concerned && self.settings.board.tokens > 0 && self.run.owned.tasks.are_open()
    }

    /// The message, in so many tokens; none where there is nothing to show. It is made from memory alone, and anew for each request.
    pub(crate) async fn board(&self, room: u64) -> Option<Arc<ModelMessage>> {
        let store = self.run.owned.tasks.exclusive().await;
        let store = store.as_ref()?;
        let settings = &self.settings;
        let room = room.min(settings.board.tokens).checked_sub(tokens(&message("")))?;
        let worker = self.run.worker.as_ref().map(|scope| Worker {
            agent_id: self.run.agent.id.clone(),
            run_id: self.run.run_id.clone(),
            pool_id: scope.pool_id.clone(),
            allowed_step_ids: scope.allowed_step_ids.clone(),
        });
        let reader = match (&worker, &self.run.worker) {
            (Some(worker), Some(scope)) => Reader::Worker { task_id: &scope.task_id, worker },
            _ => Reader::Orchestrator,
        };
        let rules = BoardRules {
            now: settings.now(),
            room,
            count: &|text| TokenCounter.text(text),
            line: &shown::line,
            changes: settings.board.changes,
            window_millis: u64::try_from(settings.board.window.as_millis()).unwrap_or(u64::MAX),
        };
        let unavailable = unavailable(store);
        let rules = BoardRules { room: room.saturating_sub(TokenCounter.text(&unavailable)), ..rules };
        let tasks: Vec<_> = store.active().collect();
        let shown = board(tasks.iter().copied(), store.recent(), reader, &rules);
        let mut text = match (unavailable.is_empty(), shown) {
            (true, shown) => shown?,
            (false, shown) => format!("{unavailable}{}", shown.unwrap_or_default()),
        };
        self.run.redactor.text(&mut text);
        Some(Arc::new(message(&text)))
    }
}

/// Logs that make no Task: what is in them is not to be made again under another name.
fn unavailable(store: &TaskStore) -> String {
    let mut lines = String::new();
    for (name, log) in store.unavailable().take(MOST_UNAVAILABLE) {
        let task = log.task_id.as_ref().map_or_else(|| "a task".to_owned(), |id| format!("task {id}"));
        let why = shown::line(&log.why, MOST_OF_WHY);
        lines.push_str(&format!("unavailable: {task}, since its log {name}.wal.jsonl cannot be read: {why}\n"));
    }
    if let more @ 1.. = store.unavailable().count().saturating_sub(MOST_UNAVAILABLE) {
        lines.push_str(&format!("unavailable: {more} more\n"));
    }
    lines
}

fn message(text: &str) -> ModelMessage {
    let framed = framed(NodeType::TaskBoard.as_str(), &Object::new(), &format!("{PREFACE}\n{text}"));
    let mut message = ModelMessage::new(Role::User, vec![ContentBlock::text(framed)]);
    message.metadata.insert("synthetic".to_owned(), true.into());
    message.metadata.insert("source_node_type".to_owned(), NodeType::TaskBoard.as_str().into());
    message
}

fn tokens(message: &ModelMessage) -> u64 {
    TokenCounter.message(&message.content)
}
