//! `run --orchestrator`, and agent definitions as people meet them.

use std::fs;

use agent_testkit::{Call, Reply};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::process::Running;
use crate::support::{World, calls};

/// The pool of the packaged configuration.
const POOL: &str = "agents.worker_pools = [{ pool_id = \"default\", workers = [{ worker_id = \"worker_general_1\", \
    agent_definition_id = \"default_worker_agent\", allowed_tools = [\"agent.task_get\", \"agent.task_query_steps\", \
    \"agent.task_claim_step\", \"agent.task_update_step\", \"code.read_file\", \"code.search\"] }] }]";

/// CLI-1, WRK-1: `run --orchestrator` has the task tools and is told what an Orchestrator does; a normal run has neither. A session
/// may change its mode from run to run; the way to go on is that of the run, and `replay` says which run was which.
#[test]
fn a_run_as_orchestrator() {
    for world in World::each("cli_orchestrator") {
        world.configure(POOL);
        let template = Call::new("agent.task_template", json!({"goal": "Move it."}));
        world.server.script([calls(template), Reply::text("Laid out."), Reply::text("And done.")]);
        let first = world.run(&["run", "--orchestrator", "Move the parser."]).exits(0).answers("Laid out.");
        let session = first.session();
        assert!(first.stderr.contains(&format!("run --orchestrator --session-id {session}")), "{}", first.stderr);
        let second = world.run(&["run", "--session-id", &session, "Is it?"]).exits(0).answers("And done.");
        assert!(!second.stderr.contains("--orchestrator"), "{}", second.stderr);
        let told: Vec<_> = world
            .server
            .requests()
            .iter()
            .map(|request| {
                let told = request.body.to_string().contains("# You are the Orchestrator");
                (told, request.tool_names().contains(&"agent__task_template"))
            })
            .collect();
        assert_eq!(told, [(true, true), (true, true), (false, false)]);
        for arguments in [&["replay", &session][..], &["replay", &session, "--context"]] {
            let shown = world.run(arguments).exits(0).stdout;
            let headings: Vec<_> = shown.lines().filter(|line| line.starts_with("run ")).collect();
            let marked: Vec<_> = headings.iter().map(|line| line.ends_with("  (orchestrator)")).collect();
            assert_eq!(marked, [true, false], "{shown}");
        }
    }
}

/// WRK-1, CLI-4: without a worker pool the run does not start, and is told what to write; what is told works as it stands.
#[test]
fn without_a_pool() {
    let world = World::new("cli_no_pool");
    let refused = world.run(&["run", "--orchestrator", "hi"]).exits(2).answers("").says(&["config.toml"]);
    assert_eq!((world.server.request_count(), world.sessions().len()), (0, 0));
    let lines = refused.stderr.lines().skip_while(|line| !line.trim_start().starts_with("[["));
    let pool: Vec<_> = lines.map(str::trim).collect();
    assert_eq!(pool.len(), 6, "{}", refused.stderr);
    let config = std::fs::read_to_string(world.home.config_path()).unwrap();
    world.home.write(world.home.config_path(), format!("{config}\n{}\n", pool.join("\n")));
    world.server.push(Reply::text("Hello."));
    world.run(&["run", "--orchestrator", "hi"]).exits(0).answers("Hello.");
    let page = world.run(&["config", "check"]).exits(0).stdout;
    assert!(page.contains("Worker pools: default (worker_general_1)\n"), "{page}");
}

/// WRK-1: `config check` tells pools that cannot work, though normal runs do; a run in that mode says the same.
#[test]
fn wrong_pools() {
    let world = World::new("cli_wrong_pools");
    world.configure(
        "agents.worker_pools = [{ pool_id = \"p\", workers = [{ agent_definition_id = \"nobody\", allowed_tools = [\"agent.task_create\"] }] }]",
    );
    let words = ["agents.worker_pools[0].workers[0].agent_definition_id", "`nobody`", "`agent.task_create`"];
    world.run(&["config", "check"]).exits(2).says(&words);
    world.run(&["run", "--orchestrator", "hi"]).exits(2).says(&words).answers("");
    world.server.push(Reply::text("Hello."));
    world.run(&["run", "hi"]).exits(0).answers("Hello.");
    world.configure("");
    let page = world.run(&["config", "check"]).exits(0).stdout;
    assert!(page.contains("Worker pools: none; runs with --orchestrator need one\n"), "{page}");
}

/// AGD-3, AGD-5, CLI-4: `config check` lists the definitions there are and what they suggest in vain; one bad file stops it, and every run,
/// with exit code 2.
#[test]
fn definitions_are_checked() {
    let world = World::new("cli_definitions");
    let text = "---\nid: reviewer\nname: R\ndescription: D\nsuggested_tools: [code.search, agent.plan_template]\n---\nReview.\n";
    world.home.write("home/agents/reviewer.md", text);
    let page = world.run(&["config", "check"]).exits(0).stdout;
    let listed = "Agent definitions: default_fork_agent, default_sub_agent, default_worker_agent, reviewer\n  \
                  reviewer suggests agent.plan_template, which it cannot have: policy_restricted\n";
    assert!(page.contains(listed), "{page}");
    world.home.write("home/agents/reviewer.md", text.replace("code.search", "code.serch"));
    for command in [&["config", "check"][..], &["run", "hi"], &["run", "--orchestrator", "hi"]] {
        world.run(command).exits(2).answers("").says(&["agents/reviewer.md", "`code.serch`", "which is no tool"]);
    }
    assert_eq!((world.server.request_count(), world.sessions().len()), (0, 0));
}

/// The block of docs/agents.md behind this mark.
fn example(name: &str) -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/agents.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once(&format!("<!-- example: {name} -->\n```")).unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    rest.split_once("\n```").unwrap().0.to_owned()
}

/// AGD-1, WRK-1: the examples of docs/agents.md work as they stand, and a mistake in them is told as the page says.
#[test]
fn the_examples_of_the_page() {
    let world = World::new("cli_agents_page");
    let definition = example("reviewer.md");
    world.home.write("home/agents/reviewer.md", &definition);
    let config = std::fs::read_to_string(world.home.config_path()).unwrap();
    world.home.write(world.home.config_path(), format!("{config}\n{}\n", example("config.toml")));
    let page = world.run(&["config", "check"]).exits(0).stdout;
    assert!(
        page.contains("default_worker_agent, reviewer\nWorker pools: default (worker_general_1, reviewer_1)\n"),
        "{page}"
    );
    world.server.push(Reply::text("Laid out."));
    world.run(&["run", "--orchestrator", "Move the parser."]).exits(0).answers("Laid out.");

    world.home.write("home/agents/reviewer.md", definition.replace("code.search", "code.serch"));
    let said = world.run(&["run", "Hello"]).exits(2).stderr;
    let shown = said.replace(&world.home.home.canonicalize().unwrap().display().to_string(), "/home/u/.soong-agent");
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/agents.md");
    assert!(std::fs::read_to_string(docs).unwrap().contains(shown.trim_end()), "{shown}");
}

fn task(tool: &str, arguments: Value) -> Call {
    let mut arguments = arguments;
    arguments["task_id"] = "parser".into();
    Call::new(format!("agent.task_{tool}"), arguments)
}

/// TSK-9, TSK-13, TSK-15, TSK-16, TSK-7, WAL-2, WAL-5, TBD-1: a Task from its beginning to its end. It is made, edited, asked about, and
/// its process is killed in the middle of the work; what was acknowledged is what the next run's board shows, and that run ends it.
#[test]
fn a_task_from_end_to_end() {
    for world in World::each("cli_task") {
        world.configure(POOL);
        let steps = json!([
            {"step_id": "tests", "title": "Write the tests"},
            {"step_id": "code", "title": "Write the code", "depends_on_step_ids": ["tests"]},
        ]);
        let create =
            json!({"wal_name": "parser", "title": "A new parser", "summary": "In a crate of its own.", "steps": steps});
        let notes = json!({"step_id": "notes", "title": "Write the notes", "required": false});
        let done = json!({"step_id": "tests", "status": "completed", "result_summary": "Twelve of them."});
        world.server.script([
            calls(task("create", create)),
            calls(task("update", json!({"operations": [{"op": "add_step", "step": notes}]}))),
            calls(task("update_step", done)),
            calls(task("query_steps", json!({"statuses": ["ready"]}))),
            Reply::hang(),
        ]);
        let running = Running::start(world.agent(["run", "--orchestrator", "A new parser, please."]));
        world.is_answering(4);
        let ready = world.server.requests()[4].messages().last().unwrap().to_string();
        assert!(ready.contains("code") && ready.contains("notes") && !ready.contains("Write the tests"), "{ready}");
        running.signal(Signal::KILL);
        assert_eq!(running.ends().code, -9);
        let session = &world.sessions()[0];
        let log = world.home.project.join(format!(".soong-agent/tasks/{session}/parser.wal.jsonl"));
        let types = || {
            let log = fs::read_to_string(&log).unwrap();
            let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            lines.map(|line| line["event_type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let before = types();
        let shown = world.run(&["tasks", session]).exits(0).stdout;
        for row in
            ["running  parser  A new parser\n", "result: Twelve of them.\n", "ready", "Write the notes (optional"]
        {
            assert!(shown.contains(row), "{row:?} is missing in:\n{shown}");
        }

        // CLI-5, DEC-302: the way to go on is the Orchestrator's, and a Task that is left open is told.
        let how = format!("run --orchestrator --session-id {session} ");
        let told = world.run(&["replay", session]).exits(0).stdout;
        assert!(told.contains(&how), "{told}");
        assert!(
            told.contains("agent.task_update_step tests of parser: completed\n"),
            "the status stands there once: {told}"
        );
        world.server.push(Reply::text("Later."));
        let left = world.run(&["run", "--orchestrator", "--session-id", session, "Wait."]).exits(0).answers("Later.");
        for told in ["task parser is still open: 1 of 3 steps completed", &how] {
            assert!(left.stderr.contains(told), "{}", left.stderr);
        }

        let code = json!({"step_id": "code", "status": "completed", "result_summary": "All tests pass."});
        world.server.script([
            calls(task("update_step", code)),
            calls(task("complete", json!({"result_summary": "The parser is there."}))),
            Reply::text("Done."),
        ]);
        let first = world.server.request_count();
        world.run(&["run", "--orchestrator", "--session-id", session, "Go on."]).exits(0).answers("Done.");
        let board = world.server.requests()[first].body.to_string();
        assert!(board.contains("<task_board>") && board.contains("Write the code"), "{board}");
        let after = types();
        assert_eq!(after[..before.len()], before, "what was acknowledged is still there, and nothing was done twice");
        let added = ["task_step_completed", "task_completed"];
        assert_eq!(
            after[before.len()..].iter().filter(|it| it.ends_with("completed")).count(),
            added.len(),
            "{after:?}"
        );
        assert_eq!(after.last().unwrap(), "task_completed");
        world.server.push(Reply::text("All is done."));
        let ended = world.run(&["run", "--orchestrator", "--session-id", session, "And?"]).exits(0);
        assert!(!ended.stderr.contains("still open"), "{}", ended.stderr);
        let shown = world.run(&["tasks", session]).exits(0).stdout;
        assert!(shown.starts_with("completed  parser  A new parser\n") && shown.contains("cancelled"), "{shown}");
        world.run(&["tasks", session, "--svg", "parser.svg"]).exits(0);
        assert!(world.file("parser.svg").unwrap().contains("Write the code"));
    }
}

/// WAL-4, TBD-1: a log that cannot be read is told to the person and to the model, harms no other Task, and its id is not given again.
#[test]
fn a_damaged_task_is_told() {
    let world = World::new("cli_damaged_task");
    world.configure(POOL);
    let create = |id: &str| {
        let steps = json!([{"step_id": "a", "title": "Do it"}]);
        let new = json!({"task_id": id, "wal_name": format!("{id}-log"), "title": "T", "summary": "", "steps": steps});
        Call::new("agent.task_create", new)
    };
    world.server.script([Reply::empty().calls([create("one"), create("two")]), Reply::text("Made.")]);
    let session = world.run(&["run", "--orchestrator", "Make them."]).exits(0).session();
    let log = world.home.project.join(format!(".soong-agent/tasks/{session}/one-log.wal.jsonl"));
    let whole = fs::read_to_string(&log).unwrap();
    fs::write(&log, whole.replacen("\n", "\nrubbish\n", 1)).unwrap();
    let again = json!({"task_id": "one", "wal_name": "again", "title": "T", "summary": "", "steps": []});
    world.server.script([calls(Call::new("agent.task_create", again)), Reply::text("I see.")]);
    let first = world.server.request_count();
    let ended = world.run(&["run", "--orchestrator", "--session-id", &session, "Go on."]).exits(0).answers("I see.");
    ended.says(&["one-log.wal.jsonl makes no Task", "line 2", &format!("soong-agent tasks {session}")]);
    let board = world.server.requests()[first].messages().last().unwrap().to_string();
    for words in ["unavailable: task one, since its log one-log.wal.jsonl cannot be read", "two"] {
        assert!(board.contains(words), "{words:?} is missing in {board}");
    }
    assert!(world.results(first + 1).contains("task_wal_unavailable"));
    assert_eq!(fs::read_dir(log.parent().unwrap()).unwrap().count(), 2);
}
