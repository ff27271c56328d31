//! Conversations over a wire that plays a script, with the clock stopped: time passes only where somebody waits.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_protocol::{ErrorCode, ModelFault};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, stream};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::adapter::HttpAdapter;
use crate::http::{Answer, Call, Method, Wire};
use crate::openai::OpenAi;
use crate::testing::{line, object, request};
use crate::{KeySource, LimitSettings, ProviderAdapter, ProviderSettings, RetrySettings};

mod lessons;
mod waits;

/// What a call is answered with.
struct Scene {
    status: u16,
    headers: Vec<(&'static str, &'static str)>,
    /// What comes after which wait, in seconds; none: the connection breaks.
    body: Vec<(u64, Option<String>)>,
    /// Whether the body ends, or stays open in silence.
    ends: bool,
}

impl Scene {
    fn status(status: u16, body: &str) -> Self {
        Self { status, headers: Vec::new(), body: vec![(0, Some(body.to_owned()))], ends: true }
    }

    fn events(data: &[(u64, &str)]) -> Self {
        let body = data.iter().map(|(wait, data)| (*wait, Some(format!("data: {data}\n\n")))).collect();
        Self { status: 200, headers: Vec::new(), body, ends: true }
    }

    fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    fn open(mut self) -> Self {
        self.ends = false;
        self
    }

    fn play(self) -> Answer {
        let body: BoxStream<'static, Result<Bytes, ProviderError>> = stream::iter(self.body)
            .then(|(wait, piece)| async move {
                tokio::time::sleep(Duration::from_secs(wait)).await;
                piece.map(Bytes::from).ok_or_else(broken)
            })
            .boxed();
        let tail = if self.ends { stream::empty().boxed() } else { stream::pending().boxed() };
        let mut headers = HeaderMap::new();
        for (name, value) in self.headers {
            headers.insert(name, value.parse().unwrap());
        }
        Answer { status: self.status, headers, body: body.chain(tail).boxed() }
    }
}

fn broken() -> ProviderError {
    ProviderError::Refused { provider: "openai".into(), url: "u".into(), hint: "Start it.".into(), may_come_up: true }
}

#[derive(Default)]
struct Script {
    scenes: Mutex<VecDeque<Scene>>,
    calls: Mutex<Vec<(Method, &'static str, Value)>>,
}

impl Wire for Arc<Script> {
    fn send(&self, call: Call) -> futures::future::BoxFuture<'_, Result<Answer, ProviderError>> {
        let body = serde_json::from_slice(&call.body).unwrap_or(Value::Null);
        self.calls.lock().unwrap().push((call.method, call.path, body));
        let scene = self.scenes.lock().unwrap().pop_front();
        async move {
            match scene {
                Some(scene) => Ok(scene.play()),
                // Nobody answers any more.
                None => std::future::pending().await,
            }
        }
        .boxed()
    }
}

fn terms(script: &Arc<Script>, max_attempts: u32) -> Terms {
    let mut settings = ProviderSettings::new("http://127.0.0.1:1/v1");
    settings.limits = LimitSettings { event_bytes: 10_000, reply_bytes: 10_000, error_bytes: 1000 };
    Terms {
        dialect: Arc::new(OpenAi::new(&settings, "127.0.0.1").unwrap()),
        wire: Box::new(script.clone()),
        url: "http://127.0.0.1:1/v1".to_owned(),
        api_key: None,
        context_window: 1000,
        retry: RetrySettings { max_attempts, ..RetrySettings::default() },
        limits: settings.limits,
        patience: Patience::new(Duration::from_secs(60), true),
        raw: None,
    }
}

fn adapter(script: &Arc<Script>, max_attempts: u32) -> HttpAdapter {
    HttpAdapter::over(terms(script, max_attempts))
}

fn script(scenes: impl IntoIterator<Item = Scene>) -> Arc<Script> {
    Arc::new(Script { scenes: Mutex::new(scenes.into_iter().collect()), calls: Mutex::default() })
}

async fn events(script: &Arc<Script>) -> Vec<ModelEvent> {
    adapter(script, 3).stream(request(), CancellationToken::new()).collect().await
}

/// The transcript; waits of retries are jittered and shown as `~`.
async fn transcript(script: &Arc<Script>) -> Vec<String> {
    let show = |event: &ModelEvent| match event {
        ModelEvent::Retry { attempt, error, .. } => {
            format!("retry {attempt} ~ {}", error.details["kind"].as_str().unwrap())
        }
        other => line(other),
    };
    events(script).await.iter().map(show).collect()
}

const HI: &str = r#"{"choices":[{"delta":{"content":"Hi"}}]}"#;
const STOP: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
const DONE: &str = "[DONE]";

fn good() -> Scene {
    Scene::events(&[(0, HI), (0, STOP), (0, DONE)])
}

const GOOD: [&str; 3] = ["started m", "text \"Hi\"", "done end_turn \"Hi\""];

/// PRV-8: what may pass is asked again before the first content, and what happened is told and kept.
#[tokio::test(start_paused = true)]
async fn asked_again_before_content() {
    for (first, kind) in [
        (Scene::status(500, ""), "server"),
        (Scene::status(503, "loading model"), "loading"),
        (Scene::status(429, "slow down"), "rate_limited"),
        (Scene::status(529, "overloaded"), "overloaded"),
        (Scene::status(408, ""), "timeout"),
        (Scene::status(409, "locked").header("x-should-retry", "true"), "invalid_request"),
        (Scene::events(&[(0, r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#)]), "overloaded"),
        (Scene::events(&[(0, DONE)]), "empty"),
        (Scene::events(&[]), "empty"),
        (Scene { body: vec![(0, None)], ..Scene::events(&[]) }, "unreachable"),
        (Scene::events(&[(700, HI)]), "timeout"),
    ] {
        let script = script([first, good()]);
        let events = events(&script).await;
        let ModelEvent::Retry { attempt: 1, wait_ms, error } = &events[0] else { panic!("{kind}: {events:?}") };
        assert_eq!(error.details["kind"], kind);
        assert!((500..=1000).contains(wait_ms), "{wait_ms}");
        assert_eq!(events[1..].iter().map(line).collect::<Vec<_>>(), GOOD);
        let Some(ModelEvent::Completed(reply)) = events.last() else { panic!() };
        assert_eq!(reply.metadata["attempts"], 2);
        assert_eq!(reply.metadata["retry_waits_ms"], json!([wait_ms]));
        let calls = script.calls.lock().unwrap();
        assert_eq!((calls.len(), &calls[0]), (2, &calls[1]));
    }
}

/// PRV-8: other client errors, refused keys, quotas and redirects are not asked again; nor is what the server forbids.
#[tokio::test(start_paused = true)]
async fn not_asked_again() {
    for (scene, fault, code, kind) in [
        (Scene::status(401, "no"), "fatal", ErrorCode::ProviderAuthFailed, "auth"),
        (Scene::status(401, "no").header("x-should-retry", "true"), "fatal", ErrorCode::ProviderAuthFailed, "auth"),
        (Scene::status(400, "bad"), "fatal", ErrorCode::ProviderError, "invalid_request"),
        (Scene::status(409, "conflict"), "fatal", ErrorCode::ProviderError, "invalid_request"),
        (Scene::status(404, "404 page not found"), "fatal", ErrorCode::ProviderError, "endpoint_not_found"),
        (
            Scene::status(429, r#"{"error":{"code":"insufficient_quota"}}"#),
            "fatal",
            ErrorCode::ProviderRateLimited,
            "quota",
        ),
        (Scene::status(500, "x").header("x-should-retry", "false"), "fatal", ErrorCode::ProviderError, "server"),
        (
            Scene::status(429, "x").header("retry-after", "3600"),
            "fatal",
            ErrorCode::ProviderRateLimited,
            "rate_limited",
        ),
        (Scene::status(400, "m does not support tools"), "fatal", ErrorCode::UnsupportedCapability, "unsupported"),
        (Scene::status(413, ""), "overflow", ErrorCode::ProviderError, "context_too_long"),
        (
            Scene::status(400, "prompt is too long: 20000 tokens > 10000"),
            "overflow",
            ErrorCode::ProviderError,
            "context_too_long",
        ),
        (
            Scene::status(307, "").header("location", "https://elsewhere/x?key=1"),
            "fatal",
            ErrorCode::ProviderError,
            "redirect",
        ),
        (
            Scene::status(200, "<html>login</html>").header("content-type", "text/html; charset=utf-8"),
            "fatal",
            ErrorCode::ProviderError,
            "web_page",
        ),
    ] {
        let script = script([scene]);
        let lines = transcript(&script).await;
        assert_eq!(lines, [format!("failed {fault} {code} {kind} | nothing")]);
        assert_eq!(script.calls.lock().unwrap().len(), 1);
    }
}

/// PRV-8: no more than `max_attempts`; then the loop is told that asking again is not its turn, and the user that it may
/// help later.
#[tokio::test(start_paused = true)]
async fn attempts_end() {
    let script = script((0..9).map(|_| Scene::status(500, "down")));
    let events = events(&script).await;
    assert_eq!(events.len(), 3);
    let Some(ModelEvent::Failed { fault, error, partial: None }) = events.last() else { panic!("{events:?}") };
    assert_eq!((*fault, error.retryable), (ModelFault::Fatal, true));
    assert_eq!((&error.details["status"], &error.details["attempts"]), (&json!(500), &json!(3)));
    assert_eq!(error.message, "openai at http://127.0.0.1:1/v1 refused the request for m (HTTP 500): down");
    assert_eq!(script.calls.lock().unwrap().len(), 3);
}

/// PRV-8: the server's wait is kept to the millisecond.
#[tokio::test(start_paused = true)]
async fn the_servers_wait_is_kept() {
    for (name, value, expected) in [("retry-after", "7", 7000), ("retry-after-ms", "250", 250)] {
        let script = script([Scene::status(429, "").header(name, value), good()]);
        let before = Instant::now();
        let events = events(&script).await;
        assert!(matches!(&events[0], ModelEvent::Retry { wait_ms, .. } if *wait_ms == expected));
        assert_eq!(before.elapsed(), Duration::from_millis(expected));
    }
}

/// STRM-06, PRV-7, RUN-23: after content the adapter does not ask again; the loop may, with the partial text at hand.
#[tokio::test(start_paused = true)]
async fn not_asked_again_after_content() {
    let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"code__write_file","arguments":"{\"path\":\"a.txt\",\"content\":\"half"}}]}}]}"#;
    let told = "call 0 code.write_file {\"path\":\"a.txt\",\"content\":\"half";
    for (scene, lines) in [
        (
            Scene::events(&[(0, HI)]),
            vec!["started m", "text \"Hi\"", "failed retryable provider_error truncated | error \"Hi\""],
        ),
        (
            Scene::events(&[(0, call)]),
            vec![
                "started m",
                told,
                r#"failed retryable provider_error truncated | error unfinished["code.write_file"]"#,
            ],
        ),
        (
            Scene { body: vec![(0, Some(format!("data: {HI}\n\n"))), (0, None)], ..Scene::events(&[]) },
            vec!["started m", "text \"Hi\"", "failed retryable provider_error unreachable | error \"Hi\""],
        ),
        (
            Scene::events(&[(0, HI), (0, r#"{"error":{"code":401,"message":"expired"}}"#)]),
            vec!["started m", "text \"Hi\"", "failed fatal provider_auth_failed auth | error \"Hi\""],
        ),
        (
            Scene::events(&[(0, HI), (0, r#"{"error":"Context size has been exceeded"}"#)]),
            vec!["started m", "text \"Hi\"", "failed overflow provider_error context_too_long | error \"Hi\""],
        ),
    ] {
        let script = script([scene, good()]);
        assert_eq!(transcript(&script).await, lines);
        assert_eq!(script.calls.lock().unwrap().len(), 1);
    }
}

/// PRV-9: patience before the first content, which comments do not end; after it an idle limit, which they reset; and no
/// total.
#[tokio::test(start_paused = true)]
async fn patience() {
    // Ten minutes on loopback: a comment is no content, and a slow start is no failure.
    let slow = Scene {
        body: vec![(0, Some(": ping\n\n".into())), (599, Some(format!("data: {HI}\n\ndata: {STOP}\n\n")))],
        ..good()
    };
    assert_eq!(transcript(&script([slow])).await, GOOD);
    let pings = (0..20).map(|_| (40, Some(": ping\n\n".to_owned()))).collect();
    let before = Instant::now();
    let lines = transcript(&script([Scene { body: pings, ..good() }.open(), good()])).await;
    assert_eq!(lines[0], "retry 1 ~ timeout");
    assert!((600..602).contains(&before.elapsed().as_secs()));

    // A minute of silence in the middle; comments are a sign of life.
    let before = Instant::now();
    let lines = transcript(&script([Scene::events(&[(0, HI)]).open()])).await;
    assert_eq!(lines[2], "failed retryable provider_timeout timeout | error \"Hi\"");
    assert_eq!(before.elapsed().as_secs(), 60);
    let mut alive = vec![(0, Some(format!("data: {HI}\n\n")))];
    alive.extend((0..100).map(|_| (59, Some(": ping\n\n".to_owned()))));
    alive.push((59, Some(format!("data: {STOP}\n\n"))));
    let before = Instant::now();
    assert_eq!(transcript(&script([Scene { body: alive, ..good() }])).await, GOOD);
    assert_eq!(before.elapsed().as_secs(), 101 * 59);
}

/// PRV-9: a server that never sends a head is given up, too.
#[tokio::test(start_paused = true)]
async fn no_head() {
    let silent = script([]);
    let before = Instant::now();
    let events: Vec<_> = adapter(&silent, 1).stream(request(), CancellationToken::new()).collect().await;
    assert_eq!(events.len(), 1);
    let ModelEvent::Failed { error, .. } = &events[0] else { panic!("{events:?}") };
    assert_eq!(error.code, ErrorCode::ProviderTimeout);
    assert_eq!(error.message, "openai at http://127.0.0.1:1/v1 sent nothing of its reply within 600 s");
    assert_eq!(before.elapsed().as_secs(), 600);
}

/// A finished reply is not held back by a server that holds the connection.
#[tokio::test(start_paused = true)]
async fn servers_that_do_not_hang_up() {
    let before = Instant::now();
    assert_eq!(transcript(&script([Scene::events(&[(0, HI), (0, STOP)]).open()])).await, GOOD);
    assert_eq!(before.elapsed().as_secs(), 5);
    let before = Instant::now();
    assert_eq!(transcript(&script([good().open()])).await, GOOD);
    assert!(before.elapsed() < Duration::from_millis(100));
    // How it lets go does not matter either.
    let mut torn = Scene::events(&[(0, HI), (0, STOP)]);
    torn.body.push((0, None));
    assert_eq!(transcript(&script([torn])).await, GOOD);
}

/// Cancel and close end a stream wherever it is, with what had come.
#[tokio::test(start_paused = true)]
async fn cancelled_anywhere() {
    for (scenes, told) in [
        (vec![], vec!["failed aborted cancelled aborted | nothing"]),
        (vec![Scene::events(&[]).open()], vec!["failed aborted cancelled aborted | nothing"]),
        (
            vec![Scene::events(&[(0, HI)]).open()],
            vec!["started m", "text \"Hi\"", "failed aborted cancelled aborted | error \"Hi\""],
        ),
        (
            vec![Scene::status(429, "").header("retry-after", "100")],
            vec!["retry 1 100000 rate_limited", "failed aborted cancelled aborted | nothing"],
        ),
        (
            vec![Scene { body: vec![], ..Scene::status(500, "") }.open()],
            vec!["failed aborted cancelled aborted | nothing"],
        ),
    ] {
        let script = script(scenes);
        let cancel = CancellationToken::new();
        let stream = adapter(&script, 3).stream(request(), cancel.clone());
        let later = async {
            tokio::time::sleep(Duration::from_secs(2)).await;
            cancel.cancel();
        };
        let (events, ()) = tokio::join!(stream.collect::<Vec<_>>(), later);
        assert_eq!(events.iter().map(line).collect::<Vec<_>>(), told);
    }
    let already = CancellationToken::new();
    already.cancel();
    let unasked = script([good()]);
    let lines: Vec<_> = adapter(&unasked, 3).stream(request(), already).map(|e| line(&e)).collect().await;
    assert_eq!(lines, ["failed aborted cancelled aborted | nothing"]);
    assert!(unasked.calls.lock().unwrap().is_empty());
}

/// PRV-1: `close` ends what runs, refuses what comes, and may be called again.
#[tokio::test(start_paused = true)]
async fn closed_for_good() {
    let script = script([Scene::events(&[(0, HI)]).open()]);
    let adapter = adapter(&script, 3);
    let stream = adapter.stream(request(), CancellationToken::new());
    let later = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        adapter.close().await;
        adapter.close().await;
    };
    let (events, ()) = tokio::join!(stream.collect::<Vec<_>>(), later);
    assert_eq!(line(events.last().unwrap()), "failed aborted cancelled closed | error \"Hi\"");
    let events: Vec<_> = adapter.stream(request(), CancellationToken::new()).collect().await;
    assert_eq!(events.iter().map(line).collect::<Vec<_>>(), ["failed aborted cancelled closed | nothing"]);
}

/// PRV-16: bounds on events, replies and error bodies hold.
#[tokio::test(start_paused = true)]
async fn bounds_hold() {
    let long = format!(r#"{{"choices":[{{"delta":{{"content":"{}"}}}}]}}"#, "x".repeat(20_000));
    let lines = transcript(&script([Scene::events(&[(0, &long)]), Scene::events(&[(0, &long)])])).await;
    assert_eq!(lines, ["retry 1 ~ protocol", "failed fatal provider_error protocol | nothing"]);
    let part = format!(r#"{{"choices":[{{"delta":{{"content":"{}"}}}}]}}"#, "x".repeat(6000));
    let lines = transcript(&script([Scene::events(&[(0, &part), (0, &part)])])).await;
    assert!(lines.last().unwrap().starts_with("failed fatal provider_error reply_too_long | error \"xxx"));
    // A server that never stops telling what is wrong.
    let endless = Scene { status: 400, body: (0..50).map(|_| (0, Some("y".repeat(99)))).collect(), ..good() }.open();
    let lines = transcript(&script([endless])).await;
    assert_eq!(lines, ["failed fatal provider_error invalid_request | nothing"]);
}

/// Events arrive in the order of the bytes, each told before the failure that follows in the same chunk.
#[tokio::test(start_paused = true)]
async fn what_came_before_a_fault_is_told() {
    let both = format!("data: {HI}\n\ndata: {{\"error\":\"boom\"}}\n\n");
    let lines = transcript(&script([Scene { body: vec![(0, Some(both))], ..good() }])).await;
    assert_eq!(lines, ["started m", "text \"Hi\"", "failed retryable provider_error unknown | error \"Hi\""]);
}

/// CFG-3: a missing key fails this use, and only this one.
#[tokio::test(start_paused = true)]
async fn a_missing_key_fails_the_use() {
    let script = script([good()]);
    // It is there from the second time on.
    let asked = AtomicBool::new(false);
    let read = move || asked.swap(true, Ordering::SeqCst).then(|| "sk-1".to_owned());
    let key = KeySource::new("MY_KEY", "the main model", "model.api_key_env", read);
    let adapter = HttpAdapter::over(Terms { api_key: Some(key), ..terms(&script, 3) });
    let events: Vec<_> = adapter.stream(request(), CancellationToken::new()).collect().await;
    let ModelEvent::Failed { fault: ModelFault::Fatal, error, partial: None } = &events[0] else {
        panic!("{events:?}")
    };
    assert_eq!(error.code, ErrorCode::ProviderAuthFailed);
    assert!(error.message.contains("MY_KEY") && error.message.contains("model.api_key_env"), "{}", error.message);
    let lines: Vec<_> = adapter.stream(request(), CancellationToken::new()).map(|e| line(&e)).collect().await;
    assert_eq!(lines, GOOD);
}

/// Request ids are kept for whoever has to look into the server's logs.
#[tokio::test(start_paused = true)]
async fn request_ids_are_kept() {
    let all = events(&script([good().header("x-request-id", "req_1")])).await;
    let ModelEvent::Started { metadata, .. } = &all[0] else { panic!("{all:?}") };
    assert_eq!(*metadata, object(json!({"request_id": "req_1"})));
    let all = events(&script([Scene::status(400, "bad").header("request-id", "req_2")])).await;
    let ModelEvent::Failed { error, .. } = &all[0] else { panic!("{all:?}") };
    assert_eq!(error.details["request_id"], "req_2");
}

/// PRV-14: whoever asks for it hears every attempt as it travelled, also one that is cancelled.
#[tokio::test(start_paused = true)]
async fn exchanges_are_told_raw() {
    let script = script([Scene::status(500, "down"), Scene::events(&[(0, HI)]).open()]);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let taken = heard.clone();
    let sink = crate::RawSink::new(move |exchange| taken.lock().unwrap().push(exchange));
    let adapter = HttpAdapter::over(Terms { raw: Some(sink), ..terms(&script, 3) });
    let mut stream = adapter.stream(request(), CancellationToken::new());
    while !matches!(stream.next().await, Some(ModelEvent::TextDelta { .. })) {}
    drop(stream);
    let heard = heard.lock().unwrap();
    let shown: Vec<_> = heard.iter().map(|raw| (raw.attempt, raw.status, raw.response.as_str(), raw.cut)).collect();
    let answer = format!("data: {HI}\n\n");
    assert_eq!(shown, [(1, Some(500), "down", false), (2, Some(200), answer.as_str(), false)]);
    assert!(heard.iter().all(|raw| raw.request.starts_with("{\"model\":\"m\"") && raw.provider == "openai"));
}
