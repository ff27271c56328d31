//! What a program adds: providers, tools and agent definitions, before there is a runtime and while it is open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_core::error::{ErrorCode, ErrorPayload, ProviderError, RegisterError};
use agent_core::message::{ContentBlock, Object};
use agent_core::model::{ProviderAdapter, ProviderFactory};
use agent_core::permission::{DecisionKind, path_from_text};
use agent_core::session::DefinitionSource;
use agent_core::tool::{Permission, ToolRegistry};
use agent_core::{AgentDefinition, EventType, ToolResult};
use agent_testkit::{Call, Protocol, Reply};
use serde_json::json;

use crate::support::{World, counting, definition, run};

fn refusing() -> ProviderFactory {
    Arc::new(|_| -> Result<Arc<dyn ProviderAdapter>, ProviderError> {
        Err(ProviderError::External(ErrorPayload::new(ErrorCode::UnsupportedCapability, "not now")))
    })
}

/// API-5: a key is taken once, by the packaged providers, by the builder's, and by those registered later.
#[tokio::test]
async fn providers_are_registered_on_an_open_runtime() {
    let world = World::new("late_provider", Protocol::OpenAi).await;
    let runtime = world.builder().register_provider("early", refusing()).unwrap().build().await.unwrap();
    runtime.register_provider("late", refusing()).unwrap();
    for key in ["openai", "early", "late"] {
        let taken = runtime.register_provider(key, refusing()).unwrap_err();
        assert_eq!(taken.payload().code, ErrorCode::ConfigError);
        assert!(taken.to_string().contains(key), "{taken}");
    }
    runtime.close().await;
}

/// API-2, API-5, TOL-1: a registry of tools is gathered first and handed over; the model gets its tools, and none of them can pass
/// for core's or replace another.
#[tokio::test]
async fn tools_come_in_a_registry() {
    let world = World::new("tool_registry", Protocol::OpenAi).await;
    let mut tools = ToolRegistry::new();
    let pong = |_, _| async { Ok::<_, ErrorPayload>(json!("pong")) };
    tools.register_tool(definition("my.ping", Permission::Readonly), pong).unwrap();
    let (counter, _) = counting("my.count", Permission::Readonly);
    tools.register(counter).unwrap();
    let taken = tools.register_tool(definition("my.ping", Permission::Readonly), pong);
    assert!(matches!(taken, Err(RegisterError::Duplicate { .. })));
    for name in ["agent.ping", "internal.ping", "mcp.a.ping"] {
        let refused = tools.register_tool(definition(name, Permission::Readonly), pong);
        assert!(matches!(refused, Err(RegisterError::Name { .. })), "{name}");
    }
    let runtime = world.builder().tool_registry(&tools).build().await.unwrap();
    world.server.script([Reply::text("").calls([Call::new("my.ping", json!({}))]), Reply::text("Pong.")]);
    run(&runtime, "Ping.").await.assert_completed();
    let offered = world.server.requests()[0].tool_names().join(" ");
    assert!(offered.contains("my__ping") && offered.contains("my__count"), "{offered}");
    assert!(world.server.requests()[1].body.to_string().contains("pong"));
    runtime.close().await;

    let mut taken = ToolRegistry::new();
    taken.register_tool(definition("code.read_file", Permission::Readonly), pong).unwrap();
    let error = world.builder().tool_registry(&taken).build().await.err().unwrap();
    assert!(error.payload().message.contains("code.read_file"), "{error}");
}

/// API-5, TYP-3: a handler may answer in the contract's form, with several blocks and as a failure.
#[tokio::test]
async fn handlers_return_results() {
    let world = World::new("tool_results", Protocol::OpenAi).await;
    let runtime = world.runtime().await;
    runtime
        .register_tool(definition("my.look", Permission::Readonly), |arguments: Object, context| async move {
            let failed = arguments.contains_key("n");
            Ok(ToolResult {
                tool_call_id: context.tool_call_id,
                tool_name: "my.look".to_owned(),
                content: vec![ContentBlock::text("first block"), ContentBlock::json(json!({"second": "block"}))],
                is_error: failed,
                error: failed.then(|| ErrorPayload::new(ErrorCode::FileNotFound, "no such thing")),
                metadata: Object::new(),
            })
        })
        .unwrap();
    world.server.script([
        Reply::text("").calls([Call::new("my.look", json!({}))]),
        Reply::text("").calls([Call::new("my.look", json!({"n": 1}))]),
        Reply::text("Seen."),
    ]);
    let ran = run(&runtime, "Look.").await;
    ran.assert_completed();
    let body = world.server.requests()[1].body.to_string();
    assert!(body.contains("first block") && body.contains("second"), "{body}");
    let failed = ran.of_type(EventType::ToolFailed);
    assert_eq!((failed.len(), failed[0].payload["error"]["code"].as_str()), (1, Some("file_not_found")));
    runtime.close().await;
}

fn agent(id: &str, overrides: Option<&str>, tools: &[&str]) -> AgentDefinition {
    AgentDefinition {
        agent_definition_id: id.to_owned(),
        name: "Reviewer".to_owned(),
        description: "Reads and judges.".to_owned(),
        body: "Review.".to_owned(),
        model_profile: None,
        suggested_tools: tools.iter().map(|&tool| tool.to_owned()).collect(),
        tags: Vec::new(),
        overrides: overrides.map(str::to_owned),
        // Not believed.
        source: DefinitionSource::Builtin,
        metadata: Object::new(),
    }
}

/// API-5, AGD-1, AGD-2, AGD-3, AGD-6: a program's definitions have the source `code`, may replace the packaged ones by name, and are
/// listed with which of their tools can be had.
#[tokio::test]
async fn agent_definitions_are_registered() {
    let world = World::with("definitions", Protocol::OpenAi, "tools.disabled = [\"code.run_command\"]").await;
    let runtime = world.runtime().await;
    let listed = || -> Vec<_> {
        let all = runtime.agent_definitions().into_iter();
        all.map(|one| (one.agent_definition_id, one.source)).collect()
    };
    let packaged = ["default_fork_agent", "default_sub_agent", "default_worker_agent"];
    assert_eq!(listed(), packaged.map(|id| (id.to_owned(), DefinitionSource::Builtin)));

    let tools = ["code.write_file", "code.run_command", "agent.plan_template"];
    runtime.register_agent_definition(agent("reviewer", None, &tools)).unwrap();
    let shown = runtime.agent_definitions().pop().unwrap();
    assert_eq!((shown.agent_definition_id.as_str(), shown.source), ("reviewer", DefinitionSource::Code));
    let tools: Vec<_> =
        shown.suggested_tools.iter().map(|tool| tool.unavailable_reason.map(|why| why.as_str())).collect();
    assert_eq!(tools, [None, Some("disabled_by_config"), Some("policy_restricted")]);

    for (definition, code) in [
        (agent("reviewer", None, &[]), ErrorCode::DuplicateAgentDefinition),
        (agent("default_sub_agent", None, &[]), ErrorCode::DuplicateAgentDefinition),
        (agent("reviewer", Some("code:reviewer"), &[]), ErrorCode::InvalidAgentOverride),
        (agent("other", None, &["code.no_such_tool"]), ErrorCode::InvalidAgentDefinition),
    ] {
        assert_eq!(runtime.register_agent_definition(definition).unwrap_err().code(), code);
    }
    runtime.register_agent_definition(agent("default_sub_agent", Some("builtin:default_sub_agent"), &[])).unwrap();
    assert!(listed().contains(&("default_sub_agent".to_owned(), DefinitionSource::Code)));
    assert_eq!(listed().len(), 4);
    runtime.close().await;
}

/// PRM-6: a program that decides gets the paths themselves; the log keeps what a person was shown.
#[tokio::test]
async fn requests_hold_raw_paths() {
    let world = World::new("raw_paths", Protocol::OpenAi).await;
    let name = "it's \u{202e}raw\u{1b}.txt";
    world.server.script([
        Reply::text("").calls([Call::new("code.write_file", json!({"path": name, "content": "x\n"}))]),
        Reply::text("Written."),
    ]);
    let (runtime, person) = world.answering(DecisionKind::AllowOnce).await;
    let ran = run(&runtime, "Write it.").await;
    ran.assert_completed();
    let project = world.home.project.canonicalize().unwrap();
    let asked = person.asked();
    assert_eq!(asked[0].targets().collect::<Vec<_>>(), [project.join(name)]);
    assert_eq!(asked[0].target_scope.as_deref(), project.join(name).to_str());
    assert_eq!(path_from_text(&asked[0].cwd), project);
    let stored = ran.of_type(EventType::PermissionRequested)[0].payload["target_scope"].as_str().unwrap();
    assert!(stored.ends_with("raw\\x1b.txt'") && stored.contains("\\u202e"), "{stored}");
    runtime.close().await;
}

/// TOL-4, PRM-13: a tool is named by its own definition and nowhere else: what decides asks for its origin, its roles and its needs.
#[test]
fn no_list_of_tools() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for name in ["agent-engine", "agent-policy", "agent-runtime", "agent_core", "soong-agent"] {
        for file in shipped(&crates.join(name).join("src")) {
            let text = std::fs::read_to_string(&file).unwrap();
            let shipped = text.split("#[cfg(test)]").next().unwrap().lines();
            let code = shipped.map(str::trim_start).filter(|line| !line.starts_with("//"));
            for line in code.filter(|line| !line.starts_with("const NAME: ")) {
                for prefix in ["\"agent.", "\"internal.", "\"code."] {
                    assert!(!line.contains(prefix), "{}: {line}", file.display());
                }
            }
        }
    }
}

/// Source files without those of tests alone.
fn shipped(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
        if name.contains("tests") || name.contains("testing") {
            continue;
        }
        if path.is_dir() {
            files.extend(shipped(&path));
        } else if name.ends_with(".rs") {
            files.push(path);
        }
    }
    files
}
