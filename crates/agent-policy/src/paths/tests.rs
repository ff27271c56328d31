use proptest::prelude::*;

use super::*;
use crate::testing::{SENSITIVE, places, properties, rules, rules_for, strings};

#[track_caller]
fn sensitive(path: &str, expected: bool) {
    assert_eq!(rules().sensitive(Path::new(path)).is_some(), expected, "sensitive: {path}");
}

/// PRM-2: the contract's list, any case, folders covering their content, at any depth; near names are free.
#[test]
fn configured_list() {
    for path in [
        "/home/u/.ssh",
        "/home/u/.ssh/config",
        "/home/u/.SSH/Config",
        "/home/u/.gnupg/pubring.kbx",
        "/home/u/.aws/credentials",
        "/home/u/.config/gcloud/x/y.db",
        "/t/ws/server.pem",
        "/t/ws/deep/er/Server.PEM",
        "/t/ws/a.key",
        "/t/ws/.env",
        "/t/ws/.ENV",
        "/t/ws/.env.local",
        "/t/ws/sub/.env.production",
        "/t/ws/.env/settings",
        "/t/ws/certs.pem/inner.txt",
    ] {
        sensitive(path, true);
    }
    for path in [
        "/t/ws/src/main.rs",
        "/t/ws/.environment",
        "/t/ws/env",
        "/t/ws/pem",
        "/t/ws/keys",
        "/t/ws/a.keys",
        "/home/u/.sshx/config",
        "/home/v/.aws2",
        "/t/ws/.ssh.md",
        "/",
    ] {
        sensitive(path, false);
    }
}

/// PRM-10, PATH-07: sensitive even when the configured list is empty.
#[test]
fn fixed_list() {
    let rules = PathRules::new(places(), &[]).unwrap();
    for path in [
        "/t/ws/.envrc",
        "/t/ws/.dev.vars",
        "/home/u/.netrc",
        "/t/ws/.npmrc",
        "/t/ws/sub/.pypirc",
        "/home/u/.git-credentials",
        "/home/u/.kube/config",
        "/t/ws/.Kube/Config",
        "/home/u/.docker/config.json",
        "/home/u/.pgpass",
        "/t/ws/.env~",
        "/t/ws/#.env#",
        "/t/ws/.env-prod",
        "/t/ws/prod.env.bak",
        "/mnt/usb/id_rsa.bak",
        "/home/u/.netrc.swp",
        "/t/ws/.htpasswd",
        "/t/ws/.aws/credentials",
        "/home/u/.soong-agent/sessions/sess_1/artifacts/art_1/stdout.txt",
        "/etc/shadow",
        "/home/u/.azure/msal_token_cache.json",
        "/home/u/.password-store/mail.gpg",
        "/home/u/.local/share/keyrings/login.keyring",
        "/home/u/.config/rclone/rclone.conf",
        "/home/u/.m2/settings.xml",
        "/home/u/.terraform.d/credentials.tfrc.json",
        "/home/u/.bash_history",
        "/home/u/.mozilla/firefox/x.default/logins.json",
        "/mnt/usb/passwords.kdbx",
        "/t/ws/release.jks",
        "/t/ws/infra/terraform.tfstate",
        "/home/u/.vault-token",
        "/home/u/.cargo/credentials.toml",
        "/home/u/.config/gh/hosts.yml",
        "/t/ws/certs/client.p12",
        "/t/ws/Client.PFX",
        "/mnt/usb/id_rsa",
        "/mnt/usb/id_dsa",
        "/mnt/usb/id_ecdsa",
        "/mnt/usb/id_ed25519_sk",
        "/mnt/usb/ID_ED25519",
        "/home/u/.soong-agent/config.toml",
        "/home/u/.soong-agent/hooks.json",
        "/home/u/.soong-agent/mcp.json",
        "/home/u/.soong-agent/sessions.sqlite",
        "/home/u/.soong-agent/sessions.sqlite-wal",
        "/t/ws/prod.env",
        "/t/ws/deploy/Prod.ENV",
        "/t/ws/.env",
    ] {
        assert!(rules.sensitive(Path::new(path)).is_some(), "{path}");
    }
    for path in [
        "/t/ws/.env.local",
        "/t/ws/env",
        "/t/ws/prod.env.md",
        "/home/u/.kube/cache",
        "/t/ws/config.toml",
        "/t/ws/hooks.json",
        "/mnt/usb/id_rsa.pub",
        "/home/u/.soong-agent/skills/a.md",
        "/home/u/.soong-agent/sub/config.toml",
    ] {
        assert!(rules.sensitive(Path::new(path)).is_none(), "{path}");
    }
}

/// READ-04, PRM-10: what a process knows, under every path that leads there.
#[test]
fn process_memory() {
    for path in [
        "/proc/self/environ",
        "/proc/1/environ",
        "/proc/thread-self/environ",
        "/proc/12/task/13/environ",
        "/proc/self/mem",
        "/proc/12/maps",
        "/proc/self/fd",
        "/proc/self/fd/3",
        "/dev/fd/3",
        "/proc/kcore",
    ] {
        sensitive(path, true);
    }
    for path in ["/proc/cpuinfo", "/proc/self", "/proc/self/status", "/proc/meminfo", "/x/proc/1/environ", "/t/ws/maps"]
    {
        sensitive(path, false);
    }
}

/// PRM-2: a session database that was configured elsewhere is as sensitive.
#[test]
fn database_elsewhere() {
    let rules = rules_for(Places {
        session_db: "/var/lib/agent[1]/s.db".into(),
        sessions_dir: "/var/lib/agent[1]/s.db.sessions".into(),
        ..places()
    });
    for (path, expected) in [
        ("/var/lib/agent[1]/s.db", true),
        ("/var/lib/agent[1]/s.db-wal", true),
        ("/var/lib/agent[1]/s.db.sessions/sess_1/artifacts/art_1/stdout.txt", true),
        ("/var/lib/agent1/s.db", false),
    ] {
        assert_eq!(rules.sensitive(Path::new(path)).is_some(), expected, "{path}");
    }
}

/// SRCH-07: what a walk asks of each entry agrees with the full question, folder by folder.
#[test]
fn entries_of_a_walk() {
    let rules = rules();
    for path in ["/t/ws/.env", "/t/ws/a/x.pem", "/home/u/.ssh", "/home/u/.kube/config", "/proc/1/environ"] {
        assert!(rules.sensitive_entry(Path::new(path)).is_some(), "{path}");
    }
    assert!(rules.sensitive_entry(Path::new("/t/ws/.env.d/plain.txt")).is_none(), "its folder was asked before");
}

/// PRM-2: a sensitive folder that is a link is sensitive where it really is.
#[test]
fn sensitive_behind_a_link() {
    let mut rules = rules();
    let anchor = Path::new("/home/u/.ssh");
    assert!(rules.anchors().contains(&anchor.to_path_buf()));
    assert!(rules.sensitive(Path::new("/home/u/dots/ssh/config")).is_none());
    rules.also_at(anchor, Path::new("/home/u/dots/ssh"));
    let why = rules.sensitive(Path::new("/home/u/dots/ssh/config")).unwrap();
    assert_eq!(why.to_string(), "may hold secrets (/home/u/.ssh)");
    assert!(rules.sensitive_entry(Path::new("/home/u/dots/ssh")).is_some());
    assert!(rules.sensitive(Path::new("/home/u/dots/ssh2")).is_none());
}

/// COD-8, PATH-06: control files, any case, at any depth below the root.
#[test]
fn control_files() {
    let rules = rules();
    for path in [
        "/t/ws/.git",
        "/t/ws/.git/hooks/pre-commit",
        "/t/ws/.GIT/config",
        "/t/ws/sub/.git/hooks/x",
        "/t/ws/.gitmodules",
        "/t/ws/a/.gitattributes",
        "/t/ws/.github/workflows/ci.yml",
        "/t/ws/.husky/pre-push",
        "/t/ws/.vscode/tasks.json",
        "/t/ws/.idea/x.xml",
        "/t/ws/.cargo/config.toml",
        "/t/ws/.cargo/config",
        "/t/ws/.envrc",
        "/t/ws/.mcp.json",
        "/t/ws/.claude/settings.json",
        "/t/ws/.npmrc",
        "/t/ws/.soong-agent/hooks.json",
        "/t/ws/sub/.soong-agent/x",
        "/t/ws/CLAUDE.md",
        "/t/ws/sub/AGENTS.md",
        "/t/ws/agents.MD",
        "/t/out/.bashrc",
        "/t/out/.bash_profile",
        "/t/out/.zshenv",
        "/t/out/.zprofile",
        "/t/out/.zlogin",
        "/t/out/.kshrc",
        "/t/out/.cshrc",
        "/t/out/.tcshrc",
        "/t/out/.login",
        "/home/u/.profile",
        "/home/u/.config/fish/config.fish",
    ] {
        assert!(rules.control(Path::new(path)).is_some(), "{path}");
    }
    for path in [
        "/t/ws/.gitignore",
        "/t/ws/.github/ISSUE_TEMPLATE/x.md",
        "/t/ws/.github",
        "/t/ws/.cargo/registry/x",
        "/t/ws/git/x",
        "/t/ws/.gitx",
        "/t/ws/README.md",
        "/t/ws/.soong-agent/plans/p.md",
        "/t/ws/.soong-agent/plans/deep/p.md",
    ] {
        assert!(rules.control(Path::new(path)).is_none(), "{path}");
    }
}

/// COD-8: what other programs run or obey besides; not what a build is made of, nor what lies beside it.
#[test]
fn more_control_files() {
    let rules = rules();
    for path in [
        ".gitconfig",
        ".config/git/config",
        ".githooks/pre-commit",
        ".pre-commit-config.yaml",
        "lefthook.yml",
        ".github/actions/setup/action.yml",
        ".gitea/workflows/x.yml",
        ".gitlab-ci.yml",
        "sub/.GitLab-CI.yml",
        ".circleci/config.yml",
        ".buildkite/pipeline.yml",
        "Jenkinsfile",
        "azure-pipelines.yml",
        ".devcontainer/devcontainer.json",
        ".devcontainer.json",
        ".exrc",
        ".dir-locals.el",
        ".mvn/extensions.xml",
        ".gradle/init.d/x.gradle",
        ".gradle/init.gradle.kts",
        ".pip/pip.conf",
        ".config/pip/pip.conf",
        ".pypirc",
        ".yarnrc.yml",
        ".yarn/releases/yarn.cjs",
        ".pnpmfile.cjs",
        ".cursor/rules/a.mdc",
        ".cursorrules",
        ".gemini/settings.json",
        "sub/GEMINI.md",
        "CLAUDE.local.md",
        ".codex/config.toml",
        ".github/copilot-instructions.md",
        // Spelled as file systems of other systems' making take it for the same.
        ".git./config",
        ".GIT /hooks/pre-commit",
        "CLAUDE.md.",
    ] {
        assert!(rules.control(&Path::new("/t/ws").join(path)).is_some(), "{path}");
    }
    for path in [
        "appveyor.yml",
        ".appveyor.yml",
        ".cirrus.yml",
        ".build.yml",
        ".builds/arch.yml",
        ".semaphore/semaphore.yml",
        ".tekton/push.yaml",
        "buildspec.yml",
        "cloudbuild.yaml",
        "cloudbuild.yml",
        ".travis.yml",
        ".drone.yml",
        "bitbucket-pipelines.yml",
        "app.code-workspace",
        "sub/App.Code-Workspace",
        ".zed/tasks.json",
        ".vim/vimrc",
        ".config/nvim/init.lua",
        ".emacs.d/init.el",
        "opencode.json",
        ".opencode/plugin/a.ts",
        ".aider.conf.yml",
        ".roo/mcp.json",
        ".kiro/hooks/a.kiro.hook",
        ".continue/config.yaml",
        ".junie/guidelines.md",
        ".rules",
        ".github/hooks/a.json",
        ".hg/hgrc",
        "mise.toml",
        ".mise.toml",
        ".direnvrc",
        ".gdbinit",
        ".xprofile",
        ".config/systemd/user/a.service",
        ".config/autostart/a.desktop",
    ] {
        assert!(rules.control(&Path::new("/t/ws").join(path)).is_some(), "{path}");
        assert!(rules.control(&Path::new("/t/ws/sub").join(path)).is_some(), "sub/{path}");
    }
    for path in [
        "code-workspace",
        "docs/mise.md",
        ".config/app.toml",
        ".hg/store/data",
        "rules",
        "Makefile",
        "package.json",
        "build.rs",
        "Cargo.toml",
        "Dockerfile",
        "setup.py",
        "justfile",
        ".github/dependabot.yml",
        ".github/CODEOWNERS",
        ".gradle/caches/x",
        ".yarn/cache/x.zip",
        ".editorconfig",
        "docs/jenkinsfile.md",
    ] {
        assert!(rules.control(&Path::new("/t/ws").join(path)).is_none(), "{path}");
    }
}

/// PRM-2, COD-8: what is another name for some file systems only is judged as the file it opens there.
#[test]
fn other_file_systems_spellings() {
    let rules = rules();
    for path in [
        "/t/ws/.env.",
        "/t/ws/.ENV ",
        "/t/ws/.e\u{ad}nv",
        "/home/u/.ssh./config",
        "/home/u/.\u{17f}\u{17f}h/config",
        "/t/ws/ID_R\u{17f}a",
        "/t/ws/server.\u{212a}ey",
        "/t/ws/server.pem. .",
    ] {
        assert!(rules.sensitive(Path::new(path)).is_some(), "{path}");
        assert!(rules.sensitive_entry(Path::new(path)).is_some() || path.ends_with("/config"), "{path}");
        assert!(rules.sensitive_word(path, Path::new("/t")).is_some(), "{path}");
    }
    for path in ["/home/u/.soong-agent./hooks.json", "/t/ws/.soong-agent/tasks /x", "/home/u/.Soong-Agent/x"] {
        assert!(rules.forbidden_write(Path::new(path)).is_some(), "{path}");
    }
    assert_eq!(rules.root_of(Path::new("/home/u/.soong-agent./x")), Root::Home);
    // A root is what it is called exactly; a name that begins with a space is another name.
    assert_eq!(rules.root_of(Path::new("/t/ws./x")), Root::Outside);
    assert!(rules.sensitive(Path::new("/t/ws/ .netrc ")).is_none());
    let composed = rules_for(Places { memory_dir: "/t/m\u{e9}moire".into(), ..places() });
    assert!(composed.forbidden_write(Path::new("/t/Me\u{301}moire/a.md")).is_some());
}

/// COD-8: the plans folder opens plans, not what other programs obey inside it, nor a sibling.
#[test]
fn plans_are_only_plans() {
    let rules = rules();
    for path in [
        "/t/ws/.soong-agent/plans/.git/config",
        "/t/ws/.soong-agent/plans/AGENTS.md",
        "/t/ws/.soong-agent/plans/.soong-agent/x",
        "/t/ws/.soong-agent/plans2/p.md",
        "/t/ws/.soong-agent",
    ] {
        assert!(rules.control(Path::new(path)).is_some(), "{path}");
    }
}

/// COD-8: what lies above the root says nothing about the files in it.
#[test]
fn roots_inside_control_folders() {
    let places = Places {
        project: "/home/u/.claude/worktrees/w".into(),
        plans_dir: "/home/u/.claude/worktrees/w/.soong-agent/plans".into(),
        write_roots: vec!["/r/.github".into()],
        ..places()
    };
    let rules = rules_for(places);
    for (path, expected) in [
        ("/home/u/.claude/worktrees/w/src/a.rs", false),
        ("/home/u/.claude/worktrees/w/.claude/x", true),
        ("/home/u/.claude/worktrees/w/.soong-agent/plans/p.md", false),
        ("/home/u/.claude/settings.json", true),
        ("/r/.github/workflows/ci.yml", true),
    ] {
        assert_eq!(rules.control(Path::new(path)).is_some(), expected, "{path}");
    }
}

/// PATH-01: roots by whole components; a trailing slash on the project changes nothing; `..` is inside nothing.
#[test]
fn roots() {
    let slashed = rules_for(Places { project: "/t/ws/".into(), ..places() });
    for rules in [rules(), slashed] {
        for (path, root) in [
            ("/t/ws", Root::Project),
            ("/t/ws/", Root::Project),
            ("/t/ws/a/b", Root::Project),
            ("/t/ws2/x", Root::Outside),
            ("/t/w", Root::Outside),
            ("/T/WS/x", Root::Outside),
            ("/t/out/x", Root::WriteRoot(0)),
            ("/t/more", Root::WriteRoot(1)),
            ("/t/more2", Root::Outside),
            ("/tmp/x", Root::Tmp),
            ("/home/u/.soong-agent/x", Root::Home),
            ("/home/u/.soong-agent2", Root::Outside),
            ("/t/ws/../ws2/x", Root::Outside),
            ("a", Root::Outside),
            ("", Root::Outside),
        ] {
            assert_eq!(rules.root_of(Path::new(path)), root, "{path}");
        }
    }
}

/// COD-11: where commands may start.
#[test]
fn where_commands_start() {
    let rules = rules_for(Places { project: "/home/u/.soong-agent/p".into(), ..places() });
    for (path, expected) in [
        ("/home/u/.soong-agent/p/sub", true),
        ("/home/u/.soong-agent", false),
        ("/t/out", true),
        ("/tmp/x", true),
        ("/t/outer", false),
        ("/t/out/../x", false),
    ] {
        assert_eq!(rules.may_run_in(Path::new(path)), expected, "{path}");
    }
}

/// COD-8, COD-13: our own files are never written, wherever they are.
#[test]
fn never_written() {
    let rules = rules_for(Places {
        memory_dir: "/t/ws/notes".into(),
        session_db: "/t/ws/data/s.db".into(),
        sessions_dir: "/t/ws/data/s.db.sessions".into(),
        ..places()
    });
    for (path, expected) in [
        ("/t/ws/data/s.db.sessions/sess_1/lock", true),
        ("/home/u/.soong-agent", true),
        ("/home/u/.soong-agent/hooks.json", true),
        ("/home/u/.SOONG-agent/tools/x.json", true),
        ("/t/ws/.soong-agent/tasks/s/t.wal.jsonl", true),
        ("/t/ws/.soong-agent/tasks", true),
        ("/t/ws/notes/user/a.md", true),
        ("/t/ws/Notes/user/a.md", true),
        ("/t/ws/data/s.db", true),
        ("/t/ws/data/s.db-wal", true),
        ("/t/ws/data/s.db-journal", true),
        ("/t/ws/data/s.db2", false),
        ("/t/ws/.soong-agent/plans/p.md", false),
        ("/t/ws/.soong-agent/x", false),
        ("/t/ws/notes2", false),
        ("/t/ws/src/main.rs", false),
    ] {
        assert_eq!(rules.forbidden_write(Path::new(path)).is_some(), expected, "{path}");
    }
}

/// PATH-09: a project around our home opens nothing of it but the plans.
#[test]
fn project_around_home() {
    let around = Places {
        project: "/home/u".into(),
        wal_dir: "/home/u/.soong-agent/tasks".into(),
        plans_dir: "/home/u/.soong-agent/plans".into(),
        ..places()
    };
    let rules = rules_for(around.clone());
    for name in ["hooks.json", "config.toml", "mcp.json", "tasks/s/t.wal.jsonl", "memory/user/a.md", "agents/a.md"] {
        let path = Path::new("/home/u/.soong-agent").join(name);
        assert!(rules.forbidden_write(&path).is_some(), "{name}");
        assert_eq!(rules.root_of(&path), Root::Home, "{name}");
    }
    let plan = Path::new("/home/u/.soong-agent/plans/p.md");
    assert_eq!((rules.forbidden_write(plan), rules.root_of(plan)), (None, Root::Project));
    assert!(rules.control(Path::new("/home/u/.bashrc")).is_some());

    // A plans folder that was configured into our home is not opened.
    let odd = rules_for(Places { plans_dir: "/home/u/.soong-agent/tools".into(), ..around });
    assert!(odd.forbidden_write(Path::new("/home/u/.soong-agent/tools/x.json")).is_some());
}

/// The plans folder opens nothing when it is the journal or the memory.
#[test]
fn protection_beats_plans() {
    let rules = rules_for(Places { wal_dir: "/t/ws/.soong-agent".into(), ..places() });
    assert!(rules.forbidden_write(Path::new("/t/ws/.soong-agent/plans/p.md")).is_some());
}

#[test]
fn places_must_be_resolved() {
    for project in ["ws", "", "/t/../ws"] {
        let error = PathRules::new(Places { project: project.into(), ..places() }, &[]).unwrap_err();
        assert!(matches!(error, RulesError::Place { place: "project", .. }), "{project}");
    }
}

#[test]
fn paths_are_shown_as_people_read_them() {
    for (path, shown) in [
        ("/t/ws/src/a.rs", "src/a.rs"),
        ("/t/ws", "."),
        ("/t/ws2/a", "/t/ws2/a"),
        ("/t/ws/a\u{202e}b\nc", "a\\u{202e}b\\nc"),
        ("/t/ws/trail ", "'trail '"),
        ("/t/ws/a because it is safe", "'a because it is safe'"),
    ] {
        assert_eq!(rules().show(Path::new(path)), shown);
    }
    for (folder, shown) in [("/t/ws", "./"), ("/", "/"), ("/t/ws/d in . by x", "'d in . by x/'")] {
        assert_eq!(rules().show_folder(Path::new(folder)), shown);
    }
}

/// Letters that make names of interest likely.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z.]{1,4}",
        Just(".env".to_owned()),
        Just(".git".to_owned()),
        Just("ws".to_owned()),
        Just("x.pem".to_owned()),
        Just(".soong-agent".to_owned()),
        Just("plans".to_owned()),
    ]
    .prop_filter("a real name", |name| name != "." && name != "..")
}

fn path() -> impl Strategy<Value = PathBuf> {
    let start = prop_oneof![Just("/t/ws"), Just("/t"), Just("/home/u"), Just("/")];
    (start, prop::collection::vec(name(), 0..5))
        .prop_map(|(start, names)| names.iter().fold(start.into(), |p: PathBuf, n| p.join(n)))
}

/// An argument of a command.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), "[-~$@=:/. a-c]{0,12}(\\.env|\\.ssh|x\\.pem)?[ /.:]{0,2}"]
}

proptest! {
    #![proptest_config(properties())]

    /// PRM-2: whatever is in a sensitive folder is sensitive; a walk that prunes what it is told finds the same files.
    #[test]
    fn folders_cover_their_content(path in path(), below in name()) {
        let rules = rules();
        if rules.sensitive(&path).is_some() {
            prop_assert!(rules.sensitive(&path.join(&below)).is_some());
        }
        let walked = path.ancestors().any(|at| rules.sensitive_entry(at).is_some());
        prop_assert_eq!(walked, rules.sensitive(&path).is_some());
    }

    /// PRM-2, COD-8: case opens nothing.
    #[test]
    fn case_opens_nothing(path in path()) {
        let rules = rules();
        let upper = PathBuf::from(path.to_string_lossy().to_uppercase());
        prop_assert!(rules.sensitive(&path).is_none() || rules.sensitive(&upper).is_some());
        prop_assert!(rules.control(&path).is_none() || rules.control(&upper).is_some());
        prop_assert!(rules.forbidden_write(&path).is_none() || rules.forbidden_write(&upper).is_some());
    }

    /// PATH-01: a path in a root stays there whatever is appended, and a longer name of the root is another folder.
    #[test]
    fn roots_are_folders(names in prop::collection::vec(name(), 0..4), tail in "[a-z0-9._-]{1,3}") {
        let rules = rules();
        let rest: PathBuf = names.iter().collect();
        prop_assert_eq!(rules.root_of(&Path::new("/t/ws").join(&rest)), Root::Project);
        let sibling = PathBuf::from(format!("/t/ws{tail}")).join(&rest);
        prop_assert_eq!(rules.root_of(&sibling), Root::Outside);
        prop_assert!(!rules.may_run_in(&sibling));
    }

    /// What a fuzzer looks for, on inputs that are likely to matter.
    #[test]
    fn path_rules_hold(path in path(), tail in prop::collection::vec(any::<u8>(), 0..12), word in word()) {
        use std::os::unix::ffi::OsStrExt;
        let path = [path.as_os_str().as_bytes(), b"/", &tail].concat();
        crate::fuzzing::path_rules(&path, &word);
    }

    /// A configured list only ever adds.
    #[test]
    fn configuration_only_adds(path in path()) {
        let (fixed, all) = (PathRules::new(places(), &[]).unwrap(), PathRules::new(places(), &strings(SENSITIVE)).unwrap());
        prop_assert!(fixed.sensitive(&path).is_none() || all.sensitive(&path).is_some());
    }
}
