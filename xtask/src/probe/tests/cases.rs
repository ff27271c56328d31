//! For each check a script with which it passes, one with which it fails, and those in between; in every protocol.

use std::collections::BTreeSet;

use agent_llm::ProviderRegistry;
use agent_testkit::{Call, MODEL, Model, Protocol, Reply, ScriptedServer, Stop};
use serde_json::json;

use super::Kind::{self, Fail, ModelDidNot, NotSupported, Pass};
use super::{CHECKS, check, target, told};
use crate::probe::checks::{NO_KEY, NO_MODEL};

/// A check, what comes of it, and words that say so, if the server answers like this.
struct Case {
    check: &'static str,
    kind: Kind,
    says: &'static str,
    replies: Vec<Reply>,
}

fn case<const N: usize>(check: &'static str, kind: Kind, says: &'static str, replies: [Reply; N]) -> Case {
    Case { check, kind, says, replies: replies.into() }
}

fn said(text: &str) -> Reply {
    Reply::text(text)
}

fn refused() -> Reply {
    Reply::error(400, "something is wrong")
}

fn call(city: &str) -> Reply {
    Reply::empty().calls([Call::new("probe.weather", json!({"city": city}))])
}

fn two_calls() -> Reply {
    call("Oslo").calls([Call::new("probe.weather", json!({"city": "Lima"}))])
}

/// An answer that never ends by itself.
fn endless() -> Reply {
    Reply::flood(500, "word ").stall_after(4000)
}

const LINE: &str = "naïve e\u{301}te 日本語 мир 🦀 👩\u{200d}👩\u{200d}👧";

fn answers() -> Vec<Case> {
    vec![
        case("answer", Pass, "4 deltas", [said("One, two, three, four").chunks(4)]),
        case("answer", Pass, "not yet", [Reply::error(503, "not yet"), said("One, two").chunks(4)]),
        case("answer", Fail, "does not stream", [said("One, two, three, four")]),
        case("answer", Fail, "came as reasoning", [Reply::empty().thinking("One, two, three")]),
        case("answer", Fail, "something is wrong", [refused()]),
        case("answer", ModelDidNot, "said only", [said("a").usage(9, 1)]),
        case("answer", ModelDidNot, "--max-output-tokens", [said("One, two").stop(Stop::Length)]),
        case("usage", Pass, "20 + 3 tokens", [said("Hello").usage(20, 3)]),
        case("usage", Fail, "prompt unknown, answer unknown", [said("Hello").no_usage()]),
        case("usage", Fail, "at most 1024", [said("Hello").usage(20, 5000)]),
        case("stop-reason", Pass, "end_turn", [said("ready")]),
        case("stop-reason", Fail, "content_filter", [said("ready").stop(Stop::Named("refusal".into()))]),
        case("stop-reason", Fail, "stop_sequence", [said("ready").stop(Stop::Named("stop_sequence".into()))]),
        case("max-tokens", Pass, "max_tokens", [said("one\ntwo").usage(30, 16).stop(Stop::Length)]),
        case("max-tokens", Pass, "after \"hm\"", [Reply::empty().thinking("hm").usage(30, 16).stop(Stop::Length)]),
        case("max-tokens", Fail, "called end_turn", [said("one\ntwo").usage(30, 16)]),
        case("max-tokens", Fail, "was not kept", [said("one\ntwo").usage(30, 99).stop(Stop::Length)]),
        case("max-tokens", ModelDidNot, "before the limit", [said("one\ntwo").usage(30, 5)]),
        case("bare", Pass, "Hello", [said("Hello")]),
        case("bare", Fail, "something is wrong", [refused()]),
        case("unicode", Pass, "日本語", [said(LINE).chunks(9).pieces_of(3)]),
        case("unicode", Fail, "torn", [said("naïve \u{fffd}\u{fffd} мир")]),
        case("unicode", Fail, "Latin-1", [said("naÃ¯ve")]),
        case("unicode", ModelDidNot, "left out 5 of 6", [said("naïve")]),
        case("thinking", Pass, "10 characters of reasoning", [said("3 h 25 min").thinking("13:05-9:40")]),
        case("thinking", Fail, "twice", [said("13:05-9:40 is 3 h 25 min").thinking("13:05-9:40")]),
        case("thinking", NotSupported, "did not think", [said("3 h 25 min")]),
    ]
}

fn tools() -> Vec<Case> {
    let named = |name: &str| Reply::empty().calls([Call::new(name, json!({"city": "Oslo"}))]);
    let raw = |text: &str| Reply::empty().calls([Call::raw("probe.weather", text)]);
    vec![
        case("tool-call", Pass, "probe.weather with city \"Oslo\"", [call("Oslo")]),
        case("tool-call", Fail, "content_filter", [call("Oslo").stop(Stop::Named("refusal".into()))]),
        case("tool-call", ModelDidNot, "made no call", [said("It is cold.")]),
        case("tool-call", ModelDidNot, "call as text", [said("{\"name\": \"probe__weather\"}")]),
        case("tool-call", ModelDidNot, "not among its tools", [named("probe.snow")]),
        case("tool-call", ModelDidNot, "no object", [raw("{\"city\": ")]),
        case("tool-call", ModelDidNot, "no city", [raw("{\"city\": 5}")]),
        case("tool-call", ModelDidNot, "instead of Oslo", [call("Lima")]),
        case("tool-required", Pass, "probe.weather", [call("Oslo")]),
        case("tool-required", ModelDidNot, "in a call of", [call("Oslo and so on and on").stop(Stop::Length)]),
        case("tool-required", Fail, "something is wrong", [refused(), refused()]),
        case("tool-required", NotSupported, "ignored", [said("Hello")]),
        case("tool-required", NotSupported, "up to the output limit", [said("Hello, hello, hel").stop(Stop::Length)]),
        case("tool-required", ModelDidNot, "output limit", [Reply::empty().thinking("hm").stop(Stop::Length)]),
        case("tool-required", NotSupported, "only because of the choice", [refused(), said("Hello")]),
        case("tool-named", Pass, "probe.weather", [call("Oslo")]),
        case("tool-named", Fail, "content_filter", [call("Oslo").stop(Stop::Named("refusal".into()))]),
        case("tool-named", NotSupported, "called probe.clock", [named("probe.clock")]),
        case("tool-none", Pass, "no call", [said("It is cold.")]),
        case("tool-none", Fail, "ignored the choice", [call("Oslo")]),
        case("parallel-calls", Pass, "2 calls", [two_calls(), said("-17 in Oslo, 23 in Lima")]),
        case("parallel-calls", Fail, "something is wrong", [two_calls(), refused()]),
        case("parallel-calls", ModelDidNot, "one call at a time", [call("Oslo")]),
        case("parallel-calls", ModelDidNot, "left a result out", [two_calls(), said("-17 in Oslo")]),
    ]
}

fn results() -> Vec<Case> {
    let no_idea = |prompt| said("I do not know.").usage(prompt, 5);
    vec![
        case("tool-result", Pass, "31.4", [call("Oslo"), said("It is -31.4 degrees.")]),
        case("tool-result", Fail, "does not show results", [call("Oslo"), no_idea(50), no_idea(52)]),
        case("tool-result", Fail, "something is wrong", [call("Oslo"), refused()]),
        case("tool-result", ModelDidNot, "without the result", [call("Oslo"), no_idea(50), no_idea(400)]),
        case("parallel-results", Pass, "Oslo's and Lima's", [said("-17 and 23")]),
        case("parallel-results", Pass, "none of them", [call("Oslo")]),
        case("parallel-results", Fail, "something is wrong", [refused()]),
        case("long-result", Pass, "found the code", [said("It is 4173.").usage(4000, 5)]),
        case("long-result", Pass, "did not find", [said("No code.").usage(4000, 5)]),
        case("long-result", Fail, "the server cut it", [said("No code.").usage(300, 5)]),
        case("long-result", ModelDidNot, "did not find", [said("No code.").no_usage()]),
        case("odd-results", Pass, "accepted", [said("ready")]),
        case("odd-results", Fail, "something is wrong", [refused()]),
        // The strict server takes nothing that a real one would refuse, so that it took this proves something.
        case("odd-history", Pass, "accepted", [said("ready")]),
        case("odd-history", Fail, "something is wrong", [refused()]),
        case("prefix-cache", Pass, "100 prompt tokens", [said("ready").usage(5000, 2), said("ready").usage(100, 2)]),
        case("prefix-cache", NotSupported, "no sign", [said("ready").usage(5000, 2), said("ready").usage(5010, 2)]),
        case("prefix-cache", Fail, "something is wrong", [said("ready"), refused()]),
    ]
}

fn failures() -> Vec<Case> {
    vec![
        case("cancel", Pass, "the connection closed", [endless(), said("Hello")]),
        case("cancel", Fail, "something is wrong", [endless(), refused()]),
        case("cancel", Fail, "something is wrong", [refused()]),
        case("cancel", ModelDidNot, "before it could be cancelled", [said("One, two")]),
        case("wrong-model", Fail, "something else", [refused()]),
        case("wrong-model", NotSupported, "any model's name", [said("Hello")]),
        case("wrong-key", Pass, "provider_auth_failed", [Reply::error(401, "no such key")]),
        case("wrong-key", Pass, "provider_auth_failed", [Reply::error(401, format!("no such key: {NO_KEY}"))]),
        case("wrong-key", Fail, "something else", [refused()]),
        case("wrong-key", NotSupported, "does not check keys", [said("Hello")]),
        case("overflow", Pass, "context_too_long", [Reply::context_overflow(20_000, 8192)]),
        case("overflow", Fail, "something else", [refused()]),
        case("overflow", Fail, "in silence", [said("Many.").usage(4096, 2)]),
        case("overflow", Fail, "counted nothing", [said("Many.").no_usage()]),
        case("overflow", NotSupported, "larger than --context-window", [said("Many.").usage(20_000, 2)]),
    ]
}

/// What the other rows' server cannot do: it has every model that is asked for.
fn without_the_model() -> Case {
    case("wrong-model", Pass, "model_not_found", [])
}

/// Ollama's protocol has no word for it; that is told before anything is sent.
fn cannot(protocol: Protocol, check: &str) -> bool {
    protocol == Protocol::Ollama && ["tool-required", "tool-named"].contains(&check)
}

/// Runs a case against a strict server: a request that a real one would refuse fails the test.
async fn run(protocol: Protocol, case: Case, models: &[&str]) {
    let server = ScriptedServer::builder().models(models.iter().copied().map(Model::new)).start().await;
    server.script(case.replies);
    let target = target(ProviderRegistry::with_builtin(), protocol.provider(), &server.base_url(protocol));
    let verdict = (check(case.check).run)(&target).await;
    let (kind, says) = told(&verdict);
    let what = format!("{} with {protocol:?}", case.check);
    if cannot(protocol, case.check) {
        assert_eq!((kind, server.request_count()), (NotSupported, 0), "{what}: {says}");
        return;
    }
    assert_eq!(kind, case.kind, "{what}: {says}");
    assert!(says.contains(case.says), "{what} says {says:?} instead of {:?}", case.says);
    server.assert_exhausted();
}

async fn run_all(cases: fn() -> Vec<Case>) {
    for protocol in Protocol::ALL {
        for case in cases() {
            run(*protocol, case, &[MODEL, NO_MODEL]).await;
        }
    }
}

#[tokio::test]
async fn answers_are_judged() {
    run_all(answers).await;
}

#[tokio::test]
async fn calls_are_judged() {
    run_all(tools).await;
}

#[tokio::test]
async fn results_are_judged() {
    run_all(results).await;
}

#[tokio::test]
async fn failures_are_judged() {
    run_all(failures).await;
    for protocol in Protocol::ALL {
        run(*protocol, without_the_model(), &[MODEL]).await;
    }
}

/// TYP-8: counts that cannot be are the adapter's or the server's fault.
#[tokio::test]
async fn more_from_the_cache_than_there_was_is_impossible() {
    let server = ScriptedServer::start().await;
    let usage = json!({"prompt_tokens": 50, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 900}});
    let choice = json!({"index": 0, "delta": {"content": "ready"}, "finish_reason": "stop"});
    let body = format!("data: {}\n\ndata: [DONE]\n\n", json!({"choices": [choice], "usage": usage}));
    server.script([Reply::raw(body.clone(), "text/event-stream"), Reply::raw(body, "text/event-stream")]);
    let target = target(ProviderRegistry::with_builtin(), "openai", &server.base_url(Protocol::OpenAi));
    let verdict = (check("prefix-cache").run)(&target).await;
    assert_eq!(told(&verdict), (Fail, "900 of 50 prompt tokens came from a cache"));
}

/// A check nobody saw pass and fail proves nothing.
#[test]
fn every_check_passes_and_fails() {
    let cases: Vec<Case> =
        [answers(), tools(), results(), failures(), vec![without_the_model()]].into_iter().flatten().collect();
    let of =
        |kind: Kind| -> BTreeSet<_> { cases.iter().filter(|case| case.kind == kind).map(|case| case.check).collect() };
    let all: BTreeSet<_> = CHECKS.iter().map(|check| check.name).collect();
    assert_eq!(all.len(), CHECKS.len(), "two checks share a name");
    assert_eq!(of(Pass), all);
    assert_eq!(of(Fail), all);
}
