//! Many agents, as the command runs them: an Orchestrator with its workers, and the children of a normal run.

#[path = "../../../agent_core/examples/orchestrator/model.rs"]
mod model;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use agent_testkit::{Call, Protocol, RecordedRequest, Reply};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::process::Running;
use crate::support::{World, calls};
use crate::watched::wait_until;

/// The pool of the packaged configuration, with three workers in place of one.
const THREE_WORKERS: &str = "
    model.context_window = 131072
    model.parallel_requests = 3
    [[agents.worker_pools]]
    pool_id = \"default\"
    [[agents.worker_pools.workers]]
    worker_id = \"worker_general_1\"
    agent_definition_id = \"default_worker_agent\"
    allowed_tools = [\"agent.task_get\", \"agent.task_query_steps\", \"agent.task_claim_step\", \"agent.task_update_step\", \"code.read_file\", \"code.search\"]
    [[agents.worker_pools.workers]]
    worker_id = \"worker_general_2\"
    agent_definition_id = \"default_worker_agent\"
    allowed_tools = [\"agent.task_get\", \"agent.task_query_steps\", \"agent.task_claim_step\", \"agent.task_update_step\", \"code.read_file\", \"code.search\"]
    [[agents.worker_pools.workers]]
    worker_id = \"worker_general_3\"
    agent_definition_id = \"default_worker_agent\"
    allowed_tools = [\"agent.task_get\", \"agent.task_query_steps\", \"agent.task_claim_step\", \"agent.task_update_step\", \"code.read_file\", \"code.search\"]
";

/// The log of the only Task of a session, a line each: what happened, and to which step.
fn log(world: &World, session: &str) -> Vec<(String, String)> {
    let log = world.home.project.join(format!(".soong-agent/tasks/{session}/release.wal.jsonl"));
    let log = fs::read_to_string(log).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    lines.map(|line| (word(&line["event_type"]), word(&line["step_id"]))).collect()
}

fn steps_of(log: &[(String, String)], event_type: &str) -> Vec<String> {
    let mut steps: Vec<_> = log.iter().filter(|line| line.0 == event_type).map(|line| line.1.clone()).collect();
    steps.sort();
    steps
}

/// The words of the first message of a request, which say who is asked.
fn system(request: &RecordedRequest) -> &str {
    request.messages()[0]["content"].as_str().unwrap()
}

/// WRK-4, WRK-6, WRK-8, RUN-11: `run --orchestrator` makes a task of five steps, its workers do them, three of them at the same time, and the
/// run ends with the task completed. A worker is told its own part, has the tools of its entry, and sees nothing of the conversation.
#[test]
fn workers_do_the_steps_of_a_task() {
    for &protocol in Protocol::ALL {
        let world = World::on(model::serve(Duration::ZERO), protocol, "cli_workers");
        world.configure(THREE_WORKERS);
        model::write_files(&world.home.project).unwrap();
        let ended = world.run(&["run", "--orchestrator", "Write the release notes."]).exits(0);
        let lines = [("1", "changes"), ("1", "api"), ("2", "errors"), ("3", "examples"), ("1", "notes")]
            .map(|(worker, step)| format!("worker_general_{worker} begins for task release: Do step {step}.\n"));
        let ended = ended.says(&lines.each_ref().map(String::as_str));
        let session = ended.answers("The release notes are written.").session();
        let log = log(&world, &session);
        let all = ["api", "changes", "errors", "examples", "notes"];
        assert_eq!(steps_of(&log, "task_step_claimed"), all);
        assert_eq!(steps_of(&log, "task_step_completed"), all);
        assert_eq!(log.last().unwrap().0, "task_completed");
        let shown = world.run(&["tasks", &session]).exits(0).stdout;
        assert!(shown.starts_with("completed  release  Release notes\n"), "{shown}");
        assert!(shown.contains("result: notes.md: nothing that breaks."), "{shown}");

        let requests = world.server.requests();
        let workers: Vec<_> = requests.iter().filter(|request| system(request).contains("# A worker")).collect();
        assert_eq!((workers.len(), requests.len()), (5 * 5, 6 + 5 * 5));
        for request in workers {
            assert!(!request.body.to_string().contains("Write the release notes."), "{}", request.body);
            let mut tools = request.tool_names();
            tools.sort_unstable();
            let entry = [
                "agent__task_claim_step",
                "agent__task_get",
                "agent__task_query_steps",
                "agent__task_update_step",
                "code__read_file",
                "code__search",
            ];
            assert_eq!(tools, entry);
        }
        let dispatch =
            world.server.requests().iter().filter(|it| system(it).contains("# You are the Orchestrator")).count();
        assert_eq!(dispatch, 6, "made, sent for three waves, completed, told");
    }
}

/// WAL-2, WRK-7, RUN-20: a process that is killed while three workers hold a step each: `tasks` shows what was acknowledged, the next run goes on with
/// the same task, and no step that was completed is done again.
#[test]
fn a_killed_orchestrator_is_gone_on_with() {
    for world in World::each("cli_workers_killed") {
        world.configure(THREE_WORKERS);
        model::write_files(&world.home.project).unwrap();
        let (hangs, hung) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
        let (hang, count) = (Arc::clone(&hangs), Arc::clone(&hung));
        world.server.respond_with(move |request, _| {
            let reads = system(request).contains("# A worker") && request.turn() == 2;
            let is_first = request.messages().iter().any(|it| it.to_string().contains("step changes."));
            if reads && !is_first && hang.load(Ordering::SeqCst) {
                count.fetch_add(1, Ordering::SeqCst);
                return Reply::hang();
            }
            model::says(request)
        });
        let running = Running::start(world.agent(["run", "--orchestrator", "Write the release notes."]));
        wait_until("three workers are at work", || hung.load(Ordering::SeqCst) == 3);
        running.signal(Signal::KILL);
        assert_eq!(running.ends().code, -9);
        let session = &world.sessions()[0];
        let before = log(&world, session);
        assert_eq!(steps_of(&before, "task_step_claimed"), ["api", "changes", "errors", "examples"]);
        assert_eq!(steps_of(&before, "task_step_completed"), ["changes"]);
        let shown = world.run(&["tasks", session]).exits(0).stdout;
        assert!(shown.contains("1 completed, 3 claimed, 1 pending"), "{shown}");

        hangs.store(false, Ordering::SeqCst);
        let ended = world.run(&["run", "--orchestrator", "--session-id", session, "Go on."]).exits(0);
        ended.answers("The release notes are written.");
        let after = log(&world, session);
        assert_eq!(after[..before.len()], before);
        assert_eq!(steps_of(&after, "task_step_completed"), ["api", "changes", "errors", "examples", "notes"]);
        assert_eq!(after.last().unwrap().0, "task_completed");
        assert_eq!(world.at_work(), Vec::new());
    }
}

/// AGT-1, AGT-2, AGT-6: a normal run starts a sub-agent and a fork in one reply. The sub-agent is told its task, context and constraints alone; the
/// fork knows the conversation up to the reply that made it; neither can make children, and their parent sees what they answered.
#[test]
fn children_of_a_normal_run() {
    for world in World::each("cli_children") {
        world.home.write("project/data.txt", "words\n");
        world.server.respond_with(|request, _| {
            let answer = |text: &str| match request.turn() {
                0 => calls(Call::new("code.read_file", json!({"path": "data.txt"}))),
                _ => Reply::text(text),
            };
            if system(request).contains("# A sub-agent") {
                return answer("The file has one word.");
            }
            if system(request).contains("# A fork") {
                return answer("It fits what was said.");
            }
            match request.turn() {
                0 => Reply::text("I split it up.").calls([
                    Call::new(
                        "agent.create_sub_agent",
                        json!({"task": "Count the words.", "context": "The file is data.txt.", "constraints": "Write nothing."}),
                    ),
                    Call::new("agent.fork_agent", json!({"task": "Look whether it fits."})),
                ]),
                _ => Reply::text("Both are done."),
            }
        });
        let ended = world.run(&["run", "What is in data.txt?"]).exits(0).answers("Both are done.");
        let requests = world.server.requests();
        let of = |title: &str| requests.iter().filter(|it| system(it).contains(title)).collect::<Vec<_>>();
        let (sub, fork) = (of("# A sub-agent"), of("# A fork"));
        assert_eq!((sub.len(), fork.len(), requests.len()), (2, 2, 6));
        let told = |request: &RecordedRequest| json!(request.messages()[1..]).to_string();
        for words in ["Count the words.", "The file is data.txt.", "Write nothing."] {
            assert!(told(sub[0]).contains(words), "{words:?} is missing in {}", told(sub[0]));
        }
        assert!(!told(sub[0]).contains("What is in data.txt?"), "{}", told(sub[0]));
        let (asked, task) = (told(fork[0]).find("What is in data.txt?"), told(fork[0]).find("Look whether it fits."));
        assert!(asked.is_some() && asked < task, "{}", told(fork[0]));
        assert!(!told(fork[0]).contains("Count the words."), "the reply that made it is not part of it");
        for child in sub.iter().chain(&fork) {
            for tool in ["agent__create_sub_agent", "agent__fork_agent", "code__write_file"] {
                assert!(!child.tool_names().contains(&tool), "{tool}");
            }
        }
        let last = requests.iter().rposition(|it| !system(it).contains("# A sub") && !system(it).contains("# A fork"));
        let results = world.results(last.unwrap());
        assert!(results.contains("The file has one word.") && results.contains("It fits what was said."), "{results}");
        let shown = world.run(&["replay", &ended.session()]).exits(0).stdout;
        assert!(shown.contains("agent.create_sub_agent") && shown.contains("agent.fork_agent"), "{shown}");
    }
}

/// AGT-3, AGT-4, AGT-7, AGD-1, TOL-4: what cannot be started is refused with its code, as a result that the model may act on; nothing is started,
/// and the run goes on.
#[test]
fn children_that_are_refused() {
    let sub = |more: Value| {
        let mut arguments = json!({"task": "Look."});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Call::new("agent.create_sub_agent", arguments)
    };
    let dispatch = Call::new("agent.dispatch_worker", json!({"task_id": "t", "instruction": "Go."}));
    for (settings, call, code) in [
        ("", sub(json!({"allowed_tools": ["code.nothing"]})), "validation_error"),
        ("", sub(json!({"allowed_tools": ["agent.fork_agent"]})), "validation_error"),
        ("", sub(json!({"agent_definition_id": "nobody"})), "validation_error"),
        ("", sub(json!({"system": "You are root."})), "validation_error"),
        ("agents.max_children_per_run = 0", sub(json!({})), "child_agent_limit_exceeded"),
        ("agents.max_concurrent_children_per_session = 0", sub(json!({})), "child_agent_limit_exceeded"),
        ("", dispatch, "tool_not_available"),
    ] {
        let world = World::new("cli_children_refused");
        world.configure(settings);
        let shown = format!("{call:?}");
        world.server.script([calls(call), Reply::text("I see.")]);
        world.run(&["run", "Split it up."]).exits(0).answers("I see.");
        assert_eq!(world.server.request_count(), 2, "nobody else was asked anything: {shown}");
        assert!(world.results(1).contains(code), "{shown}: {}", world.results(1));
    }
}

/// WRK-4, WRK-5, AGT-3: what no worker can be sent for is refused with its code; no worker is sent, and the Orchestrator goes on.
#[test]
fn dispatches_that_are_refused() {
    let steps = json!([{"step_id": "a", "title": "Do it"}]);
    let create = json!({"task_id": "t", "wal_name": "t", "title": "T", "summary": "", "steps": steps});
    let create = Call::new("agent.task_create", create);
    let dispatch = |more: Value| {
        let mut arguments = json!({"task_id": "t", "instruction": "Do step a."});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Call::new("agent.dispatch_worker", arguments)
    };
    for (call, code) in [
        (dispatch(json!({"allowed_step_ids": []})), "validation_error"),
        (dispatch(json!({"allowed_step_ids": ["a", "b"]})), "validation_error"),
        (dispatch(json!({"allowed_tools": ["code.nothing"]})), "validation_error"),
        (dispatch(json!({"task_id": "u"})), "task_not_found"),
        (dispatch(json!({"worker_agent_id": "agent_0"})), "worker_not_available"),
        (Call::new("agent.create_sub_agent", json!({"task": "Look."})), "tool_not_available"),
    ] {
        let world = World::new("cli_dispatch_refused");
        world.configure(THREE_WORKERS);
        let shown = format!("{call:?}");
        world.server.script([calls(create.clone()), calls(call), Reply::text("I see.")]);
        world.run(&["run", "--orchestrator", "Do it."]).exits(0).answers("I see.");
        assert_eq!(world.server.request_count(), 3, "nobody else was asked anything: {shown}");
        assert!(world.results(2).contains(code), "{shown}: {}", world.results(2));
    }
    let world = World::new("cli_dispatch_ended");
    world.configure(THREE_WORKERS);
    let cancel = Call::new("agent.task_cancel", json!({"task_id": "t"}));
    world.server.script([calls(create), calls(cancel), calls(dispatch(json!({}))), Reply::text("I see.")]);
    world.run(&["run", "--orchestrator", "Do it."]).exits(0).answers("I see.");
    assert!(world.results(3).contains("task_not_dispatchable"), "{}", world.results(3));
}
