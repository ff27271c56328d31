//! The command `scripted-server`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use agent_testkit::{MODEL, TestHome};
use serde_json::json;

/// The running command, killed with the test.
struct Running {
    child: Child,
    line: String,
}

impl Running {
    fn start(home: &TestHome, arguments: &[&str]) -> Self {
        let mut child = command(home, arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, line }
    }

    /// Host and port from the line it printed.
    fn address(&self) -> &str {
        let url = self.line.strip_prefix("ollama=http://").expect(&self.line);
        url.split_once(' ').unwrap().0
    }

    /// The whole answer to one request, head included.
    fn ask(&self, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn command(home: &TestHome, arguments: &[&str]) -> Command {
    let mut command = home.command(env!("CARGO_BIN_EXE_scripted-server"));
    command.args(arguments);
    command
}

fn chat(history: usize) -> String {
    let mut messages = vec![json!({"role": "user", "content": "hi"})];
    messages.extend((0..history).map(|n| json!({"role": "assistant", "content": n.to_string()})));
    json!({"model": MODEL, "messages": messages, "stream": true}).to_string()
}

/// One script, all protocols, replies chosen by turn so that sessions do not disturb each other.
#[test]
fn the_command_serves_a_script() {
    let home = TestHome::new("command");
    home.write(
        "project/script.json",
        r#"{"select": "turn", "after": "last", "replies": [{"message": {"text": "zero"}}, {"message": {"text": "one"}}]}"#,
    );
    let server = Running::start(&home, &["--script", "script.json"]);
    let address = server.address();
    assert_eq!(server.line, format!("ollama=http://{address} openai=http://{address}/v1 anthropic=http://{address}\n"));
    for (path, history, text) in [
        ("/api/chat", 0, "zero"),
        ("/v1/chat/completions", 1, "one"),
        ("/api/chat", 7, "one"),
        ("/v1/chat/completions", 0, "zero"),
    ] {
        let answer = server.ask(path, &chat(history));
        assert!(
            answer.starts_with("HTTP/1.1 200 OK") && answer.contains(&format!("\"content\":\"{text}\"")),
            "{answer}"
        );
    }
    let hi = json!({"model": MODEL, "messages": [{"role": "user", "content": "hi"}], "stream": true, "max_tokens": 9});
    let answer = server.ask("/v1/messages", &hi.to_string());
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("\"text\":\"zero\""), "{answer}");
    assert!(server.ask("/api/chat", "{}").starts_with("HTTP/1.1 400 "));
}

#[test]
fn scripts_end_cycle_or_go_unchecked() {
    let home = TestHome::new("command-after");
    let script = |after: &str| {
        format!(
            r#"{{"after": "{after}", "replies": [{{"message": {{"text": "a"}}}}, {{"message": {{"text": "b"}}}}]}}"#
        )
    };
    for (after, third) in [("stop", "the script ends after 2 replies"), ("cycle", "\"a\""), ("last", "\"b\"")] {
        home.write("project/script.json", script(after));
        let server = Running::start(&home, &["--script", "script.json", "--no-checks"]);
        for expected in ["\"a\"", "\"b\"", third] {
            let answer = server.ask("/api/chat", &json!({"model": MODEL}).to_string());
            assert!(answer.contains(expected), "{answer}");
        }
    }
}

#[test]
fn mistakes_are_told_on_one_line() {
    let home = TestHome::new("command-errors");
    home.write("project/bad.json", "{\"replies\": [{\"txt\": 1}]}");
    let cases: [(&[&str], &str); 6] = [
        (&[], "scripted-server: --script FILE is missing; see --help\n"),
        (&["--script"], "scripted-server: --script needs a value\n"),
        (&["--what"], "scripted-server: unknown argument --what; see --help\n"),
        (&["--script", "bad.json", "--port", "x"], "scripted-server: --port x: not a port\n"),
        (&["--script", "no.json"], "scripted-server: read no.json: "),
        (&["--script", "bad.json"], "scripted-server: read the script: unknown variant `txt`"),
    ];
    for (arguments, expected) in cases {
        let output = command(&home, arguments).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && text.starts_with(expected) && text.lines().count() == 1, "{text}");
    }
    let help = command(&home, &["--help"]).output().unwrap();
    assert!(help.status.success() && help.stdout.starts_with(b"Usage: scripted-server --script"));
}
