use super::{Census, Process};
use crate::marker::Marker;

const LEADER: i32 = 100;

/// `pid parent group session started`; a trailing `Z` makes a zombie, an `m` a carrier of the marker.
fn row(line: &str) -> (Process, bool) {
    let (numbers, flag) = line.split_at(line.find(['Z', 'm']).unwrap_or(line.len()));
    let numbers: Vec<i32> = numbers.split_whitespace().map(|n| n.parse().unwrap()).collect();
    let [pid, parent, group, session, started] = numbers[..] else { panic!("five numbers: {line}") };
    let started = u64::try_from(started).unwrap();
    (Process { pid, parent, group, session, started, alive: flag != "Z" }, flag == "m")
}

fn select(census: &Census, table: &[&str]) -> Vec<Process> {
    let rows: Vec<(Process, bool)> = table.iter().map(|line| row(line)).collect();
    let table: Vec<Process> = rows.iter().map(|(process, _)| process.clone()).collect();
    census.select(&table, |process| rows.iter().any(|(row, marked)| *marked && row == process))
}

#[track_caller]
fn check(table: &[&str], expected: &[i32]) {
    let mut pids: Vec<i32> =
        select(&Census::new(LEADER, Marker::new()), table).iter().map(|process| process.pid).collect();
    pids.sort_unstable();
    assert_eq!(pids, expected);
}

#[test]
fn the_session_belongs_to_the_call_in_whatever_group() {
    check(&["100 1 100 100 50", "101 100 100 100 51", "102 1 102 100 52", "90 1 90 90 60"], &[100, 101, 102]);
}

#[test]
fn zombies_are_gone() {
    check(&["100 1 100 100 50 Z", "101 100 100 100 51 Z", "102 1 100 100 52"], &[102]);
}

/// COD-7: descendants that carry the call's marker are found wherever they went.
#[test]
fn carriers_of_the_marker_belong_to_the_call() {
    check(&["100 1 100 100 50 Z", "200 1 200 200 60 m", "201 1 201 201 61"], &[200]);
}

#[test]
fn descendants_are_found_through_the_chain_of_parents() {
    let table =
        ["100 1 100 100 50", "302 301 302 302 62", "301 300 301 301 61", "300 100 300 300 60", "303 9 303 303 60"];
    check(&table, &[100, 300, 301, 302]);
}

#[test]
fn nothing_older_than_the_program_belongs_to_it() {
    check(&["100 1 100 100 50", "40 100 40 40 49", "41 1 41 41 49 m"], &[100]);
}

#[test]
fn a_member_stays_known_but_its_recycled_pid_does_not() {
    let mut census = Census::new(LEADER, Marker::new());
    census.known =
        select(&census, &["100 1 100 100 50", "300 100 300 300 60"]).iter().map(|p| (p.pid, p.started)).collect();
    assert_eq!(select(&census, &["300 1 300 300 60"]).len(), 1);
    assert_eq!(select(&census, &["300 1 300 300 70"]).len(), 0);
}
