use agent_protocol::{ErrorCode, ModelProfile, Object};
use serde_json::json;

use super::*;

fn definition(source: DefinitionSource, id: &str, overrides: Option<&str>) -> AgentDefinition {
    AgentDefinition {
        agent_definition_id: id.to_owned(),
        name: format!("The {id}"),
        description: "For a test.".to_owned(),
        body: format!("You come from {}.", source.as_str()),
        model_profile: None,
        suggested_tools: vec!["code.read_file".to_owned()],
        tags: vec!["test".to_owned()],
        overrides: overrides.map(str::to_owned),
        source,
        metadata: Object::new(),
    }
}

fn is_tool(name: &str) -> bool {
    name.starts_with("code.")
}

/// The tools are those of `code.`, the only profile is called `fast`.
fn register_one(registry: &mut DefinitionRegistry, definition: AgentDefinition) -> Result<(), DefinitionError> {
    let model_profile = |profile: &ModelProfile| match profile {
        ModelProfile::Named(name) if name != "fast" => Err(format!("names `{name}`, and there is no such profile")),
        ModelProfile::Named(_) | ModelProfile::Inline(_) => Ok(()),
    };
    registry.register(definition, &Named { is_tool: &is_tool, model_profile: &model_profile })
}

fn register(
    registry: &mut DefinitionRegistry,
    source: DefinitionSource,
    id: &str,
    overrides: Option<&str>,
) -> Result<(), DefinitionError> {
    register_one(registry, definition(source, id, overrides))
}

/// AGD-2: who may take whose place. Each row: the source and id that is there, what comes, and the outcome.
#[test]
fn overrides_follow_the_order_of_sources() {
    use DefinitionSource::{Builtin, Code, User};
    use ErrorCode::{DuplicateAgentDefinition as Duplicate, InvalidAgentOverride as Override};
    for (existing, source, overrides, expected) in [
        // The same id without a word about it.
        (Builtin, Builtin, None, Some(Duplicate)),
        (Builtin, User, None, Some(Duplicate)),
        (Builtin, Code, None, Some(Duplicate)),
        (User, User, None, Some(Duplicate)),
        (User, Code, None, Some(Duplicate)),
        (Code, User, None, Some(Duplicate)),
        (Code, Code, None, Some(Duplicate)),
        // A source replaces those below it.
        (Builtin, User, Some("builtin:one"), None),
        (Builtin, Code, Some("builtin:one"), None),
        (User, Code, Some("user:one"), None),
        // Never its like, and files never what the program registered.
        (Builtin, Builtin, Some("builtin:one"), Some(Override)),
        (User, User, Some("user:one"), Some(Override)),
        (Code, Code, Some("code:one"), Some(Override)),
        (Code, User, Some("code:one"), Some(Override)),
        (User, Builtin, Some("user:one"), Some(Override)),
        // What is named must be there, from that source, under the same id.
        (User, Code, Some("builtin:one"), Some(Override)),
        (Builtin, Code, Some("user:one"), Some(Override)),
        (Builtin, Code, Some("builtin:two"), Some(Override)),
        (Builtin, Code, Some("builtin:"), Some(Override)),
        (Builtin, Code, Some("packaged:one"), Some(Override)),
        (Builtin, Code, Some("one"), Some(Override)),
        (Builtin, Code, Some(""), Some(Override)),
    ] {
        let mut registry = DefinitionRegistry::new();
        register(&mut registry, existing, "one", None).unwrap();
        let before = registry.clone();
        let result = register(&mut registry, source, "one", overrides);
        let row = format!("{existing:?} {source:?} {overrides:?}: {result:?}");
        assert_eq!(result.as_ref().err().map(DefinitionError::code), expected, "{row}");
        match expected {
            Some(_) => assert_eq!(registry, before, "{row}"),
            // Replaced whole.
            None => assert_eq!(registry.get("one"), Some(&definition(source, "one", overrides)), "{row}"),
        }
        assert_eq!(registry.iter().count(), 1);
    }
}

/// AGD-2: an override of nothing is an error, and after one the place is that of its source.
#[test]
fn overrides_name_what_is_there() {
    let mut registry = DefinitionRegistry::new();
    let error = register(&mut registry, DefinitionSource::Code, "one", Some("builtin:one")).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidAgentOverride);
    register(&mut registry, DefinitionSource::Builtin, "one", None).unwrap();
    register(&mut registry, DefinitionSource::User, "one", Some("builtin:one")).unwrap();
    let error = register(&mut registry, DefinitionSource::Code, "one", Some("builtin:one")).unwrap_err();
    assert!(error.to_string().contains("\"user:one\""), "{error}");
    register(&mut registry, DefinitionSource::Code, "one", Some("user:one")).unwrap();
    let error = register(&mut registry, DefinitionSource::User, "one", None).unwrap_err();
    assert_eq!(error.to_string(), "there already is an agent definition `one` (code): choose another id");
    register(&mut registry, DefinitionSource::User, "two", None).unwrap();
    let error = register(&mut registry, DefinitionSource::Code, "two", None).unwrap_err();
    assert!(error.to_string().ends_with("; to replace it, set overrides to \"user:two\""), "{error}");
}

/// AGD-1: the agent that summarises is core's own.
#[test]
fn what_core_uses_itself_is_not_replaced() {
    let mut registry = DefinitionRegistry::new();
    let id = "default_compact_agent";
    for (overrides, code) in [
        (None, ErrorCode::DuplicateAgentDefinition),
        (Some("builtin:default_compact_agent"), ErrorCode::InvalidAgentOverride),
    ] {
        let error = register(&mut registry, DefinitionSource::Code, id, overrides).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
    assert_eq!(registry, DefinitionRegistry::new());
}

/// AGD-3, AGD-7: fields have a form and a length; a tool that does not exist is not suggested. TOL-8: nobody asks here whether a
/// tool of an MCP server exists.
#[test]
fn fields_are_checked() {
    let long = |count: usize| "x".repeat(count);
    let change = |change: &dyn Fn(&mut AgentDefinition)| {
        let mut definition = definition(DefinitionSource::Code, "one", None);
        change(&mut definition);
        register_one(&mut DefinitionRegistry::new(), definition).map_err(|error| match error {
            DefinitionError::Invalid { field, .. } => field,
            other => panic!("{other}"),
        })
    };
    for id in ["", "a b", "a.b", "ä", "a\n", &long(129)] {
        assert_eq!(change(&|one| one.agent_definition_id = id.to_owned()), Err("id"), "{id:?}");
    }
    assert_eq!(change(&|one| one.agent_definition_id = long(128)), Ok(()));
    for text in ["", " ", "two\nlines", &long(1025)] {
        assert_eq!(change(&|one| one.name = text.to_owned()), Err("name"), "{text:?}");
        assert_eq!(change(&|one| one.description = text.to_owned()), Err("description"), "{text:?}");
        assert_eq!(change(&|one| one.tags = vec![text.to_owned()]), Err("tags"), "{text:?}");
    }
    assert_eq!(change(&|one| one.tags = vec!["Any word, even this one".to_owned(), "日本".to_owned()]), Ok(()));
    assert_eq!(change(&|one| one.tags = vec!["x".to_owned(); 129]), Err("tags"));
    assert_eq!(change(&|one| one.body = String::new()), Ok(()));
    assert_eq!(change(&|one| one.body = long(256 * 1024 + 1)), Err("body"));
    for (name, expected) in [
        ("code.write_file", Ok(())),
        ("mcp.later.tool", Ok(())),
        ("cod.read_file", Err("suggested_tools")),
        ("", Err("suggested_tools")),
    ] {
        assert_eq!(change(&|one| one.suggested_tools = vec![name.to_owned()]), expected, "{name}");
    }
    for (profile, expected) in [("fast", Ok(())), ("slow", Err("model_profile")), (" ", Err("model_profile"))] {
        let named = ModelProfile::Named(profile.to_owned());
        assert_eq!(change(&|one| one.model_profile = Some(named.clone())), expected, "{profile}");
    }
    let big = Object::from_iter([("text".to_owned(), long(70_000).into())]);
    let inline = ModelProfile::Inline(big.clone());
    assert_eq!(change(&|one| one.model_profile = Some(inline.clone())), Err("model_profile"));
    assert_eq!(change(&|one| one.metadata = big.clone()), Err("metadata"));
}

/// AGD-6: a list shows what a definition is for and which of its tools can be had, and nothing of its instructions.
#[test]
fn what_a_list_shows() {
    let mut registry = DefinitionRegistry::new();
    let mut writer = definition(DefinitionSource::User, "writer", None);
    writer.suggested_tools.push("code.write_file".to_owned());
    register_one(&mut registry, writer).unwrap();
    register(&mut registry, DefinitionSource::Builtin, "default_sub_agent", None).unwrap();
    let unavailable = |name: &str| (name == "code.write_file").then_some(UnavailableReason::DisabledByConfig);
    let listed = registry.list(&unavailable);
    let ids: Vec<_> = listed.iter().map(|one| one.agent_definition_id.as_str()).collect();
    assert_eq!(ids, ["default_sub_agent", "writer"]);
    assert_eq!(
        serde_json::to_value(&listed[1]).unwrap(),
        json!({
            "agent_definition_id": "writer", "name": "The writer", "description": "For a test.", "source": "user",
            "tags": ["test"],
            "suggested_tools": [
                {"name": "code.read_file", "available": true, "unavailable_reason": null},
                {"name": "code.write_file", "available": false, "unavailable_reason": "disabled_by_config"},
            ],
        })
    );
}
