//! What several test modules share: a usual set of folders, and short ways to say what a call does.

use std::path::PathBuf;

use agent_protocol::{Object, Permission, ToolClass, ToolDefinition, ToolDescriptor, ToolOrigin, ToolRoles};
use proptest::test_runner::Config;

use crate::{
    facts::{Access, CodeFile, Command, Facts, Target, TargetKind},
    paths::{PathRules, Places},
};

/// The contract's default list.
pub(crate) const SENSITIVE: &[&str] =
    &["~/.ssh", "~/.gnupg", "~/.aws", "~/.config/gcloud", "*.pem", "*.key", ".env", ".env.*"];

pub(crate) fn places() -> Places {
    Places {
        project: "/t/ws".into(),
        write_roots: vec!["/t/out".into(), "/t/more".into()],
        tmp: Some("/tmp".into()),
        home: "/home/u/.soong-agent".into(),
        user_home: Some("/home/u".into()),
        memory_dir: "/home/u/.soong-agent/memory".into(),
        wal_dir: "/t/ws/.soong-agent/tasks".into(),
        session_db: "/home/u/.soong-agent/sessions.sqlite".into(),
        sessions_dir: "/home/u/.soong-agent/sessions".into(),
        plans_dir: "/t/ws/.soong-agent/plans".into(),
    }
}

pub(crate) fn rules_for(places: Places) -> PathRules {
    PathRules::new(places, &strings(SENSITIVE)).unwrap()
}

pub(crate) fn rules() -> PathRules {
    rules_for(places())
}

pub(crate) fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// A tool of the embedding program.
pub(crate) fn tool(name: &str, permission: Permission, tags: &[&str]) -> ToolDescriptor {
    let definition = ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        input_schema: serde_json::json!({"type": "object"}),
        permission,
        tags: strings(tags),
        metadata: Object::new(),
    };
    let roles = ToolRoles::usual(&definition);
    ToolDescriptor { definition, origin: ToolOrigin::Program, class: ToolClass::Write, roles, requires: None }
}

/// A tool of core itself.
pub(crate) fn core_tool(name: &str, roles: ToolRoles) -> ToolDescriptor {
    ToolDescriptor { origin: ToolOrigin::Core, roles, ..tool(name, Permission::Readonly, &[]) }
}

pub(crate) fn read_file() -> ToolDescriptor {
    tool("code.read_file", Permission::Readonly, &["code", "filesystem", "readonly"])
}

pub(crate) fn edit_file() -> ToolDescriptor {
    tool("code.edit_file", Permission::Write, &["code", "filesystem", "write"])
}

pub(crate) fn run_command() -> ToolDescriptor {
    tool("code.run_command", Permission::Write, &["code", "dangerous"])
}

pub(crate) fn target(access: Access, path: &str) -> Target {
    Target {
        requested: path.to_owned(),
        resolved: PathBuf::from(path),
        access,
        kind: TargetKind::File,
        links: 1,
        aliases: Vec::new(),
    }
}

pub(crate) fn touching(access: Access, path: &str) -> Facts {
    Facts { targets: vec![target(access, path)], ..Facts::default() }
}

/// A command whose program was hashed and is not the project's.
pub(crate) fn command(program: &str, cwd: &str, argv: &[&str]) -> Facts {
    let code = vec![CodeFile { path: program.into(), hash: "aa".to_owned(), writable: false }];
    let argv = strings(argv);
    let command = Command { argv, program: program.into(), cwd: cwd.into(), code, ..Command::default() };
    Facts { command: Some(command), ..Facts::default() }
}

/// Property tests keep no file of failures: tests write nowhere but in their own folder.
pub(crate) fn properties() -> Config {
    Config { failure_persistence: None, ..Config::default() }
}
