//! Artifacts that may go (ART-3). Nothing is ever deleted unasked (ART-4).

mod oldest;
mod result;

use std::collections::HashSet;

use agent_protocol::{ArtifactId, ErrorPayload, SessionId, Timestamp};
use agent_store::{ArtifactInfo, ClaimedSession, FileFailure, PlacedArtifact, SessionFilter, StoreError, StrayFile};

use futures::FutureExt;
use futures::future::BoxFuture;

pub use result::{ArtifactCleanup, CleanupCandidate, CleanupFailure, CleanupKept, CleanupReason, CleanupResult};

use crate::archive::Archive;
use crate::error::ArchiveError;
use oldest::Oldest;

/// Sessions and artifacts read at once.
const PAGE: u32 = 500;

/// Asks whoever holds a session to give it up; fails where it is at work.
type Release<'r> = &'r (dyn Fn(SessionId) -> BoxFuture<'r, Result<(), ErrorPayload>> + Sync);

impl Archive {
    /// Finds artifacts that may go, and deletes them unless it is a dry run (ART-3). Files that no artifact names go
    /// whatever their kind and size.
    ///
    /// Sessions that somebody owns are passed over and told, as is everything that could not be removed. In memory are the
    /// candidates, not what was looked at.
    ///
    /// # Errors
    /// If there is no such session, or the store cannot be read.
    pub async fn cleanup_artifacts(&self, options: &ArtifactCleanup) -> Result<CleanupResult, ArchiveError> {
        self.cleanup_releasing(options, &|_| std::future::ready(Ok(())).boxed()).await
    }

    /// The same for who may hold sessions itself: `release` is asked before a session is claimed.
    ///
    /// # Errors
    /// As [`cleanup_artifacts`](Self::cleanup_artifacts).
    #[doc(hidden)]
    pub async fn cleanup_releasing(
        &self,
        options: &ArtifactCleanup,
        release: Release<'_>,
    ) -> Result<CleanupResult, ArchiveError> {
        let mut result = CleanupResult {
            dry_run: options.dry_run,
            candidates: Vec::new(),
            kept: Vec::new(),
            removed: 0,
            bytes: 0,
            failures: Vec::new(),
        };
        let covered = self.covered(options, &mut result.failures).await?;
        let strays = self.strays(options).await?;
        result.candidates = covered;
        if options.dry_run {
            self.pass_over_sessions_in_use(&mut result).await?;
        } else {
            self.delete(&mut result, release).await;
        }
        for stray in strays {
            let candidate = of_stray(&stray);
            if !options.dry_run {
                self.delete_stray(&stray, &candidate, &mut result).await;
            }
            result.candidates.push(candidate);
        }
        if options.dry_run {
            let bytes = result.candidates.iter().map(|candidate| candidate.bytes);
            result.bytes = bytes.fold(0, u64::saturating_add);
        }
        Ok(result)
    }

    /// Covered artifacts that may go, the oldest first.
    async fn covered(
        &self,
        options: &ArtifactCleanup,
        failures: &mut Vec<CleanupFailure>,
    ) -> Result<Vec<CleanupCandidate>, ArchiveError> {
        let mut too_much = None;
        if let Some(max_bytes) = options.max_bytes {
            let mut total = 0_u64;
            self.each_covered(options, |artifact| total = total.saturating_add(bytes_of(artifact))).await?;
            too_much = Some(total.saturating_sub(max_bytes));
        }
        let mut oldest = Oldest::new(too_much);
        let damaged = self.each_covered(options, |artifact| {
            if is_older(&artifact.artifact.created_at, options) {
                oldest.add(candidate(artifact, options));
            }
        });
        failures.extend(damaged.await?);
        Ok(oldest.sorted())
    }

    /// Looks at every covered artifact once, page by page. Gives the sessions that are left alone, since something of them cannot
    /// be read.
    async fn each_covered(
        &self,
        options: &ArtifactCleanup,
        mut look: impl FnMut(&PlacedArtifact) + Send,
    ) -> Result<Vec<CleanupFailure>, ArchiveError> {
        if let Some(id) = &options.session_id {
            self.session_row(id).await?;
            self.each_of_session(id, options, &mut look).await?;
            return Ok(Vec::new());
        }
        let mut damaged = Vec::new();
        // A run that begins meanwhile moves its session to another place of the list.
        let (mut seen, mut offset) = (HashSet::new(), 0);
        loop {
            let page = self.told(self.archive.list_sessions(&SessionFilter::default(), PAGE, offset).await)?;
            offset += u32::try_from(page.len()).unwrap_or(PAGE);
            let last = page.len() < PAGE as usize;
            for summary in page {
                let id = match summary {
                    Ok(summary) => summary.session.session_id,
                    // What is no id names no folder; the list of sessions tells of it.
                    Err(named) => match SessionId::parse(&named.session) {
                        Ok(id) => id,
                        Err(_) => continue,
                    },
                };
                if !seen.insert(id.clone()) {
                    continue;
                }
                match self.each_of_session(&id, options, &mut look).await {
                    Err(ArchiveError::Store(error)) if error.is_damage() => {
                        damaged.push(passed_over(&id, ArchiveError::from(error).payload()));
                    }
                    looked => looked?,
                }
            }
            if last {
                return Ok(damaged);
            }
        }
    }

    async fn each_of_session(
        &self,
        id: &SessionId,
        options: &ArtifactCleanup,
        look: &mut (impl FnMut(&PlacedArtifact) + Send),
    ) -> Result<(), ArchiveError> {
        let mut after = None;
        loop {
            let page = self.told(self.archive.artifacts(id, after, PAGE).await)?;
            let last = page.len() < PAGE as usize;
            let covered = |artifact: &&PlacedArtifact| options.include_all || is_for_debugging(&artifact.artifact);
            page.iter().filter(covered).for_each(&mut *look);
            after = page.into_iter().next_back().map(|artifact| artifact.place);
            if last {
                return Ok(());
            }
        }
    }

    async fn strays(&self, options: &ArtifactCleanup) -> Result<Vec<StrayFile>, ArchiveError> {
        let mut strays = self.told(self.archive.stray_files(options.session_id.as_ref()).await)?;
        strays.retain(|stray| is_older(&stray.modified, options));
        strays.sort_by(|one, other| one.modified.cmp(&other.modified));
        Ok(strays)
    }

    /// A dry run says what a real one would pass over. Sessions of this very process may be given up for it.
    async fn pass_over_sessions_in_use(&self, result: &mut CleanupResult) -> Result<(), ArchiveError> {
        let own = std::process::id();
        let mut in_use = HashSet::new();
        for id in sessions_of(&result.candidates) {
            if let Some(owner) = self.told(self.archive.owner(&id).await)?.filter(|owner| owner.pid != own) {
                let error = StoreError::SessionActive { session_id: id.clone(), owner: Some(owner) };
                result.failures.push(passed_over(&id, ArchiveError::from(error).payload()));
                in_use.insert(id);
            }
        }
        result.candidates.retain(|candidate| !in_use.contains(&candidate.session_id));
        Ok(())
    }

    async fn delete(&self, result: &mut CleanupResult, release: Release<'_>) {
        for id in sessions_of(&result.candidates) {
            let of_session = result.candidates.iter().filter(|candidate| candidate.session_id == id);
            let ids: Vec<_> = of_session.filter_map(|candidate| candidate.artifact_id.clone()).collect();
            let deleted = match release(id.clone()).await {
                Ok(()) => self.delete_of_session(&id, ids, result).await.map_err(|error| error.payload()),
                Err(error) => Err(error),
            };
            if let Err(error) = deleted {
                result.failures.push(passed_over(&id, error));
            }
        }
    }

    async fn delete_of_session(
        &self,
        id: &SessionId,
        artifacts: Vec<ArtifactId>,
        result: &mut CleanupResult,
    ) -> Result<(), ArchiveError> {
        let ClaimedSession { lease, .. } = self.claim(id).await?;
        for some in artifacts.chunks(PAGE as usize) {
            let deleted = self.told(self.archive.delete_artifacts(&lease, some.to_vec()).await)?;
            result.removed += deleted.deleted.len() as u64;
            result.bytes += deleted.bytes;
            let failures = deleted.failures.into_iter();
            result.failures.extend(failures.map(|FileFailure { path, message }| CleanupFailure {
                session_id: id.clone(),
                artifact_id: None,
                path: Some(path),
                message,
            }));
        }
        Ok(())
    }

    async fn delete_stray(&self, stray: &StrayFile, candidate: &CleanupCandidate, result: &mut CleanupResult) {
        let message = match self.archive.delete_stray(stray).await {
            Ok(true) => {
                result.removed += 1;
                result.bytes += candidate.bytes;
                return;
            }
            Ok(false) => "it was left: its session is in use, or an artifact names it by now".to_owned(),
            Err(error) => self.screen.error(error).payload().message,
        };
        result.failures.push(CleanupFailure {
            session_id: stray.session_id.clone(),
            artifact_id: None,
            path: Some(stray.path.clone()),
            message,
        });
    }
}

fn candidate(placed: &PlacedArtifact, options: &ArtifactCleanup) -> CleanupCandidate {
    let artifact = &placed.artifact;
    CleanupCandidate {
        session_id: artifact.session_id.clone(),
        artifact_id: Some(artifact.artifact_id.clone()),
        path: artifact.path.clone(),
        bytes: bytes_of(placed),
        created_at: artifact.created_at.clone(),
        reason: reason(placed, options),
    }
}

fn of_stray(stray: &StrayFile) -> CleanupCandidate {
    CleanupCandidate {
        session_id: stray.session_id.clone(),
        artifact_id: None,
        path: stray.path.clone(),
        bytes: stray.bytes,
        created_at: stray.modified.clone(),
        reason: CleanupReason::Stray,
    }
}

fn reason(placed: &PlacedArtifact, options: &ArtifactCleanup) -> CleanupReason {
    match options {
        _ if !placed.file_exists => CleanupReason::FileMissing,
        ArtifactCleanup { max_bytes: Some(_), .. } => CleanupReason::OverMaxBytes,
        ArtifactCleanup { older_than: Some(_), .. } => CleanupReason::Older,
        _ if is_for_debugging(&placed.artifact) => CleanupReason::DebugArtifact,
        _ => CleanupReason::Asked,
    }
}

fn is_for_debugging(artifact: &ArtifactInfo) -> bool {
    let kind = artifact.metadata.get("kind").and_then(serde_json::Value::as_str);
    matches!(kind, Some("debug" | "raw"))
}

fn is_older(moment: &Timestamp, options: &ArtifactCleanup) -> bool {
    is_before(moment, options.older_than.as_ref())
}

/// Whether a moment lies before a limit, if there is one.
pub(crate) fn is_before(moment: &Timestamp, limit: Option<&Timestamp>) -> bool {
    limit.is_none_or(|limit| moment < limit)
}

/// What its deletion frees.
fn bytes_of(placed: &PlacedArtifact) -> u64 {
    if placed.file_exists { placed.artifact.size_bytes } else { 0 }
}

/// Each session once, in the order of the candidates.
fn sessions_of(candidates: &[CleanupCandidate]) -> Vec<SessionId> {
    let mut seen = HashSet::new();
    candidates.iter().map(|candidate| &candidate.session_id).filter(|id| seen.insert(*id)).cloned().collect()
}

fn passed_over(id: &SessionId, error: ErrorPayload) -> CleanupFailure {
    CleanupFailure { session_id: id.clone(), artifact_id: None, path: None, message: error.message }
}

#[cfg(test)]
mod tests;
