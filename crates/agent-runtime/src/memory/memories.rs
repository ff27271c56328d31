//! The memories of a user as one project sees them.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_engine::{ModelSettings, TokenCounter};
use agent_library::memory::{MemoryCategory, MemoryError, MemoryListing, MemoryStore, Rendered, render_catalog};
use tokio::task::spawn_blocking;

use crate::model_server::ModelServer;

/// Plain values that memories are kept by.
#[derive(Debug, Clone)]
pub struct MemorySettings {
    /// The user's home, resolved.
    pub home: PathBuf,
    /// The folder of the memories, inside home; it need not exist.
    pub memory_dir: PathBuf,
    /// The project, as sessions and memories name it ([`project_name`](crate::project_name)).
    pub project: String,
    /// Kinds of memories that are made.
    pub categories: Vec<MemoryCategory>,
    /// So many new messages of the user are looked through.
    pub every_messages: u64,
    /// So many tokens of them are.
    pub every_tokens: u64,
    /// After so much quiet fewer are, too.
    pub idle: Duration,
    /// Most tokens of the catalog.
    pub catalog_tokens: u64,
    /// Most memories of one recall.
    pub recall_top_k: usize,
    /// Most tokens of one recall.
    pub recall_tokens: u64,
}

/// A model that does something for memories.
#[derive(Clone)]
pub struct MemoryModel {
    /// Its server.
    pub server: ModelServer,
    /// How it is asked.
    pub settings: ModelSettings,
    /// Tokens.
    pub context_window: u64,
    /// Most tokens of an answer.
    pub max_output_tokens: u64,
}

impl fmt::Debug for MemoryModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryModel")
            .field("server", &self.server)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// The memories of a user as one project sees them. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Memory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: MemorySettings,
    extract: MemoryModel,
    recall: MemoryModel,
}

/// The memories of a run, as they were when it began.
#[derive(Debug)]
pub(crate) struct VisibleMemories {
    memory: Memory,
    listing: MemoryListing,
}

impl VisibleMemories {
    /// The list for a prompt: no more than fits into `room` tokens nor than the settings allow (MEM-11, MEM-12).
    pub(crate) fn render(&self, room: u64) -> Rendered {
        let room = room.min(self.memory.settings().catalog_tokens);
        render_catalog(&self.listing, self.memory.project(), room, &|text| TokenCounter.text(text))
    }
}

impl Memory {
    /// Touches no file. `extract` finds out what is to be remembered, `recall` chooses what is brought back.
    #[must_use]
    pub fn new(settings: MemorySettings, extract: MemoryModel, recall: MemoryModel) -> Self {
        Self(Arc::new(Inner { settings, extract, recall }))
    }

    /// Those that everybody, or this project, may see; nothing where there are none. Where they cannot be read the list is
    /// empty: a recall says why.
    pub(crate) async fn visible(&self) -> Option<VisibleMemories> {
        let memory = self.clone();
        let Ok(listing) = self.listing().await else {
            return Some(VisibleMemories { memory, listing: MemoryListing::default() });
        };
        let has_some = listing.entries.iter().any(|entry| entry.is_visible_in(self.project()));
        has_some.then(|| VisibleMemories { memory, listing })
    }

    /// Ends what is asked of the models' servers.
    pub(crate) async fn close(&self) {
        self.0.extract.server.adapter().close().await;
        self.0.recall.server.adapter().close().await;
    }

    pub(super) fn extract(&self) -> &MemoryModel {
        &self.0.extract
    }

    pub(super) fn recall(&self) -> &MemoryModel {
        &self.0.recall
    }

    pub(super) fn settings(&self) -> &MemorySettings {
        &self.0.settings
    }

    pub(super) fn project(&self) -> &str {
        &self.0.settings.project
    }

    /// All memories there are now, of all projects; or why they cannot be read.
    pub(super) async fn listing(&self) -> Result<MemoryListing, String> {
        let memory = self.clone();
        let read = spawn_blocking(move || memory.store()?.entries());
        match read.await {
            Ok(read) => read.map_err(|error| in_words(&error)),
            Err(_) => Err("reading the memories broke off".to_owned()),
        }
    }

    /// Blocks.
    pub(super) fn store(&self) -> Result<MemoryStore, MemoryError> {
        let MemorySettings { home, memory_dir, .. } = self.settings();
        MemoryStore::open(memory_dir, home)
    }
}

/// An error with its cause.
pub(super) fn in_words(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
