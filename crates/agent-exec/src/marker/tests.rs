use super::{CALL_MARKER, Marker};
use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

fn block(value: &OsStr) -> Vec<u8> {
    [b"A=1\0", CALL_MARKER.as_bytes(), b"=", value.as_bytes(), b"\0Z=2\0"].concat()
}

#[test]
fn ids_differ_from_call_to_call() {
    let ids: HashSet<OsString> = (0..1000).map(|_| Marker::new().value(None)).collect();
    assert_eq!(ids.len(), 1000);
}

#[test]
fn a_block_is_recognised_by_the_whole_id_only() {
    let (mine, other) = (Marker::new(), Marker::new());
    assert!(mine.is_in(&block(&mine.value(None))));
    assert!(!mine.is_in(&block(&other.value(None))));
    let mut longer = mine.value(None);
    longer.push("0");
    assert!(!mine.is_in(&block(&longer)));
    assert!(!mine.is_in(&[b"X", &block(&mine.value(None))[4..]].concat()), "another variable with our name inside");
    assert!(!mine.is_in(b""));
}

#[test]
fn an_inner_call_is_found_by_the_outer_one_but_not_the_other_way_round() {
    let (outer, inner) = (Marker::new(), Marker::new());
    let outer_value = outer.value(None);
    let nested = inner.value(Some(&outer_value));
    assert!(outer.is_in(&block(&nested)));
    assert!(inner.is_in(&block(&nested)));
    assert!(!inner.is_in(&block(&outer_value)));
}

#[test]
fn the_last_entry_of_an_environment_counts() {
    let env = [(CALL_MARKER.into(), "a".into()), ("B".into(), "x".into()), (CALL_MARKER.into(), "b".into())];
    assert_eq!(Marker::outer(&env), Some(OsStr::new("b")));
    assert_eq!(Marker::outer(&env[1..2]), None);
}
