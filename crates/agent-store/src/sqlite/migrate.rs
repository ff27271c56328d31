//! The schema and its versions (STO-4).

use rusqlite::{Connection, params};

use super::fault::{Fault, Outcome, Site};
use super::sql;
use crate::{Clock, StoreError};

/// "SOON" in the file's header; set by the first migration.
const APPLICATION_ID: i64 = 0x534F_4F4E;

/// One step of the schema: a transaction of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Migration {
    /// Counts from 1, without gaps.
    pub(super) version: u32,
    /// For messages and `schema_migrations`.
    pub(super) name: &'static str,
    /// Statements, separated by semicolons.
    pub(super) sql: &'static str,
}

/// All steps, oldest first. A step that has been released never changes.
pub(super) const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "initial", sql: include_str!("migrations/0001_initial.sql") },
    Migration { version: 2, name: "archive", sql: include_str!("migrations/0002_archive.sql") },
];

/// The version of the database's schema; 0 for an empty file.
///
/// # Errors
/// [`StoreError::ForeignFile`] if the file is not ours.
pub(super) fn version(conn: &Connection, site: &Site) -> Outcome<u32> {
    // In this order: another process may be making the schema, which comes together with the id.
    let is_empty: bool = conn.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))?;
    let application: i64 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    match application {
        APPLICATION_ID => Ok(conn.query_row("SELECT max(version) FROM schema_migrations", [], |row| row.get(0))?),
        0 if is_empty => Ok(0),
        _ => Err(StoreError::ForeignFile { path: site.path.clone() }.into()),
    }
}

/// Refuses a database that a newer version of the program has written.
pub(super) fn refuse_newer(version: u32, migrations: &[Migration], site: &Site) -> Outcome<()> {
    let known = migrations.last().map_or(0, |newest| newest.version);
    if version > known {
        return Err(StoreError::NewerVersion { path: site.path.clone(), found: version, known }.into());
    }
    Ok(())
}

/// Takes the steps after `version`, each wholly or not at all.
pub(super) fn run(
    conn: &Connection,
    site: &Site,
    clock: &Clock,
    version: u32,
    migrations: &[Migration],
) -> Outcome<()> {
    migrations.iter().filter(|step| step.version > version).try_for_each(|step| take(conn, site, clock, step))
}

fn take(conn: &Connection, site: &Site, clock: &Clock, step: &Migration) -> Outcome<()> {
    conn.execute_batch(sql::BEGIN)?;
    let taken = take_inside(conn, site, clock, step).and_then(|()| Ok(conn.execute_batch(sql::COMMIT)?));
    if taken.is_err() && !conn.is_autocommit() {
        conn.execute_batch(sql::ROLLBACK)?;
    }
    taken.map_err(|fault| match fault {
        Fault::Store(error) => error.into(),
        fault @ Fault::Sqlite(_) => Fault::Store(StoreError::Migration {
            path: site.path.clone(),
            version: step.version,
            name: step.name,
            source: fault.into_cause(),
        }),
    })
}

/// Looks at the version again first: another process may have taken the step while this one waited for the lock.
fn take_inside(conn: &Connection, site: &Site, clock: &Clock, step: &Migration) -> Outcome<()> {
    if version(conn, site)? >= step.version {
        return Ok(());
    }
    conn.execute_batch(step.sql)?;
    conn.execute(
        "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?1, ?2, ?3)",
        params![step.version, step.name, clock.now().as_str()],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests;
