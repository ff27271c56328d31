use super::*;
use agent_protocol::{ErrorCode, ErrorPayload, Object, RunId, SessionId, Timestamp, Usage};

fn run(status: RunStatus, kind: Option<&str>) -> RunInfo {
    let error = kind.map(|kind| ErrorPayload::new(ErrorCode::InternalError, "x").detail("kind", kind));
    RunInfo {
        run_id: RunId::parse("run_1").unwrap(),
        session_id: SessionId::parse("sess_1").unwrap(),
        agent_id: agent_protocol::AgentId::parse("agent_1").unwrap(),
        status,
        start_node_id: None,
        end_node_id: None,
        end_reason: None,
        turn_count: 0,
        usage: Usage::default(),
        error,
        metadata: Object::new(),
        created_at: Timestamp::from_unix_millis(0),
        updated_at: Timestamp::from_unix_millis(0),
    }
}

/// RUN-20: a run that is not over is at work only while somebody owns its session.
#[test]
fn what_a_status_means() {
    for (status, kind, owned, expected) in [
        (RunStatus::Running, None, true, Standing::Running),
        (RunStatus::Pending, None, true, Standing::Running),
        (RunStatus::Queued, None, true, Standing::Queued),
        (RunStatus::Running, None, false, Standing::Interrupted),
        (RunStatus::Queued, None, false, Standing::Interrupted),
        (RunStatus::Failed, Some("interrupted"), false, Standing::Interrupted),
        (RunStatus::Failed, Some("tool_loop"), false, Standing::Ended(RunStatus::Failed)),
        (RunStatus::Completed, None, true, Standing::Ended(RunStatus::Completed)),
    ] {
        assert_eq!(meaning(&run(status, kind), owned), expected, "{status:?} {kind:?} {owned}");
    }
}

/// STO-10: a piece of a text shows nothing that the whole would not show.
#[test]
fn pieces_show_no_more_than_the_whole() {
    let whole = "DB_PASSWORD=[redacted]\nthen deploy the app";
    for (piece, expected) in [
        ("…Tr0ub4dor&3xyz then deploy", "[redacted] then deploy"),
        ("…dor&3xyz then deploy the…", "[redacted] then deploy the…"),
        ("then deploy the app", "then deploy the app"),
    ] {
        assert_eq!(only_what_is_in(piece, whole), expected);
    }
    let mut cut = "deploy with ghp_16C7e42F292c6912E7710c83".to_owned();
    drop_broken_word(&mut cut);
    assert_eq!(cut, "deploy with ");
}
