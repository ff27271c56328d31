//! Files without rows (ART-1), and rows' files when their rows are gone.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use agent_protocol::{ArtifactId, SessionId, Timestamp};
use rusqlite::{Connection, params};

use super::fault::Outcome;
use super::read::exists;
use super::sql;
use crate::archive::{DeletedArtifacts, StrayFile};
use crate::error::StoreError;
use crate::folders::{self, Removed, Weight};
use crate::{artifact, lock};

/// A folder without a session may belong to one that is being made, for so long.
const BEING_MADE: Duration = Duration::from_secs(60);

/// Removes a session's folder. Its lock, which the caller holds, goes last.
pub(super) fn remove_session(folder: &Path) -> Removed {
    below_parent(folder, |sessions_dir, name| folders::remove(sessions_dir, &[name], Some(lock::NAME)))
}

/// Removes the files of artifacts out of a session's folder.
pub(super) fn remove_artifacts(session_folder: &Path, artifact_ids: Vec<ArtifactId>) -> DeletedArtifacts {
    let mut done = DeletedArtifacts::default();
    for id in artifact_ids {
        let removed = below_parent(session_folder, |sessions_dir, name| {
            folders::remove(sessions_dir, &[name, artifact::FOLDER, id.as_str()], None)
        });
        done.bytes += removed.bytes;
        if removed.failures.is_empty() {
            done.deleted.push(id);
        }
        done.failures.extend(removed.failures);
    }
    done
}

fn below_parent(folder: &Path, work: impl FnOnce(&Path, &str) -> Removed) -> Removed {
    match (folder.parent(), folder.file_name().and_then(|name| name.to_str())) {
        (Some(parent), Some(name)) => work(parent, name),
        _ => Removed::default(), // The name of a session's folder is its id.
    }
}

/// A session's folder that nobody owned when it was looked at.
struct Candidate {
    session_id: SessionId,
    artifacts: Vec<ArtifactId>,
}

pub(super) fn find(conn: &Connection, sessions_dir: &Path, only: Option<&SessionId>) -> Outcome<Vec<StrayFile>> {
    // The files first, then the owners, then the rows: what an owner has left by then has its row, or never will.
    let mut candidates = Vec::new();
    for session_id in session_folders(sessions_dir, only)? {
        let artifacts = artifact_folders(sessions_dir, &session_id)?;
        if !lock::is_held(sessions_dir, &session_id)? {
            candidates.push(Candidate { session_id, artifacts });
        }
    }
    let mut strays = Vec::new();
    for Candidate { session_id, artifacts } in candidates {
        if exists(conn, sql::SESSION_IS_HERE, [session_id.as_str()])? {
            for id in artifacts {
                if !exists(conn, sql::ARTIFACT_IS_HERE, params![id.as_str(), session_id.as_str()])? {
                    strays.extend(stray(artifact_folder(sessions_dir, &session_id, &id), &session_id));
                }
            }
        } else if let Some((path, weight)) = abandoned(sessions_dir, &session_id) {
            strays.push(stray_of(path, &session_id, weight));
        }
    }
    Ok(strays)
}

/// Removes a stray file if it still is one.
pub(super) fn remove(conn: &Connection, sessions_dir: &Path, file: &StrayFile) -> Outcome<bool> {
    let session_id = &file.session_id;
    let session_folder = sessions_dir.join(session_id.as_str());
    let id = artifact_of(sessions_dir, file);
    // Nothing else is ours to remove; and taking the lock would make a folder that is gone.
    if (id.is_none() && file.path != session_folder) || folders::weigh(&file.path).is_none() {
        return Ok(false);
    }
    // Asked before the lock is taken, which may change the folder.
    if id.is_none() && abandoned(sessions_dir, session_id).is_none() {
        return Ok(false);
    }
    if session_folder.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) {
        // Its lock would lie elsewhere. The link itself holds nothing.
        let is_stray = id.is_none() && !exists(conn, sql::SESSION_IS_HERE, [session_id.as_str()])?;
        return if is_stray { done(folders::remove(sessions_dir, &[session_id.as_str()], None)) } else { Ok(false) };
    }
    let Some(_lock) = lock::try_take(sessions_dir, session_id)? else { return Ok(false) };
    // Only now, so that rows are seen which an owner has left behind.
    let has_session = exists(conn, sql::SESSION_IS_HERE, [session_id.as_str()])?;
    match id {
        None if !has_session => done(remove_session(&session_folder)),
        Some(id) if has_session && !exists(conn, sql::ARTIFACT_IS_HERE, params![id.as_str(), session_id.as_str()])? => {
            done(folders::remove(sessions_dir, &[session_id.as_str(), artifact::FOLDER, id.as_str()], None))
        }
        _ => Ok(false),
    }
}

/// Removes the folder of a session that has no row.
pub(super) fn remove_remains(
    conn: &Connection,
    sessions_dir: &Path,
    session_id: &SessionId,
) -> Outcome<Option<DeletedArtifacts>> {
    let folder = sessions_dir.join(session_id.as_str());
    let has_row = || exists(conn, sql::SESSION_IS_HERE, [session_id.as_str()]);
    // A link holds nothing, and its lock would lie elsewhere.
    if !folder.symlink_metadata().is_ok_and(|meta| meta.is_dir()) || has_row()? {
        return Ok(None);
    }
    // Whoever makes a session holds its lock before its row is seen.
    let Some(_lock) = lock::try_take(sessions_dir, session_id)? else {
        return Err(StoreError::SessionActive { session_id: session_id.clone(), owner: None }.into());
    };
    if has_row()? {
        return Ok(None);
    }
    let removed = remove_session(&folder);
    Ok(Some(DeletedArtifacts { deleted: Vec::new(), bytes: removed.bytes, failures: removed.failures }))
}

/// Removes the files of a session's artifacts, while nobody owns it.
pub(super) fn remove_files(sessions_dir: &Path, session_id: &SessionId) -> Result<DeletedArtifacts, StoreError> {
    let Some(_lock) = lock::try_take(sessions_dir, session_id)? else {
        return Err(StoreError::SessionActive { session_id: session_id.clone(), owner: None });
    };
    let removed = folders::remove(sessions_dir, &[session_id.as_str(), artifact::FOLDER], None);
    Ok(DeletedArtifacts { deleted: Vec::new(), bytes: removed.bytes, failures: removed.failures })
}

fn done(removed: Removed) -> Outcome<bool> {
    match removed.failures.into_iter().next() {
        None => Ok(true),
        Some(failure) => {
            let source = Arc::new(io::Error::other(failure.message));
            Err(StoreError::File { step: "remove", path: failure.path, source }.into())
        }
    }
}

fn artifact_folder(sessions_dir: &Path, session_id: &SessionId, id: &ArtifactId) -> PathBuf {
    sessions_dir.join(session_id.as_str()).join(artifact::FOLDER).join(id.as_str())
}

/// The artifact whose folder a stray file says it is.
fn artifact_of(sessions_dir: &Path, file: &StrayFile) -> Option<ArtifactId> {
    let id = ArtifactId::parse(file.path.file_name()?.to_str()?).ok()?;
    (file.path == artifact_folder(sessions_dir, &file.session_id, &id)).then_some(id)
}

/// The folder of a session without a row, unless that may still be written.
fn abandoned(sessions_dir: &Path, session_id: &SessionId) -> Option<(PathBuf, Weight)> {
    let path = sessions_dir.join(session_id.as_str());
    let weight = folders::weigh(&path)?;
    // A time in the future tells nothing: then it is left alone.
    let age = SystemTime::now().duration_since(weight.modified).ok()?;
    (age >= BEING_MADE).then_some((path, weight))
}

fn stray(path: PathBuf, session_id: &SessionId) -> Option<StrayFile> {
    let weight = folders::weigh(&path)?;
    Some(stray_of(path, session_id, weight))
}

fn stray_of(path: PathBuf, session_id: &SessionId, weight: Weight) -> StrayFile {
    let since_1970 = weight.modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let modified = Timestamp::from_unix_millis(u64::try_from(since_1970.as_millis()).unwrap_or(0));
    StrayFile { session_id: session_id.clone(), path, bytes: weight.bytes, modified }
}

/// The sessions that have a folder, by id. Other names are none of ours.
fn session_folders(sessions_dir: &Path, only: Option<&SessionId>) -> Outcome<Vec<SessionId>> {
    let mut ids = match only {
        Some(id) => vec![id.clone()],
        None => entries(sessions_dir, SessionId::parse)?,
    };
    ids.retain(|id| sessions_dir.join(id.as_str()).symlink_metadata().is_ok());
    ids.sort();
    Ok(ids)
}

fn artifact_folders(sessions_dir: &Path, session_id: &SessionId) -> Outcome<Vec<ArtifactId>> {
    let folder = sessions_dir.join(session_id.as_str());
    let artifacts = folder.join(artifact::FOLDER);
    if [&folder, &artifacts].iter().any(|path| path.symlink_metadata().is_ok_and(|meta| meta.is_symlink())) {
        return Ok(Vec::new());
    }
    let mut ids = entries(&artifacts, ArtifactId::parse)?;
    ids.sort();
    Ok(ids)
}

/// The entries of a folder whose names are ids; none if there is no folder.
fn entries<T, E>(folder: &Path, parse: fn(&str) -> Result<T, E>) -> Outcome<Vec<T>> {
    let fault =
        |error: io::Error| StoreError::File { step: "look through", path: folder.to_owned(), source: Arc::new(error) };
    let listing = match fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return Ok(Vec::new()),
        Err(e) => return Err(fault(e).into()),
    };
    let mut ids = Vec::new();
    for entry in listing {
        let name = entry.map_err(fault)?.file_name();
        ids.extend(name.to_str().and_then(|name| parse(name).ok()));
    }
    Ok(ids)
}
