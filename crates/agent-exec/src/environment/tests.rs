use super::env_from_allowlist;
use std::ffi::OsString;

fn source(name: &str) -> Option<OsString> {
    match name {
        "PATH" => Some("/bin".into()),
        "HOME" => Some("/home/u".into()),
        "SECRET" => Some("s3cret".into()),
        "EMPTY" => Some("".into()),
        "NUL" => Some("a\0b".into()),
        "" | "A=B" => Some("never asked".into()),
        _ => None,
    }
}

#[track_caller]
fn check(allow: &[&str], expected: &[(&str, &str)]) {
    let allow: Vec<String> = allow.iter().map(|name| (*name).to_owned()).collect();
    let expected: Vec<(OsString, OsString)> = expected.iter().map(|(k, v)| (k.into(), v.into())).collect();
    assert_eq!(env_from_allowlist(&allow, &source), expected);
}

/// COD-7: only what is on the list comes through.
#[test]
fn only_listed_and_set_variables_pass() {
    check(&["PATH", "HOME", "TMPDIR"], &[("PATH", "/bin"), ("HOME", "/home/u")]);
    check(&[], &[]);
    check(&["EMPTY"], &[("EMPTY", "")]);
}

#[test]
fn order_is_the_lists_and_names_come_once() {
    check(&["HOME", "PATH", "HOME"], &[("HOME", "/home/u"), ("PATH", "/bin")]);
}

#[test]
fn what_no_environment_can_hold_is_left_out() {
    check(&["", "A=B", "NUL", "PATH"], &[("PATH", "/bin")]);
}
