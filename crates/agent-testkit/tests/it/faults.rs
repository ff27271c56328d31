//! Replies that break off, hang or refuse.

use std::sync::Arc;

use agent_testkit::{Call, Delivery, Model, Protocol, Reply, ScriptedServer};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::client::{answer, chat, events, remains, request, send, whole, within};

/// Wherever the cut is, exactly the bytes before it arrive and then the connection is gone.
#[tokio::test]
async fn a_cut_is_exact_to_the_byte() {
    for protocol in Protocol::ALL {
        let reply = || Reply::text("half").calls([Call::new("plain", json!({"a": 1}))]);
        let ask = async |reply: Reply| {
            let server = ScriptedServer::start().await;
            server.push(reply);
            let answer = remains(chat(&server, *protocol).await.unwrap()).await;
            (answer, within(server.wait_for_end(0)).await)
        };
        let ((whole, ended), delivery) = ask(reply()).await;
        assert_eq!((ended, delivery), (true, Delivery::Finished));
        for bytes in (0..whole.len()).step_by(23).chain([whole.len()]) {
            let ((part, ended), delivery) = ask(reply().cut_after(bytes)).await;
            assert!(part == whole[..bytes], "cut after {bytes} came {} bytes", part.len());
            assert_eq!((ended, delivery), (false, Delivery::Cut));
        }
    }
}

/// A cut far behind what fits into the socket's buffers loses nothing of what comes before.
#[tokio::test]
async fn a_late_cut_loses_no_byte() {
    let server = ScriptedServer::start().await;
    server.push(Reply::flood(200_000, "word ").cut_after(20_000_000));
    let (part, ended) = remains(chat(&server, Protocol::Ollama).await.unwrap()).await;
    assert_eq!((part.len(), ended), (20_000_000, false));
}

/// All content and no end marker, the HTTP body ended properly or not.
#[tokio::test]
async fn the_end_marker_may_be_missing() {
    let server = ScriptedServer::start().await;
    for protocol in Protocol::ALL {
        server.script([Reply::text("x").drop_connection(), Reply::text("x").without_end()]);
        for proper in [false, true] {
            let (bytes, ended) = remains(chat(&server, *protocol).await.unwrap()).await;
            let body = String::from_utf8(bytes).unwrap();
            assert_eq!(ended, proper);
            assert!(body.contains("\"x\""));
            for mark in ["\"done\":true", "\"finish_reason\":\"", "[DONE]", "message_stop", "\"stop_reason\":\""] {
                assert!(!body.contains(mark), "{body}");
            }
        }
    }
}

#[tokio::test]
async fn an_error_may_come_in_the_stream() {
    let server = ScriptedServer::start().await;
    for protocol in Protocol::ALL {
        server.push(Reply::text("x").then_error("model runner has unexpectedly stopped"));
        let (status, body) = answer(&server, *protocol).await;
        let last = events(*protocol, &body).pop().unwrap();
        let text = match protocol {
            Protocol::OpenAi | Protocol::Anthropic => last["error"]["message"].clone(),
            _ => last["error"].clone(),
        };
        assert_eq!((status, text), (200, json!("model runner has unexpectedly stopped")));
    }
}

#[tokio::test]
async fn a_hung_server_says_nothing_and_a_stalled_one_stops() {
    let server = ScriptedServer::start().await;
    server.script([Reply::hang(), Reply::text("abc").stall_after(10), Reply::hang_up()]);
    tokio::select! {
        _ = chat(&server, Protocol::Ollama) => panic!("a hung server answered"),
        _ = server.wait_for_request(0) => {}
    }
    assert_eq!(within(server.wait_for_end(0)).await, Delivery::ClosedByClient);

    let mut body = chat(&server, Protocol::Ollama).await.unwrap().into_body();
    assert_eq!(within(body.frame()).await.unwrap().unwrap().into_data().unwrap().len(), 10);
    drop(body);
    assert_eq!(within(server.wait_for_end(1)).await, Delivery::ClosedByClient);

    chat(&server, Protocol::Ollama).await.unwrap_err();
    assert_eq!(within(server.wait_for_end(2)).await, Delivery::Cut);
}

#[tokio::test]
async fn statuses_carry_headers_and_each_protocols_error() {
    let server = ScriptedServer::start().await;
    server.script([
        Reply::error(429, "slow down").header("retry-after", "1"),
        Reply::error(500, "boom"),
        Reply::status(413, ""),
        Reply::status(502, "<html>"),
        Reply::error(529, "too much"),
    ]);
    let response = chat(&server, Protocol::OpenAi).await.unwrap();
    assert_eq!(response.headers()["retry-after"], "1");
    let (status, body) = whole(response).await;
    let expected =
        json!({"error": {"message": "slow down", "type": "requests", "param": null, "code": "rate_limit_exceeded"}});
    assert_eq!((status, serde_json::from_str::<Value>(&body).unwrap()), (429, expected));
    assert_eq!(answer(&server, Protocol::Ollama).await, (500, "{\"error\":\"boom\"}".to_owned()));
    assert_eq!(answer(&server, Protocol::Ollama).await, (413, String::new()));
    assert_eq!(answer(&server, Protocol::OpenAi).await, (502, "<html>".to_owned()));
    let (status, body) = answer(&server, Protocol::Anthropic).await;
    let expected = json!({"type": "error", "error": {"type": "overloaded_error", "message": "too much"},
                          "request_id": "req_scripted"});
    assert_eq!((status, serde_json::from_str::<Value>(&body).unwrap()), (529, expected));
    for at in 0..5 {
        assert_eq!(within(server.wait_for_end(at)).await, Delivery::Finished);
    }
}

#[tokio::test]
async fn an_overflow_is_refused_in_each_protocols_words() {
    let server = ScriptedServer::start().await;
    server.script([(); 3].map(|()| Reply::context_overflow(9001, 4096)));
    let (status, body) = answer(&server, Protocol::Ollama).await;
    assert_eq!(status, 400);
    assert!(body.contains("the prompt is longer than the context length currently available to the model"));
    let (status, body) = answer(&server, Protocol::OpenAi).await;
    assert_eq!(status, 400);
    assert!(body.contains("\"context_length_exceeded\"") && body.contains("maximum context length is 4096 tokens"));
    let (status, body) = answer(&server, Protocol::Anthropic).await;
    assert_eq!(status, 400);
    assert!(body.contains("prompt is too long: 9001 tokens > 4096 maximum"), "{body}");
}

/// Models that are missing or cannot do what is asked are refused without using up the script.
#[tokio::test]
async fn models_are_what_they_are_scripted_to_be() {
    let models =
        [Model::new("plain").capabilities(["completion"]), Model::new("full:7b").capabilities(["tools", "thinking"])];
    let server = ScriptedServer::builder().models(models).start().await;
    server.push(Reply::text("x"));
    let ask = async |protocol: Protocol, edit: &dyn Fn(&mut Value)| {
        let mut body = request(protocol);
        edit(&mut body);
        whole(send(&server, "POST", protocol.path(), body.to_string()).await.unwrap()).await
    };
    let missing = ask(Protocol::Ollama, &|body| body["model"] = json!("gemma4")).await;
    assert_eq!(missing, (404, "{\"error\":\"model 'gemma4' not found\"}".to_owned()));
    let (status, body) = ask(Protocol::OpenAi, &|body| body["model"] = json!("gemma4")).await;
    assert_eq!(status, 404);
    assert!(body.contains("\"code\":\"model_not_found\""), "{body}");
    let (status, body) = ask(Protocol::Anthropic, &|body| body["model"] = json!("gemma4")).await;
    assert_eq!(status, 404);
    assert!(body.contains("\"not_found_error\"") && body.contains("model: gemma4"), "{body}");

    for protocol in Protocol::ALL {
        let (status, body) = ask(*protocol, &|body| body["model"] = json!("plain:latest")).await;
        assert_eq!(status, 400);
        assert!(body.contains("does not support tools"), "{body}");
    }
    let (status, body) = ask(Protocol::Ollama, &|body| {
        body["model"] = json!("plain");
        body.as_object_mut().unwrap().remove("tools");
        body["think"] = json!("low");
    })
    .await;
    assert_eq!(status, 400);
    assert!(body.contains("does not support thinking"), "{body}");

    let (status, _) = ask(Protocol::Ollama, &|body| {
        body["model"] = json!("full:7b");
        body["think"] = json!(true);
    })
    .await;
    assert_eq!((status, server.unused_replies()), (200, 0));
}

/// Many clients at once, on one thread: nobody waits for a stalled one.
#[tokio::test]
async fn connections_do_not_wait_for_each_other() {
    let server = Arc::new(ScriptedServer::start().await);
    server.push(Reply::text("abc").stall_after(5));
    let stalled = chat(&server, Protocol::Ollama).await.unwrap();
    server.respond_with(|request, _| Reply::text(format!("answer {}", request.at)));
    let clients: Vec<_> = (0..100)
        .map(|_| {
            let server = Arc::clone(&server);
            tokio::spawn(async move { answer(&server, Protocol::OpenAi).await })
        })
        .collect();
    for client in clients {
        assert_eq!(within(client).await.unwrap().0, 200);
    }
    assert_eq!(server.request_count(), 101);
    drop(stalled);
}
