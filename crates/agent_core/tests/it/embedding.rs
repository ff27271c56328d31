//! What a program does that embeds the core: its own configuration, a closure that is asked, what a run came to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_core::config::{self, ConfigSource, Location};
use agent_core::error::{BuildError, ConfigError};
use agent_core::memory::Memories;
use agent_core::permission::DecisionKind;
use agent_core::runtime::{EndReason, RunStatus};
use agent_core::{PermissionDecision, PermissionRequest, tool};
use agent_testkit::{Call, Protocol, Reply, Stop};
use serde_json::json;

use crate::support::{World, run, run_in};

fn write(path: &str) -> Call {
    Call::new("code.write_file", json!({"path": path, "content": "x"}))
}

/// API-2, API-10: a configuration as text or value takes the place of the file, and nothing is written to home for it.
#[tokio::test]
async fn a_configuration_without_a_file() {
    let world = World::new("config_sources", Protocol::OpenAi).await;
    let text = std::fs::read_to_string(world.home.config_path()).unwrap();
    std::fs::remove_file(world.home.config_path()).unwrap();
    let (url, provider) = (world.server.base_url(Protocol::OpenAi), Protocol::OpenAi.provider());
    let model = json!({"provider": provider, "base_url": url, "name": agent_testkit::MODEL, "api_key_env": ""});
    let value = json!({"model": model, "memory": {"enabled": false}});
    for source in [ConfigSource::Text(text), ConfigSource::Value(value)] {
        world.server.push(Reply::text("Hi."));
        let runtime = world.builder().config(source).build().await.unwrap();
        run(&runtime, "Hi?").await.assert_completed();
        runtime.close().await;
    }
    assert!(!world.home.config_path().exists(), "nothing was created");
    assert!(matches!(world.builder().build().await, Err(BuildError::Config(ConfigError::Missing { .. }))));
}

/// CFG-7, API-10: what is wrong with such a configuration is said with its key and, in a text, its line; every entry point
/// says it alike.
#[tokio::test]
async fn what_is_wrong_with_a_configuration_without_a_file() {
    let world = World::new("config_sources_wrong", Protocol::OpenAi).await;
    let at = Location::default().home_dir(&world.home.home).project_dir(&world.home.project);
    for (source, words) in [
        (ConfigSource::Text("[model]\nnmae = 1\n".into()), "the configuration text:2:1: model.nmae: unknown key"),
        (ConfigSource::Text(String::new()), "the configuration is empty"),
        (ConfigSource::Value(json!({"model": {"nmae": 1}})), "the configuration value: model.nmae: unknown key"),
        (ConfigSource::Value(json!({"model": {"context_window": 1024}})), "the configuration value: "),
    ] {
        let location = at.clone().config(source);
        let built = world.builder().location(location.clone()).build().await.err().unwrap().payload().message;
        assert!(built.contains(words), "{built}");
        assert_eq!(config::inspect(&location).unwrap_err().payload().message, built);
        assert_eq!(location.config_file().unwrap(), None);
    }
    let location = at.clone().config(ConfigSource::Text("[model]\nnmae = 1\n".into()));
    for error in [tool::inspect(&location).err(), Memories::open(&location).err(), opened(&location).await.err()] {
        assert!(error.unwrap().to_string().contains("the configuration text:2:1"));
    }
    assert_eq!(at.config_file().unwrap(), Some(world.home.config_path()));
}

async fn opened(location: &Location) -> Result<(), BuildError> {
    agent_core::archive::open(location).await.map(|_| ())
}

/// API-2: a closure is asked like any other callback; so is one that answers at once.
#[tokio::test]
async fn a_closure_is_asked() {
    let world = World::new("closure_callback", Protocol::OpenAi).await;
    world.server.script([
        Reply::text("").calls([write("a.txt")]),
        Reply::text("").calls([write("b.txt")]),
        Reply::text("Written."),
    ]);
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let builder = world.builder().permission_callback(move |request: PermissionRequest| {
        let n = counted.fetch_add(1, Ordering::SeqCst);
        async move {
            assert_eq!(request.tool_name, "code.write_file");
            PermissionDecision::new(if n == 0 { DecisionKind::AllowOnce } else { DecisionKind::Deny })
        }
    });
    let runtime = builder.build().await.unwrap();
    let ran = run(&runtime, "Write.").await;
    ran.assert_completed();
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    assert!(world.file("a.txt").is_some() && world.file("b.txt").is_none());
    assert!(ran.result.unanswered.is_empty(), "a no is an answer: {:?}", ran.result.unanswered);
    runtime.close().await;

    world.server.script([Reply::text("").calls([write("c.txt")]), Reply::text("Written.")]);
    let allow = |_: PermissionRequest| std::future::ready(PermissionDecision::new(DecisionKind::AllowOnce));
    let runtime = world.builder().permission_callback(allow).build().await.unwrap();
    run_in(&runtime, &ran.session_id, "Write.").await.assert_completed();
    assert!(world.file("c.txt").is_some());
    runtime.close().await;
}

/// A run's result has what the model answered, in all its parts, and what it took.
#[tokio::test]
async fn a_result_has_the_answer() {
    let world = World::new("result_answer", Protocol::OpenAi).await;
    world.server.script([
        Reply::text("Let me look.").usage(100, 10).calls([Call::new("code.list_dir", json!({"path": "."}))]),
        Reply::text("It is ").usage(200, 20).stop(Stop::Length),
        Reply::text("empty.").usage(300, 30),
    ]);
    let runtime = world.runtime().await;
    let result = run(&runtime, "What is in it?").await.result;
    assert_eq!((result.status, result.end_reason), (RunStatus::Completed, Some(EndReason::Completed)));
    assert_eq!(result.answer.as_deref(), Some("It is empty."));
    assert_eq!((result.usage.input_tokens, result.usage.output_tokens, result.turns), (Some(600), Some(60), 3));
    assert!(result.unanswered.is_empty());

    world.server.push(Reply::error(401, "bad key"));
    let failed = run(&runtime, "Again.").await.result;
    assert_eq!((failed.status, failed.answer, failed.turns), (RunStatus::Failed, None, 1));
    runtime.close().await;
}

/// STO-10: what looks like a secret is not shown in an answer either.
#[tokio::test]
async fn an_answer_hides_secrets() {
    let world = World::new("result_secret", Protocol::OpenAi).await;
    world.server.push(Reply::text("It is ghp_16C7e42F292c6912E7710c838347Ae178B4a."));
    let runtime = world.runtime().await;
    let answer = run(&runtime, "Which token?").await.result.answer.unwrap();
    assert!(answer.starts_with("It is ") && !answer.contains("16C7e42F292c6912E"), "{answer}");
    runtime.close().await;
}

/// A run's result names the calls that were denied because nobody answered: nobody to ask, nobody there, a callback that
/// failed or was late.
#[tokio::test]
async fn a_result_has_what_went_unanswered() {
    let world = World::new("result_unanswered", Protocol::OpenAi).await;
    let script = || world.server.script([Reply::text("").calls([write("a.txt")]), Reply::text("I may not.")]);
    let check = async |runtime: agent_core::AgentRuntime, reason: &str| {
        script();
        let ran = run(&runtime, "Write.").await;
        ran.assert_completed();
        let [call] = ran.result.unanswered.as_slice() else { panic!("{:?}", ran.result.unanswered) };
        assert_eq!(call.tool_name, "code.write_file");
        assert!(call.reason.contains(reason), "{}", call.reason);
        let denied = ran.of_type(agent_core::EventType::ToolDenied);
        assert_eq!(denied[0].tool_call_id.as_ref(), Some(&call.tool_call_id));
        runtime.close().await;
    };
    check(world.runtime().await, "permission denied").await;
    let away = |_: PermissionRequest| std::future::ready(PermissionDecision::unanswered("they left"));
    check(world.builder().permission_callback(away).build().await.unwrap(), "").await;
    let silent = |_: PermissionRequest| std::future::pending::<PermissionDecision>();
    let late = world.builder().permission_callback(silent);
    let late = late.permission_timeout(std::time::Duration::from_millis(50));
    check(late.build().await.unwrap(), "did not answer within 50 ms").await;
}
