use super::*;
use crate::Clock;
use crate::sqlite::database::open_to_write;
use crate::sqlite::fault::Site;
use rusqlite::Connection;
use std::time::Duration;

fn database(name: &str) -> Connection {
    let path = agent_testkit::scratch(name).join("sessions.sqlite");
    open_to_write(&Site { path, busy_timeout: Duration::ZERO }, &Clock::system()).unwrap()
}

fn plan(conn: &Connection, sql: &str) -> Vec<String> {
    let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let mut rows = statement.raw_query();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        lines.push(row.get("detail").unwrap());
    }
    lines
}

/// DB-14, PERF-2: no statement walks a table or sorts one, so none becomes slower with other sessions' data.
#[test]
fn every_statement_looks_up_and_none_scans() {
    let conn = database("plans");
    let mut planned = 0;
    for (name, sql) in ALL {
        for line in plan(&conn, sql) {
            let scans = line.starts_with("SCAN") && line != "SCAN spine" && line != "SCAN CONSTANT ROW";
            // What has not ended is few rows, found by index.
            let sorts = line.starts_with("USE TEMP B-TREE") && *name != "UNFINISHED_RUNS";
            assert!(!scans && !sorts, "{name}: {line}");
            planned += 1;
        }
    }
    assert!(planned > 20, "only {planned} plan lines were looked at");
}

/// PERF-5: the walk along a path touches the covering index alone, never a body.
#[test]
fn a_path_is_walked_without_bodies() {
    let lines = plan(&database("spine"), SPINE);
    let lookups: Vec<_> = lines.iter().filter(|line| line.contains("nodes") || line.contains("parent")).collect();
    assert_eq!(lookups.len(), 2, "{lines:#?}");
    assert!(lookups.iter().all(|line| line.contains("COVERING INDEX nodes_spine")), "{lines:#?}");
}
