//! What happens when the configuration is missing or wrong, and the commands that help.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use agent_testkit::Reply;

use crate::process::{Ended, Running};
use crate::support::{BIN, World};

/// CLI-1, CLI-07, API-10: without a configuration the error shows the shell lines that make one, and nothing is created.
/// They work as they stand, also where the path needs quoting and where a group may write what is made.
#[test]
fn no_configuration() {
    for folder in ["fresh", "a user's home"] {
        let mut world = World::new("no_configuration");
        world.home.home = world.home.root.join(folder);
        for command in [&["run", "hi"][..], &["config", "check"]] {
            let missing = world.run(command).exits(2).one_error().answers("");
            assert!(!world.home.home.exists(), "nothing was created");
            let lines: Vec<_> = missing.stderr.lines().filter_map(|line| line.strip_prefix("  ")).collect();
            assert_eq!(lines.len(), 3, "{}", missing.stderr);
            shell(&world, &format!("umask 002; {}", lines.join(" && "))).exits(0);
            world.run(&["config", "check"]).exits(0);
            fs::remove_dir_all(&world.home.home).unwrap();
        }
    }
}

fn shell(world: &World, script: &str) -> Ended {
    let programs = Path::new(BIN).parent().unwrap().display().to_string();
    let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
    let mut command = world.home.command("sh");
    command.args(["-c", script]).env("PATH", path);
    Running::start(command).ends()
}

/// CLI-07, CLI-04, CFG-1, CFG-7, CFG-8: whatever is wrong is said with file, line, key and what would be right; every
/// command says it alike; exit 2, nothing asked, nothing created.
#[test]
fn broken_configurations() {
    let world = World::new("broken_configurations");
    let cases: [(&[u8], &[&str]); 12] = [
        (b"", &["config.toml"]),
        (b"\n# nothing\n", &["config.toml"]),
        (b"[model\nname = 1", &["config.toml:1:"]),
        (b"[model]\nnam = \"x\"\n", &["config.toml:2:", "model.nam", "`model.name`"]),
        (b"[model]\ncontext_window = \"8k\"\n", &["config.toml:2:", "model.context_window", "\"8k\"", "8192"]),
        (b"[model]\nnam = 1\n[runtime]\nmax_turns = -1\n", &["2 problems", "model.nam", "runtime.max_turns"]),
        (b"[model]\nname = \"caf\xe9\"\n", &["UTF-8", "line 2"]),
        (b"[model]\ncontext_window = 1024\n", &["config.toml", "1024"]),
        (b"[model]\nprovider = \"olama\"\n", &["olama", "ollama"]),
        (b"[model]\nbase_url = \"not a url\"\n", &["base_url"]),
        (b"[model]\nbase_url = \"http://192.0.2.1\"\napi_key_env = \"K\"\n", &["unencrypted", "192.0.2.1"]),
        (b"[context]\nactive_path_only = false\n", &["config.toml:2:", "context.active_path_only"]),
    ];
    for (text, words) in cases {
        world.home.write(world.home.config_path(), text);
        refused(&world, words);
    }
}

/// CFG-12: a configuration that others could have written is not read; nor is one that is no file.
#[test]
fn distrusted_configurations() {
    let world = World::new("distrusted_configurations");
    fs::set_permissions(world.home.config_path(), fs::Permissions::from_mode(0o666)).unwrap();
    refused(&world, &["config.toml", "chmod go-w"]);
    fs::remove_file(world.home.config_path()).unwrap();
    fs::create_dir(world.home.config_path()).unwrap();
    refused(&world, &["config.toml is not a regular file"]);
}

/// What refuses a run is refused by the check, for the model of summaries too.
#[test]
fn the_model_of_summaries_is_checked() {
    let world = World::new("model_of_summaries");
    world.configure("compact.model_profile = { provider = \"nope\" }");
    refused(&world, &["no provider is called \"nope\""]);
}

#[track_caller]
fn refused(world: &World, words: &[&str]) {
    let run = world.run(&["run", "hi"]).exits(2).one_error().says(words).answers("");
    let check = world.run(&["config", "check"]).exits(2).says(words).answers("");
    assert_eq!(run.stderr, check.stderr);
    assert_eq!(world.left_in_home(), Vec::<String>::new());
    assert_eq!(world.server.request_count(), 0);
}

/// FND-07: hooks are not run yet, so no run starts beside a file of hooks, whatever it is; the error names it and the two ways
/// out. Other commands work all the same, and a project's file means nothing.
#[test]
fn hooks_are_not_passed_over() {
    type Make = fn(&Path);
    let makes: [(&str, Make); 7] = [
        ("hooks", |at| fs::write(at, r#"{"version": 1, "hooks": {"PreToolUse": []}}"#).unwrap()),
        ("nothing", |at| fs::write(at, "").unwrap()),
        ("rubbish", |at| fs::write(at, b"\xff{").unwrap()),
        ("unreadable", |at| {
            fs::write(at, "{}").unwrap();
            fs::set_permissions(at, fs::Permissions::from_mode(0o000)).unwrap();
        }),
        ("a link to nothing", |at| std::os::unix::fs::symlink("no/such/file", at).unwrap()),
        ("a pipe", |at| assert!(std::process::Command::new("mkfifo").arg(at).status().unwrap().success())),
        ("a folder", |at| fs::create_dir(at).unwrap()),
    ];
    for (what, make) in makes {
        let world = World::new("hooks_are_not_passed_over");
        let hooks = world.home.home.join("hooks.json");
        let path = hooks.display().to_string();
        make(&hooks);
        for command in [&["run", "hi"][..], &["config", "check"]] {
            let ended = Running::start(world.powerless(command)).ends().exits(2).answers("");
            let said = &ended.stderr;
            assert!(said.contains(&path) && said.contains("hooks.enabled = false"), "{what}: {said}");
        }
        assert_eq!(world.left_in_home(), ["hooks.json"], "{what}: nothing was created");
        world.run(&["tools"]).exits(0);
        assert_eq!(world.server.request_count(), 0, "{what}");
        world.configure("hooks.enabled = false");
        world.server.push(Reply::text("Without hooks."));
        world.fed(world.powerless(["run", "hi"]), b"").exits(0).answers("Without hooks.");
    }
    let world = World::new("hooks_of_a_project");
    world.home.write("project/.soong-agent/hooks.json", "{}");
    world.home.write("project/hooks.json", "{}");
    world.server.push(Reply::text("No hooks of mine."));
    world.run(&["run", "hi"]).exits(0).answers("No hooks of mine.");
}

/// CLI-1, API-10: the template is a configuration; `config path` says where it belongs.
#[test]
fn path_template_and_check() {
    let world = World::new("path_template_check");
    let path = world.home.config_path().display().to_string();
    world.run(&["config", "path"]).exits(0).answers(&format!("{path}\n"));
    let template = world.run(&["config", "template"]).exits(0);
    world.home.write(&path, &template.stdout);
    let check = world.run(&["config", "check"]).exits(0);
    assert!(check.stdout.contains(&format!("{path} is fine")) && check.stdout.contains("gemma4"), "{}", check.stdout);
    assert!(check.stdout.contains("Key: none"), "{}", check.stdout);
    assert!(!check.stdout.contains("another address"), "{}", check.stdout);
    // Another protocol at Ollama's packaged address is hardly meant.
    world.home.write(&path, template.stdout.replace("provider = \"ollama\"", "provider = \"anthropic\""));
    let check = world.run(&["config", "check"]).exits(0);
    assert!(check.stdout.contains("anthropic usually has another address"), "{}", check.stdout);
    assert_eq!(world.left_in_home(), Vec::<String>::new());
}

/// CFG-3: a key that is not set is told by its variable's name, and is no fault before it is used.
#[test]
fn check_tells_of_the_key() {
    let world = World::new("check_key");
    world.configure("model.api_key_env = \"NO_SUCH_KEY\"");
    let check = world.run(&["config", "check"]).exits(0);
    assert!(check.stdout.contains("Key: from NO_SUCH_KEY, which is not set now"), "{}", check.stdout);
}

/// STO-10: a key that is too short to be hidden is named, by `config check` and by a run; an empty or a long one is not.
#[test]
fn keys_that_are_not_hidden_are_named() {
    let world = World::new("short_key");
    world.configure("model.api_key_env = \"SHORT_KEY\"");
    for (value, is_named) in [("", false), ("abc", true), ("abcdef", false)] {
        let mut command = world.agent(["config", "check"]);
        let check = Running::start({
            command.env("SHORT_KEY", value);
            command
        });
        let check = check.ends().exits(0);
        assert_eq!(check.stdout.contains("the value of SHORT_KEY is not hidden"), is_named, "{}", check.stdout);
    }
    world.server.script([Reply::text("done")]);
    let mut command = world.agent(["run", "hi"]);
    command.env("SHORT_KEY", "abc");
    Running::start(command).ends().exits(0).says(&["the value of SHORT_KEY is not hidden"]);
}

/// STO-10, HOK-1: a key that looks like an ordinary word, and a file that is nearly the one of hooks, are named by `config check` and by a
/// run; a word for "no key" hides nothing.
#[test]
fn keys_that_are_words_and_near_hooks_are_named() {
    let world = World::new("word_key");
    world.configure("model.api_key_env = \"WORD_KEY\"");
    std::fs::write(world.home.home.join("Hooks.json"), "{}").unwrap();
    let with = |arguments: &[&str], value: &str| {
        let mut command = world.agent(arguments);
        command.env("WORD_KEY", value);
        Running::start(command).ends().exits(0)
    };
    for (value, is_named) in [("banana", true), ("ollama", false), ("not-needed", false), ("sk-0815-4711", false)] {
        let check = with(&["config", "check"], value);
        let named = check.stdout.contains("the value of WORD_KEY looks like an ordinary word");
        assert_eq!(named, is_named, "{value}: {}", check.stdout);
        assert!(check.stdout.contains("Hooks.json: is not read"), "{}", check.stdout);
    }
    world.server.script([Reply::text("done")]);
    with(&["run", "hi"], "banana").says(&["looks like an ordinary word", "Hooks.json: is not read"]);
    world.server.script([Reply::text("ollama runs on this machine")]);
    with(&["run", "hi"], "ollama").answers("ollama runs on this machine");
}

/// API-10: without `SOONG_AGENT_HOME` home is `~/.soong-agent`; without either there is none, and that is said.
#[test]
fn where_home_is() {
    let mut world = World::new("where_home_is");
    world.home.home = world.home.root.join(".soong-agent");
    world.configure("");
    world.server.push(Reply::text("At home."));
    let mut command = world.agent(["run", "hi"]);
    command.env_remove("SOONG_AGENT_HOME");
    world.fed(command, b"").exits(0).answers("At home.");
    assert!(world.left_in_home().contains(&"sessions.sqlite".to_owned()));
    let mut command = world.agent(["run", "hi"]);
    command.env_remove("SOONG_AGENT_HOME").env_remove("HOME");
    world.fed(command, b"").exits(2).one_error().says(&["SOONG_AGENT_HOME"]);
}

/// API-14, CFG-12: nothing is read or written in a user's home that is not ours; what is made is private.
#[test]
fn home_is_the_only_place() {
    let world = World::new("only_place");
    world.home.write(".soong-agent/config.toml", "this is not TOML");
    world.server.push(Reply::text("Hello."));
    world.run(&["run", "hi"]).exits(0);
    let names: Vec<_> = fs::read_dir(world.home.root.join(".soong-agent")).unwrap().flatten().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    for name in world.left_in_home() {
        let mode = fs::metadata(world.home.home.join(&name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{name} is for its owner only: {mode:o}");
    }
}

/// INST-02, SKL-1: a broken skill is named with file, line and column, and what is on is said.
#[test]
fn a_look_at_the_files_of_the_user() {
    let world = World::new("config_files");
    world.home.write("home/skills/broken.md", "---\nname: broken\ndescription: Use it: often\n---\nBody.\n");
    world.home.write("home/skills/fine.md", "---\nname: fine\ndescription: Is fine.\n---\nBody.\n");
    world.home.write("project/AGENTS.md", "Be kind.\n");
    let ended = world.run(&["config", "check"]).exits(0);
    for part in ["Skills: 1", "broken.md, line 3, column", "Summaries of older turns: by "] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    let tools = world.run(&["tools"]).exits(0).stdout;
    let line = |name: &str| tools.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(line("internal.load_skill").contains("no asking"), "{tools}");
}

/// TOL-4: a tool that has nothing to load is told as not offered.
#[test]
fn a_tool_with_nothing_to_load() {
    let world = World::new("nothing_to_load");
    let tools = world.run(&["tools"]).exits(0).stdout;
    let line = tools.lines().find(|line| line.starts_with("internal.load_skill")).unwrap();
    assert!(line.contains("not offered: there is nothing"), "{line}");
}

/// FND-73: `config check` says what it found where the model's server should be, and what to do; it is fine about the configuration
/// all the same. No key is sent.
#[test]
fn check_asks_the_servers() {
    for world in World::each("check_servers") {
        let before = world.server.request_count();
        let check = world.run(&["config", "check"]).exits(0);
        let provider = world.protocol.provider();
        let said = format!("{}{}", check.stdout, check.stderr);
        assert!(said.contains(&format!("{provider} at http://127.0.0.1")) && said.contains(" answers"), "{said}");
        assert_eq!(world.server.request_count(), before, "no model was asked");
        assert!(!check.stderr.contains("Start "), "{said}");
    }
}

/// FND-73: whatever the server says, one line tells it: on stdout where it works, as a warning on stderr where runs will hardly work.
#[test]
fn what_check_finds() {
    for (status, key, out, line) in [
        ("200 OK", "", true, "answers (200)"),
        ("401 Unauthorized", "model.api_key_env = \"SOME_KEY\"\n", true, "answers, and wants the key"),
        ("401 Unauthorized", "", false, "wants a key (401): name the variable that holds it in api_key_env"),
        ("404 Not Found", "", false, "answers, but lists no models there (404). If runs fail, correct base_url"),
        ("502 Bad Gateway", "", false, "answers with status 502. If runs fail, look at base_url and at the server"),
        ("", "", false, "did not answer within 2 s"),
    ] {
        let world = World::new("check_finds");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        world.configure_at(&address, key);
        let server = (!status.is_empty()).then(|| {
            let listener = listener.try_clone().unwrap();
            thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut asked = [0; 4096];
                let read = stream.read(&mut asked).unwrap();
                write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
                String::from_utf8_lossy(&asked[..read]).into_owned()
            })
        });
        let mut command = world.agent(["config", "check"]);
        command.env("SOME_KEY", "sk-0815");
        let check = world.fed(command, b"").exits(0);
        if let Some(server) = server {
            let asked = server.join().unwrap();
            assert!(asked.starts_with("GET /v1/models ") && !asked.contains("sk-0815"), "{asked}");
        }
        let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (said, silent) = match out {
            true => (&check.stdout, &check.stderr),
            false => (&check.stderr, &check.stdout),
        };
        let wanted = format!("openai at {address} {line}");
        assert!(flat(said).contains(&wanted), "{wanted}: {said}");
        assert!(!flat(silent).contains(line) && !silent.contains("warning"), "{silent}");
        assert!(check.stdout.contains(" is fine."), "{}", check.stdout);
    }
}

/// FND-73: where nothing listens `config check` warns, says how to begin, and exits with 0: the configuration may be right before the
/// server runs.
#[test]
fn check_without_a_server() {
    for world in World::each("check_no_server") {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        drop(listener);
        world.configure_at(&address, "");
        let check = world.run(&["config", "check"]).exits(0);
        assert!(check.stderr.starts_with("warning: ") && check.stderr.contains("base_url"), "{}", check.stderr);
        assert_eq!(check.stderr.matches("warning:").count(), 1, "one server, one line: {}", check.stderr);
    }
}
