//! Artifacts of one call: the file is made at once, its row is stored with the next commit (ART-1).

use std::io;
use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_protocol::{ArtifactId, SessionId, ToolCallId};
use agent_store::{ArtifactWriter, NewArtifact, Write};
use agent_tool::{ArtifactFile, ArtifactSink};

/// So many artifacts of a run are named to who started it; the others are found in its results.
const NAMED: usize = 1000;

/// Finished artifacts of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Finished(Arc<Mutex<Files>>);

#[derive(Debug, Default)]
struct Files {
    /// Rows that wait for a commit.
    rows: Vec<Write>,
    /// All of them, in the order in which they were finished.
    ids: Vec<ArtifactId>,
}

impl Finished {
    fn files(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, row: NewArtifact) {
        let mut files = self.files();
        if files.ids.len() < NAMED {
            files.ids.push(row.artifact_id.clone());
        }
        files.rows.push(Write::Artifact(row));
    }

    /// The rows to be stored next.
    pub(crate) fn take(&self) -> Vec<Write> {
        std::mem::take(&mut self.files().rows)
    }

    /// All of them.
    pub(crate) fn ids(&self) -> Vec<ArtifactId> {
        self.files().ids.clone()
    }
}

/// Makes the artifacts of one call.
pub(crate) struct CallArtifacts {
    pub(crate) writer: ArtifactWriter,
    pub(crate) session_id: SessionId,
    pub(crate) tool_call_id: ToolCallId,
    pub(crate) finished: Finished,
}

impl ArtifactSink for CallArtifacts {
    fn begin(&self, filename: &str, mime_type: &str) -> io::Result<Box<dyn ArtifactFile>> {
        let file = self.writer.begin_artifact(&self.session_id, filename).map_err(io::Error::other)?;
        Ok(Box::new(Open {
            file,
            mime_type: mime_type.to_owned(),
            tool_call_id: self.tool_call_id.clone(),
            finished: self.finished.clone(),
        }))
    }
}

struct Open {
    file: agent_store::ArtifactFile,
    mime_type: String,
    tool_call_id: ToolCallId,
    finished: Finished,
}

impl ArtifactFile for Open {
    fn write(&mut self, chunk: &[u8]) -> io::Result<()> {
        self.file.write_all(chunk)
    }

    fn finish(self: Box<Self>) -> io::Result<ArtifactId> {
        let Self { file, mime_type, tool_call_id, finished } = *self;
        let mut row = file.finish();
        row.mime_type = Some(mime_type);
        row.tool_call_id = Some(tool_call_id);
        let id = row.artifact_id.clone();
        finished.push(row);
        Ok(id)
    }
}
