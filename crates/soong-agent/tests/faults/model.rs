//! The model of these tests: every message gets the same piece of work, of five turns with every kind of call. Each
//! reply has a mark that no other reply has, and takes a while to say.

use std::thread;
use std::time::Duration;

use agent_testkit::{Call, RecordedRequest, Reply, ScriptedServer};
use serde_json::json;

/// What users say here begins so.
pub(crate) const ROUND: &str = "Round ";
/// The extension of the file to which a command adds a line; its name is the mark.
pub(crate) const RAN: &str = "ran";

/// Pieces a reply comes in, and what lies between two of them.
const PIECES: usize = 12;
const PAUSE: Duration = Duration::from_millis(1);

/// Answers everything from now on.
pub(crate) fn works(server: &ScriptedServer) {
    server.respond_with(|request, _| paced(reply(request)));
}

/// The mark of the reply to a request.
pub(crate) fn mark(request: usize) -> String {
    format!("mark-{request:05}")
}

/// All marks in a text.
pub(crate) fn marks(text: &str) -> Vec<String> {
    let starts = text.match_indices("mark-").map(|(at, _)| &text[at..]);
    starts.filter_map(|rest| rest.get(..10)).map(str::to_owned).collect()
}

/// Where the work stands: how often the model has spoken since the last message of the user.
fn step(request: &RecordedRequest) -> usize {
    let messages = request.messages();
    let asked = |message: &serde_json::Value| {
        message["role"] == "user" && message["content"].as_str().is_some_and(|text| text.starts_with(ROUND))
    };
    let last = messages.iter().rposition(asked).unwrap_or(0);
    messages[last..].iter().filter(|message| message["role"] == "assistant").count()
}

fn reply(request: &RecordedRequest) -> Reply {
    let mark = mark(request.at);
    let write = |name: &str| {
        Call::new("code.write_file", json!({"path": format!("{mark}{name}.txt"), "content": "written\n".repeat(50)}))
    };
    let read = |line: usize| Call::new("code.read_file", json!({"path": "a.txt", "start_line": line, "max_lines": 5}));
    let command = Call::new(
        "code.run_command",
        json!({"argv": ["sh", "-c", format!("echo ran >>{mark}.{RAN}; echo so far; sleep 0.01")]}),
    );
    let said = |what: &str| Reply::text(format!("{mark}: {what}, word by word by word by word by word by word."));
    let calls: Vec<Call> = match step(request) {
        0 => vec![read(1 + request.at % 400)],
        1 => vec![write("")],
        2 => vec![command],
        3 => vec![read(1), write("-late"), read(7)],
        _ => return said("That is all").chunks(PIECES),
    };
    said("I go on").chunks(PIECES).calls(calls)
}

/// A reply that comes piece by piece, and so has a middle in which something can happen.
fn paced(reply: Reply) -> Reply {
    let (reply, gate) = reply.gated();
    thread::spawn(move || {
        for _ in 0..PIECES {
            gate.release(1);
            thread::sleep(PAUSE);
        }
    });
    reply
}
