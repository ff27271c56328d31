//! Children that outgrow their windows (CMP-1, CTX-6).

use std::sync::atomic::{AtomicUsize, Ordering};

use agent_core::EventType;
use agent_core::StartOptions;
use agent_core::event::ChildAgentCreated;
use agent_core::runtime::RunMode;
use agent_testkit::{Call, Protocol, RecordedRequest, Reply};
use serde_json::json;

use super::whole;
use crate::many::tools::Starts;
use crate::support::{World, watch};

const SUMMARY: &str = "## Goal\n- read data.txt\n\n## Progress\n- Done: some of it\n\n## Next Steps\n- read on";
/// What each child is told: words of who sent it, which a summary must not lose.
const TOLD: &str = "Read data.txt to its end. Never write anything.";
const ANSWER: &str = "I have read all of it.";
/// More than a window holds.
const READS: usize = 14;

#[derive(Debug, Clone, Copy)]
enum Kind {
    Sub,
    Fork,
    Worker,
}

fn asks_for_a_summary(request: &RecordedRequest) -> bool {
    request.messages().last().is_some_and(|message| message.to_string().contains("# Write the summary now"))
}

/// The parent starts one child, the child reads too much, and whoever is asked for a summary gives one.
fn script(kind: Kind) -> impl Fn(&RecordedRequest, usize) -> Reply + Send + Sync + 'static {
    let (parent, child) = (AtomicUsize::new(0), AtomicUsize::new(0));
    move |request, _| {
        if asks_for_a_summary(request) {
            return Reply::text(SUMMARY).no_usage();
        }
        let tools = request.tool_names();
        let is_parent = tools.contains(&"agent__create_sub_agent") || tools.contains(&"agent__task_create");
        let turn = if is_parent { &parent } else { &child }.fetch_add(1, Ordering::SeqCst);
        let call = |name: &str, arguments| Reply::text("").calls([Call::new(name, arguments)]).no_usage();
        match (is_parent, kind, turn) {
            (true, Kind::Sub, 0) => call("agent.create_sub_agent", json!({"task": TOLD})),
            (true, Kind::Fork, 0) => call("agent.fork_agent", json!({"task": TOLD})),
            (true, Kind::Worker, 0) => call(
                "agent.task_create",
                json!({"task_id": "t", "wal_name": "t", "title": "T", "summary": "", "steps": [{"step_id": "a", "title": "A"}]}),
            ),
            (true, Kind::Worker, 1) => call("test.dispatch", json!({"task_id": "t", "told": TOLD})),
            (true, ..) => Reply::text("Done.").no_usage(),
            (false, Kind::Worker, 0) => call("agent.task_claim_step", json!({"task_id": "t", "step_id": "a"})),
            (false, Kind::Worker, READS) => call(
                "agent.task_update_step",
                json!({"task_id": "t", "step_id": "a", "status": "completed", "result_summary": "Read."}),
            ),
            (false, _, turn) if turn < READS => {
                call("code.read_file", json!({"path": "data.txt", "start_line": 1 + turn, "max_lines": 100}))
            }
            (false, ..) => Reply::text(ANSWER).no_usage(),
        }
    }
}

/// CMP-1, CTX-6, AGT-2, WRK-2: a child that outgrows its window is summarised and finishes, whatever kind it is and whichever protocol its
/// model speaks: its next request begins with the summary and what it was told, its result is its parent's, and what happened on the way
/// are events of its own run; its parent's conversation is not touched.
#[tokio::test]
async fn a_child_that_outgrows_its_window() {
    let pool =
        "agents.worker_pools = [{ pool_id = \"p\", workers = [{ agent_definition_id = \"default_worker_agent\" }] }]";
    for kind in [Kind::Sub, Kind::Fork, Kind::Worker] {
        for &protocol in Protocol::ALL {
            let world = World::with("child_compacted", protocol, pool).await;
            world.home.write("project/data.txt", "line of text\n".repeat(400));
            world.server.respond_with(script(kind));
            let runtime = world.builder().tool(Starts::Worker.tool()).build().await.unwrap();
            let mode = if matches!(kind, Kind::Worker) { RunMode::Orchestrator } else { RunMode::Normal };
            let options = StartOptions { session_id: None, mode: Some(mode) };
            let handle = runtime.start("Have it read.", options).await.unwrap();
            let ran = watch(&handle).await;
            ran.assert_completed();
            assert!(ran.of_type(EventType::CompactStarted).is_empty(), "{kind:?}: the parent has room");
            let created: ChildAgentCreated = ran.of_type(EventType::ChildAgentCreated)[0].read().unwrap();
            assert_eq!(ran.of_type(EventType::ChildAgentCompleted).len(), 1, "{kind:?} {:?}", ran.types());

            let whole = whole(&world, &ran.session_id).await;
            let of_child = |event_type| {
                let of_type = whole.events.iter().filter(|event| event.event_type == event_type);
                let own = of_type.clone().filter(|event| event.run_id.as_ref() == Some(&created.child_run_id)).count();
                (own, of_type.count())
            };
            let (own, all) = of_child(EventType::CompactCompleted);
            assert!(own > 0 && own == all, "{kind:?} {protocol:?}: {own} of {all} are its own");
            let requests = world.server.requests();
            let asked = |request: &&RecordedRequest| !asks_for_a_summary(request);
            let mut from_summary = requests.iter().filter(asked).map(|request| request.body.to_string());
            let told =
                from_summary.rfind(|body| body.contains("## Progress")).expect("a request begins with the summary");
            for part in ["<compaction>", "## Progress", "Never write anything."] {
                assert!(told.contains(part), "{kind:?} {protocol:?}: {part}: {told}");
            }
            let results: Vec<_> =
                requests.iter().rfind(asked).unwrap().messages().iter().map(ToString::to_string).collect();
            assert!(results.iter().any(|text| text.contains(ANSWER)), "{kind:?} {protocol:?}: {results:?}");
            let root = whole.nodes.iter().filter(|node| Some(&node.agent_id) == ran.events[0].agent_id.as_ref());
            assert!(root.into_iter().all(|node| node.node_type != agent_core::session::NodeType::Compaction));
            runtime.close().await;
            world.home.remove();
        }
    }
}
