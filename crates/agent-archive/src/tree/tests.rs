use agent_protocol::Object;
use serde_json::json;

use super::*;

fn agent(id: &str, metadata: serde_json::Value, made_by: Option<&str>) -> AgentInfo {
    let serde_json::Value::Object(metadata) = metadata else { panic!("an object") };
    AgentInfo {
        agent_id: AgentId::parse(id).unwrap(),
        session_id: SessionId::parse("sess_1").unwrap(),
        parent_agent_id: None,
        agent_type: if made_by.is_some() { AgentType::Sub } else { AgentType::Main },
        created_by_run_id: made_by.map(|run| RunId::parse(run).unwrap()),
        fork_from_node_id: None,
        active_node_id: None,
        status: AgentStatus::Idle,
        result: None,
        metadata,
        created_at: Timestamp::from_unix_millis(0),
        updated_at: Timestamp::from_unix_millis(0),
    }
}

fn run(id: &str) -> TreeRun {
    TreeRun {
        run_id: RunId::parse(id).unwrap(),
        status: RunStatus::Completed,
        mode: None,
        end_reason: None,
        created_at: Timestamp::from_unix_millis(0),
        updated_at: Timestamp::from_unix_millis(0),
        elapsed_ms: None,
        turns: 1,
        usage: Usage::default(),
        asked: None,
        answered: None,
        error: None,
        parent_tool_call_id: None,
        task_id: None,
        step_id: None,
        children: Vec::new(),
    }
}

fn origin(parent: &str) -> ChildOrigin {
    ChildOrigin {
        parent_run_id: RunId::parse(parent).unwrap(),
        parent_tool_call_id: ToolCallId::parse("call_1").unwrap(),
        role: AgentRole::Worker,
        agent_definition_id: "builder".to_owned(),
        worker: None,
    }
}

/// Who stands where, in one text: `agent(run(child(run)) run)`.
fn told(agent: &TreeAgent) -> String {
    let run = |run: &TreeRun| {
        let below: String = run.children.iter().map(told).collect();
        if below.is_empty() { run.run_id.to_string() } else { format!("{}[{below}]", run.run_id) }
    };
    format!("{}({})", agent.agent_id, agent.runs.iter().map(run).collect::<Vec<_>>().join(" "))
}

/// Places runs of agents below the runs that asked for them, and tells the tree.
fn tree(agents: Vec<AgentInfo>, runs: &[(&str, &str, Option<&str>)]) -> (String, Vec<String>) {
    let mut placed = Placed::default();
    for (agent, id, parent) in runs {
        let parent_run = parent.map(|parent| RunId::parse(parent).unwrap());
        placed.add(AgentId::parse(agent).unwrap(), parent_run, parent.map(origin), run(id));
    }
    let mut agents = Agents::new(agents, placed).unwrap();
    let root = agents.root(&AgentId::parse("agent_root").unwrap()).unwrap();
    (told(&root), agents.rest().iter().map(told).collect())
}

/// STO-9, DEC-300: a worker stands below every run that sent it, each time with the runs that this one asked for.
#[test]
fn a_worker_stands_below_each_run_that_sent_it() {
    let agents = || {
        vec![
            agent("agent_root", json!({}), None),
            agent("agent_w", json!({"worker_id": "w"}), Some("run_1")),
            agent("agent_v", json!({"worker_id": "v"}), Some("run_2")),
        ]
    };
    let runs = [
        ("agent_root", "run_1", None),
        ("agent_w", "run_w1", Some("run_1")),
        ("agent_root", "run_2", None),
        ("agent_v", "run_v1", Some("run_2")),
        ("agent_w", "run_w2", Some("run_2")),
        ("agent_w", "run_w3", Some("run_2")),
    ];
    let (root, rest) = tree(agents(), &runs);
    assert_eq!(root, "agent_root(run_1[agent_w(run_w1)] run_2[agent_v(run_v1)agent_w(run_w2 run_w3)])");
    assert_eq!(rest, Vec::<String>::new());
    // Rows that contradict each other: nothing is lost, nothing comes twice, and it ends.
    let circle =
        [("agent_root", "run_1", None), ("agent_w", "run_w1", Some("run_w2")), ("agent_w", "run_w2", Some("run_w1"))];
    let (root, rest) = tree(agents(), &circle);
    assert_eq!((root.as_str(), rest.len()), ("agent_root(run_1)", 2));
    assert_eq!(rest.concat().matches("run_w").count(), 2, "{rest:?}");
}

/// STO-9: what a row says of an agent in words that are none is an error, and not passed over.
#[test]
fn a_damaged_agent_is_told() {
    let damaged = agent("agent_w", json!({"worker_id": 7}), Some("run_1"));
    let error = Agents::new(vec![damaged], Placed::default()).err().unwrap();
    assert!(error.is_damage() && error.to_string().contains("agent_w"), "{error}");
    let whole = agent("agent_w", json!({"worker_id": "w", "agent_definition_id": "d"}), Some("run_1"));
    let who = Who::of(&whole).unwrap();
    assert_eq!((who.worker.as_deref(), who.definition.as_deref(), who.purpose), (Some("w"), Some("d"), None));
    assert_eq!(Who::of(&agent("agent_x", json!(Object::new()), None)).unwrap().worker, None);
}
