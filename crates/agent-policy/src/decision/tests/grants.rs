//! What a grant covers, and above all what it does not.

use proptest::prelude::*;

use super::*;
use crate::testing::properties;

/// The grants after somebody allowed this call for the session.
#[track_caller]
fn granted(tool: &ToolDescriptor, facts: &Facts) -> Grants {
    let mut grants = Grants::new();
    grants.insert(question(judge(tool, facts)).grant.expect("a call that can be granted"));
    grants
}

fn passes(grants: &Grants, tool: &ToolDescriptor, facts: &Facts) -> bool {
    matches!(decide(tool, facts, &rules(), &PolicySettings::default(), grants), Verdict::Allow { .. })
}

fn write(path: &str) -> Facts {
    touching(Access::Write, path)
}

/// PRM-4: files directly in the folder, by the same tool; nothing below, beside or special.
#[test]
fn folder_grants() {
    let grants = granted(&edit_file(), &write("/t/ws/src/a.rs"));
    for path in ["/t/ws/src/a.rs", "/t/ws/src/b.rs", "/t/ws/src/.gitignore"] {
        assert!(passes(&grants, &edit_file(), &write(path)), "{path}");
    }
    for path in [
        "/t/ws/src/deep/a.rs",
        "/t/ws/src2/a.rs",
        "/t/ws/a.rs",
        "/t/ws/src",
        "/t/ws/SRC/a.rs",
        "/t/ws/src/.env",
        "/t/ws/src/x.pem",
        "/t/ws/src/AGENTS.md",
        "/t/ws/src/.git",
        "/t/ws/src/../a.rs",
        "/t/out/a.rs",
    ] {
        assert!(!passes(&grants, &edit_file(), &write(path)), "{path}");
    }
    let other = tool("code.write_file", Permission::Write, &["code", "filesystem", "write"]);
    assert!(!passes(&grants, &other, &write("/t/ws/src/a.rs")));
    let mut linked = write("/t/ws/src/b.rs");
    linked.targets[0].aliases = vec!["/t/ws/.git/config".into()];
    assert!(!passes(&grants, &edit_file(), &linked));
    let mut risky = write("/t/ws/src/b.rs");
    risky.dangers = vec!["it makes the file executable".to_owned()];
    assert!(!passes(&grants, &edit_file(), &risky));
}

/// PRM-4: what is sensitive, under control or outside is granted file by file.
#[test]
fn special_files_are_granted_one_by_one() {
    for (path, beside) in [
        ("/t/ws/.env", "/t/ws/.env.local"),
        ("/t/ws/AGENTS.md", "/t/ws/CLAUDE.md"),
        ("/t/ws/.git/config", "/t/ws/.git/HEAD"),
        ("/opt/a", "/opt/b"),
    ] {
        let grants = granted(&edit_file(), &write(path));
        assert!(passes(&grants, &edit_file(), &write(path)), "{path}");
        assert!(!passes(&grants, &edit_file(), &write(beside)), "{beside}");
        assert!(!passes(&grants, &edit_file(), &write("/t/ws/a.rs")), "{path}");
    }
    let grants = granted(&read_file(), &touching(Access::List, "/home/u/.ssh"));
    assert!(passes(&grants, &read_file(), &touching(Access::List, "/home/u/.ssh")));
    assert!(!passes(&grants, &read_file(), &touching(Access::Read, "/home/u/.ssh/id_rsa")));
}

/// PRM-4: several targets are granted together, and no combination is put together from other grants.
#[test]
fn combinations_are_not_pieced_together() {
    let both = |one: &str, other: &str| Facts {
        targets: vec![target(Access::Write, one), target(Access::Write, other)],
        ..Facts::default()
    };
    let mut grants = granted(&edit_file(), &both("/t/ws/a/1", "/t/ws/b/1"));
    assert!(passes(&grants, &edit_file(), &both("/t/ws/b/2", "/t/ws/a/2")), "the order does not matter");
    grants.insert(question(judge(&edit_file(), &write("/t/ws/c/1"))).grant.unwrap());
    assert!(!passes(&grants, &edit_file(), &both("/t/ws/a/1", "/t/ws/c/1")));
    assert!(!passes(&grants, &edit_file(), &write("/t/ws/a/1")));
}

fn run(argv: &[&str]) -> Facts {
    command("/usr/bin/prog", "/t/ws", argv)
}

/// PERM-01, PERM-02, PERM-04, PERM-06, PERM-07: the exact argument list, nothing like it.
#[test]
fn command_grants_are_exact() {
    for (allowed, others) in [
        (&["python3", "-c", "print(1)"][..], &[&["python3", "-c", "import os;os.remove('x')"][..], &["python3"]][..]),
        (&["rm", "-rf", "./scratch"], &[&["rm", "-rf", "./scratch-backup"], &["rm", "-rf", "./scratch", ".."]]),
        (
            &["git", "status"],
            &[
                &["git", "-c", "core.pager=touch /tmp/pwn;", "-p", "log"],
                &["git", "-c", "core.fsmonitor=touch /tmp/pwn", "status"],
                &["git", "diff", "--output=/tmp/x"],
                &["./git", "status"],
                &["git", "status", ""],
                &["git status"],
                &["git", "Status"],
            ],
        ),
        (&["npm", "test"], &[&["npm", "testify"], &["npm", "test", "&&", "x"]]),
        (&["rm", "x"], &[&["env", "rm", "x"], &["timeout", "5", "rm", "x"], &["sh", "-c", "rm x"]]),
    ] {
        let grants = granted(&run_command(), &run(allowed));
        assert!(passes(&grants, &run_command(), &run(allowed)), "{allowed:?}");
        for other in others {
            assert!(!passes(&grants, &run_command(), &run(other)), "{other:?}");
        }
    }
}

/// PERM-06: the resolved program and the folder belong to the grant.
#[test]
fn command_grants_hold_program_and_folder() {
    let grants = granted(&run_command(), &run(&["git", "status"]));
    for (program, cwd) in [("/tmp/git", "/t/ws"), ("/usr/bin/prog", "/t/ws/sub"), ("/usr/bin/prog", "/t/out")] {
        assert!(!passes(&grants, &run_command(), &command(program, cwd, &["git", "status"])), "{program} {cwd}");
    }
}

/// PERM-06: among the files a command touches, the one that runs matters.
#[test]
fn command_grants_hold_which_file_runs() {
    let running = |program: &str| {
        let mut facts = command("/bin/a", "/t/ws", &["a", "/bin/b"]);
        let command = facts.command.as_mut().unwrap();
        command.code.push(CodeFile { path: "/bin/b".into(), hash: "bb".to_owned(), writable: false });
        command.program = program.into();
        facts
    };
    let grants = granted(&run_command(), &running("/bin/a"));
    assert!(passes(&grants, &run_command(), &running("/bin/a")));
    assert!(!passes(&grants, &run_command(), &running("/bin/b")));
}

/// A grant given under one warning does not cover a call under another, or under none.
#[test]
fn grants_hold_the_warnings() {
    let warned = |dangers: &[&str]| Facts { dangers: crate::testing::strings(dangers), ..write("/t/ws/a.rs") };
    let grants = granted(&edit_file(), &warned(&["it makes the file executable"]));
    assert!(passes(&grants, &edit_file(), &warned(&["it makes the file executable"])));
    assert!(!passes(&grants, &edit_file(), &warned(&["it empties the file"])));
    assert!(!passes(&grants, &edit_file(), &warned(&[])));
}

/// PRM-4: changed, added or vanished code asks again; a program nobody hashed is never granted.
#[test]
fn command_grants_hold_the_code() {
    let script = |hash: &str| CodeFile { path: "/t/ws/x.sh".into(), hash: hash.to_owned(), writable: true };
    let with = |code: &[CodeFile]| {
        let mut facts = run(&["sh", "x.sh"]);
        facts.command.as_mut().unwrap().code.extend_from_slice(code);
        facts
    };
    let grants = granted(&run_command(), &with(&[script("b1")]));
    assert!(passes(&grants, &run_command(), &with(&[script("b1")])));
    for code in [&[][..], &[script("b2")], &[script("b1"), script("b2")]] {
        assert!(!passes(&grants, &run_command(), &with(code)), "{code:?}");
    }
    let mut swapped = with(&[script("b1")]);
    swapped.command.as_mut().unwrap().code[0].hash = "other".to_owned();
    assert!(!passes(&grants, &run_command(), &swapped));

    let mut unknown = run(&["x"]);
    unknown.command.as_mut().unwrap().code.clear();
    assert_eq!(question(judge(&run_command(), &unknown)).grant, None);
}

/// PRM-4: where the arguments lead belongs to the grant; what cannot be tied is not granted, and the question says why.
#[test]
fn command_grants_hold_where_arguments_lead() {
    let leading = |path: &str| {
        let mut facts = run(&["sh", "l"]);
        let requested = "l".to_owned();
        facts.command.as_mut().unwrap().named = vec![crate::Target { requested, ..target(Access::Read, path) }];
        facts
    };
    let grants = granted(&run_command(), &leading("/opt/a"));
    assert!(passes(&grants, &run_command(), &leading("/opt/a")));
    for other in [leading("/opt/b"), run(&["sh", "l"])] {
        assert!(!passes(&grants, &run_command(), &other));
    }
    let mut untied = leading("/opt/a");
    untied.command.as_mut().unwrap().untied = Some("x is a pipe".to_owned());
    let question = question(judge(&run_command(), &untied));
    assert_eq!((question.grant, question.grant_covers), (None, None));
    assert!(question.reasons.contains(&"an answer counts once: x is a pipe".to_owned()), "{:?}", question.reasons);
}

/// PRM-4: an argument that leads to a secret, or to a file that is one by another name, is flagged and counts once.
#[test]
fn arguments_that_lead_to_secrets_count_once() {
    for (resolved, alias) in [("/home/u/.ssh/id_rsa", None), ("/t/ws/hard", Some("/home/u/.ssh/id_rsa"))] {
        let mut facts = run(&["cat", "notes"]);
        let aliases = alias.into_iter().map(Into::into).collect();
        let requested = "notes".to_owned();
        facts.command.as_mut().unwrap().named =
            vec![crate::Target { requested, aliases, ..target(Access::Read, resolved) }];
        let question = asks(&run_command(), &facts, "names notes, which is /home/u/.ssh/id_rsa, may hold secrets");
        assert_eq!((question.grant, question.suggested, question.dangerous), (None, DecisionKind::Deny, true));
    }
}

/// PRM-4: a host for network tools, in any spelling of that host, and no other.
#[test]
fn host_grants() {
    let fetch = tool("web.fetch", Permission::Readonly, &["network"]);
    let to = |host: &str| Facts { network_host: Some(host.to_owned()), ..Facts::default() };
    let asked = question(judge(&fetch, &to("Example.com")));
    assert_eq!(asked.grant_covers.as_deref(), Some("requests to example.com by web.fetch"));
    let grants = granted(&fetch, &to("Example.com"));
    for host in ["example.com", "EXAMPLE.COM."] {
        assert!(passes(&grants, &fetch, &to(host)), "{host}");
    }
    for host in ["www.example.com", "example.com.evil.org", "example.co", "notexample.com", ""] {
        assert!(!passes(&grants, &fetch, &to(host)), "{host}");
    }
    assert!(!passes(&grants, &fetch, &Facts::default()), "a call that does not say where it goes");
}

/// PRM-4: a tool that shows nothing of what it does is granted for the very same arguments.
#[test]
fn opaque_tools() {
    let opaque = tool("mcp.s.t", Permission::Write, &[]);
    let with = |preview: &str| Facts { preview: preview.to_owned(), ..Facts::default() };
    let asked = question(judge(&opaque, &with("{\"a\":1}")));
    assert_eq!(asked.grant_covers.as_deref(), Some("exactly this call by mcp.s.t"));
    let grants = granted(&opaque, &with("{\"a\":1}"));
    assert!(passes(&grants, &opaque, &with("{\"a\":1}")));
    assert!(!passes(&grants, &opaque, &with("{\"a\":2}")));
    let huge = "x".repeat(65 * 1024);
    assert_eq!(question(judge(&opaque, &with(&huge))).grant, None, "too big to be remembered");
}

/// PRM-4: a tool that talks to hosts it does not name is granted for the very same arguments, though it names a file.
#[test]
fn hosts_that_are_not_told() {
    let upload = tool("x.upload", Permission::Write, &["network"]);
    let to = |path: &str, preview: &str, host: Option<&str>| Facts {
        preview: preview.to_owned(),
        network_host: host.map(str::to_owned),
        ..write(path)
    };
    let grants = granted(&upload, &to("/t/ws/src/a", "a to x", None));
    assert!(passes(&grants, &upload, &to("/t/ws/src/a", "a to x", None)));
    assert!(!passes(&grants, &upload, &to("/t/ws/src/a", "a to y", None)));
    assert!(!passes(&grants, &upload, &to("/t/ws/src/b", "a to x", Some("h"))));
    let grants = granted(&upload, &to("/t/ws/src/a", "1", Some("h")));
    assert!(passes(&grants, &upload, &to("/t/ws/src/b", "2", Some("h"))));
    assert!(!passes(&grants, &upload, &to("/t/ws/src/b", "2", Some("i"))));
}

/// PRM-4: a dangerous tool is granted by file, not by folder.
#[test]
fn dangerous_tools_are_granted_by_file() {
    let dangerous = tool("x.y", Permission::Write, &["dangerous"]);
    let grants = granted(&dangerous, &write("/t/ws/a"));
    assert!(passes(&grants, &dangerous, &write("/t/ws/a")));
    assert!(!passes(&grants, &dangerous, &write("/t/ws/b")));
}

/// PERM-14: grants are a value their session holds; another session's are empty.
#[test]
fn grants_belong_to_their_holder() {
    let grants = granted(&edit_file(), &write("/t/ws/src/a.rs"));
    assert_eq!((grants.len(), grants.is_empty()), (1, false));
    assert!(!passes(&Grants::new(), &edit_file(), &write("/t/ws/src/a.rs")));
}

/// COD-8: no grant opens what is denied.
#[test]
fn grants_do_not_open_what_is_denied() {
    let roomy = rules_for(Places {
        home: "/other".into(),
        session_db: "/other/s".into(),
        sessions_dir: "/other/s.sessions".into(),
        memory_dir: "/other/m".into(),
        ..places()
    });
    let facts = write("/home/u/.soong-agent/x");
    let asked = question(decide(&edit_file(), &facts, &roomy, &PolicySettings::default(), &Grants::new()));
    let mut grants = Grants::new();
    grants.insert(asked.grant.unwrap());
    let verdict = decide(&edit_file(), &facts, &rules(), &PolicySettings::default(), &grants);
    assert!(matches!(verdict, Verdict::Deny { .. }), "{verdict:?}");
}

/// PRM-11: with session grants switched off an answer counts once: nothing is offered and an old grant covers nothing.
#[test]
fn switched_off() {
    let facts = write("/t/ws/src/a.rs");
    let off = PolicySettings { session_grants: false, ..PolicySettings::default() };
    let verdict = decide(&edit_file(), &facts, &rules(), &off, &granted(&edit_file(), &facts));
    assert_eq!(question(verdict).grant_covers, None);
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z-]{0,3}", Just("-c".to_owned()), Just("x y".to_owned()), Just("..".to_owned())]
}

fn argv() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(word(), 1..5)
}

fn folder() -> impl Strategy<Value = String> {
    prop::collection::vec("[ab]{1,2}", 0..4)
        .prop_map(|names| names.iter().fold("/t/ws".to_owned(), |path, name| format!("{path}/{name}")))
}

fn call(argv: &[String], program: &str, cwd: &str, hash: &str) -> Facts {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    let mut facts = command(program, cwd, &words);
    facts.command.as_mut().unwrap().code[0].hash = hash.to_owned();
    facts
}

proptest! {
    #![proptest_config(properties())]

    /// PRM-4: a command's grant covers an equal command and no other.
    #[test]
    fn a_command_grant_covers_its_equal_only(
        one in (argv(), "/bin/[ab]", folder(), "[01]"),
        other in (argv(), "/bin/[ab]", folder(), "[01]"),
    ) {
        let facts = |(argv, program, cwd, hash): &(Vec<String>, String, String, String)| call(argv, program, cwd, hash);
        let grants = granted(&run_command(), &facts(&one));
        prop_assert!(passes(&grants, &run_command(), &facts(&one)));
        prop_assert_eq!(passes(&grants, &run_command(), &facts(&other)), one == other);
    }

    /// PRM-4: words cannot move their borders, and nothing can be added.
    #[test]
    fn a_command_grant_keeps_words_apart(argv in argv(), extra in word()) {
        let grants = granted(&run_command(), &call(&argv, "/bin/a", "/t/ws", "0"));
        let mut longer = argv.clone();
        longer.push(extra);
        let joined = vec![argv.join(" ")];
        prop_assert!(!passes(&grants, &run_command(), &call(&longer, "/bin/a", "/t/ws", "0")));
        prop_assert_eq!(passes(&grants, &run_command(), &call(&joined, "/bin/a", "/t/ws", "0")), joined == argv);
    }

    /// PRM-4: a file's grant covers the files of that very folder and no other: not deeper, not above, not a sibling whose
    /// name begins alike.
    #[test]
    fn a_folder_grant_covers_its_folder_only(one in folder(), other in folder(), tail in "[a-z0-9._-]{1,3}") {
        let grants = granted(&edit_file(), &write(&format!("{one}/f.rs")));
        let covered = |folder: &str| passes(&grants, &edit_file(), &write(&format!("{folder}/g.rs")));
        let (sibling, deeper) = (format!("{one}{tail}"), format!("{one}/{tail}x"));
        prop_assert!(covered(&one));
        prop_assert_eq!(covered(&other), one == other);
        prop_assert!(!covered(&sibling));
        prop_assert!(!covered(&deeper));
    }
}
