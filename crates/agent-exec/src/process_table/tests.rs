use super::Process;
use super::linux::{parse, table};

const REST: &str = "S 7 42 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 200 18446744073709551615 0 0";

/// A program may call itself whatever it likes.
#[test]
fn a_line_is_read_whatever_the_name() {
    let expected = Process { pid: 43, parent: 7, group: 42, session: 41, started: 98765, alive: true };
    for name in [&b"sh"[..], b"a b", b") Z 1 (", b"\xff\n)"] {
        let line = [b"43 (", name, b") ", REST.as_bytes(), b"\n"].concat();
        assert_eq!(parse(&line).as_ref(), Some(&expected));
    }
}

#[test]
fn what_is_no_line_is_no_process() {
    for line in ["", "43", "43 (sh", "43 (sh)", "43 (sh) S 7 42", "x (sh) S 1 2 3"] {
        assert_eq!(parse(line.as_bytes()), None, "{line}");
    }
}

#[test]
fn the_real_table_holds_our_parent_but_not_us() {
    let table = table().expect("a /proc");
    let has = |pid: u32| table.iter().any(|process| u32::try_from(process.pid) == Ok(pid));
    assert!(has(std::os::unix::process::parent_id()));
    assert!(!has(std::process::id()));
}
