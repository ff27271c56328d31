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

/// FND-74: a kept connection that the server has closed is no failure: the request goes over a new one at once, and nobody is told.
/// Only then: where the new one breaks as well, or something of the reply had come, it is.
#[tokio::test]
async fn a_kept_connection_that_was_closed() {
    let keep = || Answer::Keep(chunked(&ollama_answer()));
    for gone in [|| Answer::Close(vec![]), || Answer::Reset(vec![])] {
        let server = RawServer::start([keep(), gone(), keep(), keep(), gone(), keep()]).await;
        let adapter = adapter("ollama", &server.url());
        for turn in 1..=4 {
            let all = events(&*adapter, request()).await;
            assert_eq!(completed(&all).1, 0, "turn {turn}: {all:?}");
        }
        assert_eq!((server.requests().len(), server.connections()), (6, 3));

        // The new one breaks, too.
        let server = RawServer::start([keep(), gone(), gone(), keep()]).await;
        let broken = crate::ask::adapter("ollama", &server.url());
        completed(&events(&*broken, request()).await);
        let all = events(&*broken, request()).await;
        assert_eq!(completed(&all).1, 1, "{all:?}");
        assert_eq!(server.requests().len(), 4);
    }
    let server = RawServer::start([keep(), Answer::Close(begun(OLLAMA_HI)), keep()]).await;
    let adapter = adapter("ollama", &server.url());
    completed(&events(&*adapter, request()).await);
    let all = events(&*adapter, request()).await;
    let (fault, _, partial) = failed(&all);
    assert_eq!((fault, partial.unwrap().text()), (ModelFault::Retryable, "Hi".into()));
    assert_eq!(server.requests().len(), 2);
}

/// FND-74: what was kept beside it is as old: the request does not go over the next connection of the same age.
#[tokio::test]
async fn the_new_connection_is_new() {
    let gone = Arc::new(Notify::new());
    let keep = || Answer::Keep(chunked(&ollama_answer()));
    let server =
        RawServer::start([Answer::Hold(begun(OLLAMA_HI), gone), keep(), keep(), Answer::Close(vec![]), keep()]).await;
    let adapter = adapter("ollama", &server.url());
    // One is at work, so that others are made beside it.
    let mut first = adapter.stream(request(), CancellationToken::new());
    while !matches!(first.next().await, Some(ModelEvent::TextDelta { .. })) {}
    let both = futures::future::join(events(&*adapter, request()), events(&*adapter, request()));
    let (one, other) = both.await;
    completed(&one);
    completed(&other);
    let before = server.connections();
    assert_eq!(completed(&events(&*adapter, request()).await).1, 0);
    assert_eq!(server.connections(), before + 1);
    drop(first);
}

/// Takes one connection, reads what comes, and answers with these bytes.
async fn answering(bytes: &'static [u8]) -> std::net::SocketAddr {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.read(&mut [0; 4096]).await;
            let _ = socket.write_all(bytes).await;
        }
    });
    address
}

/// What only a programmer knows.
const LIBRARY_WORDS: [&str; 14] = [
    "client error",
    "SendRequest",
    "error sending request",
    "InvalidContentType",
    "InvalidMessage",
    "corrupt message",
    "error decoding",
    "builder error",
    "hyper",
    "reqwest",
    "rustls",
    "os error",
    "before message completed",
    "invalid HTTP",
];

/// FND-72, FND-73: what is wrong with a connection is said in words for people, with what to do about it; what the library calls it
/// stands in the details.
#[tokio::test]
async fn connections_fail_in_plain_words() {
    const NOT_TLS: &str = "the server does not speak TLS there; if it speaks plain HTTP, begin base_url with http://";
    const NOT_HTTP: &str = "what answers there does not speak HTTP; if it speaks TLS, begin base_url with https://";
    const CLOSED: &str = "the server closed the connection";
    for (scheme, bytes, expected) in [
        ("https", b"HTTP/1.1 400 Bad Request\r\n\r\n".as_slice(), NOT_TLS),
        ("https", b"SSH-2.0-OpenSSH_9.2\r\n", NOT_TLS),
        // The alert "protocol version", as a TLS server sends it.
        ("https", &[0x15, 3, 1, 0, 2, 2, 70], "the server broke off the TLS handshake"),
        ("https", b"", CLOSED),
        ("http", &[0x15, 3, 1, 0, 2, 2, 70], NOT_HTTP),
        ("http", b"SSH-2.0-OpenSSH_9.2\r\n", NOT_HTTP),
        ("http", b"", CLOSED),
        ("http", b"HTTP/1.1 200 OK\r\nContent-", CLOSED),
        ("http", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", CLOSED),
        ("http", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "its answer is not valid HTTP"),
        (
            "http",
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 12\r\n\r\nnot a gzip!!",
            "its answer is compressed and cannot be unpacked",
        ),
    ] {
        let url = format!("{scheme}://{}/v1", answering(bytes).await);
        let all = events(&*adapter("openai", &url), request()).await;
        let (_, error, _) = failed(&all);
        assert!(error.message.contains(expected), "{scheme} {bytes:?}: {}", error.message);
        assert!(error.message.contains(&url), "{}", error.message);
        for event in &all {
            let (ModelEvent::Retry { error, .. } | ModelEvent::Failed { error, .. }) = event else { continue };
            let word = LIBRARY_WORDS.iter().find(|word| error.message.contains(**word));
            assert_eq!(word, None, "{}", error.message);
        }
        assert!(error.details["cause"].as_str().is_some_and(|cause| !cause.is_empty()));
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
