//! The library's own surface: registering, errors and where they go.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use agent_core::EventType;
use agent_core::error::{ErrorCode, ErrorPayload, RegisterError};
use agent_core::model::{
    ModelEvent, ModelRequest, ModelStream, ProviderAdapter, ProviderFactory, ProviderRegistry, Reply, StopKind,
    StopReason, Usage,
};
use agent_core::permission::DecisionKind;
use agent_core::runtime::RunStatus;
use agent_core::tool::Permission;
use agent_testkit::{Call, Protocol, Reply as Scripted};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{World, counting, definition, run};

/// An adapter of the embedding program that says what it is told to say.
struct Own(Vec<ModelEvent>);

impl ProviderAdapter for Own {
    fn key(&self) -> &str {
        "own"
    }

    fn stream(&self, _: ModelRequest, _: CancellationToken) -> ModelStream {
        Box::pin(futures::stream::iter(self.0.clone()))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

fn own(events: Vec<ModelEvent>) -> ProviderFactory {
    Arc::new(move |_| Ok(Arc::new(Own(events.clone())) as Arc<dyn ProviderAdapter>))
}

fn reply(text: &str) -> Reply {
    Reply {
        content: vec![agent_core::message::ContentBlock::text(text)],
        usage: Usage::default(),
        stop: StopReason::new(StopKind::EndTurn),
        metadata: agent_core::message::Object::new(),
    }
}

/// API-5, PRV-1: providers are registered by key, and a key is taken once.
#[tokio::test]
async fn providers_are_registered() {
    let world = World::with("own_provider", Protocol::OpenAi, "model.provider = \"own\"").await;
    let builder =
        world.builder().register_provider("own", own(vec![ModelEvent::Completed(reply("From my own."))])).unwrap();
    let runtime = builder.build().await.unwrap();
    run(&runtime, "Hi?").await.assert_completed();
    runtime.close().await;
    let taken = world
        .builder()
        .provider_registry(ProviderRegistry::with_builtin())
        .register_provider("ollama", own(Vec::new()));
    assert_eq!(taken.err().unwrap().payload().code, ErrorCode::ConfigError);
}

/// TYP-7: an adapter that ends without saying how has failed; nothing is made up from what came before.
#[tokio::test]
async fn a_stream_without_an_end_is_a_failure() {
    let world = World::with("no_end", Protocol::OpenAi, "model.provider = \"own\"").await;
    let events = vec![ModelEvent::TextDelta { text: "Half".into() }];
    let runtime = world.builder().register_provider("own", own(events)).unwrap().build().await.unwrap();
    let ran = run(&runtime, "Hi?").await;
    assert_eq!(ran.result.status, RunStatus::Failed);
    assert_eq!(ran.result.error.as_ref().unwrap().code, ErrorCode::ProviderError);
    assert!(ran.of_type(EventType::ModelCompleted).is_empty());
    runtime.close().await;
}

/// API-5, TOL-1, TOL-2: tools are registered by name with a schema every provider takes; a name is taken once.
#[tokio::test]
async fn tools_are_registered() {
    let world = World::new("own_tools", Protocol::Ollama).await;
    let runtime = world.runtime().await;
    let handler = |_, _| async { Ok::<_, ErrorPayload>(json!("pong")) };
    runtime.register_tool(definition("ping", Permission::Readonly), handler).unwrap();
    let again = runtime.register_tool(definition("ping", Permission::Readonly), handler);
    assert!(matches!(again, Err(RegisterError::Duplicate { .. })));
    let mut odd = definition("odd", Permission::Readonly);
    odd.input_schema = json!({"type": "object", "oneOf": []});
    assert!(matches!(runtime.register_tool(odd, handler), Err(RegisterError::Schema { .. })));
    world.server.script([Scripted::text("").calls([Call::new("ping", json!({}))]), Scripted::text("Pong.")]);
    run(&runtime, "Ping.").await.assert_completed();
    assert!(world.server.requests()[1].body.to_string().contains("pong"));
    runtime.close().await;
}

/// PRM-1: arguments are checked before anybody is asked, and nobody is asked about a call that cannot run.
#[tokio::test]
async fn arguments_are_checked_before_anybody_is_asked() {
    let world = World::new("checked_first", Protocol::OpenAi).await;
    let (tool, count) = counting("change", Permission::Write);
    world.server.script([
        Scripted::text("").calls([Call::new("change", json!({"n": "many"}))]),
        Scripted::text("").calls([Call::new("change", json!({"n": 1, "m": 2}))]),
        Scripted::text("").calls([Call::new("change", json!({"n": 1}))]),
        Scripted::text("Done."),
    ]);
    let person = world.answering_with(DecisionKind::AllowOnce);
    let runtime = world.builder().tool(tool).permission_callback(person.clone()).build().await.unwrap();
    let ran = run(&runtime, "Change.").await;
    ran.assert_completed();
    assert_eq!((person.asked().len(), count.load(Ordering::SeqCst)), (1, 1));
    for failed in ran.of_type(EventType::ToolFailed) {
        assert_eq!(failed.payload["error"]["code"], "validation_error", "ERR-3, RUN-16");
    }
    runtime.close().await;
}

/// ERR-3: what the model may put right goes back to it; what it cannot ends the run with an `error` event and the run's
/// error.
#[tokio::test]
async fn errors_go_where_they_belong() {
    let world = World::new("errors", Protocol::OpenAi).await;
    world.server.script([
        Scripted::text("").calls([Call::new("code.read_file", json!({"path": "missing.txt"}))]),
        Scripted::error(401, "bad key"),
    ]);
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Read.").await;
    assert_eq!(ran.of_type(EventType::ToolFailed)[0].payload["error"]["code"], "file_not_found");
    let error = ran.result.error.clone().unwrap();
    assert_eq!(error.code, ErrorCode::ProviderAuthFailed);
    assert_eq!(ran.of_type(EventType::Error)[0].payload["error"]["code"], "provider_auth_failed");
    runtime.close().await;
}

/// API-14: another configuration file changes nothing about home.
#[tokio::test]
async fn a_config_path_does_not_move_home() {
    let world = World::new("config_path", Protocol::OpenAi).await;
    let other = world.home.root.join("elsewhere/my.toml");
    std::fs::create_dir_all(other.parent().unwrap()).unwrap();
    std::fs::rename(world.home.config_path(), &other).unwrap();
    assert!(world.builder().build().await.is_err(), "without the file in home there is none");
    world.server.push(Scripted::text("Hi."));
    let runtime = world.builder().config_path(&other).build().await.unwrap();
    run(&runtime, "Hi?").await.assert_completed();
    runtime.close().await;
    assert!(world.home.home.join("sessions.sqlite").exists());
    assert_eq!(std::fs::read_dir(other.parent().unwrap()).unwrap().count(), 1);
}

/// TOL-4: a disabled tool is neither shown to the model nor run.
#[tokio::test]
async fn disabled_tools_are_gone() {
    let world = World::with("disabled_tools", Protocol::OpenAi, "tools.disabled = [\"code.run_command\"]").await;
    world.server.script([
        Scripted::text("").calls([Call::new("code.run_command", json!({"argv": ["true"]}))]),
        Scripted::text("Oh."),
    ]);
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Run.").await;
    ran.assert_completed();
    assert!(!world.server.requests()[0].tool_names().contains(&"code__run_command"));
    assert_eq!(ran.of_type(EventType::ToolFailed)[0].payload["error"]["code"], "tool_not_available");
    runtime.close().await;
}
