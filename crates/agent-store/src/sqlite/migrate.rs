//! The schema and its versions (STO-4).

use rusqlite::{Connection, params};

use super::fault::{Fault, Outcome, Site};
use super::sql;
use crate::error::StoreError;
use crate::settings::Clock;

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
    Migration { version: 3, name: "rare_events", sql: include_str!("migrations/0003_rare_events.sql") },
    Migration { version: 4, name: "agents", sql: include_str!("migrations/0004_agents.sql") },
    Migration { version: 5, name: "path_checkpoints", sql: include_str!("migrations/0005_path_checkpoints.sql") },
    Migration { version: 6, name: "long_content", sql: include_str!("migrations/0006_long_content.sql") },
];

/// What all steps together make: a new database gets it at once, which costs little more than half of taking them one by one.
const PRESENT: &str = include_str!("migrations/present.sql");

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
        0 if has_our_tables(conn)? => Err(StoreError::Unmarked { path: site.path.clone() }.into()),
        _ => Err(StoreError::ForeignFile { path: site.path.clone() }.into()),
    }
}

/// The newest step that a database with our tables has taken.
pub(super) fn newest(conn: &Connection) -> Outcome<u32> {
    let newest: Option<u32> = conn.query_row("SELECT max(version) FROM schema_migrations", [], |row| row.get(0))?;
    Ok(newest.unwrap_or(0))
}

/// Takes all steps that a database with our tables lacks, whether it has its mark or not.
pub(super) fn run_all(conn: &Connection, site: &Site, clock: &Clock) -> Outcome<()> {
    conn.execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}"))?;
    run(conn, site, clock, newest(conn)?, MIGRATIONS)
}

/// Whether it could be one of ours that has lost its mark.
pub(super) fn has_our_tables(conn: &Connection) -> Outcome<bool> {
    const OURS: &str = "SELECT count(*) = 3 FROM sqlite_schema
        WHERE type = 'table' AND name IN ('schema_migrations', 'sessions', 'nodes')";
    Ok(conn.query_row(OURS, [], |row| row.get(0))?)
}

/// Refuses a database that a newer version of the program has written.
pub(super) fn refuse_newer(version: u32, migrations: &[Migration], site: &Site) -> Outcome<()> {
    let known = migrations.last().map_or(0, |newest| newest.version);
    if version > known {
        return Err(StoreError::NewerVersion { path: site.path.clone(), found: version, known }.into());
    }
    Ok(())
}

/// Brings a database of this version up to date; a new one gets the present schema at once.
pub(super) fn bring_up_to_date(conn: &Connection, site: &Site, clock: &Clock, mut version: u32) -> Outcome<()> {
    if version == 0 {
        make(conn, site, clock, PRESENT)?;
        // Somebody else may have been faster, and older or newer than this.
        version = self::version(conn, site)?;
        refuse_newer(version, MIGRATIONS, site)?;
    }
    run(conn, site, clock, version, MIGRATIONS)
}

/// Makes a new database wholly or not at all, unless another process has been faster.
fn make(conn: &Connection, site: &Site, clock: &Clock, sql: &str) -> Outcome<()> {
    let newest = MIGRATIONS.last().map_or((0, "none"), |newest| (newest.version, newest.name));
    wholly(conn, site, newest, || {
        if version(conn, site)? > 0 {
            return Ok(());
        }
        conn.execute_batch(sql)?;
        MIGRATIONS.iter().try_for_each(|step| note(conn, clock, step))
    })
}

/// Takes the steps after `version`, each wholly or not at all.
fn run(conn: &Connection, site: &Site, clock: &Clock, version: u32, migrations: &[Migration]) -> Outcome<()> {
    migrations.iter().filter(|step| step.version > version).try_for_each(|step| take(conn, site, clock, step))
}

/// Looks at the version again first: another process may have taken the step while this one waited for the lock.
fn take(conn: &Connection, site: &Site, clock: &Clock, step: &Migration) -> Outcome<()> {
    wholly(conn, site, (step.version, step.name), || {
        if version(conn, site)? >= step.version {
            return Ok(());
        }
        conn.execute_batch(step.sql)?;
        note(conn, clock, step)
    })
}

/// Notes that the schema has what this step makes.
fn note(conn: &Connection, clock: &Clock, step: &Migration) -> Outcome<()> {
    conn.execute(
        "INSERT INTO schema_migrations (version, name, applied_at) VALUES (?1, ?2, ?3)",
        params![step.version, step.name, clock.now().as_str()],
    )?;
    Ok(())
}

/// Does `work` in a transaction; what goes wrong is told with the version it was to lead to.
fn wholly(
    conn: &Connection,
    site: &Site,
    (version, name): (u32, &'static str),
    work: impl FnOnce() -> Outcome<()>,
) -> Outcome<()> {
    conn.execute_batch(sql::BEGIN)?;
    let done = work().and_then(|()| Ok(conn.execute_batch(sql::COMMIT)?));
    if done.is_err() && !conn.is_autocommit() {
        conn.execute_batch(sql::ROLLBACK)?;
    }
    done.map_err(|fault| match fault {
        Fault::Store(error) => error.into(),
        // Room, a lock, a limit: what any step may lack says nothing of this one.
        fault @ Fault::Sqlite(_) if fault.is_of_the_system() => fault,
        fault @ Fault::Sqlite(_) => {
            let (path, source) = (site.path.clone(), fault.into_cause());
            Fault::Store(StoreError::Migration { path, version, name, source })
        }
    })
}

#[cfg(test)]
mod tests;
