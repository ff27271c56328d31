//! Artifacts of one call: the file is made at once, its row is stored with the next commit (ART-1).

use std::io;
use std::io::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use agent_protocol::{ArtifactId, SessionId, ToolCallId};
use agent_store::{ArtifactWriter, Write};
use agent_tool::{ArtifactFile, ArtifactSink};

/// Rows of finished artifacts that wait for a commit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Finished(Arc<Mutex<Vec<Write>>>);

impl Finished {
    fn push(&self, row: Write) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(row);
    }

    pub(crate) fn take(&self) -> Vec<Write> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
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
        finished.push(Write::Artifact(row));
        Ok(id)
    }
}
