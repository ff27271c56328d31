//! A client that takes a response apart without understanding it.

use std::future::Future;
use std::time::Duration;

use agent_testkit::{MODEL, Protocol, ScriptedServer};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// A test that hangs must fail: nothing here takes seconds.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("the server or the test hangs")
}

/// Sends one request on a connection of its own and returns the response's head.
pub(crate) async fn send(
    server: &ScriptedServer,
    method: &str,
    path: &str,
    body: String,
) -> hyper::Result<Response<Incoming>> {
    let stream = TcpStream::connect(server.address()).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .header("X-Mixed-Case", "kept")
        .body(Full::new(Bytes::from(body)))
        .unwrap();
    within(sender.send_request(request)).await
}

/// A valid request with the two tools the tests' scripts call.
pub(crate) fn request(protocol: Protocol) -> Value {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
    let mut body = json!({
        "model": MODEL,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [tool("code__read_file"), tool("plain")],
        "stream": true,
    });
    match protocol {
        Protocol::OpenAi => body["stream_options"] = json!({"include_usage": true}),
        Protocol::Anthropic => {
            let tool = |name: &str| json!({"name": name, "input_schema": {"type": "object"}});
            body["tools"] = json!([tool("code__read_file"), tool("plain")]);
            body["max_tokens"] = json!(1000);
        }
        _ => {}
    }
    body
}

pub(crate) async fn chat(server: &ScriptedServer, protocol: Protocol) -> hyper::Result<Response<Incoming>> {
    send(server, "POST", protocol.path(), request(protocol).to_string()).await
}

/// Status and whole body of the answer to [`request`].
pub(crate) async fn answer(server: &ScriptedServer, protocol: Protocol) -> (u16, String) {
    whole(chat(server, protocol).await.unwrap()).await
}

pub(crate) async fn whole(response: Response<Incoming>) -> (u16, String) {
    let status = response.status().as_u16();
    let body = within(response.into_body().collect()).await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

/// All that can be read of a body, and whether it ended properly.
pub(crate) async fn remains(response: Response<Incoming>) -> (Vec<u8>, bool) {
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    loop {
        match within(body.frame()).await {
            None => return (bytes, true),
            Some(Err(_)) => return (bytes, false),
            Some(Ok(frame)) => bytes.extend_from_slice(&frame.into_data().unwrap()),
        }
    }
}

/// The next event of a stream, however the bytes arrive.
pub(crate) async fn event(body: &mut Incoming, buffer: &mut String, terminator: &str) -> String {
    loop {
        if let Some(end) = buffer.find(terminator) {
            return buffer.drain(..end + terminator.len()).collect();
        }
        let frame = within(body.frame()).await.expect("the stream ended").unwrap();
        buffer.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
    }
}

pub(crate) fn terminator(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::OpenAi | Protocol::Anthropic => "\n\n",
        _ => "\n",
    }
}

/// The JSON values of a stream; `[DONE]` becomes a string. Anthropic's events carry their names in the data, too.
pub(crate) fn events(protocol: Protocol, body: &str) -> Vec<Value> {
    let parse = |text: &str| match text {
        "[DONE]" => json!(text),
        text => serde_json::from_str(text).unwrap_or_else(|e| panic!("{e} in {text}")),
    };
    assert!(body.is_empty() || body.ends_with(terminator(protocol)), "a half event: {body}");
    body.split_terminator(terminator(protocol))
        .map(|event| match protocol {
            Protocol::OpenAi => parse(event.strip_prefix("data: ").expect("only data events")),
            Protocol::Anthropic => {
                let (name, data) = event.split_once('\n').expect("a name and data");
                let value = parse(data.strip_prefix("data: ").expect("data after the name"));
                assert_eq!(name.strip_prefix("event: "), value["type"].as_str());
                value
            }
            _ => parse(event),
        })
        .collect()
}
