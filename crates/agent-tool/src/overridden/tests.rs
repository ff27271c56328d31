use std::future::pending;

use super::*;
use crate::{fn_tool::FnTool, testing};
use serde_json::{Value, json};

fn definition() -> ToolDefinition {
    ToolDefinition {
        name: "user.x".to_owned(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        permission: Permission::Readonly,
        tags: vec!["mine".to_owned()],
        metadata: Object::new(),
    }
}

fn overridden<F, R>(handler: F, change: ToolOverride) -> Overridden
where
    F: Fn(Object, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Value, ErrorPayload>> + Send + 'static,
{
    Overridden::new(Arc::new(FnTool::new(definition(), ToolClass::Readonly, handler)), change)
}

async fn run(tool: Overridden, context: CallContext) -> ToolOutput {
    tool.prepare(Object::new(), context).await.unwrap().call.run().await
}

fn within(millis: u64) -> ToolOverride {
    ToolOverride { timeout: Some(Duration::from_millis(millis)), ..ToolOverride::default() }
}

/// An override tightens: it writes, it has further tags, each once.
#[test]
fn stricter() {
    let change =
        ToolOverride { write: true, tags: vec!["network".to_owned(), "mine".to_owned()], ..ToolOverride::default() };
    let tool = overridden(|_, _| async { Ok(Value::Null) }, change);
    assert_eq!(tool.definition().permission, Permission::Write);
    assert_eq!(tool.definition().tags, ["mine", "network"]);
    let same = overridden(|_, _| async { Ok(Value::Null) }, ToolOverride::default());
    assert_eq!((same.definition(), same.class()), (&definition(), ToolClass::Readonly));
    // AGT-8: what may change things is in no child's default set.
    assert_eq!((tool.roles(), same.roles()), (ToolRoles::CHILDREN_ON_REQUEST, ToolRoles::ALL));
}

/// ERR-6: a call that runs out of time is stopped and says so; one that is done in time is left alone.
#[tokio::test(start_paused = true)]
async fn time_limits() {
    let quick = overridden(|_, _| async { Ok(json!("done")) }, within(50));
    assert_eq!(run(quick, testing::context()).await, ToolOutput::value("done"));

    let obedient = |_, context: CallContext| async move {
        context.cancel.cancelled().await;
        Err(ErrorPayload::new(ErrorCode::Cancelled, "stopped"))
    };
    let error = run(overridden(obedient, within(50)), testing::context()).await.error.unwrap();
    assert_eq!(error.code, ErrorCode::Timeout);
    assert!(error.message.contains("50 ms") && !error.message.contains("may or may not"), "{}", error.message);

    let late = |_, context: CallContext| async move {
        context.cancel.cancelled().await;
        Ok(json!("done after all"))
    };
    assert_eq!(run(overridden(late, within(50)), testing::context()).await, ToolOutput::value("done after all"));
}

/// RUN-12: a call that does not stop is left behind, can change nothing any more, and the result says what is not known.
#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_stop() {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let sender = std::sync::Mutex::new(Some(sender));
    let stubborn = move |_, context: CallContext| {
        sender.lock().unwrap().take().unwrap().send(context.fence.clone()).unwrap();
        pending::<Result<Value, ErrorPayload>>()
    };
    let context = testing::context();
    let outer = context.fence.clone();
    let error = run(overridden(stubborn, within(50)), context).await.error.unwrap();
    assert_eq!(error.code, ErrorCode::Timeout);
    assert!(error.message.contains("may or may not"), "{}", error.message);
    assert!(receiver.await.unwrap().enter().is_err());
    assert!(!outer.is_closed(), "the run goes on");
}

/// A cancel of the run is no time-out.
#[tokio::test(start_paused = true)]
async fn cancelled_is_not_late() {
    let context = testing::context();
    context.cancel.cancel();
    let waits = |_, context: CallContext| async move {
        context.cancel.cancelled().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        Err(ErrorPayload::new(ErrorCode::Cancelled, "stopped"))
    };
    assert_eq!(run(overridden(waits, within(50)), context).await.error.unwrap().code, ErrorCode::Cancelled);
}
