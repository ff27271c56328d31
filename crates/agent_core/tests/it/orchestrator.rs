//! Orchestrator mode: the same agent in another role (WRK-1, API-3).

use agent_core::error::{ErrorCode, RuntimeError};
use agent_core::id::SessionId;
use agent_core::runtime::RunMode;
use agent_core::{AgentRuntime, EventType, RunHandle, StartOptions};
use agent_testkit::{Call, Protocol, RecordedRequest, Reply};
use serde_json::json;

use crate::support::{World, watch};

/// The smallest pool.
const POOL: &str =
    "agents.worker_pools = [{ pool_id = \"default\", workers = [{ agent_definition_id = \"default_worker_agent\" }] }]";

async fn start(runtime: &AgentRuntime, session: Option<&SessionId>, mode: RunMode) -> RunHandle {
    let options = StartOptions { session_id: session.cloned(), mode: Some(mode) };
    runtime.start("Move the parser.", options).await.expect("the run starts")
}

/// Whether a request is an Orchestrator's: by its system part, and by its tools.
fn is_orchestrators(request: &RecordedRequest) -> (bool, bool) {
    let told = request.body.to_string().contains("# You are the Orchestrator");
    (told, request.tool_names().contains(&"agent__task_template"))
}

/// WRK-1, API-3, CTX-2, TOL-4: the session's own agent is the Orchestrator: the same agent, session and conversation; the role is the
/// run's, and brings the Orchestrator's tools and words. The next run is again what it is started as. The mode is in the handle, the
/// run's row and its first event.
#[tokio::test]
async fn the_main_agent_is_the_orchestrator() {
    for &protocol in Protocol::ALL {
        let world = World::with("orchestrator", protocol, POOL).await;
        let call = Call::new("agent.task_template", json!({"goal": "Move it."}));
        world.server.script([
            Reply::text("First."),
            Reply::text("").calls([call]),
            Reply::text("Second."),
            Reply::text("Third."),
        ]);
        let runtime = world.runtime().await;
        let first = start(&runtime, None, RunMode::Normal).await;
        watch(&first).await.assert_completed();
        let session = first.session_id().clone();
        let second = start(&runtime, Some(&session), RunMode::Orchestrator).await;
        let ran = watch(&second).await;
        ran.assert_completed();
        let third = start(&runtime, Some(&session), RunMode::Normal).await;
        watch(&third).await.assert_completed();

        for (run, mode) in [(&first, None), (&second, Some("orchestrator")), (&third, None)] {
            assert_eq!((run.agent_id(), run.session_id()), (first.agent_id(), &session));
            assert_eq!(run.mode().as_str(), mode.unwrap_or("normal"));
            let stored = runtime.inspect_run(run.run_id(), false).await.unwrap();
            let named = stored.run.metadata.get("mode").and_then(|mode| mode.as_str());
            assert_eq!(named, mode);
        }
        assert_eq!(
            ran.of_type(EventType::LoopStarted)[0].payload,
            json!({"mode": "orchestrator"}).as_object().unwrap().clone()
        );
        assert_eq!(ran.of_type(EventType::ToolCompleted).len(), 1);
        let requests = world.server.requests();
        let told: Vec<_> = requests.iter().map(is_orchestrators).collect();
        assert_eq!(told, [(false, false), (true, true), (true, true), (false, false)]);
        assert!(requests[1].body.to_string().contains("First.") && requests[3].body.to_string().contains("Second."));
        runtime.close().await;
    }
}

/// WRK-1, RUN-1: a run that waits for another keeps the mode it was started in.
#[tokio::test]
async fn a_queued_run_keeps_its_mode() {
    let world = World::with("queued_orchestrator", Protocol::OpenAi, POOL).await;
    world.server.script([Reply::text("First."), Reply::text("Second.")]);
    let runtime = world.runtime().await;
    let first = start(&runtime, None, RunMode::Normal).await;
    let second = start(&runtime, Some(first.session_id()), RunMode::Orchestrator).await;
    let (first, second) = tokio::join!(watch(&first), watch(&second));
    first.assert_completed();
    second.assert_completed();
    assert_eq!(second.of_type(EventType::RunQueued).len(), 1);
    assert_eq!(second.of_type(EventType::LoopStarted)[0].payload["mode"], "orchestrator");
    let told: Vec<_> = world.server.requests().iter().map(is_orchestrators).collect();
    assert_eq!(told, [(false, false), (true, true)]);
    runtime.close().await;
}

/// WRK-1, AST-3: the Orchestrator is told of no tool that it does not get.
#[tokio::test]
async fn no_tool_is_promised() {
    let world = World::with("promised_tools", Protocol::OpenAi, POOL).await;
    world.server.push(Reply::text("Done."));
    let runtime = world.runtime().await;
    let run = start(&runtime, None, RunMode::Orchestrator).await;
    watch(&run).await.assert_completed();
    let request = &world.server.requests()[0];
    let system = request.messages()[0]["content"].as_str().unwrap();
    let (_, told) = system.split_once("# You are the Orchestrator").unwrap();
    let named: Vec<_> = told.split('`').skip(1).step_by(2).filter(|word| word.starts_with("agent.")).collect();
    assert!(named.contains(&"agent.task_template"), "{named:?}");
    for name in named {
        assert!(request.tool_names().contains(&name.replace('.', "__").as_str()), "{name}");
    }
    runtime.close().await;
}

fn pool(worker: &str) -> String {
    format!(
        "agents.worker_pools = [{{ pool_id = \"p\", workers = [{{ agent_definition_id = \"default_worker_agent\" }}, {{ {worker} }}] }}]"
    )
}

/// WRK-1, ERR-3: without a pool that can work no orchestrator run starts: `config_error`, before anything is stored or asked. All
/// that is wrong is named with its key; normal runs are as before.
#[tokio::test]
async fn pools_are_checked() {
    let tools =
        |tools: &str| pool(&format!("agent_definition_id = \"default_worker_agent\", allowed_tools = [{tools}]"));
    let at = "agents.worker_pools[0].workers[1]";
    for (extra, says) in [
        (
            String::new(),
            vec!["[[agents.worker_pools]]", "[[agents.worker_pools.workers]]", "default_worker_agent", "config.toml"],
        ),
        ("agents.worker_pools = []".to_owned(), vec!["[[agents.worker_pools]]"]),
        (
            pool("agent_definition_id = \"default_worker_agent\"").replace("\"p\"", "\"My_Pool\""),
            vec!["agents.worker_pools[0].pool_id", "My_Pool", "only a-z"],
        ),
        (pool("agent_definition_id = \"reviewer\""), vec![at, "`reviewer`", "default_sub_agent, default_worker_agent"]),
        (pool("agent_definition_id = \"default_compact_agent\""), vec![at, "`default_compact_agent`"]),
        (tools("\"my.tool\""), vec![at, "allowed_tools", "`my.tool`", "no tool"]),
        (tools("\"code.search\", \"agent.task_create\""), vec![at, "`agent.task_create`", "workers do not get"]),
        (tools("\"agent.create_sub_agent\""), vec!["`agent.create_sub_agent`, which workers do not get"]),
        (tools("\"agent.plan_template\", \"my.tool\""), vec!["`agent.plan_template`", "`my.tool`"]),
    ] {
        let world = World::with("wrong_pools", Protocol::OpenAi, &extra).await;
        let runtime = world.runtime().await;
        let options = StartOptions { session_id: None, mode: Some(RunMode::Orchestrator) };
        let error = runtime.start("x", options).await.err().unwrap();
        assert!(matches!(error, RuntimeError::WorkerPools(_)), "{error}");
        assert_eq!(error.code(), ErrorCode::ConfigError);
        let said = error.to_string();
        for words in says {
            assert!(said.contains(words), "{words:?} is missing in {said}");
        }
        assert_eq!(runtime.list_sessions(10, 0).await.unwrap().len(), 0);
        assert_eq!(world.server.request_count(), 0);
        world.server.push(Reply::text("As before."));
        crate::support::run(&runtime, "Hi.").await.assert_completed();
        runtime.close().await;
    }
}

/// WRK-1, TOL-8: what a worker may have and does not get at the moment is no fault of a pool: a tool that is switched off, or of a server that
/// has not answered. So the packaged pool works with any of its tools off.
#[tokio::test]
async fn pools_that_can_work() {
    let packaged = "agents.worker_pools = [{ pool_id = \"default\", workers = [{ worker_id = \"worker_general_1\", agent_definition_id = \
        \"default_worker_agent\", allowed_tools = [\"agent.task_get\", \"agent.task_query_steps\", \"agent.task_claim_step\", \
        \"agent.task_update_step\", \"code.read_file\", \"code.search\"] }] }]\ntools.disabled = [\"code.search\"]";
    let writes = "agents.worker_pools = [{ pool_id = \"w\", workers = [{ agent_definition_id = \"default_worker_agent\", allowed_tools = \
        [\"code.edit_file\", \"code.run_command\", \"mcp.later.tool\"] }] }]";
    for extra in [packaged, writes] {
        let world = World::with("right_pools", Protocol::OpenAi, extra).await;
        world.server.push(Reply::text("Done."));
        let runtime = world.runtime().await;
        watch(&start(&runtime, None, RunMode::Orchestrator).await).await.assert_completed();
        runtime.close().await;
    }
}

/// CFG-8: a window that is too small for the Orchestrator's tools and words is refused at the start of its run, and not before.
#[tokio::test]
async fn the_window_of_an_orchestrator() {
    let mut refused = 0;
    for window in (2000..4000).step_by(50) {
        let world =
            World::with("small_window", Protocol::OpenAi, &format!("{POOL}\nmodel.context_window = {window}")).await;
        let Ok(runtime) = world.builder().build().await else { continue };
        let options = StartOptions { session_id: None, mode: Some(RunMode::Orchestrator) };
        if let Err(error) = runtime.start("x", options).await {
            assert!(matches!(error, RuntimeError::Budget(_)), "{error}");
            refused += 1;
            world.server.push(Reply::text("As before."));
            crate::support::run(&runtime, "Hi.").await.assert_completed();
        }
        runtime.close().await;
        if refused > 0 {
            break;
        }
    }
    assert!(refused > 0, "an Orchestrator has a bigger fixed part");
}
