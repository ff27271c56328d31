//! The model: a script that plays the Orchestrator and its workers. What it says depends on the request alone, as with a real model, so
//! that a run that was cut off goes on from whatever the task board shows.

use std::path::Path;
use std::time::Duration;
use std::{fs, io, thread};

use agent_testkit::{Call, RecordedRequest, Reply, ScriptedServer};
use serde_json::{Value, json};

/// The steps of the Task: each with the file to read, and the steps before it.
pub(crate) const STEPS: [(&str, &str, &[&str]); 5] = [
    ("changes", "CHANGES.md", &[]),
    ("api", "api.md", &["changes"]),
    ("errors", "errors.md", &["changes"]),
    ("examples", "examples.md", &["changes"]),
    ("notes", "notes.md", &["api", "errors", "examples"]),
];

/// What the workers read.
pub(crate) fn write_files(project: &Path) -> io::Result<()> {
    fs::create_dir_all(project)?;
    STEPS.iter().try_for_each(|(id, file, _)| fs::write(project.join(file), format!("What is new: {id}.\n")))
}

/// A model server on a port of its own, which takes so long for a turn.
pub(crate) fn serve(turn: Duration) -> ScriptedServer {
    let server = ScriptedServer::start_blocking();
    server.respond_with(move |request, _| {
        let (reply, gate) = says(request).gated();
        thread::spawn(move || {
            thread::sleep(turn);
            drop(gate);
        });
        reply
    });
    server
}

/// What the model says next.
pub(crate) fn says(request: &RecordedRequest) -> Reply {
    let messages = request.messages();
    let text = |message: Option<&Value>| message.and_then(|it| it["content"].as_str()).unwrap_or_default().to_owned();
    if !text(messages.first()).contains("# You are the Orchestrator") {
        return worker(&text(messages.iter().find(|it| it["role"] == "user")), request.turn());
    }
    let seen = text(messages.iter().rfind(|it| it["role"] == "tool"));
    let board = messages.iter().rev().map(|it| text(Some(it))).find(|it| it.contains("<task_board>"));
    // Of a task that has ended the board shows the last changes alone.
    match board.filter(|board| board.contains("\n- release \"")) {
        Some(board) => orchestrator(&board, &seen),
        None if seen.contains("completed") => Reply::text("The release notes are written."),
        None => Reply::text("I lay the work out.").calls([of_task("create", task())]),
    }
}

fn orchestrator(board: &str, seen: &str) -> Reply {
    if board.contains("; completeable") {
        let done = json!({"result_summary": "The result of step notes is what users read."});
        return Reply::text("Every step is completed.").calls([of_task("complete", done)]);
    }
    let ready = board.lines().skip_while(|line| *line != "Ready steps:").skip(1);
    let ready = ready.map_while(|line| line.strip_prefix("- release/")?.split(' ').next());
    let orders: Vec<_> =
        ready.map(|step| json!({"allowed_step_ids": [step], "instruction": format!("Do step {step}.")})).collect();
    if !orders.is_empty() {
        let dispatch = |order: Value| call("agent.dispatch_worker", order);
        return Reply::text("I send workers.").calls(orders.into_iter().map(dispatch));
    }
    // Nothing can go on by itself: a process was killed, and its workers with it. What they held is looked up, ended, and opened again.
    let seen: Value = serde_json::from_str(seen).unwrap_or_default();
    let in_state = |states: &[&str]| -> Vec<&Value> {
        let steps = seen["steps"].as_array().into_iter().flatten();
        steps.filter(|step| states.iter().any(|state| step["status"] == *state)).map(|step| &step["step_id"]).collect()
    };
    let (held, failed) = (in_state(&["claimed", "running"]), in_state(&["failed"]));
    let reopen = failed.iter().map(|step| json!({"op": "reopen_step", "step_id": step})).collect::<Vec<_>>();
    match (held.is_empty(), reopen.is_empty()) {
        (false, _) => {
            let fail = |step| json!({"step_id": step, "status": "failed", "reason": "its worker is gone"});
            Reply::text("These workers are gone.")
                .calls(held.into_iter().map(|step| of_task("update_step", fail(step))))
        }
        (_, false) => Reply::text("Once more.").calls([of_task("update", json!({"operations": reopen}))]),
        _ => Reply::text("I look.").calls([of_task("get", json!({"include_terminal_steps": true}))]),
    }
}

fn task() -> Value {
    let step = |(id, file, after): &(&str, &str, &[&str])| {
        json!({"step_id": id, "title": format!("Read {file}"), "depends_on_step_ids": after,
            "summary": format!("Read {file}. Done when there is one line for users about it.")})
    };
    let steps: Vec<_> = STEPS.iter().map(step).collect();
    json!({"wal_name": "release", "title": "Release notes", "summary": "What is new, in a line each.", "steps": steps})
}

fn worker(order: &str, turn: usize) -> Reply {
    let mine = STEPS.iter().find(|(step, ..)| order.contains(&format!("step {step}")));
    let Some((step, file, _)) = mine else { return Reply::error(400, format!("no part for: {order}")) };
    let done =
        json!({"step_id": step, "status": "completed", "result_summary": format!("{file}: nothing that breaks.")});
    Reply::empty().calls([match turn {
        0 => of_task("query_steps", json!({})),
        1 => of_task("claim_step", json!({"step_id": step})),
        2 => Call::new("code.read_file", json!({"path": file})),
        3 => of_task("update_step", done),
        _ => return Reply::text(format!("{step} is done.")),
    }])
}

/// A call of a tool of tasks.
fn of_task(tool: &str, arguments: Value) -> Call {
    call(&format!("agent.task_{tool}"), arguments)
}

/// A call about the one task there is.
fn call(tool: &str, mut arguments: Value) -> Call {
    arguments["task_id"] = "release".into();
    Call::new(tool, arguments)
}
