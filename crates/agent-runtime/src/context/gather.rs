//! The sources of a run, turn by turn.
//!
//! What a run may load is looked for once, when it begins. After that only instruction files that were loaded are looked at:
//! one that changed on disk is read again, one that was read in the run joins the system part when an epoch begins (INS-3).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_engine::{BudgetError, PathNode, Sources};
use agent_library::instructions::{InstructionBody, read_body};
use agent_protocol::{NodeId, NodeType, path_from_text};
use agent_store::Write;

use super::instructions::InstructionFiles;
use super::system::{InstructionText, Made, SystemParts};
use crate::file_stamp::{Stamp, stamp};

/// Most of one instruction file that is kept in memory, in bytes.
const BODY: usize = 256 * 1024;

/// Keeps what a run's requests are made of.
pub(crate) struct Gatherer {
    parts: Arc<SystemParts>,
    files: Arc<InstructionFiles>,
    known: Vec<KnownFile>,
    current: Option<Sources>,
    board_room: u64,
}

/// An answer, and the bytes behind hashes that it names for the first time.
pub(crate) struct Gathered {
    pub(crate) sources: Sources,
    pub(crate) blobs: Vec<Write>,
    /// Room for the task board.
    pub(crate) board_room: u64,
}

/// An instruction file that a node of the path is about.
#[derive(Debug)]
struct KnownFile {
    path: PathBuf,
    /// What the file system said when it was looked at last.
    stamp: Option<Stamp>,
    /// What stands in the system part.
    body: Option<InstructionBody>,
}

/// A node of the path about an instruction file.
#[derive(Debug, Clone)]
pub(crate) struct InstructionNode {
    pub(crate) node_id: NodeId,
    pub(crate) path: PathBuf,
    /// Of the file when it was read.
    pub(crate) hash: String,
}

impl InstructionNode {
    /// Those on a path.
    pub(crate) fn on(path: &agent_engine::Path) -> Vec<Self> {
        let is_one = |node: &&PathNode| node.node_type == NodeType::InstructionContext;
        let named = |node: &PathNode| {
            let (key, hash) = node.mark.as_ref()?.items.first()?;
            Some(Self { node_id: node.node_id.clone(), path: path_from_text(key), hash: hash.clone() })
        };
        path.context_nodes().filter(is_one).filter_map(named).collect()
    }
}

impl Gatherer {
    pub(crate) fn new(parts: Arc<SystemParts>, files: Arc<InstructionFiles>) -> Self {
        Self { parts, files, known: Vec::new(), current: None, board_room: 0 }
    }

    /// Whether [`Self::gather`] would read files. That nothing changed is seen by asking the file system, which takes
    /// microseconds for each file that was loaded.
    pub(crate) fn reads_files(&self, fresh: bool, nodes: &[InstructionNode]) -> bool {
        let is_as_known = |node: &InstructionNode| {
            self.known.iter().any(|known| known.path == node.path && known.stamp == stamp(&node.path))
        };
        let all_known = nodes.iter().all(is_as_known);
        if fresh || self.current.is_none() { !nodes.is_empty() } else { !all_known }
    }

    /// The sources as they are now. Blocks for as long as it takes to look at the files that were loaded.
    ///
    /// # Errors
    /// When the fixed part leaves too little of the window (CFG-8).
    pub(crate) fn gather(&mut self, fresh: bool, nodes: &[InstructionNode]) -> Result<Gathered, BudgetError> {
        let changed = self.look(fresh, nodes);
        if let Some(current) = self.current.as_ref().filter(|_| !changed && !fresh) {
            return Ok(Gathered { sources: current.clone(), blobs: Vec::new(), board_room: self.board_room });
        }
        let texts: Vec<_> = self.known.iter().filter_map(|file| self.text(file)).collect();
        let Made { mut sources, blobs, whole, board_room } = self.parts.sources(&self.files, &texts)?;
        // A file that was cut, or found no room, stays readable where it is: as a result, page by page (INST-04).
        let hashes: HashMap<_, _> = texts
            .iter()
            .filter(|text| whole.contains(&text.path))
            .map(|text| (text.path.clone(), text.body.hash.clone()))
            .collect();
        let in_system = |node: &&InstructionNode| hashes.contains_key(&node.path);
        sources.in_system = nodes.iter().filter(in_system).map(|node| node.node_id.clone()).collect();
        self.files.set_in_system(hashes);
        if let Some(before) = &self.current
            && before.fingerprint == sources.fingerprint
        {
            // The very bytes of before, with what was made of them.
            sources.system = Arc::clone(&before.system);
        }
        self.board_room = board_room;
        self.current = Some(sources.clone());
        Ok(Gathered { sources, blobs, board_room })
    }

    fn text<'a>(&'a self, file: &'a KnownFile) -> Option<InstructionText<'a>> {
        let body = file.body.as_ref()?;
        let catalog = &self.files.catalogs.instructions;
        let entry = catalog.entry_of(&file.path);
        let level = catalog.level_of(&file.path)?;
        Some(InstructionText { path: file.path.clone(), entry, level, body })
    }

    /// Looks at the files that were loaded; whether the system part must be made anew.
    fn look(&mut self, fresh: bool, nodes: &[InstructionNode]) -> bool {
        let before = self.known.len();
        // Another branch, or a node whose commit failed.
        self.known.retain(|known| nodes.iter().any(|node| node.path == known.path));
        let mut changed = self.known.len() != before;
        for node in nodes {
            if !self.known.iter().any(|known| known.path == node.path) {
                self.known.push(KnownFile { path: node.path.clone(), stamp: None, body: None });
            }
        }
        for known in &mut self.known {
            let now = stamp(&known.path);
            let is_first_look = known.stamp.is_none();
            let is_new = now != known.stamp;
            known.stamp = now;
            if !(fresh || is_new) || self.files.changes().is_written(&known.path) {
                continue;
            }
            let body = readable(&known.path).filter(|_| !self.files.is_sensitive(&known.path));
            let hash = body.as_ref().map(|body| body.hash.as_str());
            // What the model has just read is in its result; only what differs from that joins at once.
            let was_read = || nodes.iter().rfind(|node| node.path == known.path).map(|node| node.hash.as_str());
            if is_first_look && !fresh && hash == was_read() {
                continue;
            }
            changed |= hash != known.body.as_ref().map(|body| body.hash.as_str());
            known.body = body;
        }
        changed
    }
}

/// What a file says, if it may stand in a system part: text, and where its path says, not behind a link that took a folder's place.
fn readable(path: &Path) -> Option<InstructionBody> {
    let is_itself = std::fs::canonicalize(path).is_ok_and(|real| real == path);
    let body = read_body(path, BODY).ok().filter(|_| is_itself)?;
    (!body.text.contains('\0')).then_some(body)
}
