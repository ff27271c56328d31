use std::{collections::BTreeMap, path::Path};

use agent_protocol::{Permission, ToolRoles};
use agent_redact::KnownSecrets;
use agent_tool::{Registry, check_subset};
use serde_json::{Value, json};

use super::code_tools;
use crate::testing::Tree;

/// What providers are sent of a tool.
fn sent(definition: &agent_protocol::ToolDefinition) -> Value {
    json!({
        "name": definition.name,
        "description": definition.description,
        "input_schema": definition.input_schema,
    })
}

/// The definitions are those in the golden file, one a line. `UPDATE_GOLDEN=1` writes it anew.
#[test]
fn definitions_are_the_golden_ones() {
    let tools = code_tools(Tree::new("golden").settings());
    let lines: String = tools.iter().map(|tool| format!("{}\n", sent(tool.definition()))).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/code_tools/definitions.jsonl");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &lines).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), lines, "run with UPDATE_GOLDEN=1 if this was meant");
}

/// AST-4: the share of the code tools in the fixed part of every request.
#[test]
fn definitions_are_small() {
    let tools = code_tools(Tree::new("small").settings());
    let bytes: usize = tools.iter().map(|tool| sent(tool.definition()).to_string().len()).sum();
    assert!(bytes <= 3000, "{bytes} bytes");
}

/// AGT-8: everybody may read; a child writes and runs commands only where it was started with these tools.
#[test]
fn children_read_by_default() {
    for tool in code_tools(Tree::new("roles").settings()) {
        let expected = match tool.definition().permission {
            Permission::Readonly => ToolRoles::ALL,
            Permission::Write => ToolRoles::CHILDREN_ON_REQUEST,
        };
        assert_eq!((tool.roles(), tool.requires()), (expected, None), "{}", tool.definition().name);
    }
}

/// The contract's names, permissions, tags, parameters and defaults.
#[test]
fn definitions_are_the_contracts() {
    let tools = code_tools(Tree::new("contract").settings());
    let found: BTreeMap<String, String> = tools.iter().map(|tool| summary(tool.definition())).collect();
    let expected = [
        ("code.read_file", "readonly code,filesystem,readonly | path start_line=1 max_lines=200"),
        ("code.list_dir", "readonly code,filesystem,readonly | path recursive=false limit?"),
        ("code.write_file", "write code,filesystem,write | path content create_dirs=true overwrite=false"),
        ("code.edit_file", "write code,filesystem,write | path edits? unified_diff? create_if_missing=false"),
        ("code.search", "readonly code,filesystem,readonly | query path? glob? limit?"),
        ("code.run_command", "write code,dangerous | argv cwd? timeout_ms=120000"),
    ];
    let expected = expected.map(|(name, summary)| (name.to_owned(), summary.to_owned())).into();
    assert_eq!(found, expected);
}

fn summary(definition: &agent_protocol::ToolDefinition) -> (String, String) {
    let schema = &definition.input_schema;
    let required = schema["required"].as_array().unwrap();
    let parameters =
        schema["properties"].as_object().unwrap().iter().map(|(name, property)| match property.get("default") {
            Some(default) => format!("{name}={default}"),
            None if required.contains(&json!(name)) => name.clone(),
            None => format!("{name}?"),
        });
    let parameters: Vec<String> = parameters.collect();
    let (permission, tags) = (definition.permission.as_str(), definition.tags.join(","));
    (definition.name.clone(), format!("{permission} {tags} | {}", parameters.join(" ")))
}

/// TOL-2, TOL-7, TOL-3: the tools register, and their arguments are checked before they see them.
#[test]
fn tools_register_and_check_their_arguments() {
    let mut registry = Registry::new();
    for tool in code_tools(Tree::new("register").settings()) {
        assert_eq!(check_subset(&tool.definition().input_schema), Ok(()));
        registry.add(agent_protocol::ToolOrigin::Builtin, tool).unwrap();
    }
    let check = |name: &str, arguments: Value| {
        registry
            .get(name)
            .unwrap()
            .check_arguments(crate::testing::object(arguments), &KnownSecrets::none())
            .map_err(|error| error.message)
    };
    check("code.read_file", json!({"path": "a", "start_line": null})).unwrap();
    for (name, arguments, problem) in [
        ("code.read_file", json!({"path": "a", "start_line": 0}), "`start_line`: must be at least 1, got 0"),
        ("code.read_file", json!({"path": "a", "max_lines": 1001}), "`max_lines`: must be at most 1000, got 1001"),
        ("code.edit_file", json!({"edits": []}), "`path`: is required"),
        ("code.edit_file", json!({"path": "a", "edits": [{"old": "x"}]}), "`edits[0].new`: is required"),
        ("code.run_command", json!({"argv": "ls -la"}), "`argv`: expected an array, got \"ls -la\""),
        ("code.run_command", json!({"argv": ["ls"], "env": {}}), "`env`: is unknown (known: argv, cwd, timeout_ms)"),
        (
            "code.run_command",
            json!({"argv": ["ls"], "timeout_ms": 600_001}),
            "`timeout_ms`: must be at most 600000, got 600001",
        ),
    ] {
        let message = check(name, arguments).unwrap_err();
        let (problems, example) = message.split_once(". As it should be: ").unwrap();
        assert_eq!(problems, format!("invalid arguments for {name}: {problem}"));
        check(name, serde_json::from_str(example).unwrap()).unwrap();
    }
}

/// CLI-2: every call leaves one line for people about what came of it.
#[test]
fn counts_in_words() {
    for (count, noun, words) in
        [(0, "line", "0 lines"), (1, "match", "1 match"), (2, "match", "2 matches"), (3, "entry", "3 entries")]
    {
        assert_eq!(crate::tool::counted(count, noun), words);
    }
}
