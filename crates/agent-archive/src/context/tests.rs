use agent_protocol::{ContextBuilt, EventPayload, EventType, Level, NodeId, Object, RuntimeEvent, Timestamp};
use serde_json::{Value, json};

use super::*;

/// Events of a session, in their order.
#[derive(Default)]
struct Events(Vec<RuntimeEvent>);

impl Events {
    fn add(&mut self, run: &str, event_type: EventType, payload: Value) -> &mut Self {
        let payload = whole(event_type, payload);
        let seq = self.0.len() as u64 + 1;
        let event = json!({
            "event_id": format!("evt_{seq}"), "seq": seq, "run_seq": seq, "session_id": "sess_1", "agent_id": "agent_1",
            "run_id": format!("run_{run}"), "level": Level::Info, "event_type": event_type, "node_id": payload.get("node"),
            "tool_call_id": null, "payload": payload, "created_at": Timestamp::from_unix_millis(seq * 1000),
        });
        self.0.push(serde_json::from_value(event).unwrap());
        self
    }

    fn entries(&self) -> Vec<ContextEntry> {
        let (mut fold, mut entries) = (Fold::new(true), Vec::new());
        self.0.iter().for_each(|event| fold.take(event, &mut entries));
        fold.end(&mut entries);
        entries
    }

    fn requests(&self) -> Vec<RequestReport> {
        let of = |entry| match entry {
            ContextEntry::Request(request) => Some(*request),
            _ => None,
        };
        self.entries().into_iter().filter_map(of).collect()
    }

    fn compactions(&self) -> Vec<CompactionReport> {
        let of = |entry| match entry {
            ContextEntry::Compaction(compaction) => Some(*compaction),
            _ => None,
        };
        self.entries().into_iter().filter_map(of).collect()
    }
}

/// What a test says of an event, with all that is stored of one.
fn whole(event_type: EventType, said: Value) -> Value {
    let mut whole = match event_type {
        EventType::ContextBuilt => json!({
            "epoch": 1, "first_kept_node_id": null, "last_node_id": null, "nodes_in": 1, "nodes_out": 0, "turns_out": 0,
            "results_shortened": 0, "message_tokens": 50, "request_tokens": 100, "calibration": 1.0,
        }),
        EventType::CompactCompleted => json!({"first_kept_node_id": "node_1_7", "tokens_before": 9, "tokens_after": 5}),
        _ => json!({}),
    };
    let Value::Object(said) = said else { panic!("{said}") };
    for (key, value) in said {
        whole[&key] = match key.as_str() {
            "error" => json!({
                "type": "common", "code": "internal_error", "message": value["message"], "retryable": false,
            }),
            _ => value,
        };
    }
    whole
}

fn object(value: Value) -> Object {
    let Value::Object(object) = value else { panic!("{value}") };
    object
}

fn node(id: &str) -> NodeId {
    NodeId::parse(id).unwrap()
}

/// CTX-1: a report of today is read in full.
#[test]
fn a_report_of_today() {
    let report = object(json!({
        "turn": 3, "request": 4, "epoch": 2, "compaction_node_id": "node_1_9", "first_kept_node_id": "node_1_7",
        "pinned_node_ids": ["node_1_2"], "last_node_id": "node_1_12", "nodes_in": 5, "nodes_out": 8, "turns_out": 4,
        "turns_summarised": 3, "results_shortened": 1, "message_tokens": 900, "system_tokens": 300, "request_tokens": 1320,
        "calibration": 1.1, "call_id_prefix": "call_1",
        "tail": [{"role": "user", "content": []}, {"role": "user", "content": []}],
        "epoch_part": {
            "epoch_because": "compaction", "model": {"name": "m", "temperature": null, "tool_choice": "auto", "provider_options": {}},
            "max_output_tokens": 2048, "results_limit": 1957, "in_system": ["node_1_3"], "marker": "[1 earlier turn]",
            "budgets": {"window": 8192, "fixed": 250, "output": 2048, "dynamic": 1000, "messages": 4894, "compact_at": 3000},
            "fixed_part": {"tools": {"count": 6, "hash": "0"}, "system_blocks": [
                {"block_id": "system.core", "source": "system.core@1", "tokens": 200, "hash": "0"},
                {"block_id": "instructions", "source": "/p/AGENTS.md", "tokens": 50, "hash": "0", "dynamic": true, "left_out": 3,
                 "facts": {"cut": true}},
            ]},
        },
    }));
    let context = RequestContext::from(ContextBuilt::read(&report).unwrap());
    assert_eq!((context.turn, context.request, context.epoch), (Some(3), Some(4), Some(2)));
    assert_eq!((context.turns_gone(), context.turns_summarised, context.tail), (Some(1), 3, 2));
    assert_eq!(context.pinned, [node("node_1_2")]);
    assert_eq!((&context.summary, &context.first_kept), (&Some(node("node_1_9")), &Some(node("node_1_7"))));
    assert_eq!((context.request_tokens, context.calibration), (Some(1320), Some(1.1)));
    let part = context.epoch_part.unwrap();
    assert_eq!((part.because.as_deref(), part.model.as_deref(), part.tools), (Some("compaction"), Some("m"), Some(6)));
    assert_eq!((part.shares.window, part.shares.compact_at, part.dynamic_tokens()), (Some(8192), Some(3000), 50));
    assert_eq!((part.in_system.len(), part.marker.as_deref()), (1, Some("[1 earlier turn]")));
    assert_eq!(Value::Object(part.blocks[1].facts.clone()), json!({"left_out": 3, "cut": true}));
}

/// CTX-1, EVT-5: what older reports do not say is not known; one that cannot be read is told as such, and the rest goes on.
#[test]
fn reports_of_other_versions() {
    // The first ones had all of it beside the rest.
    let first = json!({
        "turn": 1, "request": 1, "epoch_because": "run_start",
        "budgets": {"window": 8192, "fixed": 250, "output": 2048, "dynamic": 1000, "messages": 4894, "compact_at": 3000},
        "fixed_part": {"system_blocks": [{"block_id": "system.core"}]},
    });
    let mut events = Events::default();
    events.add("1", EventType::LoopStarted, json!({})).add("1", EventType::ContextBuilt, first);
    let context = events.requests()[0].context.clone();
    let part = context.epoch_part.clone().unwrap();
    assert_eq!(
        (part.because.as_deref(), part.shares.window, part.shares.messages),
        (Some("run_start"), Some(8192), Some(4894))
    );
    assert_eq!((part.blocks[0].source.as_str(), part.blocks[0].tokens, part.tools), ("", None, None));
    assert_eq!((context.nodes_in, context.system_tokens, context.turns_gone()), (Some(1), None, Some(0)));

    events.add("1", EventType::ContextBuilt, json!({"turn": "x"}));
    events.add("1", EventType::CompactFailed, json!({"mode": "recovery"}));
    events.add("1", EventType::LoopCompleted, json!({"turns": 1}));
    let entries = events.entries();
    let damaged: Vec<_> = entries
        .iter()
        .filter_map(|entry| match entry {
            ContextEntry::Unreadable(event) => Some((event.error.event_id.as_str(), event.error.why.field.as_deref())),
            _ => None,
        })
        .collect();
    assert_eq!(damaged, [("evt_3", Some("turn")), ("evt_4", None)]);
    assert!(matches!(entries.last(), Some(ContextEntry::End(end)) if end.turns == Some(1)), "{entries:?}");
}

/// CTX-1, CTX-7: each request is told once, with what came of it, in order.
#[test]
fn requests_and_what_came_of_them() {
    let built = |turn: u32, request: u32| json!({"turn": turn, "request": request, "request_tokens": 110});
    let mut events = Events::default();
    events.add("1", EventType::LoopStarted, json!({}));
    events.add("1", EventType::ContextBuilt, built(1, 1));
    events.add("1", EventType::ModelFailed, json!({"will_retry": true, "error": {"message": "gone"}}));
    events.add("1", EventType::ContextBuilt, built(1, 2));
    events.add("1", EventType::ModelCompleted, json!({"usage": {"input_tokens": 100}, "prompt_tokens_expected": 900}));
    events.add("1", EventType::ModelCompleted, json!({"usage": {"input_tokens": 7}}));
    events.add("1", EventType::ContextBuilt, built(2, 3));
    events.add("2", EventType::ModelCompleted, json!({"usage": {"input_tokens": 7}}));
    events.add("1", EventType::LoopAborted, json!({"turns": 2, "estimates": {"calls": 1, "mean_error_percent": 10.0}}));
    events.add("9", EventType::LoopFailed, json!({}));
    events.add("2", EventType::LoopStarted, json!({"purpose": "compact"}));
    events.add("3", EventType::LoopStarted, json!({}));
    events.add("3", EventType::ContextBuilt, built(1, 1));

    let requests = events.requests();
    let told: Vec<_> = requests.iter().map(|it| (it.run_id.as_str(), it.again, it.counted())).collect();
    let expected = [("run_1", false, None), ("run_1", true, Some(100)), ("run_1", false, None), ("run_3", false, None)];
    assert_eq!(told, expected);
    assert_eq!(requests[0].outcome, RequestOutcome::Failed { error: "gone".to_owned(), asked_again: true });
    assert!(matches!(requests[1].outcome, RequestOutcome::Replied { expected: Some(900), .. }));
    assert_eq!((requests[1].error_percent(), requests[2].error_percent()), (Some(10.0), None));
    assert_eq!(requests[3].outcome, RequestOutcome::Open);

    let entries = events.entries();
    let runs: Vec<_> = entries
        .iter()
        .filter_map(|entry| match entry {
            ContextEntry::Run(run) => Some((run.run_id.as_str(), run.number, run.purpose.as_deref())),
            _ => None,
        })
        .collect();
    assert_eq!(runs, [("run_1", Some(1), None), ("run_2", None, Some("compact")), ("run_3", Some(2), None)]);
    let ends: Vec<_> = entries
        .iter()
        .filter_map(|entry| match entry {
            ContextEntry::End(end) => Some((end.run_id.as_str(), end.turns, end.estimates.map(|known| known.calls))),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [("run_1", Some(2), Some(1))], "what never began has no end here");
}

/// CTX-9, CMP-5: a summary is told with what it was asked for, also where it comes after its run; a slide meanwhile is none of
/// it; and what nothing came of is told, too.
#[test]
fn compactions() {
    let started = |mode: &str| json!({"mode": mode, "tokens_before": 900, "turns": 4});
    let summary = json!({
        "kind": "summary", "mode": "at_end", "node": "node_1_9", "turns_summarised": 4, "tokens_before": 900, "tokens_after": 300,
        "summary_cut": true,
    });
    let mut events = Events::default();
    events.add("1", EventType::LoopStarted, json!({}));
    events.add("1", EventType::CompactStarted, started("at_end"));
    events.add("1", EventType::LoopCompleted, json!({}));
    events.add("2", EventType::LoopStarted, json!({}));
    events.add("2", EventType::CompactCompleted, json!({"kind": "window_slide", "turns_left_out": 2}));
    events.add("2", EventType::CompactCompleted, summary);
    events.add("2", EventType::CompactFailed, json!({"mode": "recovery", "error": {"message": "no"}}));
    events.add("2", EventType::CompactStarted, started("recovery"));
    events.add("2", EventType::CompactFailed, json!({"error": {"message": "no"}}));
    events.add("2", EventType::CompactStarted, started("background"));
    events.add("2", EventType::CompactStarted, started("at_end"));
    let told = events.compactions();
    let seconds = |moment: &Timestamp| moment.as_str().get(17..19).unwrap().parse::<u32>().unwrap();
    let begun: Vec<_> =
        told.iter().map(|it| (it.mode.as_deref(), it.begun.as_ref().map(|it| seconds(&it.at)))).collect();
    let expected = [
        (None, None),
        (Some("at_end"), Some(2)),
        (Some("recovery"), None),
        (Some("recovery"), Some(8)),
        (Some("background"), Some(10)),
        (Some("at_end"), Some(11)),
    ];
    assert_eq!(begun, expected);
    assert!(matches!(told[0].outcome, CompactionOutcome::Slide { turns: Some(2), .. }), "{told:?}");
    let expected = CompactionOutcome::Summary {
        node_id: Some(node("node_1_9")),
        turns: Some(4),
        tokens_before: Some(900),
        tokens_after: Some(300),
        cut: true,
    };
    assert_eq!((&told[1].outcome, told[1].run_id.as_ref().map(RunId::as_str)), (&expected, Some("run_2")));
    assert_eq!(told[2].outcome, CompactionOutcome::Failed { error: "no".to_owned() });
    assert_eq!(told[3].outcome, told[2].outcome);
    assert!(told[4..].iter().all(|it| it.outcome == CompactionOutcome::Open), "{told:?}");
}
