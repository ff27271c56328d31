use super::{HEAD, is_for_a_shell, is_program};
use std::{env, path::Path};

#[track_caller]
fn check(head: &[u8], expected: bool) {
    assert_eq!(is_program(head), expected, "{}", head.escape_ascii());
}

/// EXEC-14: what Linux does not execute is no program, so that no shell gets it.
#[test]
fn texts_are_no_programs() {
    for head in [&b""[..], b"a,b\n1,2\n", b"touch ran", b"caf\xe9,1\n", b" #!/bin/sh\n", b"\xef\xbb\xbf#!/bin/sh\n"] {
        check(head, false);
    }
    check(b"touch ran\n\0", false);
}

#[test]
fn scripts_name_an_interpreter() {
    for head in [&b"#!/bin/sh\n"[..], b"#! /bin/sh", b"#!\t/usr/bin/env -S a b\nx", b"#!x"] {
        check(head, true);
    }
    for head in [&b"#!"[..], b"#!\n", b"#! \t\n/bin/sh\n", b"#!\0"] {
        check(head, false);
    }
    let long = |line: &str| format!("#!/{line}").into_bytes()[..HEAD].to_vec();
    check(&long(&"x".repeat(HEAD)), false);
    check(&long(&format!("x {}", "y".repeat(HEAD))), true);
}

/// What the system can be taught is left to it: other machines' programs, Java, WebAssembly, Windows, Python's bytecode.
#[test]
fn binary_formats_are_left_to_the_system() {
    for head in [
        &b"\x7fELF\x02\x01\x01\0\0\0"[..],
        b"\xca\xfe\xba\xbe\0\0\0\x41",
        b"\0asm\x01\0\0\0",
        b"MZ\x90\0\x03\0",
        b"\xcb\r\r\n\0\0\0\0",
    ] {
        check(head, true);
    }
}

#[test]
fn real_programs_are_programs() {
    let own = env::current_exe().unwrap();
    for program in [Path::new("/bin/sh"), &own] {
        assert!(!is_for_a_shell(program), "{}", program.display());
    }
    assert!(!is_for_a_shell(Path::new("/no/such/file")), "that is another error");
}
