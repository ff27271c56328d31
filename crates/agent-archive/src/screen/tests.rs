use super::*;
use agent_protocol::{
    AgentId, ContentBlock, ErrorCode, ErrorPayload, NodeId, NodeType, Role, RunId, SessionId, SystemPrompt, Timestamp,
    ToolCall, ToolCallId, ToolChoice, ToolList, ToolResultBlock,
};
use serde_json::json;

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

fn stored(content: Vec<ContentBlock>, metadata: Object) -> Node {
    Node {
        session_id: SessionId::parse("sess_1").unwrap(),
        node_seq: 1,
        node_id: NodeId::parse("node_1").unwrap(),
        parent_id: None,
        agent_id: AgentId::parse("agent_1").unwrap(),
        run_id: RunId::parse("run_1").unwrap(),
        role: Role::Tool,
        node_type: NodeType::Message,
        content: content.into(),
        metadata,
        token_count: 1,
        created_at: Timestamp::from_unix_millis(0),
    }
}

fn everywhere() -> Vec<ContentBlock> {
    let fields = |name: &str| Object::from_iter([(name.to_owned(), json!(format!("token {TOKEN}")))]);
    let id = ToolCallId::parse("call_1").unwrap();
    let call = ToolCall {
        tool_call_id: id.clone(),
        name: "code.read_file".into(),
        arguments: fields("path"),
        metadata: fields("raw"),
    };
    let result = ToolResultBlock {
        tool_call_id: id,
        is_error: true,
        content: vec![ContentBlock::text(TOKEN), ContentBlock::json(json!({ "a": [TOKEN] }))],
        error: Some(ErrorPayload::new(ErrorCode::Timeout, TOKEN).detail("path", TOKEN)),
        metadata: fields("note"),
    };
    vec![ContentBlock::text(format!("use {TOKEN}")), ContentBlock::ToolCall(call), ContentBlock::ToolResult(result)]
}

/// STO-10: nodes are shown without what looks like a secret wherever it stands, and say so; names and ids stay.
#[test]
fn nodes_say_that_they_are_redacted() {
    let patterns = SecretPatterns::new().unwrap();
    let mut secret = stored(everywhere(), Object::new());
    node(&patterns, &mut secret);
    let shown = format!("{secret:?}");
    assert!(!shown.contains(TOKEN), "{shown}");
    assert_eq!(secret.metadata["redacted"], true);
    assert!(shown.contains("code.read_file") && shown.contains("call_1"), "{shown}");
    let harmless = stored(vec![ContentBlock::text("nothing to hide")], Object::new());
    let mut same = harmless.clone();
    node(&patterns, &mut same);
    assert_eq!(same, harmless);
}

/// STO-10: others who share a node's content go on seeing it whole.
#[test]
fn shared_content_stays() {
    let patterns = SecretPatterns::new().unwrap();
    let kept = stored(everywhere(), Object::new());
    let mut shown = kept.clone();
    node(&patterns, &mut shown);
    assert!(format!("{kept:?}").contains(TOKEN));
}

/// STO-10: so are requests.
#[test]
fn requests_are_redacted() {
    let patterns = SecretPatterns::new().unwrap();
    let shared = Arc::new(ModelMessage::new(Role::User, everywhere()));
    let mut asked = ModelRequest {
        model: "m".into(),
        system: Arc::new(SystemPrompt::default()),
        messages: vec![Arc::clone(&shared)],
        tools: Arc::new(ToolList::default()),
        tool_choice: ToolChoice::Auto,
        temperature: None,
        max_output_tokens: 1,
        provider_options: Object::from_iter([("api_key".to_owned(), json!(TOKEN))]),
        metadata: Object::new(),
    };
    request(&patterns, &mut asked);
    let shown = format!("{asked:?}");
    assert!(!shown.contains(TOKEN) && asked.metadata["redacted"] == true, "{shown}");
    assert!(format!("{shared:?}").contains(TOKEN));
}

/// STO-10, ERR-5: the words about a damaged row do not quote its secrets.
#[test]
fn damage_quotes_no_secret() {
    let source = Arc::new(Said(format!("invalid type: string \"{TOKEN}\", expected a map")));
    let error = StoreError::CorruptRow { table: "nodes", id: "node_1".into(), column: "content_json".into(), source };
    let message = Screen::default().error(error).payload().message;
    assert!(!message.contains(TOKEN) && message.contains("node_1") && message.contains("expected a map"), "{message}");
}

/// STO-10: rows of sessions, runs, agents and artifacts are shown without what looks like a secret; ids and paths stay.
#[test]
fn rows_are_redacted() {
    let patterns = SecretPatterns::new().unwrap();
    let fields = || Object::from_iter([("note".to_owned(), json!(format!("token {TOKEN}")))]);
    let (moment, session_id) = (Timestamp::from_unix_millis(0), SessionId::parse("sess_1").unwrap());
    let agent_id = AgentId::parse("agent_1").unwrap();
    let mut of_session = SessionInfo {
        session_id: session_id.clone(),
        cwd: "/home/me/project".into(),
        root_agent_id: agent_id.clone(),
        active_node_id: None,
        parent_session_id: None,
        status: agent_store::SessionStatus::Active,
        metadata: fields(),
        created_at: moment.clone(),
        updated_at: moment.clone(),
        owner: None,
    };
    let mut of_run = RunInfo {
        run_id: RunId::parse("run_1").unwrap(),
        session_id: session_id.clone(),
        agent_id: agent_id.clone(),
        status: agent_protocol::RunStatus::Failed,
        start_node_id: None,
        end_node_id: None,
        end_reason: None,
        turn_count: 1,
        usage: agent_protocol::Usage { raw: fields(), ..Default::default() },
        error: Some(ErrorPayload::new(ErrorCode::ProviderError, TOKEN)),
        metadata: fields(),
        created_at: moment.clone(),
        updated_at: moment.clone(),
    };
    let mut of_agent = AgentInfo {
        active_node_id: None,
        agent_id,
        session_id: session_id.clone(),
        parent_agent_id: None,
        agent_type: agent_protocol::AgentType::Sub,
        created_by_run_id: None,
        fork_from_node_id: None,
        status: agent_protocol::AgentStatus::Completed,
        result: Some(json!({ "found": TOKEN })),
        metadata: fields(),
        created_at: moment.clone(),
        updated_at: moment.clone(),
    };
    let mut of_artifact = ArtifactInfo {
        artifact_id: agent_protocol::ArtifactId::parse("art_1").unwrap(),
        session_id,
        agent_id: None,
        run_id: None,
        node_id: None,
        tool_call_id: None,
        path: "/home/me/.soong-agent/out.txt".into(),
        filename: "out.txt".into(),
        mime_type: None,
        size_bytes: 1,
        summary: Some(format!("output with {TOKEN}")),
        metadata: fields(),
        created_at: moment,
    };
    session(&patterns, &mut of_session);
    run(&patterns, &mut of_run);
    agent(&patterns, &mut of_agent);
    artifact(&patterns, &mut of_artifact);
    let shown = format!("{of_session:?} {of_run:?} {of_agent:?} {of_artifact:?}");
    assert!(!shown.contains(TOKEN), "{shown}");
    assert!(of_run.error.is_some_and(|error| error.redacted));
    for kept in ["sess_1", "run_1", "agent_1", "art_1", "/home/me/project", "/home/me/.soong-agent/out.txt"] {
        assert!(shown.contains(kept), "{kept}: {shown}");
    }
}
