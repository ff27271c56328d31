mod task;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::task::{PoolId, StepId, StepStatus, TaskId};
use crate::*;

fn error() -> ErrorPayload {
    ErrorPayload::new(ErrorCode::Timeout, "too slow")
}

const ERROR: &str = r#"{"type":"common","code":"timeout","message":"too slow","retryable":false,"redacted":false}"#;

fn node(id: &str) -> NodeId {
    NodeId::parse(id).unwrap()
}

fn usage() -> Usage {
    Usage { input_tokens: Some(7), output_tokens: Some(2), ..Usage::default() }
}

fn child() -> (AgentId, RunId) {
    (AgentId::parse("agent_2").unwrap(), RunId::parse("run_2").unwrap())
}

/// Writes a payload, compares it with the JSON that has always been written, and reads it again.
struct Golden {
    seen: Vec<EventType>,
}

impl Golden {
    fn is<P: EventPayload + PartialEq + Clone + std::fmt::Debug>(&mut self, payload: P, json: &str) {
        let draft = EventDraft::of(payload.clone());
        assert_eq!(draft.event_type, P::EVENT_TYPE);
        let json = json.replace("ERROR", ERROR);
        assert_eq!(serde_json::to_string(&draft.payload).unwrap(), json, "{}", P::EVENT_TYPE.as_str());
        assert_eq!(event(P::EVENT_TYPE, draft.payload).read::<P>().unwrap(), payload);
        self.seen.push(P::EVENT_TYPE);
    }
}

fn event(event_type: EventType, payload: Object) -> RuntimeEvent {
    RuntimeEvent {
        event_id: EventId::parse("evt_1_5").unwrap(),
        seq: Some(5),
        run_seq: Some(5),
        session_id: SessionId::parse("sess_1").unwrap(),
        agent_id: None,
        run_id: None,
        level: Level::Info,
        event_type,
        node_id: None,
        tool_call_id: None,
        payload,
        created_at: Timestamp::from_unix_millis(0),
    }
}

fn object(value: Value) -> Object {
    let Value::Object(object) = value else { panic!("{value}") };
    object
}

fn report() -> ContextBuilt {
    ContextBuilt {
        turn: 1,
        request: 2,
        epoch: 1,
        epoch_part: Some(EpochPart {
            epoch_because: "run_start".to_owned(),
            model: Some(ModelSettings {
                name: "m".to_owned(),
                temperature: None,
                tool_choice: ToolChoice::Tool("t".to_owned()),
                provider_options: Object::new(),
            }),
            max_output_tokens: Some(100),
            results_limit: Some(200),
            budgets: WindowBudgets {
                window: 1000,
                fixed: 100,
                output: 100,
                dynamic: 50,
                messages: 750,
                compact_at: 700,
                summary: Some(75),
                keep_recent: Some(300),
                catalogs: Some(90),
            },
            fixed_part: object(json!({"tools": {"count": 0, "hash": "0"}})),
            in_system: vec![node("node_1_2")],
            marker: Some("[2 earlier turns]".to_owned()),
            edition: 0,
        }),
        epoch_part_of_request: None,
        compaction_node_id: Some(node("node_1_1")),
        first_kept_node_id: None,
        squeeze: 1,
        pinned_node_ids: vec![node("node_1_2")],
        last_node_id: Some(node("node_1_3")),
        nodes_in: 3,
        nodes_out: 4,
        turns_out: 2,
        turns_summarised: 1,
        results_shortened: 0,
        message_tokens: 50,
        system_tokens: Some(60),
        request_tokens: 120,
        calibration: 1.1,
        window_learned: None,
        count_level: None,
        call_id_prefix: Some(ToolCallId::parse("call_1_0").unwrap()),
        tail: vec![Arc::new(ModelMessage::new(Role::User, vec![ContentBlock::text("now")]))],
    }
}

/// EVT-5: what is written of every type, to the byte, and that its type reads it. Databases hold this JSON.
#[test]
#[expect(clippy::too_many_lines, reason = "one entry for each type")]
fn every_payload_is_written_and_read() {
    let mut golden = Golden { seen: Vec::new() };
    golden.is(RunQueued { position: 2 }, r#"{"position":2}"#);
    golden.is(RunDequeued {}, "{}");
    golden.is(RunCancelled {}, "{}");
    golden.is(LoopStarted::default(), "{}");
    let purpose = Some("compact".to_owned());
    golden.is(LoopStarted { purpose, ..LoopStarted::default() }, r#"{"purpose":"compact"}"#);
    let mode = Some(RunMode::Orchestrator);
    golden.is(LoopStarted { mode, ..LoopStarted::default() }, r#"{"mode":"orchestrator"}"#);
    let call = |summary: Option<&str>, may_still_run| CutCall {
        tool_name: "t".to_owned(),
        summary: summary.map(str::to_owned),
        may_still_run,
    };
    for (cause, calls, text) in [
        (CutCause::ProcessEnded, vec![], r#""cause":"process_ended""#),
        (CutCause::StorageFailed, vec![call(None, false)], r#""cause":"storage_failed","calls":[{"tool_name":"t"}]"#),
        (
            CutCause::InternalError,
            vec![call(Some("x"), true)],
            r#""cause":"internal_error","calls":[{"tool_name":"t","summary":"x","may_still_run":true}]"#,
        ),
    ] {
        let cut_short = Some(CutShort { run_id: RunId::parse("run_1").unwrap(), cause, calls });
        let wanted = format!(r#"{{"cut_short":{{"run_id":"run_1",{text}}}}}"#);
        golden.is(LoopStarted { cut_short, ..LoopStarted::default() }, &wanted);
    }
    let estimates = Estimates {
        calls: 2,
        mean_error_percent: Some(1.5),
        mean_error_uncalibrated_percent: Some(2.5),
        worst_error_percent: Some(2.0),
        last_error_percent: Some(1.0),
        calibration: Some(1.1),
    };
    let end = RunEnd {
        end_reason: Some(EndReason::Completed),
        turns: Some(3),
        usage: Some(usage()),
        cost: Some(0.5),
        cost_is_estimate: true,
        tree: Some(TreeUsage {
            children: 2,
            usage: Usage { total_tokens: Some(90), ..Usage::default() },
            cost: Some(1.5),
            is_estimate: true,
        }),
        answer_node_ids: Some(vec![node("node_1_4")]),
        estimates: Some(estimates),
        error: None,
    };
    golden.is(
        LoopCompleted(end),
        r#"{"end_reason":"completed","turns":3,"usage":{"input_tokens":7,"output_tokens":2},"cost":0.5,"cost_is_estimate":true,"tree":{"children":2,"usage":{"total_tokens":90},"cost":1.5,"is_estimate":true},"answer_node_ids":["node_1_4"],"estimates":{"calls":2,"mean_error_percent":1.5,"mean_error_uncalibrated_percent":2.5,"worst_error_percent":2.0,"last_error_percent":1.0,"calibration":1.1}}"#,
    );
    golden.is(
        LoopAborted(RunEnd {
            end_reason: Some(EndReason::AbortedTools),
            turns: Some(1),
            usage: Some(Usage::default()),
            ..RunEnd::default()
        }),
        r#"{"end_reason":"aborted_tools","turns":1,"usage":{}}"#,
    );
    golden.is(LoopFailed(RunEnd { error: Some(error()), ..RunEnd::default() }), r#"{"error":ERROR}"#);
    golden.is(
        report(),
        r#"{"turn":1,"request":2,"epoch":1,"epoch_part":{"epoch_because":"run_start","model":{"name":"m","temperature":null,"tool_choice":{"tool":"t"},"provider_options":{}},"max_output_tokens":100,"results_limit":200,"budgets":{"window":1000,"fixed":100,"output":100,"dynamic":50,"messages":750,"compact_at":700,"summary":75,"keep_recent":300,"catalogs":90},"fixed_part":{"tools":{"count":0,"hash":"0"}},"in_system":["node_1_2"],"marker":"[2 earlier turns]"},"compaction_node_id":"node_1_1","first_kept_node_id":null,"squeeze":1,"pinned_node_ids":["node_1_2"],"last_node_id":"node_1_3","nodes_in":3,"nodes_out":4,"turns_out":2,"turns_summarised":1,"results_shortened":0,"message_tokens":50,"system_tokens":60,"request_tokens":120,"calibration":1.1,"call_id_prefix":"call_1_0","tail":[{"role":"user","content":[{"type":"text","text":"now"}],"metadata":{}}]}"#,
    );
    let later = ContextBuilt {
        epoch_part: None,
        epoch_part_of_request: Some(1),
        compaction_node_id: None,
        squeeze: 0,
        pinned_node_ids: Vec::new(),
        turns_summarised: 0,
        tail: Vec::new(),
        ..report()
    };
    golden.is(
        later,
        r#"{"turn":1,"request":2,"epoch":1,"epoch_part_of_request":1,"first_kept_node_id":null,"last_node_id":"node_1_3","nodes_in":3,"nodes_out":4,"turns_out":2,"results_shortened":0,"message_tokens":50,"system_tokens":60,"request_tokens":120,"calibration":1.1,"call_id_prefix":"call_1_0"}"#,
    );
    golden.is(MessageCreated { role: Role::User }, r#"{"role":"user"}"#);
    golden.is(MessageCompleted { tool_calls: Some(0), ..MessageCompleted::default() }, r#"{"tool_calls":0}"#);
    golden.is(
        MessageCompleted { tool_calls: None, partial: true, reason: Some("aborted".to_owned()) },
        r#"{"partial":true,"reason":"aborted"}"#,
    );
    golden.is(MessageDelta { text: "a".to_owned() }, r#"{"text":"a"}"#);
    let started = |request| ModelStarted { model: "m".to_owned(), request, turn: Some(1) };
    golden.is(started(Some(2)), r#"{"model":"m","request":2,"turn":1}"#);
    golden.is(started(None), r#"{"model":"m","turn":1}"#);
    let completed =
        |stop, stop_raw, expected| ModelCompleted { stop, stop_raw, usage: usage(), prompt_tokens_expected: expected };
    golden.is(
        completed(Some(StopKind::ToolUse), Some(None), None),
        r#"{"stop":"tool_use","stop_raw":null,"usage":{"input_tokens":7,"output_tokens":2}}"#,
    );
    golden.is(
        completed(Some(StopKind::EndTurn), Some(Some("stop".to_owned())), Some(900)),
        r#"{"stop":"end_turn","stop_raw":"stop","usage":{"input_tokens":7,"output_tokens":2},"prompt_tokens_expected":900}"#,
    );
    golden.is(completed(None, None, None), r#"{"usage":{"input_tokens":7,"output_tokens":2}}"#);
    golden.is(ModelFailed { error: error(), will_retry: Some(true) }, r#"{"error":ERROR,"will_retry":true}"#);
    golden.is(ModelFailed { error: error(), will_retry: None }, r#"{"error":ERROR}"#);
    golden.is(ModelRetry { attempt: 1, wait_ms: 250, error: error() }, r#"{"attempt":1,"wait_ms":250,"error":ERROR}"#);
    golden.is(ModelTextDelta { text: "a".to_owned() }, r#"{"text":"a"}"#);
    golden.is(ModelReasoningDelta { text: "a".to_owned() }, r#"{"text":"a"}"#);
    golden.is(
        ToolCallDelta { fragment: "{".to_owned(), index: 0, name: None },
        r#"{"fragment":"{","index":0,"name":null}"#,
    );
    let begun = |summary| ToolStarted { tool_name: "t".to_owned(), summary };
    golden.is(begun(Some("a.txt".to_owned())), r#"{"tool_name":"t","summary":"a.txt"}"#);
    golden.is(begun(None), r#"{"tool_name":"t","summary":null}"#);
    golden.is(ToolProgress(object(json!({"elapsed_ms": 5}))), r#"{"elapsed_ms":5}"#);
    let end = |kind, error: Option<ErrorPayload>| CallEnd {
        tool_name: "t".to_owned(),
        kind,
        call: Some("a.txt".to_owned()),
        summary: None,
        metadata: object(json!({"exit_code": 1})),
        error,
    };
    golden.is(
        ToolCompleted(end(ResultKind::Ok, None)),
        r#"{"tool_name":"t","kind":"ok","call":"a.txt","summary":null,"metadata":{"exit_code":1}}"#,
    );
    golden.is(
        ToolFailed(end(ResultKind::Skipped, Some(error()))),
        r#"{"tool_name":"t","kind":"skipped","call":"a.txt","summary":null,"metadata":{"exit_code":1},"error":ERROR}"#,
    );
    golden.is(
        ToolDenied(end(ResultKind::Denied, Some(error()))),
        r#"{"tool_name":"t","kind":"denied","call":"a.txt","summary":null,"metadata":{"exit_code":1},"error":ERROR}"#,
    );
    let request_id = PermissionRequestId::parse("perm_1").unwrap();
    golden.is(
        PermissionRequested {
            request_id: request_id.clone(),
            tool_name: "t".to_owned(),
            target_scope: None,
            reasons: vec!["it writes".to_owned()],
        },
        r#"{"request_id":"perm_1","tool_name":"t","target_scope":null,"reasons":["it writes"]}"#,
    );
    golden.is(
        PermissionResolved { request_id: request_id.clone(), decision: DecisionKind::Deny, reason: None },
        r#"{"request_id":"perm_1","decision":"deny","reason":null}"#,
    );
    golden.is(
        PermissionFailed { request_id, message: "end of input".to_owned() },
        r#"{"request_id":"perm_1","message":"end of input"}"#,
    );
    golden.is(
        CompactStarted {
            mode: Some(CompactMode::AtEnd),
            tokens_before: Some(900),
            tokens_covered: Some(600),
            turns: Some(4),
        },
        r#"{"mode":"at_end","tokens_before":900,"tokens_covered":600,"turns":4}"#,
    );
    golden.is(
        CompactCompleted::Summary {
            mode: CompactMode::Background,
            turns_summarised: 4,
            first_kept_node_id: node("node_1_7"),
            tokens_before: 900,
            tokens_after: 300,
            summary_cut: false,
        },
        r#"{"kind":"summary","mode":"background","turns_summarised":4,"first_kept_node_id":"node_1_7","tokens_before":900,"tokens_after":300,"summary_cut":false}"#,
    );
    golden.is(
        CompactCompleted::WindowSlide {
            turns_left_out: 2,
            first_kept_node_id: node("node_1_7"),
            tokens_before: 900,
            tokens_after: 500,
        },
        r#"{"kind":"window_slide","turns_left_out":2,"first_kept_node_id":"node_1_7","tokens_before":900,"tokens_after":500}"#,
    );
    golden.is(
        CompactCompleted::Squeeze { level: 1, tokens_before: 900 },
        r#"{"kind":"squeeze","level":1,"tokens_before":900}"#,
    );
    golden.is(
        CompactFailed { mode: Some(CompactMode::Recovery), error: error() },
        r#"{"mode":"recovery","error":ERROR}"#,
    );
    golden.is(
        MemoryExtractionStarted {
            reason: ExtractionReason::Idle,
            messages: 2,
            messages_waiting: 3,
            model: "m".to_owned(),
        },
        r#"{"reason":"idle","messages":2,"messages_waiting":3,"model":"m"}"#,
    );
    let found = |usage| MemoryExtractionCompleted {
        reason: ExtractionReason::ExplicitWish,
        messages: 2,
        created: vec!["mem_1".to_owned()],
        updated: Vec::new(),
        conflict: Vec::new(),
        ignored: 1,
        duplicate: 0,
        refused: vec!["a secret".to_owned()],
        source_node_ids: vec!["node_1_1".to_owned()],
        files_changed: vec!["user/mem_1.md".to_owned()],
        scan_cursor: 12,
        usage,
    };
    let extracted = r#""reason":"explicit_wish","messages":2,"created":["mem_1"],"updated":[],"conflict":[],"ignored":1,"duplicate":0,"refused":["a secret"],"source_node_ids":["node_1_1"],"files_changed":["user/mem_1.md"]"#;
    golden.is(found(None), &format!(r#"{{{extracted},"scan_cursor":12,"usage":null}}"#));
    golden.is(found(Some(Usage::default())), &format!(r#"{{{extracted},"scan_cursor":12,"usage":{{}}}}"#));
    golden.is(MemoryExtractionFailed::of(found(None), error()), &format!(r#"{{{extracted},"error":ERROR}}"#));
    golden.is(
        MemoryExtractionFailed::new(Some(ExtractionReason::TokenBacklog), error()),
        r#"{"reason":"token_backlog","error":ERROR}"#,
    );
    golden.is(MemoryExtractionFailed::new(None, error()), r#"{"error":ERROR}"#);
    golden.is(CancelTimeout {}, "{}");
    golden.is(ErrorReported { error: error() }, r#"{"error":ERROR}"#);
    let (child_agent_id, child_run_id) = child();
    golden.is(
        ChildAgentCreated {
            child_agent_id: child_agent_id.clone(),
            child_run_id: child_run_id.clone(),
            stream_id: child_run_id.clone(),
            agent_type: AgentType::Fork,
            agent_definition_id: "default_fork_agent".to_owned(),
            fork_from_node_id: Some(node("node_1_4")),
            allowed_tools: vec!["code.read_file".to_owned()],
            timeout_ms: 600_000,
            role: None,
            definition_name: None,
            asked: None,
            worker_id: None,
            worker_pool_id: None,
            task_id: None,
            allowed_step_ids: None,
        },
        r#"{"child_agent_id":"agent_2","child_run_id":"run_2","stream_id":"run_2","agent_type":"fork","agent_definition_id":"default_fork_agent","fork_from_node_id":"node_1_4","allowed_tools":["code.read_file"],"timeout_ms":600000}"#,
    );
    golden.is(
        ChildAgentCreated {
            child_agent_id: child_agent_id.clone(),
            child_run_id: child_run_id.clone(),
            stream_id: child_run_id.clone(),
            agent_type: AgentType::Sub,
            agent_definition_id: "builder".to_owned(),
            fork_from_node_id: None,
            allowed_tools: Vec::new(),
            timeout_ms: 1,
            role: Some(AgentRole::Worker),
            definition_name: Some("Builder".to_owned()),
            asked: Some("Build it.".to_owned()),
            worker_id: Some("builder_1".to_owned()),
            worker_pool_id: Some(PoolId::parse("code").unwrap()),
            task_id: Some(TaskId::parse("release").unwrap()),
            allowed_step_ids: Some(vec![StepId::parse("build").unwrap()]),
        },
        r#"{"child_agent_id":"agent_2","child_run_id":"run_2","stream_id":"run_2","agent_type":"sub","agent_definition_id":"builder","allowed_tools":[],"timeout_ms":1,"role":"worker","definition_name":"Builder","asked":"Build it.","worker_id":"builder_1","worker_pool_id":"code","task_id":"release","allowed_step_ids":["build"]}"#,
    );
    let ended =
        r#""child_agent_id":"agent_2","child_run_id":"run_2","turns":2,"usage":{"input_tokens":7,"output_tokens":2}"#;
    golden.is(
        ChildAgentCompleted {
            child_agent_id: child_agent_id.clone(),
            child_run_id: child_run_id.clone(),
            turns: 2,
            usage: usage(),
            step_id: None,
            step_status: None,
        },
        &format!("{{{ended}}}"),
    );
    golden.is(
        ChildAgentFailed {
            child_agent_id: child_agent_id.clone(),
            child_run_id: child_run_id.clone(),
            turns: 2,
            usage: usage(),
            error: error(),
            step_id: Some(StepId::parse("build").unwrap()),
            step_status: Some(StepStatus::Failed),
        },
        &format!(r#"{{{ended},"error":ERROR,"step_id":"build","step_status":"failed"}}"#),
    );
    golden.is(
        ChildAgentCancelRequested {
            child_agent_id: child_agent_id.clone(),
            child_run_id: child_run_id.clone(),
            reason: ChildCancelReason::ParentCancelled,
        },
        r#"{"child_agent_id":"agent_2","child_run_id":"run_2","reason":"parent_cancelled"}"#,
    );
    golden.is(
        ChildAgentCancelled {
            child_agent_id: child_agent_id.clone(),
            child_run_id: child_run_id.clone(),
            turns: 2,
            usage: usage(),
            step_id: None,
            step_status: None,
        },
        &format!("{{{ended}}}"),
    );
    let task = || TaskId::parse("login").unwrap();
    let dispatched = |allowed_step_ids| WorkerDispatched {
        task_id: task(),
        worker_pool_id: PoolId::parse("default").unwrap(),
        worker_id: "worker_general_1".to_owned(),
        worker_agent_id: child_agent_id.clone(),
        child_run_id: child_run_id.clone(),
        stream_id: child_run_id.clone(),
        selection_reason: SelectionReason::FirstIdle,
        allowed_step_ids,
    };
    let sent = r#""task_id":"login","worker_pool_id":"default","worker_id":"worker_general_1","worker_agent_id":"agent_2","child_run_id":"run_2","stream_id":"run_2","selection_reason":"first_idle""#;
    golden.is(dispatched(None), &format!("{{{sent}}}"));
    golden.is(
        dispatched(Some(vec![StepId::parse("tests").unwrap()])),
        &format!(r#"{{{sent},"allowed_step_ids":["tests"]}}"#),
    );
    let refused = WorkerDispatchFailed { task_id: task(), worker_pool_id: None, worker_agent_id: None, error: error() };
    golden.is(refused.clone(), r#"{"task_id":"login","error":ERROR}"#);
    golden.is(
        WorkerDispatchFailed { worker_agent_id: Some(child_agent_id.clone()), ..refused },
        r#"{"task_id":"login","worker_agent_id":"agent_2","error":ERROR}"#,
    );
    golden.is(
        ChildAgentCancelTimeout {
            child_agent_id: child_agent_id.clone(),
            child_run_id: child_run_id.clone(),
            waited_ms: 30_000,
        },
        r#"{"child_agent_id":"agent_2","child_run_id":"run_2","waited_ms":30000}"#,
    );
    let error = ErrorPayload::new(ErrorCode::SchemaError, "off schema").detail("problems", json!([]));
    golden.is(
        ChildResultSchemaValidationFailed { child_agent_id, child_run_id, error },
        r#"{"child_agent_id":"agent_2","child_run_id":"run_2","error":{"type":"common","code":"schema_error","message":"off schema","retryable":false,"details":{"problems":[]},"redacted":false}}"#,
    );
    task::samples(&mut golden);
    for schema in event_schemas() {
        assert!(golden.seen.contains(&schema.event_type), "{} has no sample", schema.event_type.as_str());
    }
    assert_eq!(event_schemas().len(), golden.seen.iter().collect::<std::collections::HashSet<_>>().len());
}

/// RUN-6: the type of the event follows from how the run, or the call, ended.
#[test]
fn the_end_names_its_event() {
    for end in EndReason::ALL {
        let event_type = match end.status() {
            RunStatus::Completed => EventType::LoopCompleted,
            RunStatus::Aborted => EventType::LoopAborted,
            _ => EventType::LoopFailed,
        };
        let ended = RunEnd { end_reason: Some(*end), ..RunEnd::default() };
        assert_eq!(ended.into_event().event_type, event_type, "{}", end.as_str());
    }
    assert_eq!(RunEnd::default().into_event().event_type, EventType::LoopFailed);
}

/// EVT-5: types read what builds of before wrote: what they left out is not known, what they wrote besides is passed over.
#[test]
fn payloads_of_older_builds() {
    let read = |event_type, payload| event(event_type, object(payload));
    let first = json!({
        "turn": 1, "request": 1, "epoch": 1, "epoch_because": "run_start", "first_kept_node_id": null, "last_node_id": "node_1_1",
        "nodes_in": 1, "nodes_out": 0, "turns_out": 0, "results_shortened": 0, "message_tokens": 9, "request_tokens": 30,
        "calibration": 1.0, "fixed_part": {"system_blocks": []},
        "budgets": {"window": 8192, "fixed": 250, "output": 2048, "dynamic": 1000, "messages": 4894, "compact_at": 3000},
    });
    let built: ContextBuilt = read(EventType::ContextBuilt, first).read().unwrap();
    assert_eq!((built.system_tokens, &built.call_id_prefix, built.tail.len()), (None, &None, 0));
    let part = built.epoch_part.unwrap();
    assert_eq!((part.epoch_because.as_str(), part.budgets.window, part.budgets.summary), ("run_start", 8192, None));
    assert_eq!((part.model, part.max_output_tokens, part.fixed_part.len()), (None, None, 1));

    let started = json!({"model": "m", "created_at": "2026-01-01", "digest": {"x": 1}});
    let started: ModelStarted = read(EventType::ModelStarted, started).read().unwrap();
    assert_eq!((started.model.as_str(), started.request, started.turn), ("m", None, None));
    let started: CompactStarted =
        read(EventType::CompactStarted, json!({"needed": 10, "available": 5})).read().unwrap();
    assert_eq!(started, CompactStarted { mode: None, tokens_before: None, tokens_covered: None, turns: None });
    let ended = json!({"tool_name": "t", "kind": "ok", "call": null, "summary": null});
    assert!(CallEnd::read(&read(EventType::ToolCompleted, ended)).unwrap().metadata.is_empty());
    let failed = json!({"error": error()});
    assert_eq!(read(EventType::CompactFailed, failed).read::<CompactFailed>().unwrap().mode, None);
    let ended = json!({"end_reason": "completed", "turns": 1, "usage": {}, "answer_node_ids": []});
    assert_eq!(RunEnd::read(&read(EventType::LoopCompleted, ended)).unwrap().estimates, None);
}

/// EVT-5: what cannot be read is an error that names the event, its type and the field; nothing is made up.
#[test]
fn payloads_that_cannot_be_read() {
    let said = |event_type, payload, read: fn(&RuntimeEvent) -> PayloadError| {
        read(&event(event_type, object(payload))).to_string()
    };
    fn wrong<P: EventPayload + std::fmt::Debug>(event: &RuntimeEvent) -> PayloadError {
        event.read::<P>().unwrap_err()
    }
    assert_eq!(
        said(EventType::RunQueued, json!({}), wrong::<RunQueued>),
        "event evt_1_5 (run_queued) cannot be read: missing field `position`"
    );
    assert_eq!(
        said(EventType::RunQueued, json!({"other": [], "position": "x"}), wrong::<RunQueued>),
        "event evt_1_5 (run_queued) cannot be read: at \"position\": invalid type: string \"x\", expected u64"
    );
    let odd = said(EventType::ToolFailed, json!({"tool_name": "t", "kind": "odd"}), wrong::<ToolFailed>);
    assert!(odd.starts_with("event evt_1_5 (tool_failed) cannot be read: at \"kind\": unknown variant `odd`"), "{odd}");
    assert_eq!(
        said(EventType::CompactCompleted, json!({"kind": "squeeze", "level": 1}), wrong::<CompactCompleted>),
        "event evt_1_5 (compact_completed) cannot be read: missing field `tokens_before`"
    );
    let mut built = report().into_object();
    built["epoch_part"]["budgets"]["window"] = json!(-1);
    let built = event(EventType::ContextBuilt, built).read::<ContextBuilt>().unwrap_err();
    assert_eq!(built.why.field.as_deref(), Some("epoch_part.budgets.window"));
    assert_eq!(
        said(EventType::RunDequeued, json!({}), wrong::<RunQueued>),
        "event evt_1_5 (run_dequeued) cannot be read: it is no run_queued event"
    );
}

/// API-8: the schemas in `docs/schemas/events` are those of the types. `UPDATE_DOCS=1` writes them anew.
#[test]
fn documented_payloads_are_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas/events");
    let file = |schema: &EventSchema| format!("{}.json", schema.event_type.as_str());
    let mut files: Vec<_> =
        event_schemas().iter().map(|schema| (file(schema), format!("{:#}\n", schema.schema))).collect();
    files.push(("README.md".to_owned(), event_index()));
    for (name, text) in &files {
        let path = folder.join(name);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, text).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(stored == *text, "{} is stale: run the tests with UPDATE_DOCS=1", path.display());
    }
    let mut stored: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let mut wanted: Vec<_> = files.into_iter().map(|(name, _)| name).collect();
    stored.sort();
    wanted.sort();
    assert_eq!(stored, wanted, "a file without an event");
}
