//! Connections: made, kept, broken, refused, let go.

use std::io::Write;
use std::sync::Arc;

use agent_llm::{KeySource, LimitSettings, ProviderAdapter};
use agent_protocol::{ErrorCode, ModelEvent, ModelFault};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::StreamExt;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::ask::{adapter, build, completed, events, failed, request, settings};
use crate::raw::{Answer, OLLAMA_HI, RawServer, begun, chunked, ollama_answer, whole};

/// PRV-10: nobody listens: the user is told to start the server, at once.
#[tokio::test]
async fn nobody_listens() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = format!("http://{free}");
    let all = events(&*adapter("ollama", &url), request()).await;
    let (fault, error, _) = failed(&all);
    assert_eq!(
        (all.len(), fault, error.code, error.retryable),
        (1, ModelFault::Fatal, ErrorCode::ProviderError, false)
    );
    assert_eq!(
        error.message,
        format!(
            "cannot connect to ollama at {url}: connection refused. Start Ollama with `ollama serve`, or correct base_url."
        )
    );
}

/// A connection serves one turn after another.
#[tokio::test]
async fn connections_are_kept() {
    let server = RawServer::start((0..5).map(|_| Answer::Keep(chunked(&ollama_answer())))).await;
    let adapter = adapter("ollama", &server.url());
    for _ in 0..5 {
        completed(&events(&*adapter, request()).await);
    }
    assert_eq!((server.requests().len(), server.connections()), (5, 1));
}

/// The head of a request: what is accepted, in which form, and no key where there is none.
#[tokio::test]
async fn the_head_of_a_request() {
    let server = RawServer::start([Answer::Keep(chunked(&ollama_answer()))]).await;
    completed(&events(&*adapter("ollama", &server.url()), request()).await);
    let head = server.requests()[0].to_lowercase();
    for line in [
        "post /api/chat http/1.1",
        "accept: application/x-ndjson",
        "content-type: application/json",
        "accept-encoding: identity",
    ] {
        assert!(head.contains(line), "{line}: {head}");
    }
    assert!(!head.contains("authorization"));
}

/// PRV-8: a connection that breaks before the answer is tried again.
#[tokio::test]
async fn broken_before_the_answer() {
    for broken in [Answer::Reset(vec![]), Answer::Close(vec![]), Answer::Close(b"HTTP/1.1 200 OK\r\nContent-".to_vec())]
    {
        let server = RawServer::start([broken, Answer::Keep(chunked(&ollama_answer()))]).await;
        let all = events(&*adapter("ollama", &server.url()), request()).await;
        assert_eq!(completed(&all).1, 1, "{all:?}");
        let ModelEvent::Retry { error, .. } = &all[0] else { panic!("{all:?}") };
        assert_eq!((error.code, error.details["kind"].as_str()), (ErrorCode::ProviderError, Some("disconnected")));
    }
}

/// STRM-06, STRM-21, PRV-7: a connection that breaks inside the answer: the loop may ask again, with the partial text; the
/// message speaks of the connection.
#[tokio::test]
async fn broken_inside_the_answer() {
    for (broken, message) in [
        (Answer::Close(begun(OLLAMA_HI)), "the connection to ollama at"),
        (Answer::Close(whole(200, "", OLLAMA_HI.as_bytes())), "the connection ended early"),
        (
            Answer::Close(
                [b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n".as_slice(), OLLAMA_HI.as_bytes()].concat(),
            ),
            "the connection to ollama at",
        ),
        (
            Answer::Close([b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".as_slice(), OLLAMA_HI.as_bytes()].concat()),
            "the connection ended early",
        ),
    ] {
        let server = RawServer::start([broken]).await;
        let all = events(&*adapter("ollama", &server.url()), request()).await;
        let (fault, error, partial) = failed(&all);
        assert_eq!((fault, error.code, error.retryable), (ModelFault::Retryable, ErrorCode::ProviderError, true));
        assert!(error.message.contains(message), "{}", error.message);
        assert!(!error.message.contains("max_tokens") && !error.message.contains("limit"), "{}", error.message);
        assert_eq!(partial.unwrap().text(), "Hi");
        assert_eq!(server.requests().len(), 1);
    }
}

/// RUN-18: cancelling, and dropping the stream, let go of the connection, so that the server stops generating.
#[tokio::test]
async fn letting_go() {
    for cancels in [true, false] {
        let gone = Arc::new(Notify::new());
        let server = RawServer::start([Answer::Hold(begun(OLLAMA_HI), gone.clone())]).await;
        let cancel = CancellationToken::new();
        let mut stream = adapter("ollama", &server.url()).stream(request(), cancel.clone());
        while !matches!(stream.next().await, Some(ModelEvent::TextDelta { .. })) {}
        if cancels {
            cancel.cancel();
            let rest: Vec<_> = stream.collect().await;
            let (fault, error, partial) = failed(&rest);
            assert_eq!((fault, error.code), (ModelFault::Aborted, ErrorCode::Cancelled));
            assert_eq!(partial.unwrap().text(), "Hi");
        } else {
            drop(stream);
        }
        gone.notified().await;
    }
}

/// PRV-17: a redirect is not followed, and the key goes nowhere.
#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = RawServer::start([]).await;
    let to = format!("Location: {}/v1?token=sk-secret\r\n", elsewhere.url());
    let server = RawServer::start([Answer::Keep(whole(307, &to, b""))]).await;
    let mut settings = settings(&server.url());
    settings.api_key = Some(KeySource::new("K", "w", "n", || Some("sk-secret".to_owned())));
    let all = events(&*build("openai", settings), request()).await;
    let (fault, error, _) = failed(&all);
    assert_eq!(fault, ModelFault::Fatal);
    assert!(
        error.message.contains(&format!("redirects to {}/v1 and is not followed", elsewhere.url())),
        "{}",
        error.message
    );
    assert!(!format!("{all:?}").contains("sk-secret"));
    assert_eq!(elsewhere.connections(), 0);
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    whole(200, "Content-Encoding: gzip\r\n", &encoder.finish().unwrap())
}

/// PRV-17: a server that compresses unasked is understood; limits count what comes out.
#[tokio::test]
async fn compression_hides_nothing() {
    let bomb = gzip(&"x".repeat(4 << 20));
    assert!(bomb.len() < 100_000);
    let server =
        RawServer::start([Answer::Keep(gzip(&ollama_answer())), Answer::Keep(bomb.clone()), Answer::Keep(bomb)]).await;
    let mut settings = settings(&server.url());
    settings.limits = LimitSettings { event_bytes: 1 << 20, ..LimitSettings::default() };
    let adapter = build("ollama", settings);
    assert_eq!(completed(&events(&*adapter, request()).await).0.text(), "Hi");
    let all = events(&*adapter, request()).await;
    let (_, error, _) = failed(&all);
    assert!(error.message.contains("one event is longer than 1048576 bytes"), "{}", error.message);
}

/// Two conversations of one adapter do not wait for each other.
#[tokio::test]
async fn conversations_run_side_by_side() {
    let gone = Arc::new(Notify::new());
    let server =
        RawServer::start([Answer::Hold(begun(OLLAMA_HI), gone), Answer::Keep(chunked(&ollama_answer()))]).await;
    let adapter: Arc<dyn ProviderAdapter> = adapter("ollama", &server.url());
    let mut first = adapter.stream(request(), CancellationToken::new());
    while !matches!(first.next().await, Some(ModelEvent::TextDelta { .. })) {}
    completed(&events(&*adapter, request()).await);
    drop(first);
}
