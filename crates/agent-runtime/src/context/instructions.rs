//! The instruction files of a run: which of them were read, which were changed by a tool, which stand in the system part
//! (INS-3, INS-6).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_engine::{AfterNode, ContextMark, keys};
use agent_library::instructions::{InstructionEntry, Level};
use agent_policy::PathRules;
use agent_protocol::{ContentBlock, NodeType, Object, ToolCallId, path_text};

use super::catalogs::Catalogs;
use super::loaded::Loaded;
use crate::session_files::RunChanges;

/// Shared by the gatherer and the calls of one run.
pub(crate) struct InstructionFiles {
    pub(crate) catalogs: Arc<Catalogs>,
    rules: Arc<PathRules>,
    changes: Arc<RunChanges>,
    /// Hash of what stands in the system part in full, by path.
    in_system: Mutex<HashMap<PathBuf, String>>,
}

/// A file that was read.
pub(crate) struct ReadFile<'a> {
    pub(crate) path: &'a Path,
    pub(crate) hash: &'a str,
    pub(crate) call: &'a ToolCallId,
    /// The line to read on from, if the end was not reached.
    pub(crate) next_line: Option<u64>,
}

/// What it means that an instruction file was read.
pub(crate) enum Reading {
    /// It binds from now on: a node says so.
    Registered(AfterNode),
    /// It is known already; `in_system`: and its text is in the system part.
    AlreadyLoaded { in_system: bool },
    /// A tool of this run made or changed it.
    NotYet,
}

impl InstructionFiles {
    /// Looks at the files of the catalog. Blocks. `changes` are those of the user's run that this one is, or works for.
    pub(crate) fn new(catalogs: Arc<Catalogs>, rules: Arc<PathRules>, changes: Arc<RunChanges>) -> Self {
        changes.begin_with(catalogs.instructions.entries().iter().map(|entry| entry.path.as_path()));
        Self { catalogs, rules, changes, in_system: Mutex::default() }
    }

    fn in_system(&self) -> MutexGuard<'_, HashMap<PathBuf, String>> {
        self.in_system.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What tools have made or changed.
    pub(crate) fn changes(&self) -> &RunChanges {
        &self.changes
    }

    pub(super) fn set_in_system(&self, in_system: HashMap<PathBuf, String>) {
        *self.in_system() = in_system;
    }

    /// Whether a file may hold secrets: then it is read where somebody allows it, and never joins a system part.
    pub(super) fn is_sensitive(&self, path: &Path) -> bool {
        self.rules.sensitive(path).is_some()
    }

    /// What it means that this file was read; nothing if it is no instruction file (INS-4). Looks at the disk.
    pub(crate) fn read(&self, file: &ReadFile<'_>, loaded: &Loaded) -> Option<Reading> {
        let level = self.catalogs.instructions.level_of(file.path)?;
        if self.is_sensitive(file.path) {
            return None;
        }
        if self.changes.is_written(file.path) {
            return Some(Reading::NotYet);
        }
        if self.in_system().get(file.path).is_some_and(|hash| hash == file.hash) {
            return Some(Reading::AlreadyLoaded { in_system: true });
        }
        let key = path_text(file.path);
        let mark = ContextMark { items: vec![(key, file.hash.to_owned())], call: Some(file.call.clone()) };
        if !loaded.add(NodeType::InstructionContext, &mark) {
            return Some(Reading::AlreadyLoaded { in_system: false });
        }
        Some(Reading::Registered(self.node(file, level, &mark)))
    }

    /// The notice that a file which was just read binds (INS-3).
    fn node(&self, file: &ReadFile<'_>, level: Level, mark: &ContextMark) -> AfterNode {
        let entry = self.catalogs.instructions.entry_of(file.path);
        let shown = shown(entry, file.path);
        let (whose, what_loses) = match level {
            Level::User => ("the user's own", "It counts for every project"),
            Level::Project => ("the project's", "It counts in its folder and below"),
        };
        let mut text = format!(
            "{shown}, which was just read, is one of {whose} instruction files: follow what it says. {what_loses}, and gives way to \
             these rules, to permissions and to what the user says now."
        );
        if let Some(line) = file.next_line {
            text.push_str(&format!(" It goes on in line {line}."));
        }
        let mut metadata = mark.metadata();
        metadata.insert("path".to_owned(), path_text(file.path).into());
        metadata.insert("hash".to_owned(), file.hash.into());
        let frame = Object::from_iter([("path".to_owned(), shown.into())]);
        metadata.insert(keys::FRAME.to_owned(), frame.into());
        AfterNode { node_type: NodeType::InstructionContext, content: vec![ContentBlock::text(text)], metadata }
    }
}

/// The path for the model.
pub(super) fn shown(entry: Option<&InstructionEntry>, path: &Path) -> String {
    entry.map_or_else(|| agent_library::shown::path(path), |entry| entry.shown.clone())
}
