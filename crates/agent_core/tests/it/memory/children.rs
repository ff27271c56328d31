//! What children do among themselves (MEM-4).

use agent_core::StartOptions;
use agent_core::id::{AgentId, NodeId, RunId, SessionId};
use agent_core::message::Object;
use agent_core::session::project_name;
use agent_protocol::AgentType;
use agent_store::{NewRun, NewSession, SessionStore, Write};
use serde_json::json;

use super::{extracting, extractions, rest, world};
use crate::stored::{Kept, Stored, node};

/// MEM-4: the words that an agent was given by another agent are nobody's.
#[tokio::test]
async fn inner_work_is_no_memory() {
    let world = world("memory_children", "memory.extract_every_messages = 1").await;
    let stored = Stored::open(&world.home.home).await;
    let agent_id = AgentId::parse("agent_root").unwrap();
    let new = NewSession {
        session_id: SessionId::parse("sess_with_child").unwrap(),
        cwd: project_name(&world.home.project.canonicalize().unwrap()),
        root_agent_id: agent_id.clone(),
        agent_type: AgentType::Main,
        metadata: Object::new(),
    };
    let session_id = new.session_id.clone();
    let lease = stored.store.create_session(new).await.unwrap();
    let kept = Kept { lease, agent_id, run_id: RunId::parse("run_root").unwrap() };
    let run = NewRun {
        run_id: kept.run_id.clone(),
        agent_id: kept.agent_id.clone(),
        status: agent_core::runtime::RunStatus::Running,
        start_node_id: None,
        metadata: Object::new(),
    };
    let said: NodeId = kept.run_id.node(1);
    stored.commit(&kept, vec![Write::Run(run), node(&kept.run_id, 1, "Hello."), Write::Activate(said)]).await;
    stored.child(&kept, "child", "Remember: the child's task is papaya.").await;
    stored.end(&kept).await;
    stored.die([kept]).await;

    extracting(&world, |_| json!([]));
    let runtime = world.runtime().await;
    let options = StartOptions { session_id: Some(session_id), mode: None };
    runtime.start("Go on.", options).await.unwrap().wait().await;
    rest(&runtime).await;
    let told = extractions(&world).pop().unwrap();
    assert_eq!(told.texts(), ["Hello.", "Go on."]);
    assert!(!told.text.contains("papaya"), "{}", told.text);
    runtime.close().await;
}
