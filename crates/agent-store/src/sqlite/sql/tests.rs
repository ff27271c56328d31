use super::*;
use crate::settings::Clock;
use crate::sqlite::database::open_to_write;
use crate::sqlite::fault::Site;
use rusqlite::Connection;
use std::time::Duration;

fn database(name: &str) -> Connection {
    let path = agent_testkit::scratch(name).join("sessions.sqlite");
    let conn = open_to_write(&Site::new(path, Duration::ZERO), &Clock::system()).unwrap().conn;
    conn.execute_batch(MAKE_INDEX).unwrap();
    conn
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

/// Statements that may walk or sort, what the planner says of it, and why they may.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("UNFINISHED_RUNS", "USE TEMP B-TREE", "what has not ended is few rows, found by index"),
    ("CHILDREN", "USE TEMP B-TREE", "the children of a run are few, found by index"),
    ("HAS_INDEX", "SCAN sqlite_schema", "the names of our tables and indices, once a search"),
    ("SESSIONS", "SCAN sessions USING INDEX sessions_by_use", "in order, and no further than the list is long"),
];

/// The index of words is looked up by a word (`M`) or by row ids (`=`, `><`).
fn is_bounded_by_index(line: &str) -> bool {
    line.strip_prefix("SCAN search_text VIRTUAL TABLE INDEX ")
        .and_then(|plan| plan.split_once(':'))
        .is_some_and(|(_, by)| by.starts_with('M') || by == "=" || by == "><")
}

/// DB-14, PERF-2: no statement walks a table or sorts one, so none becomes slower with other sessions' data.
#[test]
fn every_statement_looks_up_and_none_scans() {
    let conn = database("plans");
    let mut planned = 0;
    for (name, sql) in ALL {
        for line in plan(&conn, sql) {
            let scans = line.starts_with("SCAN")
                && line != "SCAN spine"
                && line != "SCAN CONSTANT ROW"
                && !is_bounded_by_index(&line);
            let sorts = line.starts_with("USE TEMP B-TREE");
            let excepted = EXCEPTIONS.iter().any(|(statement, part, _)| statement == name && line.starts_with(part));
            assert!(excepted || !scans && !sorts, "{name}: {line}");
            planned += 1;
        }
    }
    assert!(planned > 20, "only {planned} plan lines were looked at");
}

/// FND-14: what a session left unfinished is found by its status, without a look at the runs that have ended.
#[test]
fn unfinished_runs_are_found_by_their_status() {
    let lines = plan(&database("unfinished"), UNFINISHED_RUNS);
    assert!(lines.iter().any(|line| line.contains("runs_of_session (session_id=? AND status=?)")), "{lines:#?}");
}

/// The search asks every session whether it has something new; each is asked by looking at the ends of two indices.
#[test]
fn what_is_to_be_indexed_is_found_by_looking_up() {
    let lines = plan(&database("to-index"), SESSIONS_TO_INDEX);
    for expected in [
        "SEARCH sessions USING PRIMARY KEY (session_id>?)",
        "SEARCH search_sessions USING INDEX sqlite_autoindex_search_sessions_1 (session_id=?) LEFT-JOIN",
        "SEARCH nodes USING COVERING INDEX sqlite_autoindex_nodes_2 (session_id=?)",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected} is not in {lines:#?}");
    }
}

/// PERF-5: the walk along a path touches the covering index alone, never a body.
#[test]
fn a_path_is_walked_without_bodies() {
    let lines = plan(&database("spine"), SPINE);
    let lookups: Vec<_> = lines.iter().filter(|line| line.contains("nodes") || line.contains("parent")).collect();
    assert_eq!(lookups.len(), 2, "{lines:#?}");
    assert!(lookups.iter().all(|line| line.contains("COVERING INDEX nodes_spine")), "{lines:#?}");
}
