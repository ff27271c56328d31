//! Where the message comes from, and messages that are none.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use agent_testkit::Reply;

use crate::process::Running;
use crate::support::{BIN, World};
use crate::terminal::Terminal;

/// The last thing the user said in a request.
fn said(world: &World, request: usize) -> String {
    let request = &world.server.requests()[request];
    let last = request.messages().iter().rfind(|message| message["role"] == "user").expect("the user said something");
    last["content"].as_str().map_or_else(|| last["content"].to_string(), str::to_owned)
}

/// CLI-1, CLI-8: the message is the argument; stdin, for `-` or without one.
#[test]
fn where_it_comes_from() {
    for world in World::each("where_it_comes_from") {
        for (arguments, stdin, expected) in [
            (&["run", "From the argument."][..], "", "From the argument."),
            (&["run", "-"], "From stdin.\nTwo lines: ünï.\n", "From stdin.\nTwo lines: ünï.\n"),
            (&["run"], "From stdin alone.", "From stdin alone."),
            (&["run", "From the argument."], "Not this.", "From the argument."),
            (&["run", "--", "--help"], "", "--help"),
        ] {
            world.server.push(Reply::text("Understood."));
            world.fed(world.agent(arguments), stdin.as_bytes()).exits(0).answers("Understood.");
            let said = said(&world, world.server.request_count() - 1);
            assert!(said.contains(expected) && !said.contains("Not this."), "{said}");
        }
    }
}

/// CLI-4: a message that is none is wrong usage; nothing is asked, nothing is created.
#[test]
fn no_message() {
    let world = World::new("no_message");
    let argument = |bytes: &[u8]| [OsString::from("run"), OsString::from_vec(bytes.to_vec())];
    let dash = || world.agent(["run", "-"]);
    for (command, stdin, word) in [
        (world.agent(argument(b"")), &b""[..], "empty"),
        (world.agent(argument(b" \n\t")), b"", "empty"),
        (world.agent(argument(b"caf\xe9")), b"", "UTF-8"),
        (dash(), b"", "empty"),
        (dash(), b" \n", "empty"),
        (dash(), b"caf\xe9\n", "UTF-8"),
        (world.agent(["run"]), b"", "empty"),
    ] {
        world.fed(command, stdin).exits(2).one_error().says(&[word]).answers("");
    }
    // No stdin at all.
    let mut closed = world.home.command("sh");
    closed.args(["-c", "exec \"$0\" run <&-", BIN]);
    Running::start(closed).ends().exits(2).one_error();
    assert_eq!(world.left_in_home(), Vec::<String>::new());
    assert_eq!(world.server.request_count(), 0);
}

/// CLI-8: on a terminal nothing is read as a message; people are told what to do.
#[test]
fn no_message_on_a_terminal() {
    let world = World::new("no_message_on_a_terminal");
    let (code, screen) = Terminal::start(world.on_terminal(["run"])).ends();
    assert_eq!(code, 2);
    assert!(screen.contains("there is no message") && screen.contains("soong-agent run \""), "{screen}");
    assert_eq!(world.left_in_home(), Vec::<String>::new());
}

/// RUN-6: five megabytes do not fit any window: no request, exit 1, and the session is usable afterwards.
#[test]
fn five_megabytes() {
    for world in World::each("five_megabytes") {
        world.server.push(Reply::text("Hello."));
        let session = world.run(&["run", "hi"]).exits(0).session();
        let long = "All work and no play. ".repeat(5 << 20 >> 4).into_bytes();
        let command = world.agent(["run", "--session-id", &session, "-"]);
        let ended = world.fed(command, &long).exits(1).one_error().answers("");
        assert!(ended.stderr.len() < 4096, "the message is not shown again");
        assert_eq!(world.server.request_count(), 1);
        let events = world.events(&session);
        let failed = events.iter().rfind(|event| event.event_type.as_str() == "loop_failed").unwrap();
        assert!(failed.payload["end_reason"] == "prompt_too_long", "{:?}", failed.payload);
        world.goes_on(&session);
    }
}

/// What could only fill the memory is not read to its end.
#[test]
fn an_endless_message() {
    let world = World::new("endless_message");
    let mut endless = world.home.command("sh");
    endless.args(["-c", "yes | \"$0\" run -", BIN]);
    Running::start(endless).ends().exits(1).one_error().says(&["64 MiB"]);
    assert_eq!(world.left_in_home(), Vec::<String>::new());
}

/// FND-54, PRV-15: the model is told the date of `TZ`, behind the user's message. The next run of the session, a day or two later, has
/// every byte of the earlier requests in front.
#[test]
fn the_date_is_local() {
    for world in World::each("local_date") {
        let run = |zone: &str, arguments: &[&str]| {
            world.server.push(Reply::text("Noted."));
            let mut command = world.agent(arguments);
            command.env("TZ", zone);
            world.fed(command, b"").exits(0)
        };
        // Twelve hours behind UTC and fourteen before it: never the same date.
        let session = run("<-12>12", &["run", "One."]).session();
        run("<+14>-14", &["run", "--session-id", &session, "Two."]);
        let requests = world.server.requests();
        let dates: Vec<_> = ["One.", "Two."]
            .iter()
            .enumerate()
            .map(|(at, message)| {
                let said = said(&world, at);
                assert!(said.contains(message) || world.protocol == agent_testkit::Protocol::Anthropic, "{said}");
                let (_, date) = said.rsplit_once("[The user's local date: ").unwrap_or_else(|| panic!("{said}"));
                date.get(..10).unwrap().to_owned()
            })
            .collect();
        assert!(dates[0] < dates[1], "{dates:?}");
        assert_eq!(agent_testkit::prefix_violations(&requests), Vec::<String>::new());
        let system = requests[0].messages().iter().find(|message| message["role"] == "system").unwrap().to_string();
        assert!(!system.contains(&dates[0]), "{system}");
    }
}
