//! A session of a size that nobody wants to wait for, made without a model.

use std::sync::Arc;

use agent_protocol::{
    AgentId, AgentType, CallEnd, ContentBlock, EndReason, EventDraft, LoopCompleted, LoopStarted, MessageCompleted,
    MessageCreated, ModelStarted, NodeDraft, NodeId, NodeType, Object, ResultKind, Role, RunEnd, RunId, RunPatch,
    RunStatus, SessionId, Usage,
};
use agent_store::{Commit, Lease, NewRun, NewSession, SessionStore, SqliteStore, Write};

use crate::support::World;

/// Events in it.
pub(crate) const EVENTS: usize = 20_000;
/// Events of each of its runs.
const OF_RUN: usize = 100;
/// What each message of the model says, in bytes.
const SAID: usize = 2000;

/// Makes it, in the project; its id.
pub(crate) fn session(world: &World) -> String {
    let new = NewSession {
        session_id: SessionId::parse("sess_big").unwrap(),
        cwd: world.home.project.canonicalize().unwrap().to_string_lossy().into_owned(),
        root_agent_id: AgentId::parse("agent_big").unwrap(),
        agent_type: AgentType::Main,
        metadata: Object::new(),
    };
    world.in_store(async |store| {
        let lease = store.create_session(new).await.unwrap();
        let mut tip = None;
        for run in 1..=EVENTS / OF_RUN {
            tip = Some(add_run(store, &lease, run, tip).await);
        }
    });
    "sess_big".to_owned()
}

/// Adds a run; the end of the path.
async fn add_run(store: &SqliteStore, lease: &Lease, number: usize, tip: Option<NodeId>) -> NodeId {
    let (run_id, agent_id) = (RunId::parse(&format!("run_{number}")).unwrap(), AgentId::parse("agent_big").unwrap());
    let mut run = Run { run_id: run_id.clone(), tip, nodes: 0, writes: Vec::new() };
    run.writes.push(Write::Run(NewRun {
        run_id: run_id.clone(),
        agent_id: agent_id.clone(),
        status: RunStatus::Running,
        start_node_id: None,
        metadata: Object::new(),
    }));
    run.event(EventDraft::of(LoopStarted::default()));
    run.says(Role::User, format!("message {number}"));
    for call in 0..(OF_RUN - 3) / 2 {
        let done = CallEnd {
            tool_name: "code.read_file".to_owned(),
            kind: ResultKind::Ok,
            call: Some(format!("file {call}")),
            summary: Some("8 lines".to_owned()),
            metadata: Object::new(),
            error: None,
        };
        run.event(done.into_event());
        run.says(Role::Assistant, "said ".repeat(SAID / 5));
    }
    run.event(EventDraft::of(ModelStarted { model: "m".to_owned(), request: None, turn: Some(1) }));
    run.event(EventDraft::of(LoopCompleted(RunEnd { turns: Some(1), ..RunEnd::default() })));
    run.writes.push(Write::RunPatch(RunPatch {
        status: RunStatus::Completed,
        end_reason: Some(EndReason::Completed),
        end_node_id: run.tip.clone(),
        turn_count: 1,
        usage: Usage::default(),
        error: None,
    }));
    let tip = run.tip.clone().unwrap();
    run.writes.push(Write::Activate(tip.clone()));
    let committed = store.commit(lease, Commit { agent_id, run_id, writes: run.writes }).await.unwrap();
    assert_eq!(committed.events.len(), OF_RUN);
    tip
}

struct Run {
    run_id: RunId,
    tip: Option<NodeId>,
    nodes: u64,
    writes: Vec<Write>,
}

impl Run {
    fn event(&mut self, event: EventDraft) {
        self.writes.push(Write::Event(event));
    }

    fn says(&mut self, role: Role, text: String) {
        self.nodes += 1;
        let node_id = self.run_id.node(self.nodes);
        let event = match role {
            Role::User => EventDraft::of(MessageCreated { role }),
            _ => EventDraft::of(MessageCompleted { tool_calls: Some(0), ..MessageCompleted::default() }),
        };
        let event = event.node(&node_id);
        self.writes.push(Write::Node(NodeDraft {
            parent_id: self.tip.replace(node_id.clone()),
            node_id,
            role,
            node_type: NodeType::Message,
            content: Arc::new([ContentBlock::text(text)]),
            metadata: Object::new(),
            token_count: 1,
        }));
        self.event(event);
    }
}
