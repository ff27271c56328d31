//! Lists: sessions with what people know them by, runs, agents, artifacts.

use std::path::Path;
use std::sync::Arc;

use agent_protocol::{ContentBlock, Object, RunId, RuntimeEvent, SessionId};
use rusqlite::{Connection, Row, params};

use super::fault::{Outcome, Site};
use super::fields::Fields;
use super::read::{self, all, first};
use super::{decode, sql};
use crate::archive::{ArtifactPlace, DamagedSession, PlacedArtifact, SessionFilter, SessionSummary};
use crate::error::StoreError;
use crate::rows::{AgentInfo, RunInfo, SessionInfo};

/// Characters of a first message: more than a list shows, so that whoever takes secrets out of it sees them whole.
const FIRST_MESSAGE: usize = 4000;
/// Sorts behind every character of an id.
const BEHIND: char = char::MAX;
/// Key in a node's metadata that says that core speaks in the user's place.
pub(super) const SYNTHETIC: &str = "synthetic";

pub(super) fn sessions(
    conn: &Connection,
    site: &Site,
    filter: &SessionFilter,
    limit: u32,
    offset: u32,
) -> Outcome<Vec<Result<SessionSummary, DamagedSession>>> {
    let read = |row: &Row<'_>| Ok(decode::session(row).map_err(|error| (Fields::id_of(row), error)));
    let rows = match &filter.cwd {
        Some(cwd) => all(conn, sql::SESSIONS_OF_PROJECT, params![limit, offset, cwd], read)?,
        None => all(conn, sql::SESSIONS, [limit, offset], read)?,
    };
    let listed = |row: Result<SessionInfo, (String, StoreError)>| match row {
        Ok(session) => {
            let id = session.session_id.to_string();
            unless_damaged(summary(conn, session), site, id)
        }
        Err((session, error)) => unless_damaged(Err(error.into()), site, session),
    };
    rows.into_iter().map(listed).collect()
}

/// What was read of a session, or why it cannot be. Any other failure ends the work.
pub(super) fn unless_damaged<T>(read: Outcome<T>, site: &Site, session: String) -> Outcome<Result<T, DamagedSession>> {
    match read {
        Ok(value) => Ok(Ok(value)),
        Err(fault) => {
            let error = fault.damage(site, "read a session of")?;
            Ok(Err(DamagedSession { session, error }))
        }
    }
}

pub(super) fn session(conn: &Connection, session_id: &SessionId) -> Outcome<Option<SessionSummary>> {
    read::session(conn, session_id)?.map(|session| summary(conn, session)).transpose()
}

/// Ids that begin so.
pub(super) fn beginning(conn: &Connection, prefix: &str, limit: u32) -> Outcome<Vec<SessionId>> {
    let end = format!("{prefix}{BEHIND}");
    let ids = all(conn, sql::SESSIONS_BEGINNING, params![prefix, end, limit], |row| {
        // What is no id begins none; lists name it as damaged.
        Ok(Fields::of("sessions", row).parsed(SessionId::parse).ok())
    });
    Ok(ids?.into_iter().flatten().collect())
}

/// What a list says of a session.
pub(super) fn summary(conn: &Connection, session: SessionInfo) -> Outcome<SessionSummary> {
    let in_short = first(conn, sql::RUNS_IN_SHORT, [session.session_id.as_str()], |row| {
        let mut fields = Fields::of("sessions", row);
        fields.text()?;
        Ok((fields.optional(RunId::parse)?, fields.count()?))
    })?;
    let (last_run_id, runs) =
        in_short.ok_or_else(|| StoreError::SessionNotFound { session_id: session.session_id.clone() })?;
    let last_run = last_run_id.map(|run_id| last_run(conn, &session.session_id, &run_id)).transpose()?;
    let first_message = first_message(conn, &session)?;
    Ok(SessionSummary { session, runs, last_run, first_message })
}

#[derive(Debug, thiserror::Error)]
#[error("there is no run {0}")]
struct NoSuchRun(RunId);

fn last_run(conn: &Connection, session_id: &SessionId, run_id: &RunId) -> Outcome<RunInfo> {
    read::run(conn, run_id)?.ok_or_else(|| {
        let (id, column) = (session_id.to_string(), "last_run_id".to_owned());
        StoreError::CorruptRow { table: "sessions", id, column, source: Arc::new(NoSuchRun(run_id.clone())) }.into()
    })
}

/// The beginning of what the user said first, if it is text.
fn first_message(conn: &Connection, session: &SessionInfo) -> Outcome<Option<String>> {
    let mut statement = conn.prepare_cached(sql::FIRST_MESSAGES)?;
    let mut rows = statement.query(params![session.session_id.as_str(), session.root_agent_id.as_str(), 0])?;
    while let Some(row) = rows.next()? {
        let mut fields = Fields::of("nodes", row);
        fields.text()?;
        if fields.json::<Object>()?.contains_key(SYNTHETIC) {
            continue;
        }
        let content: Vec<ContentBlock> = fields.json()?;
        return Ok(content.into_iter().find_map(|block| match block {
            ContentBlock::Text(text) => Some(cut(text.text, FIRST_MESSAGE)),
            _ => None,
        }));
    }
    Ok(None)
}

/// At most so many characters, and a mark where there were more.
fn cut(text: String, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        // A copy, so that the rest of a long one does not stay in memory.
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

pub(super) fn runs(conn: &Connection, session_id: &SessionId, limit: u32, offset: u32) -> Outcome<Vec<RunInfo>> {
    all(conn, sql::RUNS, params![session_id.as_str(), limit, offset], decode::run)
}

pub(super) fn last_question(conn: &Connection, run_id: &RunId) -> Outcome<Option<RuntimeEvent>> {
    first(conn, sql::LAST_QUESTION, [run_id.as_str()], decode::event)
}

pub(super) fn agents(conn: &Connection, session_id: &SessionId) -> Outcome<Vec<Result<AgentInfo, StoreError>>> {
    all(conn, sql::AGENTS, [session_id.as_str()], |row| Ok(decode::agent(row)))
}

pub(super) fn artifacts(
    conn: &Connection,
    sessions_dir: &Path,
    session_id: &SessionId,
    after: Option<&ArtifactPlace>,
    limit: u32,
) -> Outcome<Vec<PlacedArtifact>> {
    // Every place is greater than the empty one, that of a damaged row too.
    let (seq, id) = after.map_or((i64::MIN, ""), |place| (stored(place.seq), place.artifact_id.as_str()));
    all(conn, sql::ARTIFACTS, params![session_id.as_str(), seq, id, limit], |row| {
        let (artifact, seq) = decode::placed_artifact(row, sessions_dir)?;
        let place = ArtifactPlace { seq, artifact_id: artifact.artifact_id.clone() };
        let file_exists = artifact.path.symlink_metadata().is_ok_and(|meta| meta.is_file());
        Ok(PlacedArtifact { place, artifact, file_exists })
    })
}

/// A place as the database counts; there is none beyond.
fn stored(seq: u64) -> i64 {
    i64::try_from(seq).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        for (text, characters, expected) in
            [("", 3, ""), ("aäb", 3, "aäb"), ("aäbc", 3, "aäb…"), ("日本語", 2, "日本…")]
        {
            assert_eq!(cut(text.to_owned(), characters), expected);
        }
    }
}
