//! The files of artifacts: `<sessions>/<session>/artifacts/<artifact>/<name>` (ART-1).
//!
//! The file is finished first and its row is committed after it, so that a row never names a file that is not there. A
//! process that dies in between leaves a file without a row.

mod name;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_protocol::{ArtifactId, Object, SessionId};
use uuid::Uuid;

use crate::error::StoreError;
use crate::private;
use crate::write::NewArtifact;

pub(crate) const FOLDER: &str = "artifacts";

/// Where an artifact's file lies, seen from the sessions folder. This is what the row holds, so that a home can be moved.
pub(crate) fn stored_path(session_id: &SessionId, artifact_id: &ArtifactId, filename: &str) -> String {
    format!("{session_id}/{FOLDER}/{artifact_id}/{filename}")
}

/// Writes the files of artifacts. Blocking: use it where blocking is fine.
#[derive(Debug, Clone)]
pub struct ArtifactWriter {
    sessions_dir: PathBuf,
}

impl ArtifactWriter {
    /// Writes below `sessions_dir`, the folder in the store's settings.
    #[must_use]
    pub fn new(sessions_dir: impl Into<PathBuf>) -> Self {
        Self { sessions_dir: sessions_dir.into() }
    }

    /// Begins a new file. `filename` is for people and is made safe first: letters and digits of any script, `.`, `_` and
    /// `-` stay, everything else becomes `_`.
    ///
    /// # Errors
    /// [`StoreError::File`] if folder or file cannot be made.
    pub fn begin_artifact(&self, session_id: &SessionId, filename: &str) -> Result<ArtifactFile, StoreError> {
        let id = format!("{}{}", ArtifactId::PREFIX, Uuid::now_v7().simple());
        let artifact_id = ArtifactId::parse(&id)
            .map_err(|e| StoreError::Rejected { step: "name an artifact", source: Arc::new(e) })?;
        let filename = name::safe(filename);
        let path = self.sessions_dir.join(stored_path(session_id, &artifact_id, &filename));
        let file = make(&path)?;
        Ok(ArtifactFile { artifact_id, filename, path, size_bytes: 0, state: State::Open(file) })
    }
}

fn make(path: &Path) -> Result<File, StoreError> {
    let fault = |step, error: io::Error| StoreError::File { step, path: path.to_owned(), source: Arc::new(error) };
    if let Some(folder) = path.parent() {
        private::folders(folder).map_err(|e| fault("make the folder of", e))?;
    }
    private::new_file(path).map_err(|e| fault("make", e))
}

/// The file of an artifact being written. Dropped before [`ArtifactFile::finish`], it removes what it wrote.
#[derive(Debug)]
pub struct ArtifactFile {
    artifact_id: ArtifactId,
    filename: String,
    path: PathBuf,
    size_bytes: u64,
    state: State,
}

#[derive(Debug)]
enum State {
    Open(File),
    Finished,
}

impl ArtifactFile {
    /// The artifact's id.
    #[must_use]
    pub fn id(&self) -> &ArtifactId {
        &self.artifact_id
    }

    /// Where the file lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes written so far.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Ends the file and gives the row to commit ([`crate::Write::Artifact`]). It is as durable as the row will be: both
    /// survive the end of the process, and the latest of both may be lost with the machine's power.
    #[must_use = "without its row the file is an orphan"]
    pub fn finish(mut self) -> NewArtifact {
        self.state = State::Finished;
        NewArtifact {
            artifact_id: self.artifact_id.clone(),
            filename: self.filename.clone(),
            size_bytes: self.size_bytes,
            node_id: None,
            tool_call_id: None,
            mime_type: None,
            summary: None,
            metadata: Object::new(),
        }
    }
}

impl io::Write for ArtifactFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let State::Open(file) = &mut self.state else {
            return Err(io::Error::other("the artifact is finished"));
        };
        let written = io::Write::write(file, bytes)?;
        self.size_bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // Nothing is buffered here.
    }
}

impl Drop for ArtifactFile {
    fn drop(&mut self) {
        if let State::Open(_) = self.state {
            // Best effort: what stays is an orphan, and those are found by cleanup.
            let _ = fs::remove_file(&self.path);
            if let Some(folder) = self.path.parent() {
                let _ = fs::remove_dir(folder);
            }
        }
    }
}

#[cfg(test)]
mod tests;
