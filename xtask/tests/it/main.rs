//! The program as people run it: what it prints where, and how it ends.

use std::process::{Command, Output};

use agent_testkit::{MODEL, Protocol, Reply, ScriptedServer};

fn probe(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("probe").args(arguments).output();
    output.unwrap_or_else(|e| panic!("start the program: {e}"))
}

/// Runs one check against a server that answers like this: exit code, table, and what stood beside it.
#[track_caller]
fn ends(reply: Reply, code: i32, result: &str) {
    let server = ScriptedServer::start_blocking();
    server.push(reply);
    let base_url = server.base_url(Protocol::Ollama);
    let words = ["--provider", "ollama", "--base-url", &base_url, "--model", MODEL, "--only", "answer"];
    let output = probe(&words);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{stdout}{stderr}");
    assert!(stdout.contains(&format!("| answer | {result}")), "{stdout}");
    assert!(stderr.starts_with("answer: "), "{stderr}");
}

#[test]
fn exit_codes_say_how_it_went() {
    ends(Reply::text("One, two, three").chunks(3), 0, "pass");
    ends(Reply::text("One, two, three"), 1, "FAIL");
}

#[test]
fn wrong_usage_has_a_code_of_its_own() {
    for wrong in [
        &["--provider", "ollama"][..],
        &["--provider", "olama", "--base-url", "http://127.0.0.1:1", "--model", "m"],
        &["--provider", "ollama", "--base-url", "http://127.0.0.1:1", "--model", "m", "--only", "nothing"],
    ] {
        let output = probe(wrong);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{wrong:?}");
        assert!(!output.stderr.is_empty());
    }
    assert_eq!(probe(&["--list"]).status.code(), Some(0));
}
