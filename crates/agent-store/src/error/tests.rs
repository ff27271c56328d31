use super::*;
use agent_protocol::Timestamp;

/// RUN-4: the message says who holds the session, and programs can read it too.
#[test]
fn a_session_in_use_names_its_owner() {
    let session_id = SessionId::parse("sess_1").unwrap();
    let owner = Owner { pid: 42, host: "desk".into(), since: Timestamp::from_unix_millis(0) };
    let payload = StoreError::SessionActive { session_id: session_id.clone(), owner: Some(owner) }.payload();
    assert_eq!(payload.code, ErrorCode::SessionActive);
    assert_eq!(payload.message, "session sess_1 is in use by process 42 on desk since 1970-01-01T00:00:00.000Z");
    assert_eq!(payload.details["owner_pid"], 42);
    assert_eq!(payload.details["owner_host"], "desk");
    assert_eq!(payload.details["owner_since"], "1970-01-01T00:00:00.000Z");
    let unknown = StoreError::SessionActive { session_id, owner: None };
    assert_eq!(unknown.to_string(), "session sess_1 is in use by another process");
}

/// ERR-5: a payload's message carries the causes that the error keeps apart.
#[test]
fn a_payload_tells_the_whole_story() {
    let io: Cause = Arc::new(std::io::Error::other("no luck"));
    let error = StoreError::File { step: "make", path: "/a".into(), source: io };
    assert_eq!(error.to_string(), "cannot make /a");
    assert_eq!(error.payload().message, "cannot make /a: no luck");
}
