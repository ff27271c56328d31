//! Filling the index and clearing it.

use agent_protocol::{ContentBlock, Object, SessionId};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use super::row_id::{first_row, last_row};
use super::text;
use crate::archive::DamagedSession;
use crate::error::StoreError;
use crate::sqlite::fault::{Outcome, Site};
use crate::sqlite::fields::Fields;
use crate::sqlite::listing::{self, SYNTHETIC};
use crate::sqlite::overwrite::overwriting;
use crate::sqlite::read::{self, all, first};
use crate::sqlite::sql;

/// Bytes of text that one transaction adds.
const TEXT: usize = 256 * 1024;
/// Nodes that one reading looks at.
const NODES: usize = 4_096;
/// Sessions that one reading looks at.
const SESSIONS: u32 = 512;
/// Pages of the index that one transaction rewrites.
const PAGES: i64 = 400;

/// What one transaction is to add.
pub(in super::super) struct Gathered {
    pub(in super::super) pieces: Vec<Piece>,
    /// Sessions that were read up to something that cannot be.
    pub(in super::super) damaged: Vec<DamagedSession>,
    /// The last session that is done with, if there may be more.
    pub(in super::super) next: Option<String>,
}

/// New nodes of one session.
pub(in super::super) struct Piece {
    session_id: String,
    /// The last place that was indexed before.
    from: u64,
    /// The last place that is indexed with it.
    to: u64,
    texts: Vec<(u32, String)>,
}

/// A session that has more than the index knows.
struct Behind {
    session_id: String,
    /// The last place that is indexed.
    indexed: u64,
    /// Whose words are indexed. What other agents said is no part of the conversation.
    root_agent_id: String,
}

/// Reads what the index lacks of the sessions after one; as much as one transaction takes.
pub(in super::super) fn gather(conn: &Connection, site: &Site, after: &str) -> Outcome<Gathered> {
    let behind =
        all(conn, sql::SESSIONS_TO_INDEX, params![after, SESSIONS], |row| Ok((Fields::id_of(row), read_behind(row))))?;
    let more = behind.len() == SESSIONS as usize;
    let (mut pieces, mut damaged, mut last) = (Vec::new(), Vec::new(), after.to_owned());
    let mut room = Room { text: TEXT, nodes: NODES };
    for (id, session) in behind {
        let (piece, read) = match session {
            Ok(session) => read_piece(conn, &session, &mut room),
            Err(error) => (None, Err(error.into())),
        };
        pieces.extend(piece);
        let unread = listing::unless_damaged(read, site, id.clone())?.err();
        let whole = unread.is_none();
        damaged.extend(unread);
        if room.is_used_up() && whole {
            // This session may not be done with: the next reading begins with it.
            return Ok(Gathered { pieces, damaged, next: Some(last) });
        }
        last = id;
        if room.is_used_up() {
            return Ok(Gathered { pieces, damaged, next: Some(last) });
        }
    }
    Ok(Gathered { pieces, damaged, next: more.then_some(last) })
}

fn read_behind(row: &Row<'_>) -> Result<Behind, StoreError> {
    let mut fields = Fields::of("search_sessions", row);
    let session_id = fields.text()?.to_owned();
    let indexed: u64 = fields.count()?;
    let last: Option<u64> = fields.optional_count()?;
    if last.is_some_and(|last| indexed > last) {
        return Err(fields.corrupt(BeyondItsEnd));
    }
    Ok(Behind { session_id, indexed, root_agent_id: fields.text()?.to_owned() })
}

#[derive(Debug, thiserror::Error)]
#[error("the search index says that it has more of the session than there is")]
struct BeyondItsEnd;

struct Room {
    text: usize,
    nodes: usize,
}

impl Room {
    fn is_used_up(&self) -> bool {
        self.text == 0 || self.nodes == 0
    }
}

/// What is new of a session, up to what cannot be read.
fn read_piece(conn: &Connection, session: &Behind, room: &mut Room) -> (Option<Piece>, Outcome<()>) {
    let (session_id, from) = (session.session_id.clone(), session.indexed);
    let mut piece = Piece { session_id, from, to: from, texts: Vec::new() };
    let read = fill(conn, session, room, &mut piece);
    ((piece.to > from).then_some(piece), read)
}

fn fill(conn: &Connection, session: &Behind, room: &mut Room, piece: &mut Piece) -> Outcome<()> {
    let mut statement = conn.prepare_cached(sql::NODES_TO_INDEX)?;
    let mut rows = statement.query(params![session.session_id, session.indexed])?;
    while !room.is_used_up()
        && let Some(row) = rows.next()?
    {
        let (place, text) = read_node(row, &session.root_agent_id)?;
        room.nodes -= 1;
        piece.to = place.into();
        if let Some(text) = text {
            room.text = room.text.saturating_sub(text.len());
            piece.texts.push((place, text::spaced(&text)));
        }
    }
    Ok(())
}

/// A node's place and what is to be found of it, if anything.
fn read_node(row: &Row<'_>, root_agent_id: &str) -> Result<(u32, Option<String>), StoreError> {
    let mut fields = Fields::of("nodes", row);
    fields.text()?;
    // A place that no session reaches is damage: its row in the index would be another session's.
    let place = fields.count()?;
    let (agent_id, role, node_type) = (fields.text()?, fields.text()?, fields.text()?);
    // The others' bodies are not even read.
    if agent_id != root_agent_id || node_type != "message" || !matches!(role, "user" | "assistant") {
        return Ok((place, None));
    }
    if fields.json::<Object>()?.contains_key(SYNTHETIC) {
        return Ok((place, None));
    }
    let content: Vec<ContentBlock> = fields.json()?;
    let text = text::of_message(&content);
    Ok((place, (!text.is_empty()).then_some(text)))
}

/// Whether there is an index at all.
pub(in super::super) fn exists(conn: &Connection) -> Outcome<bool> {
    read::exists(conn, sql::HAS_INDEX, [])
}

/// Makes it, unless somebody else has been faster.
pub(in super::super) fn make(tx: &Connection) -> Outcome<()> {
    Ok(tx.execute_batch(sql::MAKE_INDEX)?)
}

/// Adds pieces to the index, unless somebody else has been faster or the session is gone.
pub(in super::super) fn add(tx: &Connection, pieces: &[Piece]) -> Outcome<()> {
    for piece in pieces {
        let id = piece.session_id.as_str();
        tx.prepare_cached(sql::NUMBER_SESSION)?.execute([id])?;
        let mut set = tx.prepare_cached(sql::SET_INDEXED)?;
        let number: Option<i64> =
            set.query_map(params![id, piece.from, piece.to], |row| row.get(0))?.next().transpose()?;
        let Some(number) = number else { continue };
        let mut add = tx.prepare_cached(sql::ADD_TEXT)?;
        for (place, text) in &piece.texts {
            add.execute(params![first_row(number) + i64::from(*place), text])?;
        }
    }
    Ok(())
}

/// Takes a session out of the index. Its words remain in it, with nobody to find by them, until it is cleared.
pub(in super::super) fn forget(tx: &Connection, session_id: &SessionId) -> Outcome<()> {
    let number = first(tx, sql::NUMBER_OF_SESSION, [session_id.as_str()], |row| {
        Ok(match row.get_ref(0) {
            Ok(ValueRef::Integer(number)) => number,
            _ => 0, // No session has it.
        })
    })?;
    let Some(number) = number else { return Ok(()) };
    let texts = tx.prepare_cached(sql::DELETE_TEXTS)?.execute([first_row(number), last_row(number)])?;
    tx.prepare_cached(sql::DELETE_NUMBER)?.execute([session_id.as_str()])?;
    if texts > 0 {
        tx.prepare_cached(sql::SET_SEARCH_DIRTY)?.execute([true])?;
    }
    Ok(())
}

/// Whether the index holds words of what was deleted.
pub(in super::super) fn is_dirty(conn: &Connection) -> Outcome<bool> {
    // Where that cannot be read it is cleared, which costs little and tells it anew.
    let dirty = first(conn, sql::SEARCH_IS_DIRTY, [], |row| Ok(row.get(0).unwrap_or(true)))?;
    Ok(dirty.unwrap_or(true))
}

/// Does one step of clearing the index; whether there is more to do. What a killed process began, the next one ends.
pub(in super::super) fn clean(tx: &Connection) -> Outcome<bool> {
    if !is_dirty(tx)? {
        return Ok(false);
    }
    overwriting(tx, || {
        let before = tx.total_changes();
        // A negative number: all of the index goes into one piece, as in an `optimize` of so many pages.
        tx.prepare_cached(sql::MERGE_TEXTS)?.execute([-PAGES])?;
        // The statement itself counts as one change.
        let more = tx.total_changes() - before > 1;
        if !more {
            tx.prepare_cached(sql::SET_SEARCH_DIRTY)?.execute([false])?;
        }
        Ok(more)
    })
}
