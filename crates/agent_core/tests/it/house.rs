//! The shape of the house: who may use whom, and what nobody has (ARCHITECTURE.md).
//!
//! Crates are looked at through cargo ([`workspace`], [`crates`]), sources by parsing them: [`module_tree`] and [`mentions`] read them,
//! [`names`] finds out what a path means, [`circles`] who uses whom; [`sources`] says what must not be. [`layers`] is the plan.

mod circles;
mod crates;
mod layers;
mod made_up;
mod mentions;
mod module_tree;
mod names;
mod promises;
mod sources;
mod workspace;

/// API-1: the stable names are the facade's.
#[test]
fn the_facade_has_the_stable_names() {
    use agent_core::{
        AgentDefinition, AgentRuntime, PermissionDecision, PermissionRequest, RunHandle, RuntimeEvent, ToolDefinition,
        ToolResult, UserMessage,
    };
    fn names<T>() -> &'static str {
        std::any::type_name::<T>()
    }
    let all = [
        names::<AgentRuntime>(),
        names::<UserMessage>(),
        names::<RunHandle>(),
        names::<RuntimeEvent>(),
        names::<PermissionRequest>(),
        names::<PermissionDecision>(),
        names::<ToolDefinition>(),
        names::<ToolResult>(),
        names::<AgentDefinition>(),
    ];
    assert!(all.iter().all(|name| !name.contains("rusqlite") && !name.contains("reqwest")), "{all:?}");
    // Nothing of SQLite's rows or of a provider's own types is public.
    let facade = std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let exported: Vec<_> = facade.lines().filter(|line| line.contains("pub use")).collect();
    for hidden in ["rusqlite", "reqwest", "SqliteStore", "SessionRow", "RunRow"] {
        assert!(!exported.iter().any(|line| line.contains(hidden)), "{hidden} is public");
    }
}
