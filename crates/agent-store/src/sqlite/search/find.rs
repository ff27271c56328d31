//! Finding sessions by words.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use agent_protocol::{Node, SessionId};
use rusqlite::{Connection, params};

use super::excerpt::Marker;
use super::row_id::{first_row, last_row, place_of, session_of};
use super::words::Query;
use crate::archive::{DamagedSession, SearchHit, SessionFilter};
use crate::error::StoreError;
use crate::sqlite::fault::{Fault, Outcome, Site};
use crate::sqlite::fields::Fields;
use crate::sqlite::read::first;
use crate::sqlite::{decode, listing, read, sql};

/// A session in which all words occur.
struct Found {
    number: i64,
    session_id: String,
    used: Option<u64>,
    read: Result<SessionId, StoreError>,
}

/// How many of the words each node has that has one.
type Tally = BTreeMap<u64, usize>;

/// Those of damaged sessions that the filter lets through.
pub(in super::super) fn of_project(
    conn: &Connection,
    mut damaged: Vec<DamagedSession>,
    filter: &SessionFilter,
) -> Outcome<Vec<DamagedSession>> {
    if let Some(cwd) = &filter.cwd {
        let mut kept = Vec::with_capacity(damaged.len());
        for session in damaged {
            if read::exists(conn, sql::SESSION_OF_PROJECT, [session.session.as_str(), cwd])? {
                kept.push(session);
            }
        }
        damaged = kept;
    }
    Ok(damaged)
}

pub(in super::super) fn find(
    conn: &Connection,
    site: &Site,
    query: &Query,
    filter: &SessionFilter,
    limit: u32,
    offset: u32,
) -> Outcome<Vec<Result<SearchHit, DamagedSession>>> {
    let mut found = Vec::new();
    for number in sessions_with_all(conn, query)? {
        found.extend(session(conn, number, filter)?);
    }
    found.sort_by(|a, b| (Reverse(a.used), Reverse(&a.session_id)).cmp(&(Reverse(b.used), Reverse(&b.session_id))));
    let chosen: Vec<Found> = found.into_iter().skip(offset as usize).take(limit as usize).collect();
    let mut tallies = tallies(conn, query, &chosen)?;
    let marker = Marker::new()?;
    let mut hits = Vec::with_capacity(chosen.len());
    for found in chosen {
        let tally = tallies.remove(&found.number).unwrap_or_default();
        let read = found.read.map_err(Fault::from).and_then(|id| hit(conn, query, &marker, &tally, &id));
        hits.push(listing::unless_damaged(read, site, found.session_id)?);
    }
    Ok(hits)
}

/// The numbers of the sessions in which every word occurs, in any of their nodes.
fn sessions_with_all(conn: &Connection, query: &Query) -> Outcome<Vec<i64>> {
    let mut sessions: Option<Vec<i64>> = None;
    for word in query.words() {
        let mut with_word = Vec::new();
        each_row(conn, word, (0, i64::MAX), |row| {
            if with_word.last() != Some(&session_of(row)) {
                with_word.push(session_of(row));
            }
        })?;
        if let Some(before) = sessions {
            // Both are in order.
            with_word.retain(|number| before.binary_search(number).is_ok());
        }
        if with_word.is_empty() {
            return Ok(with_word);
        }
        sessions = Some(with_word);
    }
    Ok(sessions.unwrap_or_default())
}

/// Tells the rows with a word between two row ids, in their order.
fn each_row(conn: &Connection, word: &str, (from, to): (i64, i64), mut tell: impl FnMut(i64)) -> Outcome<()> {
    let mut statement = conn.prepare_cached(sql::TEXTS_WITH)?;
    let mut rows = statement.query(params![word, from, to])?;
    while let Some(row) = rows.next()? {
        tell(row.get(0)?);
    }
    Ok(())
}

/// A session by its number, if the filter lets it through.
fn session(conn: &Connection, number: i64, filter: &SessionFilter) -> Outcome<Option<Found>> {
    first(conn, sql::NUMBERED_SESSION, params![number, filter.cwd], |row| {
        let mut fields = Fields::of("sessions", row);
        let id = fields.parsed(SessionId::parse);
        let (used, read) = match (fields.optional_count(), id) {
            (Ok(used), read) => (used, read),
            (Err(error), read) => (None, read.and(Err(error))),
        };
        Ok(Found { number, session_id: Fields::id_of(row), used, read })
    })
}

/// Which nodes of these sessions have how many of the words: one walk for each word, however many sessions.
fn tallies(conn: &Connection, query: &Query, chosen: &[Found]) -> Outcome<HashMap<i64, Tally>> {
    let mut tallies: HashMap<i64, Tally> = chosen.iter().map(|found| (found.number, Tally::new())).collect();
    let numbers = chosen.iter().map(|found| found.number);
    let (Some(least), Some(greatest)) = (numbers.clone().min(), numbers.max()) else { return Ok(tallies) };
    for word in query.words() {
        each_row(conn, word, (first_row(least), last_row(greatest)), |row| {
            if let Some(tally) = tallies.get_mut(&session_of(row)) {
                *tally.entry(place_of(row)).or_default() += 1;
            }
        })?;
    }
    Ok(tallies)
}

fn hit(conn: &Connection, query: &Query, marker: &Marker, tally: &Tally, session_id: &SessionId) -> Outcome<SearchHit> {
    let lost = || StoreError::CorruptRow {
        table: "search_sessions",
        id: session_id.to_string(),
        column: "indexed".to_owned(),
        source: Arc::new(LostNode),
    };
    // The last of those with most words.
    let best =
        tally.iter().max_by_key(|(place, words)| (**words, **place)).map(|(place, _)| *place).ok_or_else(lost)?;
    let node = node(conn, session_id, best)?.ok_or_else(lost)?;
    let session = read::session(conn, session_id)?.ok_or_else(lost)?;
    Ok(SearchHit {
        summary: listing::summary(conn, session)?,
        excerpt: marker.excerpt(&node.content, query)?,
        node_id: node.node_id,
        role: node.role,
        created_at: node.created_at,
        nodes: tally.len() as u64,
    })
}

fn node(conn: &Connection, session_id: &SessionId, place: u64) -> Outcome<Option<Node>> {
    first(conn, sql::NODES, params![session_id.as_str(), place, place], decode::node)
}

#[derive(Debug, thiserror::Error)]
#[error("the search index names a node that is not there")]
struct LostNode;
