//! Cancelling in every phase (RUN-17…19).

use std::sync::Arc;
use std::time::Duration;

use agent_core::message::Object;
use agent_core::permission::{CallbackError, PermissionCallback};
use agent_core::runtime::EndReason;
use agent_core::tool::{CallContext, FnTool, Permission, ToolClass};
use agent_core::{EventType, PermissionDecision, PermissionRequest, StartOptions};
use agent_testkit::{Call, Delivery, Protocol, Reply};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::support::{World, definition, run_in, watch};

/// RUN-18, RUN-19: while the model answers: the connection is closed, the half is kept, and the next run is valid.
#[tokio::test]
async fn while_streaming() {
    for &protocol in Protocol::ALL {
        let world = World::new("cancel_streaming", protocol).await;
        let (reply, gate) = Reply::text("A long answer in many pieces.").chunks(6).gated();
        world.server.push(reply);
        let runtime = world.runtime().await;
        let handle = runtime.start("Talk.", StartOptions::default()).await.unwrap();
        let mut events = handle.events(false).unwrap();
        gate.release(3);
        while events.next().await.unwrap().unwrap().event_type != EventType::MessageDelta {}
        let cancelled = handle.cancel().await;
        assert_eq!((cancelled.status.as_str(), cancelled.timed_out), ("aborted", false));
        assert_eq!(handle.wait().await.end_reason, Some(EndReason::AbortedStreaming));
        assert_eq!(world.server.wait_for_end(0).await, Delivery::ClosedByClient);
        let mut types = Vec::new();
        while let Some(event) = events.next().await.unwrap() {
            types.push(event.event_type.as_str());
        }
        assert!(types.contains(&"run_cancelled") && types.contains(&"loop_aborted"), "{types:?}");
        // Twice is fine.
        assert_eq!(handle.cancel().await.status.as_str(), "aborted");

        world.server.push(Reply::text("Here."));
        run_in(&runtime, handle.session_id(), "Are you there?").await.assert_completed();
        let second = world.server.requests()[1].body.to_string();
        // FND-65: the model is told what was seen, as a quotation.
        let quoted = second.contains("stopped the previous answer") && second.contains("was cut):\\nA lon");
        assert!(quoted && !second.contains("\"assistant\""), "{second}");
        runtime.close().await;
    }
}

/// RUN-18, STRM-09: while a tool is at work: what it has so far is kept, later calls get error results.
#[tokio::test]
async fn during_tools() {
    for &protocol in Protocol::ALL {
        let world = World::new("cancel_tools", protocol).await;
        let started = Arc::new(Notify::new());
        let begun = Arc::clone(&started);
        let slow = FnTool::new(
            definition("slow", Permission::Readonly),
            ToolClass::Readonly,
            move |_: Object, context: CallContext| {
                let begun = Arc::clone(&begun);
                async move {
                    begun.notify_one();
                    context.cancel.cancelled().await;
                    Ok(Value::from("what I have"))
                }
            },
        );
        world.server.push(Reply::text("").calls([
            Call::new("slow", json!({})),
            Call::new("code.write_file", json!({"path": "a.txt", "content": "x"})),
        ]));
        let runtime = world.builder().tool(Arc::new(slow)).build().await.unwrap();
        let handle = runtime.start("Work.", StartOptions::default()).await.unwrap();
        started.notified().await;
        handle.cancel().await;
        let ran = watch(&handle).await;
        assert_eq!(ran.result.end_reason, Some(EndReason::AbortedTools));
        assert_eq!(world.file("a.txt"), None);
        world.server.push(Reply::text("Here."));
        run_in(&runtime, &ran.session_id, "Go on.").await.assert_completed();
        let second = world.server.requests()[1].body.to_string();
        assert!(second.contains("what I have") && second.contains("cancelled by the user before it ran"), "{second}");
        runtime.close().await;
    }
}

/// RUN-17, RUN-12, FND-51: what does not stop in time is given up, its fence is closed, and cancelling says that time was up.
#[tokio::test]
async fn what_does_not_stop() {
    let world = World::with("does_not_stop", Protocol::OpenAi, "runtime.cancel_timeout_ms = 50").await;
    let started = Arc::new(Notify::new());
    let (begun, told) = (Arc::clone(&started), Arc::new(Notify::new()));
    let after = Arc::clone(&told);
    let stubborn = FnTool::new(
        definition("stubborn", Permission::Readonly),
        ToolClass::Readonly,
        move |_: Object, context: CallContext| {
            let (begun, after) = (Arc::clone(&begun), Arc::clone(&after));
            async move {
                let fence = context.fence.clone();
                tokio::spawn(async move {
                    while !fence.is_closed() {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                    after.notify_one();
                });
                begun.notify_one();
                std::future::pending::<()>().await;
                Ok(Value::Null)
            }
        },
    );
    world.server.push(Reply::text("").calls([Call::new("stubborn", json!({}))]));
    let runtime = world.builder().tool(Arc::new(stubborn)).build().await.unwrap();
    let handle = runtime.start("Work.", StartOptions::default()).await.unwrap();
    started.notified().await;
    let cancelled = handle.cancel().await;
    assert_eq!((cancelled.status.as_str(), cancelled.timed_out), ("aborted", true));
    told.notified().await;
    let ran = watch(&handle).await;
    assert_eq!(ran.result.end_reason, Some(EndReason::AbortedTools));
    assert_eq!(ran.of_type(EventType::CancelTimeout).len(), 1);
    runtime.close().await;
}

/// CLI-06 (c): a question that is open when the user cancels is a denial.
#[tokio::test]
async fn while_a_question_is_open() {
    struct Silent(Arc<Notify>);
    impl PermissionCallback for Silent {
        fn decide(&self, _: PermissionRequest) -> BoxFuture<'_, Result<PermissionDecision, CallbackError>> {
            self.0.notify_one();
            std::future::pending().boxed()
        }
    }
    let world = World::new("cancel_question", Protocol::OpenAi).await;
    let asked = Arc::new(Notify::new());
    let runtime = world.builder().permission_callback(Arc::new(Silent(Arc::clone(&asked)))).build().await.unwrap();
    world.server.push(Reply::text("").calls([Call::new("code.write_file", json!({"path": "a", "content": "x"}))]));
    let handle = runtime.start("Write.", StartOptions::default()).await.unwrap();
    asked.notified().await;
    assert_eq!(handle.cancel().await.status.as_str(), "aborted");
    assert_eq!(world.file("a"), None);
    runtime.close().await;
}

/// API-7: closing the runtime ends what runs.
#[tokio::test]
async fn close_ends_runs() {
    let world = World::new("close_ends_runs", Protocol::OpenAi).await;
    world.server.push(Reply::hang());
    let runtime = world.runtime().await;
    let handle = runtime.start("Talk.", StartOptions::default()).await.unwrap();
    world.server.wait_for_request(0).await;
    runtime.close().await;
    assert_eq!(handle.wait().await.status.as_str(), "aborted");
}
