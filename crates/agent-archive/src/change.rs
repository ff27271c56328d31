//! What changes sessions or deletes them.

use agent_engine::{Path, branch_point};
use agent_protocol::{ArtifactId, Node, NodeId, SessionId};
use agent_store::{ClaimedSession, DeletedArtifacts, DeletedSession, StoreError};

use crate::archive::{Archive, not_found};
use crate::error::ArchiveError;
use crate::screen;

impl Archive {
    /// The path from the root to a node, root first.
    ///
    /// # Errors
    /// If there is no such node, or the store cannot be read.
    pub async fn get_node_path(&self, id: &NodeId, include_sensitive: bool) -> Result<Vec<Node>, ArchiveError> {
        let node = self.node_row(id).await?;
        let path = self.told(self.store.load_path(&node.session_id, id).await)?;
        if include_sensitive {
            return Ok(path);
        }
        self.screen.shown(path, |patterns, path| path.iter_mut().for_each(|node| screen::node(patterns, node))).await
    }

    /// Moves the end of the active path, so that the next run goes on from there. What lay behind it stays, as a branch
    /// (STO-7).
    ///
    /// # Errors
    /// A node of another session or of another agent's tree, one after which nothing can be said, a session that somebody
    /// owns.
    pub async fn switch_node(&self, session: &SessionId, node: &NodeId) -> Result<(), ArchiveError> {
        let found = self.node_row(node).await?;
        if found.session_id != *session {
            return Err(
                StoreError::NotInSession { session_id: session.clone(), kind: "node", id: node.to_string() }.into()
            );
        }
        let ClaimedSession { row, lease, .. } = self.claim(session).await?;
        if found.agent_id != row.root_agent_id {
            let (session_id, node_id) = (session.clone(), node.clone());
            return Err(ArchiveError::OtherTree { session_id, node_id, agent_id: found.agent_id });
        }
        let path = self.told(self.store.load_path(session, node).await)?;
        branch_point(&Path::from_nodes(path))?;
        self.told(self.archive.activate(&lease, node).await)
    }

    /// Lets a session belong to another project folder, as where its project was moved. What it holds stays as it is: paths
    /// that it names may lie elsewhere now. `project` is the folder as sessions name it.
    ///
    /// # Errors
    /// If there is no such session, or somebody owns it.
    pub async fn move_session(&self, id: &SessionId, project: &str) -> Result<(), ArchiveError> {
        let ClaimedSession { lease, .. } = self.claim(id).await?;
        self.told(self.archive.set_project(&lease, project).await)
    }

    /// Removes the files of a session that is gone, which a deletion that was broken off has left; `None` if there are none, or
    /// there is such a session.
    ///
    /// # Errors
    /// If somebody is making that session, or its folder cannot be used.
    pub async fn delete_remains(&self, id: &SessionId) -> Result<Option<DeletedArtifacts>, ArchiveError> {
        self.told(self.archive.delete_remains(id).await)
    }

    /// Removes the files of a session that is about to be deleted. It writes nothing: on a full disk it makes the room that
    /// [`Self::delete_session`] needs.
    ///
    /// # Errors
    /// If somebody owns it.
    pub async fn delete_files(&self, id: &SessionId) -> Result<DeletedArtifacts, ArchiveError> {
        self.told(self.archive.delete_files(id).await)
    }

    /// Deletes a session with its artifacts and their files. Memory, plans and tasks are kept (STO-12).
    ///
    /// # Errors
    /// If there is no such session, or somebody owns it.
    pub async fn delete_session(&self, id: &SessionId) -> Result<DeletedSession, ArchiveError> {
        let ClaimedSession { lease, .. } = self.claim(id).await?;
        self.told(self.archive.delete_session(lease).await)
    }

    /// Deletes an artifact: its row, then its file.
    ///
    /// # Errors
    /// If there is no such artifact, or somebody owns its session.
    pub async fn delete_artifact(&self, id: &ArtifactId) -> Result<DeletedArtifacts, ArchiveError> {
        let session = self.session_of_artifact(id).await?;
        let ClaimedSession { lease, .. } = self.claim(&session).await?;
        self.told(self.archive.delete_artifacts(&lease, vec![id.clone()]).await)
    }

    /// The session an artifact belongs to.
    ///
    /// # Errors
    /// If there is no such artifact.
    pub async fn session_of_artifact(&self, id: &ArtifactId) -> Result<SessionId, ArchiveError> {
        let artifact = self.told(self.store.artifact(id).await)?;
        Ok(artifact.ok_or_else(|| not_found("artifact", id))?.session_id)
    }
}
