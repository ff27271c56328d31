//! What workers may use (WRK-3, WRK-8), and who has them.

use agent_core::EventType;
use agent_core::event::ChildAgentCreated;
use agent_testkit::Protocol;
use serde_json::json;

use super::{Actors, Say, World, create, dispatch, orchestrate, orchestrator, results};

fn pool(entries: &str) -> String {
    format!("model.provider = \"actors\"\nagents.worker_pools = [{{ pool_id = \"p\", workers = [{entries}] }}]")
}

/// WRK-8, AGT-8, AGD-4: without lists a worker has the tools of its role; its entry's list is its ceiling and its default, and a dispatch's
/// list lies within it; what is switched off is left out. The definition's text is a block of its system part.
#[tokio::test]
async fn lists_narrow() {
    let default = [
        "agent.task_claim_step",
        "agent.task_get",
        "agent.task_query_steps",
        "agent.task_update_step",
        "code.list_dir",
        "code.read_file",
        "code.search",
    ];
    let own = "allowed_tools = [\"agent.task_claim_step\", \"code.write_file\", \"code.search\"]";
    for (entry, extra, wanted, expected) in [
        ("", "", None, Ok(default.to_vec())),
        ("", "tools.disabled = [\"code.search\"]", None, Ok(default[..6].to_vec())),
        ("", "", Some(json!(["code.edit_file", "code.search"])), Ok(vec!["code.edit_file", "code.search"])),
        (own, "", None, Ok(vec!["agent.task_claim_step", "code.search", "code.write_file"])),
        (own, "tools.disabled = [\"code.search\"]", None, Ok(vec!["agent.task_claim_step", "code.write_file"])),
        (own, "", Some(json!(["code.search"])), Ok(vec!["code.search"])),
        (own, "", Some(json!(["code.search", "code.read_file"])), Err("code.read_file")),
        (own, "tools.disabled = [\"code.search\"]", Some(json!(["code.search"])), Err("code.search")),
    ] {
        let entry = format!("{{ worker_id = \"w\", agent_definition_id = \"default_worker_agent\", {entry} }}");
        let world = World::with("worker_tools", Protocol::OpenAi, &format!("{}\n{extra}", pool(&entry))).await;
        let actors = Actors::default();
        let more = wanted.clone().map_or(json!({}), |tools| json!({"allowed_tools": tools}));
        orchestrator(&actors, "Go.", vec![vec![create("x")], vec![dispatch("Do x.", more)]]);
        actors.on("Do x.", |_, _| Say::text("Done."));
        let runtime = actors.builder(&world).build().await.unwrap();
        let ran = orchestrate(&runtime, None, "Go.").await;
        match expected {
            Ok(tools) => {
                let created: ChildAgentCreated = ran.of_type(EventType::ChildAgentCreated)[0].read().unwrap();
                assert_eq!(created.allowed_tools, tools, "{entry} {extra} {wanted:?}");
                let asked = actors.asked("Do x.").remove(0);
                let offered: Vec<_> = asked.tools.tools.iter().map(|tool| tool.name.as_str()).collect();
                assert_eq!(offered, tools);
                let block = asked.system.blocks.last().unwrap();
                assert!(block.dynamic && block.block_id == "agent_definition:default_worker_agent", "{block:?}");
            }
            Err(name) => {
                assert_eq!(super::codes(&ran), ["validation_error"]);
                let said =
                    ran.of_type(EventType::ToolFailed)[0].payload["error"]["message"].as_str().unwrap().to_owned();
                assert!(said.contains(name), "{said}");
                assert!(actors.asked("Do x.").is_empty());
            }
        }
        runtime.close().await;
    }
}

/// WRK-3, WRK-4: a worker whose entry names nothing that can be used is unavailable, with the reason; who names it is told so, and a call that
/// names nobody takes the next one. A list says what a worker's definition is good for, and which of its suggested tools it has.
#[tokio::test]
async fn an_unusable_entry() {
    let entries = "{ worker_id = \"off\", agent_definition_id = \"default_worker_agent\", allowed_tools = [\"code.search\", \"mcp.x.y\"] }, \
        { worker_id = \"on\", agent_definition_id = \"reviewer\" }";
    let world = World::with(
        "worker_unusable",
        Protocol::OpenAi,
        &format!("{}\ntools.disabled = [\"code.search\"]", pool(entries)),
    )
    .await;
    world.home.write("home/agents/reviewer.md", "---\nid: reviewer\nname: Reviewer\ndescription: Reads.\nsuggested_tools: [code.read_file, code.search, code.write_file]\ntags: [review]\n---\nRead it.\n");
    let actors = Actors::default();
    orchestrator(&actors, "Go.", vec![vec![create("x")], vec![("agent.list_workers", json!({}))]]);
    let runtime = actors.builder(&world).build().await.unwrap();
    let ran = orchestrate(&runtime, None, "Go.").await;
    let listed = results(&actors, "Go.", "agent.list_workers").remove(0);
    let [off, on] = listed["workers"].as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!((&off["status"], &on["status"]), (&json!("unavailable"), &json!("idle")));
    let why = off["unavailable_reason"].as_str().unwrap();
    assert!(why.contains("code.search (tools.disabled names it), mcp.x.y (it is not there)"), "{why}");
    assert_eq!(
        (&on["name"], &on["description"], &on["tags"]),
        (&json!("Reviewer"), &json!("Reads."), &json!(["review"]))
    );
    let suggested: Vec<_> = on["suggested_tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            (tool["name"].as_str().unwrap(), tool["available"].as_bool().unwrap(), tool["unavailable_reason"].as_str())
        })
        .collect();
    assert_eq!(
        suggested,
        [
            ("code.read_file", true, None),
            ("code.search", false, Some("disabled_by_config")),
            ("code.write_file", false, Some("policy_restricted"))
        ]
    );
    let named = json!({"worker_agent_id": off["worker_agent_id"]});
    orchestrator(&actors, "On.", vec![vec![dispatch("Do x.", named)], vec![dispatch("Do x.", json!({}))]]);
    actors.on("Do x.", |_, _| Say::text("Done."));
    let ran = orchestrate(&runtime, Some(&ran.session_id), "On.").await;
    assert_eq!(super::codes(&ran), ["worker_not_available"]);
    assert_eq!(ran.of_type(EventType::WorkerDispatched)[0].payload["worker_id"], "on");
    runtime.close().await;
}

/// WRK-3: a worker that is at work is listed as busy, with its run and the step that it has claimed; the others are idle. A pool's list has
/// its workers alone, and a pool that there is not is told with those there are.
#[tokio::test]
async fn busy_workers_are_listed() {
    let world = super::world("worker_listed", "").await;
    let actors = Actors::default();
    let gate = super::Gate::default();
    let held = gate.clone();
    actors.on("Do x.", move |turn, _| match turn {
        0 => Say::calls(&[super::claim("x")]),
        1 if !held.is_open() => Say::Again,
        1 => Say::calls(&[super::set("x", "completed", "ok")]),
        _ => Say::text("Done."),
    });
    let look = vec![
        ("agent.list_workers", json!({"worker_pool_id": "b"})),
        ("agent.list_workers", json!({"worker_pool_id": "c"})),
    ];
    let calls = vec![dispatch("Do x.", json!({})), ("test.look", json!({}))];
    orchestrator(&actors, "Go.", vec![vec![create("x")], calls, look]);
    let (all, opens) = (actors.clone(), gate.clone());
    let look = super::beside("test.look", move |context| {
        let (all, opens) = (all.clone(), opens.clone());
        async move {
            all.wait_for_turn("Do x.", 2).await;
            let listed = context.workers.list(None).await?;
            opens.open(&all);
            Ok(json!({ "workers": listed }))
        }
    });
    let runtime = actors.builder(&world).tool(look).build().await.unwrap();
    let ran = orchestrate(&runtime, None, "Go.").await;
    let sent = &ran.of_type(EventType::WorkerDispatched)[0].payload;
    let listed = results(&actors, "Go.", "test.look").remove(0);
    let told = |at: usize, key: &str| listed["workers"][at][key].clone();
    assert_eq!(
        (told(0, "status"), told(1, "status"), told(2, "status")),
        (json!("busy"), json!("idle"), json!("idle"))
    );
    assert_eq!((told(0, "current_run_id"), told(0, "current_step_id")), (sent["child_run_id"].clone(), json!("x")));
    assert_eq!((told(1, "current_run_id"), told(2, "worker_pool_id")), (json!(null), json!("b")));
    let of_pool = results(&actors, "Go.", "agent.list_workers").remove(0);
    let ids: Vec<_> =
        of_pool["workers"].as_array().unwrap().iter().map(|worker| worker["worker_id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["b1"]);
    assert_eq!(super::codes(&ran), ["validation_error"]);
    runtime.close().await;
}
