//! What is recorded, what is refused, and what fails a test.

use std::panic::{AssertUnwindSafe, catch_unwind};

use agent_testkit::{MODEL, Protocol, Reply, ScriptedServer, TestHome, prefix_violations};
use serde_json::{Value, json};

use crate::client::{answer, request, send, whole};

/// The message a closure panics with.
fn panic_of(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("this should have failed the test");
    payload.downcast_ref::<String>().expect("a formatted message").clone()
}

#[tokio::test]
async fn requests_are_recorded_as_they_came() {
    let server = ScriptedServer::start().await;
    server.script([Reply::text("a"), Reply::text("b")]);
    answer(&server, Protocol::Ollama).await;
    let mut second = request(Protocol::OpenAi);
    let history = [json!({"role": "assistant", "content": "a"}), json!({"role": "user", "content": "more"})];
    second["messages"].as_array_mut().unwrap().extend(history);
    send(&server, "POST", "/v1/chat/completions?x=1", second.to_string()).await.unwrap();

    let requests = server.requests();
    let [first, second] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!((first.at, first.protocol, first.path.as_str()), (0, Protocol::Ollama, "/api/chat"));
    assert_eq!((second.at, second.protocol, second.path.as_str()), (1, Protocol::OpenAi, "/v1/chat/completions?x=1"));
    assert_eq!((first.turn(), second.turn()), (0, 1));
    assert_eq!((first.model(), first.tool_names()), (MODEL, vec!["code__read_file", "plain"]));
    assert_eq!((first.method.as_str(), first.header("x-mixed-case")), ("POST", Some("kept")));
    assert_eq!(first.raw, request(Protocol::Ollama).to_string());
    assert_eq!(first.body, serde_json::from_slice::<Value>(&first.raw).unwrap());
    assert_eq!(prefix_violations(&requests), ["request 1 of the series: another protocol or model"]);
}

/// The server's own guard: an invalid request gets the reasons, takes no reply and fails the test.
#[tokio::test]
async fn invalid_requests_are_refused_and_remembered() {
    let server = ScriptedServer::start().await;
    server.push(Reply::text("kept"));
    for protocol in Protocol::ALL {
        let mut body = request(*protocol);
        body["messages"] = json!([{"role": "user", "content": "hi"}, {"role": "system", "content": "late"}]);
        let (status, text) = whole(send(&server, "POST", protocol.path(), body.to_string()).await.unwrap()).await;
        assert_eq!(status, 400);
        let reason = match protocol {
            Protocol::Anthropic => "messages[1]: has no legal role",
            _ => "messages[1]: a system message may only be the first",
        };
        assert!(text.contains(reason), "{text}");
    }
    let (status, text) = whole(send(&server, "POST", "/api/chat", "{".to_owned()).await.unwrap()).await;
    assert_eq!(status, 400);
    assert!(text.contains("body: is not a JSON object"), "{text}");
    assert_eq!((server.unused_replies(), server.request_count()), (1, 4));

    let expected = "the scripted server was asked what no server would answer:\n\
                    request 0: messages[1]: a system message may only be the first\n\
                    request 1: messages[1]: a system message may only be the first\n\
                    request 2: messages[1]: has no legal role\n\
                    request 3: body: is not a JSON object";
    assert_eq!(panic_of(|| server.assert_valid()), expected);
    assert_eq!(panic_of(|| drop(server)), expected);
}

#[tokio::test]
async fn a_test_may_tolerate_what_it_provokes() {
    let mut server = ScriptedServer::start().await;
    server.tolerate_invalid();
    send(&server, "POST", "/api/chat", "{".to_owned()).await.unwrap();
    assert_eq!(server.violations().as_deref(), Some("request 0: body: is not a JSON object"));
}

#[tokio::test]
async fn checks_can_be_turned_off_and_fields_allowed() {
    let server = ScriptedServer::builder().without_checks().keep_requests(1).start().await;
    server.respond_with(|_, _| Reply::text("x"));
    for _ in 0..3 {
        let body = json!({"model": MODEL, "messages": [], "ours": 1}).to_string();
        assert_eq!(send(&server, "POST", "/api/chat", body).await.unwrap().status(), 200);
    }
    assert_eq!((server.requests().len(), server.request_count()), (1, 3));

    let server = ScriptedServer::builder().allow_fields(["cache_prompt"]).start().await;
    server.push(Reply::text("x"));
    let mut body = request(Protocol::OpenAi);
    body["cache_prompt"] = json!(true);
    assert_eq!(send(&server, "POST", Protocol::OpenAi.path(), body.to_string()).await.unwrap().status(), 200);
}

/// A script that is too short is the test's mistake; the client must not try again and hide it.
#[tokio::test]
async fn a_request_without_a_reply_fails_the_test() {
    let server = ScriptedServer::start().await;
    let (status, body) = answer(&server, Protocol::Ollama).await;
    assert_eq!((status, body.as_str()), (400, "{\"error\":\"the script has no reply for request 0\"}"));
    assert!(panic_of(|| drop(server)).ends_with("the script has no reply for request 0"));
}

#[tokio::test]
async fn left_over_replies_can_be_asked_for() {
    let server = ScriptedServer::start().await;
    server.script([Reply::text("a"), Reply::text("b")]);
    answer(&server, Protocol::Ollama).await;
    let message = panic_of(|| server.assert_exhausted());
    assert_eq!(message, "1 scripted replies were never asked for, after 1 requests");
    answer(&server, Protocol::Ollama).await;
    server.assert_exhausted();
}

/// The queue goes first; the responder counts only what it answered.
#[tokio::test]
async fn a_responder_goes_on_where_the_script_ends() {
    let server = ScriptedServer::start().await;
    server.push(Reply::text("scripted"));
    server.respond_with(|request, answered| Reply::text(format!("request {} answered {answered}", request.at)));
    let mut bodies = Vec::new();
    for _ in 0..3 {
        bodies.push(answer(&server, Protocol::Ollama).await.1);
    }
    for (body, text) in bodies.iter().zip(["scripted", "request 1 answered 0", "request 2 answered 1"]) {
        assert!(body.contains(&format!("\"{text}\"")), "{body}");
    }
}

#[tokio::test]
async fn a_panicking_responder_fails_the_test_not_the_server() {
    let server = ScriptedServer::start().await;
    server.respond_with(|request, _| match request.at {
        0 => panic!("on purpose"),
        _ => Reply::text("x"),
    });
    assert_eq!(answer(&server, Protocol::OpenAi).await.0, 400);
    assert_eq!(answer(&server, Protocol::OpenAi).await.0, 200);
    assert!(panic_of(|| drop(server)).ends_with("the responder panicked on request 0"));
}

/// For tests without a runtime: the same server on a thread of its own, reached as the configuration says.
#[test]
fn a_blocking_server_serves_a_test_home() {
    let server = ScriptedServer::start_blocking();
    server.push(Reply::text("from the thread"));
    let home = TestHome::new("blocking");
    home.write_config(&server.base_url(Protocol::OpenAi), Protocol::OpenAi.provider(), "");
    let config = std::fs::read_to_string(home.config_path()).unwrap();
    assert!(config.contains(&format!("base_url = \"http://{}/v1\"", server.address())), "{config}");

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (status, body) = runtime.block_on(answer(&server, Protocol::OpenAi));
    assert_eq!(status, 200);
    assert!(body.contains("from the thread"));
    assert_eq!(server.wait_for_request_blocking(0).model(), MODEL);
    server.wait_for_end_blocking(0);
    let address = server.address();
    drop(server);
    // A process that another test is just starting may hold a copy of the socket until it has begun.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while std::net::TcpStream::connect(address).is_ok() {
        assert!(std::time::Instant::now() < deadline, "the port is closed with the server");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
