//! Keys: where they come from, and where they never turn up (STO-10, CFG-3, CLI-9).

use std::process::Command;

use agent_testkit::{Call, RecordedRequest, Reply};
use serde_json::json;

use crate::process::{Ended, Running};
use crate::support::{World, bytes_below, calls, command, holds, read, sh, write};
use crate::terminal::Terminal;

const NAME: &str = "SCRIPTED_KEY";
/// With characters that JSON, URLs and shells write differently.
const KEY: &str = "sk-very/secret+\"key\"=42";
const MARKER: &str = "[secret SCRIPTED_KEY]";

fn with_key(world: &World, mut command: Command) -> Command {
    world.configure(&format!("model.api_key_env = \"{NAME}\"\nmodel.context_window = 131072"));
    command.env(NAME, KEY);
    command
}

/// The key is in no byte of home, and was not shown; the server did get it.
#[track_caller]
fn is_nowhere(world: &World, shown: &[&str]) {
    let sent = world.server.requests().iter().all(|request| key_header(request).is_some_and(|it| it.contains(KEY)));
    assert!(sent && world.server.request_count() > 0, "the key was used");
    let stored = bytes_below(&world.home.home);
    for form in [KEY, "very/secret", "very%2Fsecret", "very\\/secret"] {
        assert!(!holds(&stored, form), "{form} is stored");
        let shown: Vec<_> = shown.iter().flat_map(|text| text.lines()).filter(|line| line.contains(form)).collect();
        assert_eq!(shown, Vec::<&str>::new(), "{form} is shown");
        let asked = world.server.requests();
        assert!(!asked.iter().any(|request| holds(&request.raw, form)), "{form} is in a prompt");
    }
}

/// CFG-3: a variable that is not set, or empty, fails at first use: its name, who wanted it, which key named it. No request.
#[test]
fn a_missing_variable() {
    for world in World::each("missing_variable") {
        for value in [None, Some("")] {
            let before = world.server.request_count();
            let mut command = with_key(&world, world.agent(["run", "hi"]));
            match value {
                None => command.env_remove(NAME),
                Some(value) => command.env(NAME, value),
            };
            let ended = Running::start(command).ends().exits(1).one_error().answers("");
            let session = ended.says(&["SCRIPTED_KEY is not set", "main model", "model.api_key_env"]).session();
            assert_eq!(world.server.request_count(), before);
            world.server.push(Reply::text("Now I know you."));
            let again = with_key(&world, world.agent(["run", "--session-id", &session, "hi"]));
            Running::start(again).ends().exits(0).answers("Now I know you.");
        }
    }
}

/// The header a request carries its key in.
fn key_header(request: &RecordedRequest) -> Option<&str> {
    request.header("authorization").or_else(|| request.header("x-api-key"))
}

/// PRV-18, STO-10: a server that echoes the Authorization header, before its reply, inside it, or instead of it.
#[test]
fn a_server_that_echoes_the_key() {
    let echoes: [fn(&str) -> Reply; 5] = [
        |header| Reply::error(401, format!("what is {header}?")),
        |header| Reply::error(500, format!("cannot handle {header}")),
        |header| Reply::status(400, format!("<html><b>{header}</b></html>")),
        |header| Reply::text("Let me see: ").then_error(format!("I lost {header}")),
        |header| Reply::raw(format!("data: {{\"oops\": {header}}}\n\n"), "text/event-stream"),
    ];
    for world in World::each("echoed_key") {
        for echo in echoes {
            let header = |request: &RecordedRequest| key_header(request).unwrap_or_default().to_owned();
            world.server.respond_with(move |request, _| echo(&header(request)));
            let ended = Running::start(with_key(&world, world.agent(["run", "hi"]))).ends().exits(1).one_error();
            is_nowhere(&world, &[&ended.stdout, &ended.stderr]);
        }
    }
}

/// STO-10: a user who says the key, a file that holds it, a command that prints it, a lot of it, a model that repeats it in its
/// answer (cut into pieces anywhere) and in what it wants to do: each shows the name instead.
#[test]
fn a_key_that_turns_up() {
    for world in World::each("key_turns_up") {
        world.home.write("project/key.txt", format!("the key: {KEY}\n"));
        let said = format!("You said {KEY}, and I say {KEY}!");
        world.server.script([
            Reply::text(said.clone()).chunks(said.chars().count()).calls([read("key.txt")]),
            calls(sh("cat key.txt; cat key.txt >&2; exit 3")),
            calls(sh("yes \"$(cat key.txt)\" | head -n 5000")),
            calls(command(&["echo", KEY])),
            calls(write(&format!("{}.txt", KEY.replace('/', "_")), KEY)),
            calls(write("copy.txt", &format!("a copy: {KEY}\n"))),
            calls(Call::new("code.search", json!({"query": "very.secret"}))),
            calls(Call::new("no.such.tool", json!({KEY: KEY}))),
            Reply::text(said.clone()).chunks(said.chars().count()),
        ]);
        let ended = {
            let message = format!("My key is {KEY}.");
            world.fed(with_key(&world, world.agent(["run", &message])), b"1\n1\n1\n1\n1\n1\n").exits(0)
        };
        assert_eq!(ended.stdout, said.replace(KEY, MARKER) + "\n");
        assert!(ended.stderr.contains(MARKER), "{}", ended.stderr);
        assert_eq!(world.file("copy.txt"), None, "what stands for the key is not written in its place");
        let artifacts = world.home.home.join("sessions").join(ended.session()).join("artifacts");
        assert!(holds(&bytes_below(&artifacts), MARKER), "the long output is an artifact");
        is_nowhere(&world, &[&ended.stdout, &ended.stderr]);
    }
}

/// FND-06: the key that only a profile written in place names is known as well: what holds it shows its name.
#[test]
fn keys_of_profiles_written_in_place() {
    for place in ["compact.model_profile", "memory.extract_model_profile", "memory.recall_model_profile"] {
        let world = World::new("keys_of_profiles");
        world.configure(&format!("{place} = {{ api_key_env = \"{NAME}\" }}"));
        world.home.write("project/key.txt", format!("the key: {KEY}\n"));
        let said = format!("It is {KEY}.");
        world.server.script([calls(read("key.txt")), Reply::text(said.clone()).chunks(said.chars().count())]);
        let mut run = world.agent(["run", "What is in key.txt?"]);
        run.env(NAME, KEY);
        let ended = world.fed(run, b"").exits(0).answers(&said.replace(KEY, MARKER));
        let (stored, asked) = (bytes_below(&world.home.home), world.server.requests());
        for form in [KEY, "very/secret"] {
            assert!(!holds(&stored, form) && !ended.stderr.contains(form), "{place}: {form} is stored or shown");
            assert!(!asked.iter().any(|request| holds(&request.raw, form)), "{place}: {form} is in a prompt");
        }
        assert!(asked.last().unwrap().body.to_string().contains(MARKER), "{place}: the file was read");
    }
}

/// FND-01: what stands for a key is not written in its place, by whatever call: nobody is asked, the key stays, and what is said
/// names the reason. The rest of the file can be changed, and what stands for no key of this session is text.
#[test]
fn a_masked_key_is_not_written_back() {
    let world = World::new("masked_key");
    let conf = format!("[server]\nport = 80\napi_key = {KEY}\n");
    world.home.write("project/conf.ini", &conf);
    let masked = |port: &str| conf.replace(KEY, MARKER).replace("80", port);
    let edit = |old: &str, new: &str| {
        calls(Call::new("code.edit_file", json!({"path": "conf.ini", "edits": [{"old": old, "new": new}]})))
    };
    let diff = format!("@@ -2,2 +2,2 @@\n-port = 80\n+port = 81\n api_key = {MARKER}\n");
    let overwrite = json!({"path": "conf.ini", "content": masked("81"), "overwrite": true});
    world.server.script([
        calls(read("conf.ini")),
        calls(Call::new("code.write_file", overwrite)),
        calls(write("copy.ini", &masked("81"))),
        edit(&format!("api_key = {MARKER}\n"), &format!("# key\napi_key = {MARKER}\n")),
        edit("port = 80", &format!("port = 81 # {MARKER}")),
        calls(Call::new("code.edit_file", json!({"path": "conf.ini", "unified_diff": diff}))),
        calls(sh(&format!("printf '%s' '{MARKER}' > conf.ini"))),
        calls(command(&["sed", "-i", &format!("s/port/{MARKER}/"), "conf.ini"])),
        edit("port = 80", "port = 81"),
        calls(write("doc.md", "[secret FOO] stands for a key.\n")),
        Reply::text("Done."),
    ]);
    let ended = world.fed(with_key(&world, world.agent(["run", "Use port 81."])), b"1\n1\n").exits(0).answers("Done.");
    assert_eq!(world.file("conf.ini"), Some(conf.replace("80", "81")));
    assert_eq!(world.file("copy.ini"), None);
    assert_eq!(world.file("doc.md").as_deref(), Some("[secret FOO] stands for a key.\n"));
    let requests = world.server.requests();
    let refused =
        requests.iter().filter(|request| holds(&request.raw, "stands for a value that you are not shown")).count();
    assert!(refused >= 7, "each of them is told why: {refused}");
    is_nowhere(&world, &[&ended.stdout, &ended.stderr]);
}

/// STO-10 on a terminal, where text streams as it comes.
#[test]
fn a_key_on_the_screen() {
    for world in World::each("key_on_the_screen") {
        let said = format!("It is {KEY}, I say.");
        let (reply, gate) = Reply::text(said.clone()).chunks(said.chars().count()).gated();
        world.server.push(reply);
        let mut terminal = Terminal::start(with_key(&world, world.on_terminal(["run", "Say it."])));
        gate.release(12);
        terminal.shows("It is");
        gate.release_all();
        let (code, screen) = terminal.ends();
        assert!(code == 0 && screen.contains(&format!("It is {MARKER}, I say.")), "{screen}");
        is_nowhere(&world, &[&screen]);
    }
}

/// READ-04, PRM-10: the process's own secrets, under each of their names, are not read without asking; not even then does a key
/// come out.
#[test]
fn secrets_of_the_process() {
    let world = World::new("secrets_of_the_process");
    let home = world.home.root.display().to_string();
    world.home.write(".ssh/id_rsa", "PRIVATE-PRIVATE");
    world.home.write("project/.env", "PRIVATE-PRIVATE");
    let me = std::process::id();
    let paths = [
        "/proc/self/environ".to_owned(),
        "/proc/thread-self/environ".to_owned(),
        format!("/proc/{me}/environ"),
        format!("/proc/{me}/task/{me}/environ"),
        "/proc/self/mem".to_owned(),
        "/proc/self/maps".to_owned(),
        "/proc/self/fd/3".to_owned(),
        "/proc/self/cwd/.env".to_owned(),
        format!("/proc/self/root{home}/.ssh/id_rsa"),
    ];
    world.server.script(paths.iter().map(|path| calls(read(path))));
    world.server.push(Reply::text("Nothing."));
    let ended = Running::start(with_key(&world, world.agent(["run", "Look."]))).ends();
    assert!([0, 3].contains(&ended.code), "{ended:?}");
    let ended = ended.never_says(&["ok     code.read_file"]);
    let prompts: String = world.server.requests().iter().map(|request| request.body.to_string()).collect();
    assert!(!prompts.contains("PRIVATE-PRIVATE") && !prompts.contains("SOONG_AGENT_HOME="), "{prompts}");
    is_nowhere(&world, &[&ended.stderr]);

    world.server.script([calls(read("/proc/self/environ")), Reply::text("Seen.")]);
    let ended = world.fed(with_key(&world, world.agent(["run", "Look."])), b"1\n").exits(0);
    is_nowhere(&world, &[&ended.stderr]);
}

/// PATH-07: files that hold secrets by their names are asked for.
#[test]
fn secret_files() {
    let world = World::new("secret_files");
    let names = [
        ".env",
        ".env.local",
        ".envrc",
        ".dev.vars",
        ".npmrc",
        ".netrc",
        ".pypirc",
        ".git-credentials",
        ".kube/config",
        ".docker/config.json",
        "id_rsa",
        "id_ed25519",
        "server.pem",
        "server.key",
    ];
    for name in names {
        world.home.write(format!("project/{name}"), "PRIVATE-PRIVATE\n");
        world.server.push(calls(read(name)));
    }
    world.server.push(Reply::text("Nothing."));
    // A pipe without an answer in it: each question is asked and none is answered.
    let ended = world.fed(world.agent(["run", "Look."]), b"").exits(3).never_says(&["ok     code.read_file"]);
    assert_eq!(ended.stderr.matches("allow? code.read_file").count(), names.len(), "{}", ended.stderr);
    let prompts: String = world.server.requests().iter().map(|request| request.body.to_string()).collect();
    assert!(!prompts.contains("PRIVATE-PRIVATE"));
}

/// CLI-9: a command that the agent runs cannot read the agent's environment, though it runs as the same user.
#[test]
fn commands_cannot_look_into_us() {
    let world = World::new("cannot_look_into_us");
    let look = "cat /proc/$PPID/comm; cat /proc/$PPID/environ && echo ours; \
                sleep 60 & cat /proc/$!/environ >/dev/null && echo its-own; kill $!";
    world.server.script([calls(sh(look)), Reply::text("Done.")]);
    let mut command = world.powerless(["run", "Look."]);
    command.env("OURS_ALONE", "nobody else's business");
    let ended: Ended = world.fed(command, b"1\n").exits(0);
    let result = world.results(1);
    assert!(result.contains("soong-agent") && result.contains("its-own"), "it looked in the right place: {result}");
    assert!(result.contains("Permission denied") && !result.contains("ours"), "{result}\n{}", ended.stderr);
    assert!(!result.contains("nobody else's business"), "{result}");
}

/// STO-10, INS-2, INS-3, SKL-2: files that join the context lose known secrets like everything else: a catalog, an instruction
/// file in the system part, a skill.
#[test]
fn keys_in_files_of_the_context() {
    for world in World::each("context_keys") {
        world.home.write("project/AGENTS.md", format!("---\ndescription: uses {KEY}\n---\nThe key is {KEY}.\n"));
        // Home is searched for the key afterwards; the skill, which is the user's own file, is removed before that.
        let skill = format!("---\nname: deploy\ndescription: with {KEY}\n---\nSend {KEY}.\n");
        world.home.write("home/skills/deploy.md", &skill);
        world.server.script([
            Reply::text("").calls([Call::new("code.read_file", json!({"path": "AGENTS.md"}))]),
            Reply::text("").calls([Call::new("internal.load_skill", json!({"name": "deploy"}))]),
            Reply::text("Read."),
        ]);
        let first = Running::start(with_key(&world, world.agent(["run", "read"]))).ends().exits(0).answers("Read.");
        let session = first.session();
        world.server.push(Reply::text("Still."));
        let again = with_key(&world, world.agent(["run", "--session-id", &session, "go on"]));
        let second = Running::start(again).ends().exits(0).answers("Still.");
        let last = world.server.requests().pop().unwrap();
        assert!(holds(&last.raw, "The key is [secret SCRIPTED_KEY]."), "the file is in the system part");
        assert!(holds(&last.raw, "Send [secret SCRIPTED_KEY]."), "the skill is in");
        std::fs::remove_file(world.home.home.join("skills/deploy.md")).unwrap();
        is_nowhere(&world, &[&first.stdout, &first.stderr, &second.stdout, &second.stderr]);
    }
}

/// What stands in a worker's way to the end of its step, and in a sub agent's: both read the key and say it.
fn child(request: &RecordedRequest) -> Reply {
    let said = request.messages().iter().filter(|message| message["role"] == "assistant").count();
    let is_worker = request.tool_names().contains(&"agent__task_claim_step");
    match (is_worker, said) {
        (true, 0) => calls(Call::new("agent.task_claim_step", json!({"task_id": "t", "step_id": "a"}))),
        (true, 1) | (false, 0) => calls(read("key.txt")),
        (true, 2) => calls(Call::new(
            "agent.task_update_step",
            json!({"task_id": "t", "step_id": "a", "status": "completed", "result_summary": format!("It is {KEY}.")}),
        )),
        _ => Reply::text(format!("I found {KEY}.")),
    }
}

/// A parent that makes these calls, one a turn, and has children.
fn family(script: Vec<Call>) -> impl Fn(&RecordedRequest, usize) -> Reply + Send + Sync + 'static {
    let script = std::sync::Mutex::new(script.into_iter());
    move |request, _| {
        let tools = request.tool_names();
        if !tools.contains(&"agent__create_sub_agent") && !tools.contains(&"agent__task_create") {
            return child(request);
        }
        script.lock().unwrap().next().map_or_else(|| Reply::text("Done."), calls)
    }
}

/// A run of such a family, and what it left: the key is nowhere, and the parent has what its child found.
#[track_caller]
fn among_agents(world: &World, arguments: &[&str]) {
    world.home.write("project/key.txt", format!("the key: {KEY}\n"));
    let pool =
        "agents.worker_pools = [{ pool_id = \"p\", workers = [{ agent_definition_id = \"default_worker_agent\" }] }]";
    world.configure(&format!("model.api_key_env = \"{NAME}\"\nmodel.context_window = 131072\n{pool}"));
    let with_key = |arguments: &[&str]| {
        let mut command = world.agent(arguments);
        command.env(NAME, KEY);
        Running::start(command).ends().exits(0)
    };
    let ended = with_key(arguments);
    let shown = with_key(&["replay", &ended.session(), "--debug"]);
    is_nowhere(world, &[&ended.stdout, &ended.stderr, &shown.stdout, &shown.stderr]);
    let found = format!("I found {MARKER}.");
    assert!(world.server.requests().iter().any(|request| holds(&request.raw, &found)), "the parent has the answer");
}

/// STO-10, AGT-5: a key that is passed on to a sub agent, and that it finds and says, is in no task, result, event, row and request, and is
/// not shown.
#[test]
fn a_key_that_a_sub_agent_finds() {
    for world in World::each("key_of_a_sub_agent") {
        let arguments = json!({"task": format!("Check {KEY}."), "context": format!("{KEY} again"), "constraints": KEY});
        world.server.respond_with(family(vec![Call::new("agent.create_sub_agent", arguments)]));
        among_agents(&world, &["run", &format!("Check {KEY}.")]);
    }
}

/// STO-10, WRK-6, WAL-7: the same of a worker, whose step and Task hold it nowhere in their log.
#[test]
fn a_key_that_a_worker_finds() {
    for world in World::each("key_of_a_worker") {
        let task = json!({"task_id": "t", "wal_name": "t", "title": format!("T {KEY}"), "summary": KEY,
            "steps": [{"step_id": "a", "title": "A", "summary": KEY}]});
        let dispatch = json!({"task_id": "t", "instruction": format!("Use {KEY}."), "constraints": KEY});
        let script = vec![Call::new("agent.task_create", task), Call::new("agent.dispatch_worker", dispatch)];
        world.server.respond_with(family(script));
        among_agents(&world, &["run", "--orchestrator", &format!("Use {KEY}.")]);
        let logs = bytes_below(&world.wal_dir());
        for form in [KEY, "very/secret", "very\\/secret"] {
            assert!(!holds(&logs, form), "{form} is in the log of a Task");
        }
        assert!(holds(&logs, &format!("It is {MARKER}.")), "what the worker says of its step is");
    }
}
