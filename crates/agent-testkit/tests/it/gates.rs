//! Chunks released by hand, and clients that leave in between.

use agent_testkit::{Delivery, Protocol, Reply, ScriptedServer};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::client::{answer, chat, event, events, terminator, within};

/// The next chunk that a gate let go.
async fn chunk(body: &mut Incoming, buffer: &mut String, protocol: Protocol) {
    loop {
        let event = event(body, buffer, terminator(protocol)).await;
        // Anthropic's events that hold nothing go out with the one after them.
        if protocol != Protocol::Anthropic || event.contains("event: ping") || event.contains("_delta") {
            return;
        }
    }
}

#[tokio::test]
async fn chunks_come_when_released() {
    let server = ScriptedServer::start().await;
    for protocol in Protocol::ALL {
        let (reply, gate) = Reply::text("abc").chunks(3).gated();
        server.push(reply);
        let response = chat(&server, *protocol).await.unwrap(); // the head comes without a release
        let mut body = response.into_body();
        let mut buffer = String::new();
        for _ in 0..3 {
            gate.release(1);
            chunk(&mut body, &mut buffer, *protocol).await;
            assert_eq!(buffer, "", "more came than was released");
        }
        gate.release_all();
        let mut rest = Vec::new();
        while let Some(frame) = within(body.frame()).await {
            rest.extend_from_slice(&frame.unwrap().into_data().unwrap());
        }
        assert!(!events(*protocol, std::str::from_utf8(&rest).unwrap()).is_empty());
    }
}

/// A cancelled stream is seen as such, in the middle of the answer.
#[tokio::test]
async fn a_client_that_leaves_is_noticed() {
    let server = ScriptedServer::start().await;
    for (at, protocol) in Protocol::ALL.iter().enumerate() {
        let (reply, gate) = Reply::text("abc").chunks(3).gated();
        server.push(reply);
        gate.release(1);
        let response = chat(&server, *protocol).await.unwrap();
        let mut body = response.into_body();
        event(&mut body, &mut String::new(), terminator(*protocol)).await;
        assert_eq!(within(server.wait_for_request(at)).await.delivery, Delivery::Open);
        drop(body);
        assert_eq!(within(server.wait_for_end(at)).await, Delivery::ClosedByClient);
        assert_eq!(server.requests()[at].delivery, Delivery::ClosedByClient);
    }
}

/// A client that stops reading at the end marker has not closed early.
#[tokio::test]
async fn an_answer_read_to_its_end_is_finished() {
    let server = ScriptedServer::start().await;
    for (at, protocol) in Protocol::ALL.iter().enumerate() {
        server.push(Reply::text("abc"));
        answer(&server, *protocol).await;
        assert_eq!(within(server.wait_for_end(at)).await, Delivery::Finished);
    }
}

/// The wait is for arrival: the answer may not have begun.
#[tokio::test]
async fn waiting_for_a_request_to_come() {
    let server = ScriptedServer::start().await;
    server.push(Reply::hang());
    let (request, ()) = tokio::join!(server.wait_for_request(0), async {
        tokio::select! {
            _ = chat(&server, Protocol::Ollama) => panic!("a hung server answered"),
            request = server.wait_for_request(0) => assert_eq!(request.at, 0),
        }
    });
    assert_eq!(request.messages()[0]["content"], "hi");
    // The select dropped the client.
    assert_eq!(within(server.wait_for_end(0)).await, Delivery::ClosedByClient);
}

/// The deadline is real time: a paused clock that jumps ahead does not end the wait.
#[tokio::test(start_paused = true)]
async fn waiting_is_not_fooled_by_a_paused_clock() {
    let server = ScriptedServer::start_blocking();
    server.push(Reply::text("x"));
    let address = server.address();
    let client = std::thread::spawn(move || {
        use std::io::Write;
        let body = r#"{"model":"scripted","messages":[{"role":"user","content":"hi"}]}"#;
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        write!(stream, "POST /api/chat HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
        stream
    });
    assert_eq!(server.wait_for_request(0).await.at, 0);
    client.join().unwrap();
}
