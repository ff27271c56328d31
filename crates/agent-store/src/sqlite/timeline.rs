//! Replay: events, nodes and artifacts of a session or a run, page by page (STO-9).
//!
//! Events lead. A node comes with the event that names it first, together with the nodes before it that nobody has named;
//! an artifact comes with the event it was stored with. So each of the three lists is in order, over all pages.

use std::path::Path;

use agent_protocol::{AgentId, NodeId, RunId, SessionId};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use super::decode::{self, EventReader};
use super::fault::Outcome;
use super::fields::Fields;
use super::read::{self, all, exists};
use super::sql;
use crate::archive::{DamagedEntry, ReplayCursor, ReplayPage, ReplayScope};
use crate::error::StoreError;

/// Events on a page.
const EVENTS: usize = 512;
/// Bytes of bodies on a page. A body that is larger has a page of its own.
const BYTES: usize = 1 << 20;
/// The last place there can be.
const END: u64 = i64::MAX as u64;

pub(super) fn replay(
    conn: &Connection,
    sessions_dir: &Path,
    scope: &ReplayScope,
    after: ReplayCursor,
) -> Outcome<ReplayPage> {
    let span = Span::of(conn, scope)?;
    let page =
        ReplayPage { events: Vec::new(), nodes: Vec::new(), artifacts: Vec::new(), damaged: Vec::new(), next: None };
    let mut filling = Filling { conn, span: &span, page, bytes: 0, at: after };
    if after == ReplayCursor::default() {
        filling.at.node_seq = span.node_before(conn)?;
        filling.tell_misplaced()?;
    }
    let full = filling.take_events()? || (span.is_open(conn)? && filling.take_nodes(END)?);
    filling.take_artifacts(sessions_dir, after, full)?;
    filling.page.next = full.then_some(filling.at);
    Ok(filling.page)
}

/// What is to be replayed.
struct Span {
    session_id: SessionId,
    /// Places of events, both included.
    from: u64,
    to: u64,
    agent_id: Option<AgentId>,
    run_id: Option<RunId>,
}

impl Span {
    fn of(conn: &Connection, scope: &ReplayScope) -> Outcome<Self> {
        match scope {
            ReplayScope::Session { session_id, from_seq, to_seq, agent_id } => {
                if !exists(conn, sql::SESSION_IS_HERE, [session_id.as_str()])? {
                    return Err(StoreError::SessionNotFound { session_id: session_id.clone() }.into());
                }
                Ok(Self {
                    session_id: session_id.clone(),
                    from: from_seq.unwrap_or(1).clamp(1, END),
                    to: to_seq.unwrap_or(END).min(END),
                    agent_id: agent_id.clone(),
                    run_id: None,
                })
            }
            ReplayScope::Run(run_id) => {
                let run = read::run(conn, run_id)?.ok_or_else(|| StoreError::RunNotFound { run_id: run_id.clone() })?;
                let (session_id, run_id) = (run.session_id, Some(run.run_id));
                Ok(Self { session_id, from: 1, to: END, agent_id: None, run_id })
            }
        }
    }

    fn agent(&self) -> Option<&str> {
        self.agent_id.as_ref().map(AgentId::as_str)
    }

    fn run(&self) -> Option<&str> {
        self.run_id.as_ref().map(RunId::as_str)
    }

    /// The last node that belongs to events before the span.
    fn node_before(&self, conn: &Connection) -> Outcome<u64> {
        if self.from == 1 {
            return Ok(0);
        }
        let named = conn
            .prepare_cached(sql::PLACE_NAMED_BEFORE)?
            .query_row(params![self.session_id.as_str(), self.from, self.agent()], |row| {
                row.get::<_, Option<u64>>(0)
            })?;
        Ok(named.unwrap_or(0))
    }

    /// Whether it goes to the end of the timeline, so that what no event names is in it.
    fn is_open(&self, conn: &Connection) -> Outcome<bool> {
        Ok(self.to == END || !exists(conn, sql::EVENT_BEYOND, params![self.session_id.as_str(), self.to])?)
    }

    fn has_node(&self, row: &Row<'_>) -> Outcome<bool> {
        // Columns of NODES; what does not belong here is not even decoded.
        let is = |at, wanted: Option<&str>, prefix: &str| -> Outcome<bool> {
            let own = |wanted| match row.get_ref(at).map(|value| value.as_str()) {
                // What names nobody is damaged, and told.
                Ok(Ok(named)) => named == wanted || !named.starts_with(prefix),
                _ => true,
            };
            Ok(wanted.is_none_or(own))
        };
        Ok(is(4, self.agent(), AgentId::PREFIX)? && is(5, self.run(), RunId::PREFIX)?)
    }
}

/// The place that a column holds; 0 where it holds none. A damaged one may be a fraction.
fn place(row: &Row<'_>, column: usize) -> u64 {
    match row.get_ref(column) {
        Ok(ValueRef::Integer(place)) => u64::try_from(place).unwrap_or(0),
        Ok(ValueRef::Real(place)) => (place as u64).min(END),
        _ => 0,
    }
}

#[derive(Debug, thiserror::Error)]
#[error("it has no place among the others")]
struct NoPlace;

/// A page being filled.
struct Filling<'a> {
    conn: &'a Connection,
    span: &'a Span,
    page: ReplayPage,
    bytes: usize,
    /// What has been given out.
    at: ReplayCursor,
}

impl Filling<'_> {
    /// Takes events with what belongs to them; whether the page is full.
    fn take_events(&mut self) -> Outcome<bool> {
        let conn = self.conn;
        let (span, limit) = (self.span, EVENTS as u64 + 1);
        if self.at.seq >= END {
            return Ok(false);
        }
        let mut taken = 0;
        let mut statement;
        let mut rows = if let Some(run) = span.run() {
            let after = self.run_seq()?;
            statement = conn.prepare_cached(sql::RUN_EVENTS)?;
            statement.query(params![run, after, limit])?
        } else {
            let from = span.from.max(self.at.seq.saturating_add(1));
            statement = conn.prepare_cached(sql::EVENT_SPAN)?;
            statement.query(params![span.session_id.as_str(), from, span.to, span.agent(), limit])?
        };
        let mut reader = EventReader::default();
        let mut named: Option<NodeId> = None;
        while let Some(row) = rows.next()? {
            let size = decode::event_size(row);
            if taken == EVENTS || !self.has_room(size) {
                return Ok(true);
            }
            taken += 1;
            let event = match reader.event(row) {
                Ok(event) => event,
                Err(error) => {
                    self.damaged(error);
                    self.at.seq = place(row, 1).max(self.at.seq);
                    continue;
                }
            };
            if event.node_id.is_some() && event.node_id != named {
                named.clone_from(&event.node_id);
                // The event stays with the nodes it names, even where these have filled the page.
                if self.take_nodes_to(named.as_ref())? {
                    return Ok(true);
                }
            }
            self.bytes += size;
            self.at.seq = event.seq.unwrap_or(self.at.seq);
            self.page.events.push(event);
        }
        Ok(false)
    }

    /// Where the run's events go on.
    fn run_seq(&self) -> Outcome<u64> {
        if self.at.seq == 0 {
            return Ok(0);
        }
        let (session, seq) = (self.span.session_id.as_str(), self.at.seq);
        let found = self.conn.prepare_cached(sql::RUN_SEQ_OF_EVENT)?.query_row(params![session, seq], |row| row.get(0));
        match found {
            // It is told as misplaced, and what comes behind it cannot be known.
            Err(rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::IntegralValueOutOfRange(..)) => Ok(END),
            Err(rusqlite::Error::QueryReturnedNoRows) => {
                let (session_id, id) = (self.span.session_id.clone(), seq.to_string());
                Err(StoreError::NotInSession { session_id, kind: "event numbered", id }.into())
            }
            found => Ok(found?),
        }
    }

    /// Takes the nodes up to one that an event names; whether the page is full. An event may name a node that was never
    /// stored.
    fn take_nodes_to(&mut self, node_id: Option<&NodeId>) -> Outcome<bool> {
        let Some(node_id) = node_id else { return Ok(false) };
        let mut statement = self.conn.prepare_cached(sql::PLACE_OF_NODE)?;
        let mut rows = statement.query([node_id.as_str()])?;
        match rows.next()? {
            Some(row) => {
                let place = place(row, 0);
                self.take_nodes(place)
            }
            None => Ok(false),
        }
    }

    /// Takes the nodes up to a place; whether the page is full.
    fn take_nodes(&mut self, to: u64) -> Outcome<bool> {
        if to <= self.at.node_seq {
            return Ok(false);
        }
        let mut statement = self.conn.prepare_cached(sql::NODES)?;
        let mut rows = statement.query(params![self.span.session_id.as_str(), self.at.node_seq + 1, to])?;
        while let Some(row) = rows.next()? {
            if self.span.has_node(row)? {
                let size = decode::node_size(row);
                if !self.has_room(size) {
                    return Ok(true);
                }
                self.bytes += size;
                match decode::node(row) {
                    Ok(node) => self.page.nodes.push(node),
                    Err(error) => self.damaged(error),
                }
            }
            self.at.node_seq = place(row, 2).max(self.at.node_seq);
        }
        Ok(false)
    }

    /// Takes the artifacts that stand between where the page began and where it ends.
    fn take_artifacts(&mut self, sessions_dir: &Path, after: ReplayCursor, full: bool) -> Outcome<()> {
        // Those from before places were kept stand at 0, before everything.
        let from = match (after.seq, self.span.from) {
            (0, 1) => 0,
            (seq, from) => from.max(seq.saturating_add(1)),
        };
        let to = if full {
            self.at.seq
        } else if self.span.is_open(self.conn)? {
            END
        } else {
            self.span.to
        };
        if after.seq >= END || (full && self.at.seq == after.seq) {
            // Nodes alone have filled it.
            return Ok(());
        }
        let span = self.span;
        let params = params![span.session_id.as_str(), from, to, span.agent(), span.run()];
        let read = |row: &Row<'_>| Ok(decode::artifact(row, sessions_dir));
        for artifact in all(self.conn, sql::ARTIFACT_SPAN, params, read)? {
            match artifact {
                Ok(artifact) => self.page.artifacts.push(artifact),
                Err(error) => self.damaged(error),
            }
        }
        Ok(())
    }

    /// A row that cannot be read stands where it would have stood.
    fn damaged(&mut self, error: StoreError) {
        self.page.damaged.push(DamagedEntry { after: self.at.seq, error });
    }

    /// Rows that have no place come first, where the whole of a session or run is asked for.
    fn tell_misplaced(&mut self) -> Outcome<()> {
        let (session, run) = (self.span.session_id.as_str(), self.span.run());
        let wanted: &[(&'static str, &'static str, &str)] = match run {
            Some(run) => &[("events", sql::MISPLACED_RUN_EVENTS, run)],
            None if self.span.from == 1 => &[
                ("events", sql::MISPLACED_EVENTS, session),
                ("nodes", sql::MISPLACED_NODES, session),
                ("artifacts", sql::MISPLACED_ARTIFACTS, session),
            ],
            None => &[],
        };
        for (table, sql, of) in wanted {
            // All of them are damaged, whatever the place holds instead.
            let misplaced = all(self.conn, sql, [*of], |row| {
                let mut fields = Fields::of(table, row);
                let _ = fields.text();
                Ok(fields.count::<u64>().err().unwrap_or_else(|| fields.corrupt(NoPlace)))
            });
            misplaced?.into_iter().for_each(|error| self.damaged(error));
        }
        Ok(())
    }

    /// Whether a body fits. The first one always does.
    fn has_room(&self, size: usize) -> bool {
        (self.page.events.is_empty() && self.page.nodes.is_empty()) || self.bytes + size <= BYTES
    }
}
