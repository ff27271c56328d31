use super::*;
use agent_protocol::{ErrorCode, Permission, ToolRoles};
use serde_json::{Value, json};

fn definition(name: &str, input_schema: Value) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        input_schema,
        permission: Permission::Readonly,
        tags: Vec::new(),
        metadata: Object::new(),
    }
}

fn described(origin: ToolOrigin, definition: ToolDefinition, class: ToolClass) -> ToolDescriptor {
    let roles = ToolRoles::usual(&definition);
    ToolDescriptor { definition, origin, class, roles, requires: None }
}

fn register(registry: &mut Registry<u8>, name: &str, schema: Value, binding: u8) -> Result<(), RegisterError> {
    registry.register(described(ToolOrigin::Builtin, definition(name, schema), ToolClass::Readonly), binding)
}

fn mcp() -> ToolOrigin {
    ToolOrigin::Mcp { server: "x".to_owned() }
}

/// TOL-1: a duplicate is an error, and the first stays.
#[test]
fn names_are_unique() {
    let mut registry = Registry::new();
    register(&mut registry, "code.read_file", json!({"type": "object"}), 1).unwrap();
    let error = register(&mut registry, "code.read_file", json!({"type": "object"}), 2).unwrap_err();
    assert_eq!(error, RegisterError::Duplicate { name: "code.read_file".to_owned() });
    assert_eq!(registry.get("code.read_file").unwrap().binding(), &1);
}

#[test]
fn names_are_plain() {
    for name in ["", "a b", "code/read", "é", &"x".repeat(257)] {
        let error = register(&mut Registry::new(), name, json!({"type": "object"}), 1).unwrap_err();
        assert!(matches!(error, RegisterError::Name { .. }), "{name:?}: {error}");
    }
}

/// TOL-1, PRM-13: a name belongs to an origin, so that nobody else's tool passes for one of core's.
#[test]
fn names_are_for_their_origin() {
    for (origin, name, is_taken) in [
        (ToolOrigin::Core, "agent.x", true),
        (ToolOrigin::Core, "code.x", false),
        (ToolOrigin::Builtin, "code.x", true),
        (ToolOrigin::Builtin, "internal.x", false),
        (ToolOrigin::Program, "my.x", true),
        (ToolOrigin::Program, "agent.x", false),
        (ToolOrigin::Program, "internal.x", false),
        (ToolOrigin::Program, "mcp.x.y", false),
        (mcp(), "mcp.x.y", true),
        (mcp(), "mcp.z.y", false),
        (mcp(), "agent.x", false),
    ] {
        let tool = described(origin.clone(), definition(name, json!({"type": "object"})), ToolClass::Readonly);
        let mut registry = Registry::new();
        let result = registry.register(tool, 1);
        assert_eq!(result.is_ok(), is_taken, "{origin:?} {name}: {result:?}");
        assert_eq!(registry.get(name).map(|tool| tool.descriptor().origin.clone()), is_taken.then_some(origin));
    }
}

/// RUN-11, RUN-13: what may change the world is scheduled as such, whatever it claims; other classes stay.
#[test]
fn classes_are_not_believed_blindly() {
    let class = |permission, tags: &[&str], claimed| {
        let mut definition = definition("x.y", json!({"type": "object"}));
        definition.permission = permission;
        definition.tags = tags.iter().map(|&tag| tag.to_owned()).collect();
        let mut registry = Registry::new();
        registry.register(described(ToolOrigin::Program, definition, claimed), 1).unwrap();
        registry.get("x.y").unwrap().class()
    };
    assert_eq!(class(Permission::Readonly, &[], ToolClass::Readonly), ToolClass::Readonly);
    assert_eq!(class(Permission::Readonly, &["network"], ToolClass::Readonly), ToolClass::Readonly);
    assert_eq!(class(Permission::Write, &[], ToolClass::Readonly), ToolClass::Write);
    assert_eq!(class(Permission::Readonly, &["dangerous"], ToolClass::Readonly), ToolClass::Write);
    assert_eq!(class(Permission::Write, &[], ToolClass::Agent), ToolClass::Agent);
    assert_eq!(class(Permission::Readonly, &[], ToolClass::Ordered), ToolClass::Ordered);
}

/// TOL-2: the schema is checked at registration, and the error points at the offender. Tools of MCP servers are taken with any
/// schema; what becomes of one that a provider does not take is not built yet.
#[test]
fn schemas_are_checked_at_registration() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "oneOf": []}}});
    let mut registry = Registry::new();
    let Err(RegisterError::Schema { source, .. }) = register(&mut registry, "x.y", schema.clone(), 1) else {
        panic!("must be refused");
    };
    assert_eq!(source.pointer, "/properties/a/oneOf");
    assert!(registry.get("x.y").is_none());
    registry.register(described(mcp(), definition("mcp.x.y", schema), ToolClass::Write), 1).unwrap();
    assert_eq!(registry.names().collect::<Vec<_>>(), ["mcp.x.y"]);
}

/// A schema that no validator takes makes its tool unusable, not the process.
#[test]
fn a_broken_foreign_schema_fails_its_calls() {
    let mut registry = Registry::new();
    let broken = definition("mcp.x.y", json!({"type": "object", "properties": {"a": {"$ref": "https://x.invalid/s"}}}));
    registry.register(described(mcp(), broken, ToolClass::Write), 1).unwrap();
    let error = registry.get("mcp.x.y").unwrap().check_arguments(Object::new(), &KnownSecrets::none()).unwrap_err();
    assert_eq!(error.code, ErrorCode::ToolNotAvailable);
}
