//! The tools of agents over ports that are made up: definitions, arguments, results and their sizes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_protocol::{
    AgentDefinitionInfo, AgentId, ArtifactId, ContentBlock, EndReason, ErrorCode, ErrorPayload, Permission, RunId,
    RunStatus, ToolClass, ToolOrigin, Usage,
};
use agent_tool::testing::{Shelf, context_with, object};
use agent_tool::{
    CallContext, ChildAgents, ChildDefinition, ChildKind, ChildReport, ChildTask, Registry, Tool, ToolOutput,
};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::agent_tools;

mod results;
mod sizes;

/// A child that ends so, and what it was started with.
struct Ending {
    report: ChildReport,
    started: Mutex<Vec<ChildTask>>,
}

impl ChildAgents for Ending {
    fn run(&self, task: ChildTask) -> BoxFuture<'_, Result<ChildReport, ErrorPayload>> {
        self.started.lock().unwrap().push(task);
        std::future::ready(Ok(self.report.clone())).boxed()
    }

    fn definitions(&self) -> Vec<AgentDefinitionInfo> {
        Vec::new()
    }
}

fn completed(answer: &str) -> ChildReport {
    ChildReport {
        agent_id: AgentId::parse("agent_2").unwrap(),
        run_id: RunId::parse("run_2").unwrap(),
        agent_definition_id: "default_sub_agent".to_owned(),
        status: RunStatus::Completed,
        end_reason: Some(EndReason::Completed),
        answer: Some(answer.to_owned()),
        output: None,
        error: None,
        artifacts: Vec::new(),
        usage: Usage { input_tokens: Some(7), output_tokens: Some(2), ..Usage::default() },
        turns: 3,
    }
}

fn registry() -> Registry<Arc<dyn Tool>> {
    let mut registry = Registry::new();
    for tool in agent_tools() {
        registry.add(ToolOrigin::Core, tool).unwrap();
    }
    registry
}

/// Both phases of a call, arguments checked before.
async fn call(name: &str, arguments: Value, context: CallContext) -> ToolOutput {
    let registry = registry();
    let tool = registry.get(name).unwrap();
    let arguments = match tool.check_arguments(object(arguments), &context.secrets) {
        Ok(arguments) => arguments,
        Err(error) => return ToolOutput::failed(error),
    };
    match tool.binding().prepare(arguments, context).await {
        Ok(prepared) => prepared.call.run().await,
        Err(error) => ToolOutput::failed(error),
    }
}

/// A call whose child ends so, with this much room for its result.
async fn ended(report: ChildReport, room: usize) -> (ToolOutput, Arc<Shelf>) {
    let shelf = Arc::new(Shelf::default());
    let mut context = context_with(Arc::clone(&shelf));
    context.children = Arc::new(Ending { report, started: Mutex::default() });
    context.result_bytes = room;
    (call("agent.create_sub_agent", json!({"task": "Look."}), context).await, shelf)
}

fn data(output: &ToolOutput) -> Value {
    match output.content.first() {
        Some(ContentBlock::Json(block)) => block.data.clone().unwrap(),
        other => panic!("no data: {other:?}"),
    }
}

/// TOL-6, RUN-11, PRM-13: names and arguments are the contract's, the optional ones are; nobody is asked, and children start beside
/// each other.
#[test]
fn definitions_are_the_contracts() {
    let registry = registry();
    let mut shapes = Vec::new();
    for tool in registry.iter() {
        let definition = tool.definition();
        assert!(tool.descriptor().is_of_core() && definition.permission == Permission::Readonly);
        let schema = &definition.input_schema;
        let mark = |name: &String| match schema["required"].as_array().is_some_and(|all| all.contains(&json!(name))) {
            true => name.clone(),
            false => format!("{name}?"),
        };
        let arguments = schema.get("properties").and_then(Value::as_object);
        let arguments: Vec<_> = arguments.into_iter().flat_map(|all| all.keys().map(mark)).collect();
        shapes.push((format!("{}({})", definition.name, arguments.join(", ")), tool.class()));
    }
    let create = "agent.create_sub_agent(agent_definition_id?, task, context?, constraints?, allowed_tools?, \
                  expected_output_schema?, timeout_ms?)";
    let fork = "agent.fork_agent(agent_definition_id?, task, constraints?, allowed_tools?, expected_output_schema?, timeout_ms?)";
    let dispatch = "agent.dispatch_worker(task_id, worker_pool_id?, worker_agent_id?, allowed_step_ids?, instruction, context?, \
                    constraints?, allowed_tools?, expected_output_schema?, timeout_ms?)";
    let expected = [
        (create, ToolClass::Agent),
        (dispatch, ToolClass::Agent),
        (fork, ToolClass::Agent),
        ("agent.list_agent_definitions()", ToolClass::Readonly),
        ("agent.list_workers(worker_pool_id?)", ToolClass::Readonly),
    ];
    assert_eq!(shapes, expected.map(|(shape, class)| (shape.to_owned(), class)));
}

/// AGT-2, AGT-3, AGT-6: what a call says gets to the port as it is; what it leaves out is left to the configuration.
#[tokio::test]
async fn arguments_get_to_the_port() {
    async fn started(name: &str, arguments: Value) -> ChildTask {
        let ending = Arc::new(Ending { report: completed("Done."), started: Mutex::default() });
        let mut context = context_with(Arc::default());
        context.children = Arc::clone(&ending) as _;
        let output = call(name, arguments, context).await;
        assert_eq!(output.error, None);
        ending.started.lock().unwrap().pop().unwrap()
    }
    let text = |task: &ChildTask| task.task.iter().filter_map(ContentBlock::as_text).collect::<Vec<_>>().join("|");
    let task = started("agent.fork_agent", json!({"task": "Look."})).await;
    assert_eq!((task.kind, text(&task).as_str()), (ChildKind::Fork, "Look."));
    assert!(task.definition.is_none() && task.allowed_tools.is_none() && task.output_schema.is_none());
    assert_eq!(task.timeout, None);
    let full = json!({
        "agent_definition_id": "reviewer", "task": "Look.", "context": "All of it.", "constraints": "Change nothing.",
        "allowed_tools": ["code.search", "code.search", "code.write_file"], "timeout_ms": 5000,
        "expected_output_schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    });
    let task = started("agent.create_sub_agent", full).await;
    assert_eq!(task.kind, ChildKind::Sub);
    assert_eq!(text(&task), "Look.|Context:\nAll of it.|Constraints:\nChange nothing.");
    assert_eq!(task.definition, Some(ChildDefinition::Named("reviewer".to_owned())));
    let tools = ["code.search", "code.write_file"].map(str::to_owned);
    assert_eq!(task.allowed_tools, Some(tools.into()));
    assert_eq!(task.timeout, Some(Duration::from_secs(5)));
    assert_eq!(Value::from(task.output_schema.unwrap())["properties"]["n"]["type"], "integer");
    let empty = started("agent.create_sub_agent", json!({"task": "Look.", "context": " ", "allowed_tools": []})).await;
    assert_eq!((text(&empty).as_str(), empty.allowed_tools), ("Look.", Some(std::collections::HashSet::new())));
}

/// AGT-2, AGT-4: neither system text nor anything else that the contract does not know, an empty task, or a time that is none is
/// taken; nothing starts.
#[tokio::test]
async fn other_arguments_are_refused() {
    for (name, arguments, says) in [
        ("agent.create_sub_agent", json!({"task": "Look.", "system": "You are root."}), "`system`"),
        ("agent.create_sub_agent", json!({"task": "Look.", "instructions": "Obey."}), "`instructions`"),
        ("agent.create_sub_agent", json!({"task": "Look.", "body": "Obey."}), "`body`"),
        ("agent.fork_agent", json!({"task": "Look.", "system_prompt": "You are root."}), "`system_prompt`"),
        ("agent.fork_agent", json!({"task": "Look.", "context": "It knows."}), "`context`"),
        ("agent.create_sub_agent", json!({"context": "All."}), "`task`"),
        ("agent.create_sub_agent", json!({"task": " \n"}), "`task`"),
        ("agent.create_sub_agent", json!({"task": "Look.", "timeout_ms": 0}), "`timeout_ms`"),
        ("agent.fork_agent", json!({"task": "Look.", "timeout_ms": 86_400_001_u64}), "`timeout_ms`"),
        ("agent.fork_agent", json!({"task": "Look.", "timeout_ms": -1}), "`timeout_ms`"),
        ("agent.fork_agent", json!({"task": "Look.", "allowed_tools": "all"}), "`allowed_tools`"),
        ("agent.list_agent_definitions", json!({"source": "user"}), "`source`"),
    ] {
        let ending = Arc::new(Ending { report: completed("Done."), started: Mutex::default() });
        let mut context = context_with(Arc::default());
        context.children = Arc::clone(&ending) as _;
        let error = call(name, arguments.clone(), context).await.error.unwrap_or_else(|| panic!("{arguments}"));
        assert_eq!(error.code, ErrorCode::ValidationError);
        assert!(error.message.contains(says), "{}", error.message);
        assert!(ending.started.lock().unwrap().is_empty());
    }
}
