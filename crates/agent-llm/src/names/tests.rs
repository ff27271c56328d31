use proptest::prelude::*;

use super::*;
use crate::testing::properties;

const TOOLS: [&str; 4] = ["code.read_file", "code.write_file", "internal.load_skill", "plain"];

#[track_caller]
fn check_wire(canonical: &str, expected: &str) {
    assert_eq!(NameTable::new(TOOLS).wire(canonical), expected);
}

fn legal(wire: &str) -> bool {
    !wire.is_empty()
        && wire.len() <= 64
        && !wire.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && wire.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// PRV-4, STRM-01: dots are mangled; everything else that servers refuse gets a readable start and a hash.
#[test]
fn names_fit_the_servers_pattern() {
    check_wire("internal.load_skill", "internal__load_skill");
    check_wire("plain", "plain");
    check_wire("unknown.tool", "unknown__tool");
    check_wire("mcp.files.read-all", "mcp__files__read-all");
    for odd in ["", "1st", "-x", "a b", "mcp.dateien.öffnen", "a/b", "x".repeat(65).as_str(), "a.".repeat(40).as_str()]
    {
        let table = NameTable::new([odd]);
        let wire = table.wire(odd);
        assert!(legal(&wire), "{odd:?} -> {wire:?}");
        assert_eq!(table.canonical(&wire), Some(odd));
        // The same with other tools around: history keeps its bytes.
        assert_eq!(NameTable::new(TOOLS).wire(odd), wire);
    }
}

/// PRV-4, STRM-01: a user's tool that is called what another is mangled to; both can be called, in any order of tools.
#[test]
fn collisions_are_separated() {
    let table = NameTable::new(["code.read_file", "code__read_file", "plain"]);
    assert_eq!(table.wire("code__read_file"), "code__read_file");
    let moved = table.wire("code.read_file");
    assert!(legal(&moved) && moved.starts_with("code__read_file_h"), "{moved}");
    assert_eq!(table.canonical(&moved), Some("code.read_file"));
    assert_eq!(table.canonical("code__read_file"), Some("code__read_file"));
    assert_eq!(table.canonical("code.read_file"), Some("code.read_file"));
    assert_eq!(table.wire("plain"), "plain");

    let turned = NameTable::new(["plain", "code__read_file", "code.read_file"]);
    assert_eq!((turned.wire("code.read_file"), turned.fingerprint()), (moved, table.fingerprint()));
    assert_ne!(table.fingerprint(), NameTable::new(TOOLS).fingerprint());
    assert_eq!(NameTable::new(TOOLS).fingerprint(), NameTable::new(["other"]).fingerprint());
}

/// STRM-14: what models do to names is undone; what fits no tool, or two, is no tool.
#[test]
fn names_come_back() {
    let table = NameTable::new(TOOLS);
    for said in [
        "code__read_file",
        "code.read_file",
        "code.read_file ",
        " code__read_file\n",
        "Code.Read_File",
        "functions.code__read_file",
        "functions.code_read_file",
        "functions.code.read_file",
        "default_api:code__read_file",
        "default_api.Code__Read_File",
    ] {
        assert_eq!(table.canonical(said), Some("code.read_file"), "{said:?}");
    }
    for said in ["", " ", "search_files", "read_file", "code.read_file2", "functions.", "codereadfile"] {
        assert_eq!(table.canonical(said), None, "{said:?}");
    }
    let two = NameTable::new(["code.read_file", "code_read_file"]);
    assert_eq!(two.canonical("code_read_file"), Some("code_read_file"));
    assert_eq!(two.canonical("Code-Read-File"), None);
}

#[test]
fn names_may_come_in_pieces() {
    let table = NameTable::new(TOOLS);
    assert!(table.begins_wire("code__re") && !table.begins_wire("code__read_filex"));
    assert!(table.has_wire("code__read_file") && !table.has_wire("code__re"));
}

proptest! {
    #![proptest_config(properties())]

    /// PRV-4: every set of names has legal wire names that lead back, each to its own.
    #[test]
    fn the_way_there_and_back(names in prop::collection::btree_set("[a-b._ é]{0,5}|[a.]{60,70}", 0..12)) {
        let table = NameTable::new(names.iter().map(String::as_str));
        for name in &names {
            let wire = table.wire(name);
            prop_assert!(legal(&wire), "{:?}", wire);
            prop_assert_eq!(table.canonical(&wire), Some(name.as_str()));
        }
    }
}
