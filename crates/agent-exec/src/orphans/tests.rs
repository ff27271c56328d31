use super::{Call, Ledger, Process};
use crate::marker::Marker;

/// Our process 10 in session 9, with two programs: 100, started at 50, and 200, started at 60.
fn ledger(ending: &[i32]) -> Ledger {
    let call = |leader| Call { id: 0, leader, marker: Marker::new(), ending: ending.contains(&leader) };
    Ledger { adopts: true, closed: false, next: 0, calls: vec![call(100), call(200)] }
}

fn process(pid: i32, parent: i32, session: i32, started: u64) -> Process {
    Process { pid, parent, group: session, session, started, alive: true }
}

fn table(orphan: &Process) -> Vec<Process> {
    vec![process(100, 10, 100, 50), process(200, 10, 200, 60), orphan.clone()]
}

#[test]
fn orphans_are_children_that_nobody_has_started() {
    let ledger = ledger(&[]);
    let is_orphan = |process: &Process| ledger.orphans(&table(process), (10, 9)).contains(&process);
    assert!(is_orphan(&process(300, 10, 300, 70)));
    assert!(is_orphan(&process(300, 10, 299, 70)), "its session has lost its leader");
    assert!(!is_orphan(&process(300, 1, 300, 70)), "somebody else's");
    assert!(!is_orphan(&process(300, 10, 9, 70)), "in our session: not started here, but no orphan of a call");
    assert!(!is_orphan(&process(200, 10, 200, 60)), "a program");
    // In a container whose session was started outside of it.
    let in_container = |process: &Process| ledger.orphans(&table(process), (10, 0)).contains(&process);
    assert!(in_container(&process(300, 10, 300, 70)) && !in_container(&process(300, 10, 0, 70)));
}

#[track_caller]
fn check(orphan: &Process, ending: &[i32], carried: Option<i32>, falls_to: &[i32]) {
    let ledger = ledger(ending);
    let marker = |leader| ledger.calls.iter().find(|call| call.leader == leader).unwrap().marker.clone();
    let carried = carried.map(marker);
    // Carried by value: a marker is in a block that holds its id.
    let carries = |_: &Process, marker: &Marker| {
        let block = |marker: &Marker| [b"SOONG_AGENT_CALL=", marker.value(None).as_encoded_bytes(), b"\0"].concat();
        carried.as_ref().is_some_and(|carried| marker.is_in(&block(carried)))
    };
    let found: Vec<i32> =
        [100, 200].into_iter().filter(|leader| ledger.falls_to(*leader, orphan, &table(orphan), carries)).collect();
    assert_eq!(found, falls_to, "{orphan:?}");
}

#[test]
fn an_orphan_falls_to_the_last_call_it_can_be_of() {
    let late = process(300, 10, 300, 70);
    check(&late, &[], None, &[]);
    check(&late, &[100], None, &[200]);
    check(&late, &[200], None, &[100]);
    check(&late, &[100, 200], None, &[100, 200]);
    // Before the second program was started.
    check(&process(300, 10, 300, 55), &[], None, &[100]);
}

#[test]
fn an_orphan_that_is_tied_to_a_call_is_that_calls() {
    check(&process(300, 10, 200, 70), &[100, 200], None, &[200]);
    check(&process(300, 10, 300, 70), &[100, 200], Some(100), &[100]);
}
