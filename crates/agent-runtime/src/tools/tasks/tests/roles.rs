//! Who may do what.

use agent_protocol::{AgentRole, ErrorCode, RoleAccess, ToolClass};
use serde_json::{Value, json};

use super::super::task_tools;
use super::{World, claim, ids, set, update};

/// TSK-12, WRK-8: the ten tools have the contract's names and arguments, and the roles of the table in 11-agents.
#[test]
fn the_contracts_tools() {
    let found: Vec<String> = task_tools()
        .iter()
        .map(|tool| {
            let definition = tool.definition();
            let schema = &definition.input_schema;
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let required: Vec<&str> = required.iter().map(|name| name.as_str().unwrap()).collect();
            let parameter =
                |name: &String| format!("{name}{}", if required.contains(&name.as_str()) { "" } else { "?" });
            let parameters: Vec<String> = schema["properties"].as_object().unwrap().keys().map(parameter).collect();
            let has = |role: &&AgentRole| tool.roles().access(**role) == RoleAccess::ByDefault;
            let roles: Vec<&str> = AgentRole::ALL.iter().filter(has).map(|role| role.as_str()).collect();
            let order = if tool.class() == ToolClass::Ordered { "ordered" } else { "any order" };
            format!("{}({}) {} {order}", definition.name, parameters.join(", "), roles.join("+"))
        })
        .collect();
    assert_eq!(
        found,
        [
            "agent.task_create(task_id, wal_name, title, summary, steps) orchestrator ordered",
            "agent.task_get(task_id, include_terminal_steps?) orchestrator+worker any order",
            "agent.task_list(status?, include_terminal?, limit?, offset?) orchestrator any order",
            "agent.task_update(task_id, operations) orchestrator ordered",
            "agent.task_query_steps(task_id, statuses?, worker_pool_id?, claimed_by_agent_id?, include_terminal_steps?, limit?, offset?) orchestrator+worker any order",
            "agent.task_claim_step(task_id, step_id) worker ordered",
            "agent.task_update_step(task_id, step_id, status?, result_summary?, artifact_ids?, reason?) orchestrator+worker ordered",
            "agent.task_complete(task_id, result_summary?) orchestrator ordered",
            "agent.task_fail(task_id, reason?) orchestrator ordered",
            "agent.task_cancel(task_id, reason?) orchestrator ordered",
        ]
    );
}

/// Every tool with arguments that would do for the Orchestrator, or a worker.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("task_create", super::new_task("other", "a")),
        ("task_get", json!({"task_id": "t"})),
        ("task_list", json!({})),
        ("task_update", update("t", json!([{"op": "update_task", "title": "New"}]))),
        ("task_query_steps", json!({"task_id": "t"})),
        ("task_claim_step", claim("t", "a")),
        ("task_update_step", set("t", "a", "running")),
        ("task_complete", json!({"task_id": "t"})),
        ("task_fail", json!({"task_id": "t"})),
        ("task_cancel", json!({"task_id": "t"})),
    ]
}

/// TSK-12: whoever gets hold of a tool that its role does not have is refused behind the port, too, and the log has no line of it.
/// Nothing in the arguments says who somebody is.
#[tokio::test]
async fn roles_are_enforced_behind_the_tools() {
    let world = World::new("roles").await;
    world.orchestrator().await.create("t", "a b").await;
    let before = world.lines("t").len();
    for (name, role) in [("sub", AgentRole::Sub), ("fork", AgentRole::Fork), ("lost", AgentRole::Worker)] {
        let child = world.child(name, role, None).await;
        for (tool, arguments) in calls() {
            assert_eq!(child.refused(tool, arguments).await.code, ErrorCode::PermissionDenied, "{name} {tool}");
        }
    }
    let main = world.root_run(AgentRole::Main, "run_main").await;
    for (tool, arguments) in calls() {
        assert_eq!(main.refused(tool, arguments).await.code, ErrorCode::PermissionDenied, "main {tool}");
    }
    let worker = world.worker("w1", "t", None).await;
    for (tool, arguments) in calls() {
        let of_a_worker = ["task_get", "task_query_steps", "task_claim_step", "task_update_step"].contains(&tool);
        if !of_a_worker {
            let error = worker.refused(tool, arguments).await;
            assert_eq!(error.code, ErrorCode::PermissionDenied, "worker {tool}");
            assert!(error.message.contains("only the Orchestrator"), "{error}");
        }
    }
    assert_eq!(world.lines("t").len(), before);
    // An argument that says who somebody is: there is none.
    let mut arguments = claim("t", "a");
    arguments["agent_id"] = json!("agent_root");
    assert_eq!(worker.refused("task_claim_step", arguments).await.code, ErrorCode::ValidationError);
}

/// TSK-12: the log names the run and the agent that called, and none for what core does by itself.
#[tokio::test]
async fn the_log_names_who_called() {
    let world = World::new("actors").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a b").await;
    let worker = world.worker("w1", "t", None).await;
    worker.ok("task_claim_step", claim("t", "a")).await;
    world.at(5_000);
    orchestrator.ok("task_get", json!({"task_id": "t"})).await;
    let who = |line: &Value| (line["event_type"].as_str().unwrap().to_owned(), line["actor_run_id"].clone());
    let lines: Vec<_> = world.lines("t").iter().map(who).collect();
    let named = |name: &str, run: Value| (name.to_owned(), run);
    assert_eq!(lines[0], named("task_created", json!("run_o")));
    assert_eq!(lines[4], named("task_step_claimed", json!("run_w1")));
    assert_eq!(lines[5..], [named("task_step_lease_expired", Value::Null), named("task_step_ready", Value::Null)]);
    assert_eq!(world.lines("t")[4]["actor_agent_id"], "agent_w1");
}

/// WRK-5, TSK-13: a worker sees the Task that it was sent for and no other; of its steps those that are ready, of its pool or of none,
/// and named by its dispatch where that names some; five at most.
#[tokio::test]
async fn a_worker_sees_what_it_may_claim() {
    let world = World::new("scope").await;
    let orchestrator = world.orchestrator().await;
    orchestrator.create("t", "a b@p c@q d<a e@p f g h i j").await;
    orchestrator.create("other", "x").await;
    let worker = world.worker("w1", "t", None).await;
    let seen = worker.ok("task_query_steps", json!({"task_id": "t"})).await;
    assert_eq!((ids(&seen).as_str(), &seen["total"], &seen["next_offset"]), ("a b e f g", &json!(8), &json!(5)));
    let more = worker.ok("task_query_steps", json!({"task_id": "t", "offset": 5, "limit": 200})).await;
    assert_eq!(ids(&more), "h i j");
    let none = json!({"task_id": "t", "statuses": ["pending"], "include_terminal_steps": true});
    assert_eq!(ids(&worker.ok("task_query_steps", none).await), "");
    let narrow = world.worker("w2", "t", Some("b c d")).await;
    assert_eq!(ids(&narrow.ok("task_query_steps", json!({"task_id": "t"})).await), "b");
    for (who, task, step, code) in [
        (&worker, "t", "c", ErrorCode::PermissionDenied),
        (&worker, "other", "x", ErrorCode::PermissionDenied),
        (&narrow, "t", "a", ErrorCode::PermissionDenied),
        (&narrow, "t", "d", ErrorCode::StepNotReady),
        (&worker, "t", "nobody", ErrorCode::StepNotFound),
    ] {
        assert_eq!(who.refused("task_claim_step", claim(task, step)).await.code, code, "{task} {step}");
    }
    for tool in ["task_get", "task_query_steps"] {
        let error = worker.refused(tool, json!({"task_id": "other"})).await;
        assert_eq!(error.code, ErrorCode::PermissionDenied);
        assert!(error.message.contains("you were sent for task t"), "{error}");
    }
    assert_eq!(
        worker.refused("task_update_step", set("other", "x", "running")).await.code,
        ErrorCode::PermissionDenied
    );
    narrow.ok("task_claim_step", claim("t", "b")).await;
    assert_eq!(ids(&worker.ok("task_query_steps", json!({"task_id": "t"})).await), "a e f g h");
}

/// TOL-4: what a role does not have it is not offered.
#[test]
fn tools_are_offered_by_role() {
    let of = |role: AgentRole| {
        let has = |tool: &&std::sync::Arc<dyn agent_tool::Tool>| tool.roles().access(role) != RoleAccess::Never;
        task_tools().iter().filter(has).count()
    };
    assert_eq!(AgentRole::ALL.iter().map(|role| of(*role)).collect::<Vec<_>>(), [0, 9, 0, 0, 4]);
}
