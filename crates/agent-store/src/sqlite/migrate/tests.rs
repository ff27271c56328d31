use super::*;
use agent_testkit::scratch;
use std::path::PathBuf;
use std::time::Duration;

fn site(name: &str) -> Site {
    Site::new(scratch(name).join("sessions.sqlite"), Duration::from_secs(20))
}

fn open(site: &Site) -> Connection {
    let conn = Connection::open(&site.path).unwrap();
    conn.busy_timeout(site.busy_timeout).unwrap();
    conn
}

fn migrate(conn: &Connection, site: &Site, migrations: &[Migration]) -> Result<(), StoreError> {
    let version = version(conn, site).map_err(|fault| fault.at(site, "test"))?;
    run(conn, site, &Clock::new(|| 0), version, migrations).map_err(|fault| fault.at(site, "test"))
}

/// Everything the file holds, as text.
fn contents(conn: &Connection) -> String {
    let mut schema = conn.prepare("SELECT type || ' ' || name FROM sqlite_schema ORDER BY 1").unwrap();
    let mut lines: Vec<String> = schema.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    if lines.contains(&"table schema_migrations".to_owned()) {
        let mut versions = conn.prepare("SELECT version || ' ' || name FROM schema_migrations").unwrap();
        lines.extend(versions.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap));
    }
    let application: i64 = conn.query_row("PRAGMA application_id", [], |row| row.get(0)).unwrap();
    lines.push(format!("application {application}"));
    lines.join("\n")
}

fn leak(sql: String) -> &'static str {
    Box::leak(sql.into_boxed_str())
}

/// Steps that do the first `k` statements of `sql` and then fail.
fn failing_after(sql: &str, k: usize) -> Option<&'static str> {
    let statements: Vec<&str> = sql.split_inclusive(';').filter(|text| text.trim_end().ends_with(';')).collect();
    (k <= statements.len())
        .then(|| leak(format!("{}\nINSERT INTO no_such_table VALUES (1);", statements[..k].concat())))
}

/// DB-09, STO-4: a migration that fails after any of its statements leaves the version before it (an empty file before the
/// first), which the next try brings up to date.
#[test]
fn a_failed_migration_leaves_the_version_before() {
    for (place, good) in MIGRATIONS.iter().enumerate() {
        let mut tries = 0;
        while let Some(sql) = failing_after(good.sql, tries) {
            let site = site("failing-migration");
            let conn = open(&site);
            migrate(&conn, &site, &MIGRATIONS[..place]).unwrap();
            let before = contents(&conn);
            let steps = [&MIGRATIONS[..place], &[Migration { sql, ..*good }]].concat();
            let error = migrate(&conn, &site, &steps).unwrap_err();
            assert_eq!(error.code(), agent_protocol::ErrorCode::MigrationFailed);
            let named = format!("migration {} ({}) of /", good.version, good.name);
            assert!(error.to_string().starts_with(&named), "{error}");
            assert!(conn.is_autocommit());
            assert_eq!(contents(&conn), before, "{} after statement {tries}", good.name);
            migrate(&conn, &site, MIGRATIONS).unwrap();
            assert!(contents(&conn).contains(&format!("{} {}", good.version, good.name)));
            tries += 1;
        }
        assert!(tries > 1, "migration {} has statements", good.name);
    }
}

/// Tables and indices as they were defined, without blanks, and the rows that come with them.
fn defined(conn: &Connection) -> Vec<String> {
    let sql =
        "SELECT type || ' ' || name || ' of ' || tbl_name || ': ' || coalesce(sql, '') FROM sqlite_schema ORDER BY 1";
    let mut schema = conn.prepare(sql).unwrap();
    let lines = schema.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let mut lines: Vec<_> = lines.map(|line| line.unwrap().split_whitespace().collect::<String>()).collect();
    let states = "SELECT one || ' ' || dirty FROM search_state";
    lines.push(conn.query_row(states, [], |row| row.get::<_, String>(0)).unwrap());
    lines.push(contents(conn));
    lines
}

/// STO-4: a new database that is made at once is the one that all migrations make, word by word.
#[test]
fn a_new_database_is_what_the_migrations_make() {
    let (by_steps, at_once) = (site("by-steps"), site("at-once"));
    let (one, other) = (open(&by_steps), open(&at_once));
    migrate(&one, &by_steps, MIGRATIONS).unwrap();
    bring_up_to_date(&other, &at_once, &Clock::new(|| 0), 0).unwrap();
    assert!(defined(&one).len() > 20);
    assert_eq!(defined(&one), defined(&other));
}

/// DB-09, STO-4: a new database is made wholly or not at all, and the next try makes it.
#[test]
fn a_new_database_is_made_wholly() {
    let mut tries = 0;
    while let Some(sql) = failing_after(PRESENT, tries) {
        let site = site("failing-new");
        let conn = open(&site);
        let before = contents(&conn);
        let error = make(&conn, &site, &Clock::new(|| 0), sql).map_err(|fault| fault.at(&site, "test")).unwrap_err();
        assert_eq!(error.code(), agent_protocol::ErrorCode::MigrationFailed);
        assert!(conn.is_autocommit());
        assert_eq!(contents(&conn), before, "after statement {tries}");
        bring_up_to_date(&conn, &site, &Clock::new(|| 0), 0).unwrap();
        tries += 1;
    }
    assert!(tries > 20, "there are more than {tries} statements");
}

/// DB-09, STO-4: the same for a later one, which keeps schema and data of the version before.
#[test]
fn a_failed_later_migration_keeps_the_version_before() {
    let site = site("later-migration");
    let conn = open(&site);
    migrate(&conn, &site, MIGRATIONS).unwrap();
    let before = contents(&conn);
    let sql = "ALTER TABLE sessions ADD COLUMN colour TEXT; CREATE TABLE paints (name TEXT) STRICT; \
               DELETE FROM schema_migrations;";
    let newest = MIGRATIONS.last().unwrap().version + 1;
    let steps = |sql| [MIGRATIONS, &[Migration { version: newest, name: "paint", sql }]].concat();
    for k in 0..=3 {
        let error = migrate(&conn, &site, &steps(failing_after(sql, k).unwrap())).unwrap_err();
        let StoreError::Migration { version, name: "paint", .. } = error else { panic!("{error:?}") };
        assert_eq!(version, newest);
        assert_eq!(contents(&conn), before);
    }
    migrate(&conn, &site, &steps("CREATE TABLE paints (name TEXT) STRICT;")).unwrap();
    assert_eq!(version(&conn, &site).unwrap(), newest);
}

/// DB-09: processes that migrate at once wait for one another, and the step is taken once; older programs, which know fewer
/// steps, may be among them.
#[test]
fn migrations_at_the_same_time_end_equal() {
    for round in 0..4 {
        let site = site("together");
        open(&site).execute_batch("PRAGMA journal_mode = WAL").unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (site, known) = (&site, 1 + (thread + round) % MIGRATIONS.len());
                scope.spawn(move || match thread % 2 {
                    // As a program of that version does, whatever it finds.
                    0 => migrate(&open(site), site, &MIGRATIONS[..known]).unwrap(),
                    _ => {
                        let conn = open(site);
                        let found = version(&conn, site).unwrap();
                        bring_up_to_date(&conn, site, &Clock::new(|| 0), found).unwrap();
                    }
                });
            }
        });
        let conn = open(&site);
        let steps: i64 = conn.query_row("SELECT count(*) FROM schema_migrations", [], |row| row.get(0)).unwrap();
        assert_eq!(steps as usize, MIGRATIONS.len());
    }
}

/// STO-4: a step that waits for its turn and finds a newer schema takes nothing.
#[test]
fn versions_count_without_gaps() {
    for (place, step) in MIGRATIONS.iter().enumerate() {
        assert_eq!(step.version as usize, place + 1, "{}", step.name);
    }
    let newest = MIGRATIONS.last().unwrap().version;
    let site = Site::new(PathBuf::from("/x"), Duration::ZERO);
    assert!(refuse_newer(newest, MIGRATIONS, &site).is_ok());
    assert!(refuse_newer(newest + 1, MIGRATIONS, &site).is_err());
}
