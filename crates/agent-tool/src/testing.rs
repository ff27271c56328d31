//! What tests of tools share: a call, and artifacts in memory. Only with the feature `testing`.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use agent_protocol::{AgentId, ArtifactId, Object, RunId, SessionId, ToolCallId};
use agent_redact::KnownSecrets;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::port::{
    ArtifactFile, ArtifactSink, CallContext, CallGroup, Fence, FileVersion, FileVersions, NoChildren, NoTasks,
    NoWorkers, NothingLoaded, ProgressSink, WriteGuard,
};

/// The fields of a JSON object.
pub fn object(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

/// A call that keeps nothing.
pub fn context() -> CallContext {
    context_with(Arc::new(Shelf::default()))
}

/// A call whose artifacts go to this shelf.
pub fn context_with(shelf: Arc<Shelf>) -> CallContext {
    CallContext {
        session_id: SessionId::parse("sess_1").unwrap(),
        agent_id: AgentId::parse("agent_1").unwrap(),
        run_id: RunId::parse("run_1").unwrap(),
        tool_call_id: ToolCallId::parse("call_1").unwrap(),
        cancel: CancellationToken::new(),
        fence: Fence::new(),
        progress: ProgressSink::ignored(),
        artifacts: Arc::new(shelf),
        versions: Arc::new(Versions::default()),
        children: Arc::new(NoChildren),
        workers: Arc::new(NoWorkers),
        tasks: Arc::new(NoTasks),
        loaded: Arc::new(NothingLoaded),
        result_bytes: 64 * 1024,
        group: CallGroup::default(),
        secrets: KnownSecrets::new([("", ""); 0]).unwrap(),
    }
}

/// Artifacts in memory.
#[derive(Debug, Default)]
pub struct Shelf(Mutex<Vec<(String, Vec<u8>)>>);

impl Shelf {
    /// Name and content of the artifact of that id.
    pub fn get(&self, id: &str) -> (String, Vec<u8>) {
        let index: usize = id.strip_prefix("art_").unwrap().parse().unwrap();
        self.0.lock().unwrap()[index].clone()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl ArtifactSink for Arc<Shelf> {
    fn begin(&self, filename: &str, _: &str) -> io::Result<Box<dyn ArtifactFile>> {
        Ok(Box::new(OnShelf { shelf: Arc::clone(self), name: filename.to_owned(), bytes: Vec::new() }))
    }
}

struct OnShelf {
    shelf: Arc<Shelf>,
    name: String,
    bytes: Vec<u8>,
}

impl ArtifactFile for OnShelf {
    fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<ArtifactId> {
        let mut shelf = self.shelf.0.lock().unwrap();
        shelf.push((self.name, self.bytes));
        Ok(ArtifactId::parse(&format!("art_{}", shelf.len() - 1)).unwrap())
    }
}

#[derive(Debug, Default)]
struct Versions(Mutex<HashMap<PathBuf, FileVersion>>);

impl FileVersions for Versions {
    fn seen(&self, path: &Path) -> Option<FileVersion> {
        self.0.lock().unwrap().get(path).copied()
    }

    fn read(&self, path: &Path, version: FileVersion) {
        self.0.lock().unwrap().insert(path.to_owned(), version);
    }

    fn wrote(&self, path: &Path, version: FileVersion) {
        self.read(path, version);
    }

    fn writer(&self, _: &Path, _: FileVersion) -> Option<String> {
        None
    }

    fn exclusive(&self, _: &Path) -> WriteGuard {
        WriteGuard::free()
    }
}
