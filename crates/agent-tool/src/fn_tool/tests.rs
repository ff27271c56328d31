use super::*;
use crate::testing;
use agent_protocol::{ContentBlock, Permission};
use serde_json::json;

fn definition() -> ToolDefinition {
    ToolDefinition {
        name: "internal.echo".to_owned(),
        description: "Says it again.".to_owned(),
        input_schema: json!({"type": "object"}),
        permission: Permission::Readonly,
        tags: Vec::new(),
        metadata: Object::new(),
    }
}

async fn run<F, R>(handler: F, context: CallContext) -> ToolOutput
where
    F: Fn(Object, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, ErrorPayload>> + Send + 'static,
{
    run_any(handler, context).await
}

async fn run_any<F, R, T>(handler: F, context: CallContext) -> ToolOutput
where
    F: Fn(Object, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<T, ErrorPayload>> + Send + 'static,
    T: Into<HandlerReply>,
{
    let tool = FnTool::new(definition(), ToolClass::Readonly, handler);
    let arguments = testing::object(json!({"text": "hi"}));
    let prepared = tool.prepare(arguments, context).await.unwrap();
    assert_eq!(prepared.facts.preview, r#"{"text":"hi"}"#);
    prepared.call.run().await
}

/// TYP-3, TOL-9: plain values are wrapped, and a plain handler has a first phase.
#[tokio::test]
async fn plain_values_are_wrapped() {
    let output = run(|arguments, _| async move { Ok(arguments["text"].clone()) }, testing::context()).await;
    assert_eq!((output.content, output.error), (vec![ContentBlock::text("hi")], None));
    let output = run(|_, _| async { Ok(json!([1, 2])) }, testing::context()).await;
    assert_eq!(output.content, [ContentBlock::json(json!([1, 2]))]);
}

fn result(context: &CallContext, content: Vec<ContentBlock>) -> ToolResult {
    ToolOutput { content, ..ToolOutput::default() }.into_result(context.tool_call_id.clone(), "internal.echo")
}

/// API-5: a handler may return the contract's form; what is too big goes to an artifact there, too.
#[tokio::test]
async fn results_are_taken_as_they_are() {
    let context = testing::context();
    let blocks = vec![ContentBlock::text("two"), ContentBlock::json(json!({"blocks": 2}))];
    let ok = ToolResult { metadata: testing::object(json!({"rows": 2})), ..result(&context, blocks.clone()) };
    let output = run_any(move |_, _| std::future::ready(Ok(ok.clone())), context.clone()).await;
    assert_eq!((output.content, output.error), (blocks, None));
    assert_eq!(output.metadata["rows"], 2);

    let big = vec![ContentBlock::text("first"), ContentBlock::text("x".repeat(1 << 20)), ContentBlock::text("last")];
    let big = result(&context, big);
    let output = run_any(move |_, _| std::future::ready(Ok(big.clone())), context.clone()).await;
    let [ContentBlock::Text(_), ContentBlock::Json(block), ContentBlock::Text(_)] = output.content.as_slice() else {
        panic!("{:?}", output.content)
    };
    assert!(block.data.is_none() && block.summary.as_ref().unwrap().contains("1048576 bytes"), "{block:?}");

    let failed = ToolResult { is_error: true, ..result(&context, vec![ContentBlock::text("half of it")]) };
    let output = run_any(move |_, _| std::future::ready(Ok(failed.clone())), context.clone()).await;
    assert_eq!((output.content.len(), output.error.unwrap().code), (1, ErrorCode::InternalError));
}

/// TYP-3, ERR-6: a result answers the call it was made for, and with content that a result may hold.
#[tokio::test]
async fn results_of_other_calls_are_refused() {
    let context = testing::context();
    let right = result(&context, vec![ContentBlock::text("mine")]);
    let other_call = agent_protocol::ToolCallId::parse("call_other").unwrap();
    let nested = agent_protocol::ToolCall {
        tool_call_id: other_call.clone(),
        name: "x".to_owned(),
        arguments: Object::new(),
        metadata: Object::new(),
    };
    for wrong in [
        ToolResult { tool_call_id: other_call, ..right.clone() },
        ToolResult { tool_name: "internal.other".to_owned(), ..right.clone() },
        ToolResult { content: vec![ContentBlock::ToolCall(nested)], ..right },
    ] {
        let output = run_any(move |_, _| std::future::ready(Ok(wrong.clone())), context.clone()).await;
        assert_eq!(output.error.unwrap().code, ErrorCode::SchemaError);
        assert!(output.content.is_empty());
    }
}

#[tokio::test]
async fn errors_and_panics_are_failed_outputs() {
    let refused = ErrorPayload::new(ErrorCode::ValidationError, "no");
    let copy = refused.clone();
    let output = run(move |_, _| std::future::ready(Err(copy.clone())), testing::context()).await;
    assert_eq!(output, ToolOutput::failed(refused));
    let output = run(|_, _| async { panic!("a fault of the handler") }, testing::context()).await;
    assert_eq!(output.error.unwrap().code, ErrorCode::InternalError);
}

/// RUN-12: a handler does not start after the end of its run.
#[tokio::test]
async fn a_late_call_does_not_start() {
    let context = testing::context();
    context.fence.close();
    let output = run(|_, _| async { panic!("must not run") }, context).await;
    assert_eq!(output.error.unwrap().code, ErrorCode::Cancelled);
}

/// TYP-2, ART-2: a big value goes to an artifact; the block keeps a summary and where the whole is.
#[tokio::test]
async fn big_values_become_artifacts() {
    for value in [json!({ "rows": vec!["a row"; 20_000] }), json!("é".repeat(100_000))] {
        let copy = value.clone();
        let output = run(move |_, _| std::future::ready(Ok(copy.clone())), testing::context()).await;
        let [ContentBlock::Json(block)] = output.content.as_slice() else { panic!("{:?}", output.content) };
        assert!(block.data.is_none());
        let summary = block.summary.as_ref().unwrap();
        assert!(summary.len() < 4096 && summary.contains("bytes"), "{summary}");
        assert!(block.artifact_id.is_some() || summary.contains("could be kept"), "{summary}");
    }
}

/// PRM-12: the host a call will talk to is one of its facts.
#[tokio::test]
async fn the_host_is_a_fact() {
    let host = |arguments: &Object| arguments["url"].as_str()?.strip_prefix("https://").map(str::to_owned);
    let tool = FnTool::new(definition(), ToolClass::Readonly, |_, _| async { Ok(Value::Null) }).with_host(host);
    for (url, expected) in [("https://a.example", Some("a.example")), ("file:///etc/hosts", None)] {
        let arguments = testing::object(json!({ "url": url }));
        let facts = tool.prepare(arguments, testing::context()).await.unwrap().facts;
        assert_eq!(facts.network_host.as_deref(), expected);
    }
}
