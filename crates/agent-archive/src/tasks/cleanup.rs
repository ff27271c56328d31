//! Logs of Tasks that may go (ART-3).

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use agent_protocol::{SessionId, Timestamp};
use agent_task_store::{LogFile, SessionFolder};
use agent_tasks::{Task, TaskStatus};

use super::{TaskArchive, unread};
use crate::cleanup::{CleanupCandidate, CleanupFailure, CleanupKept, CleanupReason, CleanupResult, is_before};
use crate::error::ArchiveError;

/// Which logs of Tasks to remove. The default removes nothing and looks at completed Tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskCleanup {
    /// Only says what would go.
    pub dry_run: bool,
    /// Those of failed Tasks, too.
    pub include_failed: bool,
    /// Those of cancelled Tasks, too.
    pub include_cancelled: bool,
    /// Only Tasks that ended before this moment.
    pub older_than: Option<Timestamp>,
}

impl Default for TaskCleanup {
    fn default() -> Self {
        Self { dry_run: true, include_failed: false, include_cancelled: false, older_than: None }
    }
}

impl TaskCleanup {
    /// Why the log of a Task stays; nothing where it may go.
    fn keeps(&self, task: &Task) -> Option<String> {
        let ended = Timestamp::from(task.updated_at());
        let covered = match task.status() {
            TaskStatus::Completed => true,
            TaskStatus::Failed => self.include_failed,
            TaskStatus::Cancelled => self.include_cancelled,
            TaskStatus::Pending | TaskStatus::Running | TaskStatus::Blocked => {
                return Some(format!("its task has not ended: it is {}", task.status()));
            }
        };
        if !covered {
            return Some(format!("its task is {}, and these were not asked for", task.status()));
        }
        let is_old = is_before(&ended, self.older_than.as_ref());
        (!is_old).then(|| format!("its task ended at {ended}, which is not so long ago"))
    }
}

impl TaskArchive {
    /// Finds logs of Tasks that have ended, and removes them unless it is a dry run (ART-3). Torn ends that were kept of a log go with
    /// it, and a session's folder goes once nothing is left in it.
    ///
    /// A log stays whose Task has not ended or was not asked for, that cannot be read, or that a process holds; each is told with the
    /// reason.
    ///
    /// # Errors
    /// If the folder of the logs cannot be read.
    pub fn cleanup(&self, options: &TaskCleanup) -> Result<CleanupResult, ArchiveError> {
        let mut result = CleanupResult {
            dry_run: options.dry_run,
            candidates: Vec::new(),
            kept: Vec::new(),
            removed: 0,
            bytes: 0,
            failures: Vec::new(),
        };
        let folders = agent_task_store::session_folders(&self.wal_dir).map_err(unread)?;
        // Removing something from a folder changes it.
        let changed: Vec<_> = folders.iter().map(|folder| changed_at(&folder.path)).collect();
        let mut logs = Vec::new();
        for folder in &folders {
            match agent_task_store::logs(&folder.path) {
                Ok(found) => logs.extend(found.into_iter().map(|log| (folder, log))),
                Err(error) => {
                    result.failures.push(failure(&folder.session_id, &folder.path, self.shown(&error.to_string())))
                }
            }
        }
        let mut going = Vec::new();
        for (folder, log) in logs {
            if let Some(candidate) = self.judge(folder, &log, options, &mut result) {
                going.push((candidate, log));
            }
        }
        going.sort_by(|(one, _), (other, _)| {
            one.created_at.cmp(&other.created_at).then_with(|| one.path.cmp(&other.path))
        });
        for (candidate, log) in going {
            if options.dry_run {
                result.bytes = result.bytes.saturating_add(candidate.bytes);
            } else {
                self.remove(&candidate, &log, options, &mut result);
            }
            result.candidates.push(candidate);
        }
        for (folder, changed_at) in folders.iter().zip(changed) {
            clear_folder(folder, changed_at, &mut result);
        }
        Ok(result)
    }

    fn judge(
        &self,
        folder: &SessionFolder,
        log: &LogFile,
        options: &TaskCleanup,
        result: &mut CleanupResult,
    ) -> Option<CleanupCandidate> {
        let task = match agent_task_store::read_task(&log.path, &folder.session_id) {
            Ok(task) => task,
            Err(why) => {
                let why = format!("it cannot be read: {}", self.shown(&why));
                result.failures.push(failure(&folder.session_id, &log.path, why));
                return None;
            }
        };
        if let Some(why) = options.keeps(&task) {
            let (session_id, path) = (folder.session_id.clone(), log.path.clone());
            result.kept.push(CleanupKept { session_id, path, why });
            return None;
        }
        if let Some(why) = agent_task_store::held_by(log) {
            result.failures.push(failure(&folder.session_id, &log.path, why));
            return None;
        }
        Some(CleanupCandidate {
            session_id: folder.session_id.clone(),
            artifact_id: None,
            path: log.path.clone(),
            bytes: agent_task_store::bytes_with_torn_ends(log),
            created_at: task.updated_at().into(),
            reason: CleanupReason::TaskEnded(task.status()),
        })
    }

    /// What was judged is looked at once more under the lock.
    fn remove(&self, candidate: &CleanupCandidate, log: &LogFile, options: &TaskCleanup, result: &mut CleanupResult) {
        let id = &candidate.session_id;
        match agent_task_store::remove(log, id, |task| options.keeps(task).is_none()) {
            Ok(Some(bytes)) => {
                result.removed += 1;
                result.bytes = result.bytes.saturating_add(bytes);
            }
            Ok(None) => result.failures.push(failure(id, &log.path, "it changed meanwhile".to_owned())),
            // Somebody else cleans up as well.
            Err(_)
                if fs::symlink_metadata(&log.path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) => {
            }
            Err(why) => result.failures.push(failure(id, &log.path, self.shown(&why))),
        }
    }
}

/// A folder in which nothing is left goes. In a dry run: nothing but what would go.
fn clear_folder(folder: &SessionFolder, created_at: Timestamp, result: &mut CleanupResult) {
    let going: HashSet<&Path> = match result.dry_run {
        true => result.candidates.iter().map(|candidate| candidate.path.as_path()).collect(),
        false => HashSet::new(),
    };
    let stays = |path: &Path| {
        let log_of_torn = path.to_str().and_then(|path| path.rsplit_once(".torn-")).map(|(log, _)| Path::new(log));
        !going.contains(path) && !log_of_torn.is_some_and(|log| going.contains(log))
    };
    let Ok(entries) = fs::read_dir(&folder.path) else { return };
    if entries.into_iter().any(|entry| entry.is_ok_and(|entry| stays(&entry.path()))) {
        return;
    }
    let candidate = CleanupCandidate {
        session_id: folder.session_id.clone(),
        artifact_id: None,
        path: folder.path.clone(),
        bytes: 0,
        created_at,
        reason: CleanupReason::EmptyFolder,
    };
    if !result.dry_run {
        match fs::remove_dir(&folder.path) {
            Ok(()) => result.removed += 1,
            // A Task was made in it meanwhile, or somebody else cleans up as well.
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::DirectoryNotEmpty | std::io::ErrorKind::NotFound) =>
            {
                return;
            }
            Err(error) => result.failures.push(failure(&folder.session_id, &folder.path, error.to_string())),
        }
    }
    result.candidates.push(candidate);
}

fn changed_at(folder: &Path) -> Timestamp {
    let modified = fs::metadata(folder).and_then(|metadata| metadata.modified());
    super::timestamp(modified.unwrap_or(std::time::UNIX_EPOCH))
}

fn failure(session_id: &SessionId, path: &Path, message: String) -> CleanupFailure {
    CleanupFailure { session_id: session_id.clone(), artifact_id: None, path: Some(path.to_owned()), message }
}
