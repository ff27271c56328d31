//! What refusals, counts and the size of what was said teach a run.

use crate::Price;
use agent_protocol::{
    ContextBuilt, ErrorCode, ErrorPayload, EventPayload, EventType, ModelCompleted, ModelFault, NodeType, Reply,
    StopKind, StopReason, ToolCall, ToolResultBlock,
};
use proptest::prelude::*;

use super::script_testing::Script;
use super::testing::sources;
use super::*;
use crate::{BudgetConfig, Budgets, Calibration, ContextMark, compose};

fn budgets(window: u64) -> Budgets {
    let config = BudgetConfig {
        context_window: window,
        max_output_tokens: 4096,
        reserve_output_tokens: 4096,
        dynamic_system: 12_000,
        compact_reserve: 8000,
        keep_recent: 16_000,
        max_summary: 2048,
    };
    Budgets::derive(&config, &[("system".to_owned(), 300)]).unwrap()
}

fn refusal(limit: u64, requested: Option<u64>) -> ErrorPayload {
    let error = ErrorPayload::new(ErrorCode::ProviderError, "the prompt is too long").detail("limit_tokens", limit);
    match requested {
        Some(requested) => error.detail("requested_tokens", requested),
        None => error,
    }
}

/// A run of 8,192 tokens on a long path, whose first request is refused as this says.
fn refused(error: ErrorPayload) -> Script {
    let mut path = Path::new();
    for n in 0..80 {
        let role = if n % 2 == 0 { Role::User } else { Role::Assistant };
        path.push(&said(n, role, vec![ContentBlock::text("word ".repeat(40))]));
    }
    let mut script = Script::on(path, "run_t");
    script.budgets = Some(budgets(8_192));
    script.play("start go on; sources");
    let request = script.run.counts.request;
    script.run.step(Input::ModelFailed { request, fault: ModelFault::Overflow, error, partial: None });
    script
}

fn said(number: usize, role: Role, content: Vec<ContentBlock>) -> NodeDraft {
    NodeDraft {
        node_id: NodeId::parse(&format!("node_{number}")).unwrap(),
        parent_id: None,
        role,
        node_type: NodeType::Message,
        token_count: TokenCounter.message(&content),
        content: content.into(),
        metadata: Object::new(),
    }
}

/// FND-48: a window that a refusal names is learned with the first refusal, shares out that window, and is kept for the next run; what
/// names none, or one that cannot be, teaches nothing.
#[test]
fn a_refusal_teaches_the_window() {
    for (error, learned) in [
        (refusal(4_096, Some(5_000)), Some(4_096)),
        (refusal(4_096, None), Some(4_096)),
        (refusal(1_024, Some(1_025)), Some(1_024)),
        (refusal(8_191, Some(9_000)), Some(8_191)),
        // As configured, or more.
        (refusal(8_192, Some(9_000)), None),
        (refusal(131_072, Some(200_000)), None),
        // No window is that small, and no refused prompt smaller than what it did not fit.
        (refusal(100, Some(5_000)), None),
        (refusal(4_096, Some(4_000)), None),
        (ErrorPayload::new(ErrorCode::ProviderError, "the prompt is too long"), None),
    ] {
        let mut script = refused(error.clone());
        assert_eq!(script.run.calibration.window(), learned, "{error:?}");
        script.play("sources");
        let report = script.events.iter().rfind(|event| event.event_type == EventType::ContextBuilt).unwrap();
        let report = ContextBuilt::read(&report.payload).unwrap();
        assert_eq!(report.window_learned, learned, "{error:?}");
        let window = report.epoch_part.unwrap().budgets.window;
        assert_eq!(window, learned.unwrap_or(8_192), "{error:?}");
        assert!(report.request_tokens + 300 < window, "{error:?}: {}", report.request_tokens);

        let (path, calibration) = script.run.into_path();
        let mut next = Script::on(path, "run_next");
        next.run.calibration = calibration;
        next.budgets = Some(budgets(8_192));
        next.play("start and now; sources");
        assert_eq!(next.run.sources.as_ref().unwrap().budgets.window, learned.unwrap_or(8_192), "{error:?}");
    }
}

/// FND-44: limits hold with a server that counts nothing: estimates count.
#[test]
fn limits_hold_without_counts() {
    for (tokens, cost) in [(Some(900), None), (None, Some(0.9))] {
        let mut script = Script::new();
        script.run.limits.max_turns = 1_000;
        script.run.limits.max_tokens = tokens;
        script.run.limits.max_cost = cost;
        script.run.limits.price = Some(Price { input: 1000.0, cache_read: 0.0, cache_write: 0.0, output: 1000.0 });
        script.play("start go");
        let mut turns = 0;
        while !matches!(script.run.phase, Phase::Ending { .. }) {
            script.play(&format!(
                "sources; calls look:s{turns}={turns}; ready s{turns}; allow s{turns}; done s{turns} word"
            ));
            turns += 1;
            assert!(turns < 60, "the limit does nothing: {:?}", script.run.spent);
        }
        assert!(script.trace.iter().any(|line| line.contains("budget")), "{:?}", script.trace.last());
        assert!(turns > 2, "{turns}");
        assert_eq!(script.run.usage.input_tokens, None, "what was not counted is not told as counted");
    }
}

fn call(id: &str, arguments: Object) -> ContentBlock {
    let metadata = Object::new();
    ContentBlock::ToolCall(ToolCall {
        tool_call_id: ToolCallId::parse(id).unwrap(),
        name: "write".into(),
        arguments,
        metadata,
    })
}

fn result(id: &str, text: &str) -> ContentBlock {
    ContentBlock::ToolResult(ToolResultBlock {
        tool_call_id: ToolCallId::parse(id).unwrap(),
        is_error: false,
        content: vec![ContentBlock::text(text)],
        error: None,
        metadata: Object::new(),
    })
}

fn argument() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::{Value, json};
    let text = prop_oneof![
        (0_usize..60_000).prop_map(|size| json!("x".repeat(size))),
        (0_usize..9_000).prop_map(|size| json!("\u{4f60}\n".repeat(size))),
        (0_usize..40).prop_map(|size| json!("word ".repeat(size))),
        any::<i64>().prop_map(|number| json!(number)),
    ];
    text.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..3).prop_map(|fields| json!(fields)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// FND-46, CTX-6: whatever a call was made with, the request that holds it fits, in that run and in the next one; what is stored is
    /// whole, and the call keeps its id, its name and its arguments' names.
    #[test]
    fn big_arguments_fit(arguments in prop::collection::btree_map("[a-d]{1,3}", argument(), 0..4)) {
        let arguments: Object = arguments.into_iter().collect();
        let mut path = Path::new();
        path.push(&said(0, Role::User, vec![ContentBlock::text("write it")]));
        path.push(&said(1, Role::Assistant, vec![call("call_1", arguments.clone())]));
        path.push(&said(2, Role::Tool, vec![result("call_1", "written")]));
        for next_run in [false, true] {
            if next_run {
                path.push(&said(3, Role::Assistant, vec![ContentBlock::text("done")]));
                path.push(&said(4, Role::User, vec![ContentBlock::text("and now?")]));
            }
            let (request, _) = compose(&path, &sources(3_500), Window::default(), Calibration::default()).unwrap();
            let sent = request.messages.iter().flat_map(|message| message.content.iter()).find_map(ContentBlock::as_tool_call).unwrap();
            prop_assert_eq!(sent.tool_call_id.as_str(), "call_1");
            prop_assert!(sent.arguments.keys().eq(arguments.keys()));
            let whole = TokenCounter.message(&path.nodes()[1].message.content);
            let is_small = whole <= 1_400;
            prop_assert_eq!(is_small, sent.arguments == arguments, "{}", whole);
            prop_assert_eq!(&path.nodes()[1].message.content[0].as_tool_call().unwrap().arguments, &arguments);
        }
    }
}

/// FND-43: the notice of an instruction file says "follow what it says" as long as the text is in the request, as a result or in the
/// system part; when it went with older turns, the notice says that it is gone, and the file counts as not loaded.
#[test]
fn a_notice_goes_with_its_text() {
    let id = ToolCallId::parse("call_1").unwrap();
    let mark = ContextMark { items: vec![("/p/AGENTS.md".to_owned(), "hash".to_owned())], call: Some(id) };
    let mut path = Path::new();
    path.push(&said(0, Role::User, vec![ContentBlock::text("read it")]));
    path.push(&said(1, Role::Assistant, vec![call("call_1", Object::new())]));
    path.push(&said(2, Role::Tool, vec![result("call_1", "Indent by three.")]));
    let notice = said(3, Role::User, vec![ContentBlock::text("AGENTS.md, which was just read: follow what it says")]);
    path.push(&NodeDraft { node_type: NodeType::InstructionContext, metadata: mark.metadata(), ..notice });
    for n in 4..20 {
        let role = if n % 2 == 0 { Role::Assistant } else { Role::User };
        path.push(&said(n, role, vec![ContentBlock::text("word ".repeat(10))]));
    }
    for (first_kept, is_in_system, says_follow, says_lost, is_loaded) in [
        (0, false, true, false, true),
        (1, false, true, false, true),
        // The border lies between the result and its notice, or behind both.
        (3, false, false, true, false),
        (4, false, false, true, false),
        (10, false, false, true, false),
        (10, true, false, false, true),
        (0, true, false, false, true),
    ] {
        let mut sources = sources(4_000);
        if is_in_system {
            sources.in_system = [NodeId::parse("node_3").unwrap()].into();
        }
        let window = Window { first_kept, squeeze: 0 };
        let (request, _) = compose(&path, &sources, window, Calibration::default()).unwrap();
        let text = format!("{:?}", request.messages);
        let found = (text.contains("follow what it says"), text.contains("Read the file again"));
        assert_eq!(found, (says_follow, says_lost), "{first_kept} {is_in_system}");
        assert!(!says_lost || text.contains("/p/AGENTS.md"));
        let loaded = in_context(&path, &sources, window);
        assert_eq!(!loaded.is_empty(), is_loaded, "{first_kept} {is_in_system}");
    }
}

/// FND-45, PRV-12: answers to prompts that are cut to one size come with a warning that says what the prompt should have counted.
#[test]
fn a_constant_count_is_told() {
    let mut script = Script::new();
    script.messages = 4_000;
    script.play("start go");
    let mut told = Vec::new();
    for n in 0..12 {
        script.play("sources");
        let mut reply = Reply {
            content: vec![call(&format!("c{n}"), Object::from_iter([("n".to_owned(), n.into())]))],
            usage: Usage::default(),
            stop: StopReason::new(StopKind::ToolUse),
            metadata: Object::new(),
        };
        let Phase::Streaming { estimated } = script.run.phase else { panic!("{}", script.run.describe()) };
        reply.usage.input_tokens = Some(estimated.min(700));
        let request = script.run.counts.request;
        for effect in script.run.step(Input::ModelDone { request, reply }) {
            if let Effect::Commit { writes, .. } = effect {
                let completed = writes.iter().filter_map(|write| match write {
                    Write::Event(event) if event.event_type == EventType::ModelCompleted => {
                        ModelCompleted::read(&event.payload).ok()
                    }
                    _ => None,
                });
                told.extend(completed.map(|completed| (estimated, completed.prompt_tokens_expected.is_some())));
            }
        }
        script.play(&format!("ready c{n}; allow c{n}; done c{n} {}", "word ".repeat(200)));
    }
    assert!(told.iter().all(|(estimated, warned)| *estimated > 700 || !warned), "{told:?}");
    assert!(told.iter().filter(|(estimated, _)| *estimated > 1_000).skip(1).all(|(_, warned)| *warned), "{told:?}");
    assert!(told.iter().any(|(_, warned)| *warned), "{told:?}");
    assert!(script.run.calibration.ratio() > 0.75, "{:?}", script.run.calibration);
}
