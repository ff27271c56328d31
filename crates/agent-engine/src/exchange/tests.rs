use std::sync::Arc;

use agent_protocol::{Object, StopKind, StopReason, SystemPrompt, ToolChoice, ToolList};

use super::*;
use crate::numbers::JobNo;

fn exchange() -> Exchange {
    let request = ModelRequest {
        model: "m".to_owned(),
        system: Arc::new(SystemPrompt::from(Vec::new())),
        messages: Vec::new(),
        tools: Arc::new(ToolList::default()),
        tool_choice: ToolChoice::Auto,
        temperature: None,
        max_output_tokens: 9,
        provider_options: Object::new(),
        metadata: Object::new(),
    };
    Exchange::new("compact", request, None)
}

fn start() -> Input {
    Input::Start { content: Vec::new() }
}

fn reply() -> Reply {
    Reply {
        content: Vec::new(),
        stop: StopReason { kind: StopKind::EndTurn, raw: None },
        usage: Usage { input_tokens: Some(3), ..Usage::default() },
        metadata: Object::new(),
    }
}

fn done() -> Input {
    Input::ModelDone { request: RequestNo(1), reply: reply() }
}

fn failed(fault: ModelFault) -> Input {
    let error = ErrorPayload::new(ErrorCode::ProviderError, "no");
    Input::ModelFailed { request: RequestNo(1), fault, error, partial: None }
}

fn told(effects: &[Effect]) -> Vec<String> {
    let word = |effect: &Effect| match effect {
        Effect::Commit { writes, .. } => writes
            .iter()
            .map(|write| match write {
                Write::Event(event) => event.event_type.as_str().to_owned(),
                Write::Run(patch) => format!("run={}", patch.status.as_str()),
                Write::Node(_) | Write::Activate(_) => "a node".to_owned(),
            })
            .collect::<Vec<_>>()
            .join(" "),
        Effect::CallModel { .. } => "call model".to_owned(),
        Effect::Abort(_) => "abort".to_owned(),
        Effect::ArmDrain => "arm drain".to_owned(),
        Effect::Finish { end, .. } => format!("finish {}", end.as_str()),
        other => format!("{other:?}"),
    };
    effects.iter().map(word).collect()
}

/// DEC-92: an exchange stores its events and its run, asks once, and writes no node.
#[test]
fn an_exchange_asks_once() {
    let mut exchange = exchange();
    assert_eq!(told(&exchange.step(start())), ["loop_started run=running model_started", "call model"]);
    assert!(exchange.step(start()).is_empty());
    assert_eq!(told(&exchange.step(done())), ["model_completed loop_completed run=completed", "finish completed"]);
    assert!(exchange.step(done()).is_empty());
    assert_eq!(exchange.into_reply().map(|reply| reply.usage.input_tokens), Some(Some(3)));
}

/// What ends an exchange, and how; one that did not complete has no reply.
#[test]
fn every_other_end_has_no_reply() {
    for (inputs, end) in [
        (vec![failed(ModelFault::Fatal)], "finish failed"),
        (vec![failed(ModelFault::Retryable)], "finish failed"),
        (vec![failed(ModelFault::Overflow)], "finish prompt_too_long"),
        (vec![failed(ModelFault::Aborted)], "finish aborted_streaming"),
        (vec![Input::Cancel, failed(ModelFault::Fatal)], "finish aborted_streaming"),
        (vec![Input::Cancel, Input::Cancel, done()], "finish aborted_streaming"),
        (vec![Input::Cancel, Input::DrainExpired], "finish aborted_streaming"),
    ] {
        let mut exchange = exchange();
        exchange.step(start());
        let mut last = Vec::new();
        for input in inputs {
            last = exchange.step(input);
        }
        assert_eq!(told(&last).last().map(String::as_str), Some(end));
        assert!(matches!(last[0], Effect::Commit { .. }), "stored before it ends");
        assert!(exchange.step(done()).is_empty() && exchange.step(Input::DrainExpired).is_empty());
        assert!(exchange.into_reply().is_none());
    }
    let mut cancelled_first = exchange();
    assert_eq!(told(&cancelled_first.step(Input::Cancel)).last().map(String::as_str), Some("finish aborted_streaming"));
    assert!(cancelled_first.step(start()).is_empty());
}

/// RUN-21: where nothing can be stored, nothing was asked, and a reply that is not stored is none.
#[test]
fn a_store_that_fails_ends_it() {
    let error = || ErrorPayload::new(ErrorCode::StorageError, "gone");
    let failed = |commit| Input::StoreFailed { commit: CommitNo(commit), error: error() };
    let mut first = exchange();
    first.step(start());
    assert!(first.step(failed(7)).is_empty(), "no commit of this one");
    assert_eq!(told(&first.step(failed(1))), ["finish failed"]);
    let mut cancelled = exchange();
    cancelled.step(start());
    cancelled.step(Input::Cancel);
    assert_eq!(told(&cancelled.step(failed(1))), ["finish aborted_streaming"], "nothing is left to wait for");
    let mut last = exchange();
    last.step(start());
    last.step(done());
    assert_eq!(told(&last.step(failed(2))), ["finish failed"]);
    assert!(last.into_reply().is_none());
}

/// Every input is legal in every phase.
#[test]
fn what_means_nothing_has_no_effect() {
    let job = Input::CompactionDone { job: JobNo(1), result: Err(ErrorPayload::new(ErrorCode::Cancelled, "x")) };
    let mut exchange = exchange();
    assert!(exchange.step(done()).is_empty() && exchange.step(job).is_empty());
    assert!(exchange.step(Input::DrainExpired).is_empty());
}
