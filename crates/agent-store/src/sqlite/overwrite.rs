//! Deleting so that the file does not keep what was deleted.

use rusqlite::Connection;

use super::fault::Outcome;
use super::sql;

/// Does `work` while SQLite overwrites with zeros whatever is deleted, whole pages included.
pub(super) fn overwriting<T>(conn: &Connection, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    let set = |sql| conn.query_row(sql, [], |_| Ok(()));
    set(sql::OVERWRITE)?;
    let done = work();
    set(sql::OVERWRITE_CHEAPLY)?;
    done
}
