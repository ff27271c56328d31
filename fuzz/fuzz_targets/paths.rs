//! Any path and any word of a command: the rules about paths answer consistently, and never panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// Parts that mean something to the rules, so that the fuzzer does not have to spell them.
const PARTS: &[&str] = &[
    "..", ".", "", "~", "$HOME", "t", "ws", "out", "home", "u", ".ssh", ".SSH", "id_rsa", "ID_RSA", ".env", ".env.local",
    ".git", ".GIT", "config", ".soong-agent", "plans", "tasks", "memory", "sessions.sqlite-wal", "proc", "self", "environ",
    "a.pem", "\u{212a}ey", "e\u{301}", "x",
];

#[derive(Debug, arbitrary::Arbitrary)]
struct Case<'a> {
    parts: Vec<Part<'a>>,
    word: &'a str,
}

#[derive(Debug, arbitrary::Arbitrary)]
enum Part<'a> {
    Known(u8),
    Raw(&'a [u8]),
}

fuzz_target!(|case: Case<'_>| {
    let mut path = Vec::new();
    for part in case.parts {
        path.push(b'/');
        match part {
            Part::Known(at) => path.extend_from_slice(PARTS[usize::from(at) % PARTS.len()].as_bytes()),
            Part::Raw(bytes) => path.extend_from_slice(bytes),
        }
    }
    let written = String::from_utf8_lossy(&path).into_owned();
    agent_policy::fuzzing::path_rules(&path, case.word);
    agent_policy::fuzzing::path_rules(&path, &written);
});
