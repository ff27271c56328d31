//! Adapters that break what the port promises: the probe must see it, whatever the server does.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_llm::{ModelStream, ProviderAdapter, ProviderFactory, ProviderRegistry};
use agent_protocol::{
    ContentBlock, ErrorCode, ErrorPayload, ModelEvent, ModelFault, ModelRequest, Object, Reply, StopKind, StopReason,
    ToolCall, ToolCallId, Usage,
};
use agent_testkit::{Protocol, Reply as Scripted, ScriptedServer};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Kind, check, target, told};
use crate::probe::bounded;
use crate::probe::say::{WEATHER, object};

type Streams = dyn Fn(ModelRequest, CancellationToken) -> ModelStream + Send + Sync;

/// An adapter that is nothing but its stream.
#[derive(Clone)]
struct Fake(Arc<Streams>);

impl ProviderAdapter for Fake {
    fn key(&self) -> &str {
        "fake"
    }

    fn stream(&self, request: ModelRequest, cancel: CancellationToken) -> ModelStream {
        (self.0)(request, cancel)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

/// A registry with one adapter, which streams like this.
fn registry(
    streams: impl Fn(ModelRequest, CancellationToken) -> ModelStream + Send + Sync + 'static,
) -> ProviderRegistry {
    let fake = Fake(Arc::new(streams));
    let factory: ProviderFactory = Arc::new(move |_| Ok(Arc::new(fake.clone())));
    let mut registry = ProviderRegistry::empty();
    registry.register("fake", factory).unwrap();
    registry
}

fn delta(text: &str) -> ModelEvent {
    ModelEvent::TextDelta { text: text.to_owned() }
}

fn reply(content: Vec<ContentBlock>, kind: StopKind) -> ModelEvent {
    let usage = Usage { input_tokens: Some(9), output_tokens: Some(9), ..Usage::default() };
    let stop = StopReason { kind, raw: Some("stop".to_owned()) };
    ModelEvent::Completed(Reply { content, usage, stop, metadata: Object::new() })
}

fn text(text: &str) -> ModelEvent {
    reply(vec![ContentBlock::text(text)], StopKind::EndTurn)
}

fn call(id: &str, name: &str) -> ToolCall {
    ToolCall {
        tool_call_id: ToolCallId::parse(id).unwrap(),
        name: name.to_owned(),
        arguments: object(json!({"city": "Oslo"})),
        metadata: Object::new(),
    }
}

fn calls<const N: usize>(calls: [ToolCall; N]) -> ModelEvent {
    reply(calls.map(ContentBlock::ToolCall).to_vec(), StopKind::ToolUse)
}

/// What a check says of an adapter that streams these events.
#[track_caller]
fn judge(name: &str, events: Vec<ModelEvent>, expected: Kind, says: &str) {
    let registry = registry(move |_, _| stream::iter(events.clone()).boxed());
    let target = target(registry, "fake", "http://127.0.0.1:1");
    // Nothing to wait for: such a check is done at once.
    let verdict = (check(name).run)(&target).now_or_never().unwrap();
    let (kind, said) = told(&verdict);
    assert_eq!(kind, expected, "{said}");
    assert!(said.contains(says), "{said}");
}

#[test]
fn broken_promises_are_seen() {
    let whole = || vec![delta("One, "), delta("two"), text("One, two")];
    judge("answer", whole(), Kind::Pass, "2 deltas");
    judge("answer", [whole(), vec![delta("more")]].concat(), Kind::Fail, "went on after the end");
    judge("answer", whole()[..2].to_vec(), Kind::Fail, "without a reply or a failure");
    judge("answer", vec![delta("One, "), delta("two"), text("One, ")], Kind::Fail, "the deltas join to \"One, two\"");
    judge("answer", vec![delta("One, "), text("One, two")], Kind::Fail, "the reply is \"One, two\"");
    let twins = vec![calls([call("c1", WEATHER), call("c1", WEATHER)])];
    judge("tool-call", twins, Kind::Fail, "share the id c1");
}

/// Marks may be taken out by an adapter or by the server; where nobody does, they are text.
#[test]
fn thoughts_in_the_text_are_seen() {
    let marked = "<think>13:05-9:40</think>3 h 25 min";
    judge("thinking", vec![delta(marked), text(marked)], Kind::Fail, "<think>");
}

#[test]
fn calls_that_are_ours_to_mend_are_told_from_the_models() {
    judge("tool-call", vec![calls([call("c1", WEATHER)])], Kind::Pass, "Oslo");
    judge("tool-call", vec![calls([call("c1", "probe__weather")])], Kind::Fail, "not translated back");
    let refused = |text: &str| {
        let mut call = call("c1", WEATHER);
        call.metadata.insert(ToolCall::INVALID_ARGUMENTS.to_owned(), text.into());
        call.metadata.insert(ToolCall::ARGUMENTS_ERROR.to_owned(), "not an object".into());
        vec![calls([call])]
    };
    judge("tool-call", refused("{\"city\": \"Oslo\"}"), Kind::Fail, "good arguments were refused");
    judge("tool-call", refused("city=Oslo"), Kind::ModelDidNot, "no object");
    let untidy = reply(vec![ContentBlock::ToolCall(call("c1", WEATHER))], StopKind::EndTurn);
    judge("tool-call", vec![untidy], Kind::Fail, "a call, and yet end_turn");
}

/// An adapter that does not hear a cancel. The clock is paused: it jumps to the end of every wait.
#[tokio::test(start_paused = true)]
async fn a_deaf_adapter_is_seen() {
    let deaf = registry(|_, _| stream::iter([delta("a"), delta("b"), delta("c")]).chain(stream::pending()).boxed());
    let verdict = (check("cancel").run)(&target(deaf, "fake", "http://127.0.0.1:1")).await;
    assert_eq!(told(&verdict), (Kind::Fail, "the adapter goes on 2 s after the cancel"));
}

/// A check that would never end is ended, and a silent server told from a model that does not stop.
#[tokio::test(start_paused = true)]
async fn a_check_has_its_time() {
    async fn ends(streams: fn() -> ModelStream, kind: Kind, says: &str) {
        let target = target(registry(move |_, _| streams()), "fake", "http://127.0.0.1:1");
        let verdict = bounded(check("answer"), &target, Duration::from_secs(90)).await;
        assert_eq!(told(&verdict), (kind, format!("not done after 90 s (--timeout), {says}").as_str()));
    }
    ends(|| stream::pending().boxed(), Kind::Fail, "nothing of the answer came").await;
    let once = || stream::iter([delta("One")]).chain(stream::pending()).boxed();
    ends(once, Kind::Fail, "silent for the last 90 s").await;
    let on_and_on = || {
        let word = |()| async {
            tokio::time::sleep(Duration::from_secs(4)).await;
            Some((delta("word "), ()))
        };
        stream::unfold((), word).boxed()
    };
    ends(on_and_on, Kind::ModelDidNot, "and still writing").await;
}

/// The streams of an adapter that ends them as it should, and goes on reading behind them.
fn hoarding(inner: Arc<dyn ProviderAdapter>, readers: Arc<Mutex<JoinSet<()>>>) -> Arc<Streams> {
    Arc::new(move |request, cancel| {
        let mut behind = inner.stream(request, CancellationToken::new());
        let (sender, events) = mpsc::channel(64);
        readers.lock().unwrap().spawn(async move {
            while let Some(event) = behind.next().await {
                // Nobody listens any more; that is the point.
                let _ = sender.send(event).await;
            }
        });
        let state = Some((events, cancel, String::new()));
        stream::unfold(state, |state| async move {
            let (mut events, cancel, mut text) = state?;
            tokio::select! {
                biased;
                () = cancel.cancelled() => Some((aborted(&text), None)),
                event = events.recv() => {
                    if let Some(ModelEvent::TextDelta { text: delta }) = &event {
                        text.push_str(delta);
                    }
                    Some((event?, Some((events, cancel, text))))
                }
            }
        })
        .boxed()
    })
}

fn aborted(said: &str) -> ModelEvent {
    let partial = Reply {
        content: vec![ContentBlock::text(said)],
        usage: Usage::default(),
        stop: StopReason::new(StopKind::Error),
        metadata: Object::new(),
    };
    let error = ErrorPayload::new(ErrorCode::Cancelled, "cancelled");
    ModelEvent::Failed { fault: ModelFault::Aborted, error, partial: Some(partial) }
}

#[tokio::test]
async fn a_connection_that_stays_is_seen() {
    let server = ScriptedServer::start().await;
    server.push(Scripted::flood(500, "word ").stall_after(4000));
    let readers = Arc::default();
    let factory: ProviderFactory = Arc::new(move |settings| {
        let inner = ProviderRegistry::with_builtin().build("ollama", settings)?;
        Ok(Arc::new(Fake(hoarding(inner, Arc::clone(&readers)))))
    });
    let mut registry = ProviderRegistry::empty();
    registry.register("fake", factory).unwrap();
    let target = target(registry, "fake", &server.base_url(Protocol::Ollama));
    let verdict = (check("cancel").run)(&target).await;
    assert_eq!(told(&verdict), (Kind::Fail, "the connection is still open 2 s after the cancel"));
}
