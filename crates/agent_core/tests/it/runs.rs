//! A message in, an answer out.

use std::sync::atomic::Ordering;

use agent_core::error::{BuildError, ErrorCode, RuntimeError};
use agent_core::permission::DecisionKind;
use agent_core::runtime::RunStatus;
use agent_core::tool::Permission;
use agent_core::{EventType, StartOptions};
use agent_testkit::{Call, Protocol, Reply, Stop};
use serde_json::json;

use crate::support::{World, counting, run, watch};

/// RUN-5, RUN-8, API-3, PRV-2: one message, one answer, in both protocols; the timeline in its order.
#[tokio::test]
async fn one_answer() {
    for &protocol in Protocol::ALL {
        let world = World::new("one_answer", protocol).await;
        world.server.push(Reply::text("Hello there.").usage(12, 3));
        let runtime = world.runtime().await;
        let ran = run(&runtime, "Say hello.").await;
        ran.assert_completed();
        assert_eq!(ran.text(), "Hello there.");
        assert_eq!(
            ran.types(),
            [
                "loop_started",
                "message_created",
                "context_built",
                "model_started",
                "model_completed",
                "message_completed",
                "loop_completed"
            ]
        );
        assert_eq!(world.server.requests()[0].path, protocol.path());
        let seqs: Vec<_> = ran.events.iter().filter_map(|event| event.seq).collect();
        assert_eq!(seqs, (1..=7).collect::<Vec<_>>(), "EVT-4: gapless, in order");
        let usage = &ran.of_type(EventType::LoopCompleted)[0].payload["usage"];
        assert_eq!((usage["input_tokens"].clone(), usage["output_tokens"].clone()), (json!(12), json!(3)));
        runtime.close().await;
        runtime.close().await;
    }
}

/// RUN-5, TYP-3, PRV-4: calls run, their results go back paired by id, and the names are canonical on our side.
#[tokio::test]
async fn calls_and_results() {
    for &protocol in Protocol::ALL {
        let world = World::new("calls_and_results", protocol).await;
        world.home.write("project/notes.txt", "one\ntwo\n");
        world.server.script([
            Reply::text("Let me look.").calls([
                Call::new("code.read_file", json!({"path": "notes.txt"})),
                Call::new("code.list_dir", json!({"path": "."})),
            ]),
            Reply::text("Two lines."),
        ]);
        let runtime = world.runtime().await;
        let ran = run(&runtime, "How many lines?").await;
        ran.assert_completed();
        let done: Vec<_> =
            ran.of_type(EventType::ToolCompleted).iter().map(|event| event.payload["tool_name"].clone()).collect();
        assert_eq!(done.len(), 2);
        assert!(done.contains(&json!("code.read_file")) && done.contains(&json!("code.list_dir")));
        let second = &world.server.requests()[1];
        assert!(second.body.to_string().contains("one\\\\ntwo"), "{}", second.body);
        runtime.close().await;
    }
}

/// STRM-19: every request of a run has the same system part and tools.
#[tokio::test]
async fn every_request_has_the_system_part() {
    for &protocol in Protocol::ALL {
        let world = World::new("system_part", protocol).await;
        world
            .server
            .script([Reply::text("").calls([Call::new("code.list_dir", json!({"path": "."}))]), Reply::text("Done.")]);
        let runtime = world.runtime().await;
        run(&runtime, "Look.").await.assert_completed();
        let requests = world.server.requests();
        let system = |at: usize| requests[at].messages()[0].clone();
        assert_eq!(system(0), system(1));
        assert!(system(0).to_string().contains(&world.home.project.display().to_string()));
        assert_eq!(requests[0].tools(), requests[1].tools());
        assert_eq!(
            requests[0].tool_names(),
            [
                "agent__create_sub_agent",
                "agent__fork_agent",
                "agent__list_agent_definitions",
                "agent__plan_template",
                "code__edit_file",
                "code__list_dir",
                "code__read_file",
                "code__run_command",
                "code__search",
                "code__write_file"
            ]
        );
        runtime.close().await;
    }
}

/// STRM-02, RUN-16, PRV-6: broken arguments are answered and never poison the history.
#[tokio::test]
async fn broken_arguments_are_answered() {
    for protocol in [Protocol::OpenAi] {
        let world = World::new("broken_arguments", protocol).await;
        world.server.script([
            Reply::text("").calls([Call::raw("code.read_file", r#"{"path": "a"}{"path": "b"}"#)]),
            Reply::text("I see."),
        ]);
        let runtime = world.runtime().await;
        let ran = run(&runtime, "Read.").await;
        ran.assert_completed();
        let failed = ran.of_type(EventType::ToolFailed);
        assert_eq!(failed[0].payload["error"]["code"], "validation_error");
        runtime.close().await;
    }
}

/// RUN-15, STRM-14: a tool that does not exist is answered with near names, and the loop goes on.
#[tokio::test]
async fn unknown_tools_are_answered() {
    for &protocol in Protocol::ALL {
        let world = World::new("unknown_tools", protocol).await;
        world.server.script([Reply::text("").calls([Call::new("search_files", json!({}))]), Reply::text("Oh.")]);
        let runtime = world.runtime().await;
        let ran = run(&runtime, "Search.").await;
        ran.assert_completed();
        let error = &ran.of_type(EventType::ToolFailed)[0].payload["error"];
        assert_eq!(error["code"], "tool_not_available");
        assert!(error["message"].as_str().unwrap().contains("code.search"), "{error}");
        runtime.close().await;
    }
}

/// STRM-17, RUN-9: an empty answer is asked for once more; the call that ran is not run again by the runtime.
#[tokio::test]
async fn empty_answers_are_asked_again() {
    let world = World::new("empty_answers", Protocol::OpenAi).await;
    let (tool, count) = counting("count", Permission::Readonly);
    let runtime = world.builder().tool(tool).build().await.unwrap();
    world.server.script([
        Reply::text("").calls([Call::new("count", json!({}))]),
        Reply::empty(),
        Reply::text("Counted."),
        Reply::empty(),
        Reply::empty(),
    ]);
    run(&runtime, "Count.").await.assert_completed();
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let failed = run(&runtime, "Again.").await.result;
    assert_eq!(failed.status, RunStatus::Failed);
    assert_eq!(failed.error.unwrap().details["kind"], "empty");
    runtime.close().await;
}

/// RUN-7, STRM-07: a cut answer is continued; its parts together are the answer, without separators.
#[tokio::test]
async fn cut_answers_go_on() {
    let world = World::new("cut_answers", Protocol::Ollama).await;
    world.server.script([Reply::text("One, tw").stop(Stop::Length), Reply::text("o, three.")]);
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Count to three.").await;
    ran.assert_completed();
    assert_eq!(ran.text(), "One, two, three.");
    runtime.close().await;
}

/// RUN-23, RUN-8, STRM-06: a stream that breaks in the middle is asked again, and nothing of the half is in a prompt.
#[tokio::test]
async fn broken_streams_are_asked_again() {
    for &protocol in Protocol::ALL {
        let world = World::new("broken_streams", protocol).await;
        world.server.script([Reply::text("Half an answer that bre").without_end(), Reply::text("A whole one.")]);
        let runtime = world.runtime().await;
        let ran = run(&runtime, "Answer.").await;
        ran.assert_completed();
        let failed = ran.of_type(EventType::ModelFailed);
        assert_eq!(failed[0].payload["will_retry"], true);
        let second = &world.server.requests()[1];
        assert!(!second.body.to_string().contains("Half an answer"));
        runtime.close().await;
    }
}

/// STRM-06: a call that was cut off is not run.
#[tokio::test]
async fn half_a_call_is_not_run() {
    for &protocol in Protocol::ALL {
        let world = World::new("half_a_call", protocol).await;
        let call = Call::new("code.write_file", json!({"path": "a.txt", "content": "half"}));
        let half = || Reply::text("").calls([call.clone()]).without_end();
        world.server.script([half(), half(), half()]);
        let (runtime, person) = world.answering(DecisionKind::AllowOnce).await;
        let ran = run(&runtime, "Write.").await;
        assert_eq!(ran.result.status, RunStatus::Failed);
        assert!(ran.of_type(EventType::ToolStarted).is_empty() && person.asked().is_empty());
        assert_eq!(world.file("a.txt"), None);
        let said = ran.result.error.unwrap().message;
        assert!(!said.contains("max_tokens") && !said.contains("output limit"), "STRM-21: {said}");
        runtime.close().await;
    }
}

/// RUN-10: a model that goes round in circles is stopped.
#[tokio::test]
async fn loops_end() {
    let world = World::new("loops_end", Protocol::OpenAi).await;
    world.server.respond_with(|_, _| Reply::text("").calls([Call::new("code.list_dir", json!({"path": "."}))]));
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Loop.").await;
    let error = ran.result.error.clone().unwrap();
    assert_eq!((error.code, error.details["kind"].clone()), (ErrorCode::InternalError, json!("tool_loop")));
    assert_eq!(ran.of_type(EventType::ToolCompleted).len(), 4);
    runtime.close().await;
}

/// API-2, API-3: what cannot start says so, and creates nothing.
#[tokio::test]
async fn what_cannot_start() {
    let world = World::new("cannot_start", Protocol::OpenAi).await;
    let runtime = world.runtime().await;
    let empty = runtime.start(" \n\t", StartOptions::default()).await.err().unwrap();
    assert!(matches!(empty, RuntimeError::EmptyMessage));
    assert_eq!(world.server.request_count(), 0);
    runtime.close().await;
    let closed = runtime.start("x", StartOptions::default()).await.err().unwrap();
    assert!(matches!(closed, RuntimeError::Closed));
}

/// API-2, CFG-8: configuration that cannot work is refused before anything is created.
#[tokio::test]
async fn what_cannot_be_built() {
    for (extra, code, said) in [
        ("model.provider = \"nonesuch\"", ErrorCode::ConfigError, "nonesuch"),
        ("model.context_window = 1500", ErrorCode::ConfigError, "the tool schemas"),
        ("model.nam = \"x\"", ErrorCode::ConfigError, "model.nam"),
        ("model.provider_options.openai.nonesuch = 1", ErrorCode::ConfigError, "nonesuch"),
    ] {
        let world = World::with("cannot_be_built", Protocol::OpenAi, extra).await;
        let error = world.builder().build().await.err().unwrap_or_else(|| panic!("{extra} was accepted"));
        assert_eq!(error.code(), code, "{error}");
        let message = error.payload().message;
        assert!(message.contains(said), "{message}");
        assert!(!world.home.home.join("sessions.sqlite").exists() && !world.home.home.join("sessions").exists());
    }
    let world = World::new("no_project", Protocol::OpenAi).await;
    let missing = world.builder().project_dir(world.home.project.join("missing")).build().await.err().unwrap();
    assert!(matches!(missing, BuildError::Project { .. }));
}

/// CTX-6: a message that cannot fit is refused without a request, and the session stays usable.
#[tokio::test]
async fn a_message_of_five_megabytes() {
    let world = World::new("five_megabytes", Protocol::OpenAi).await;
    let runtime = world.runtime().await;
    let ran = run(&runtime, &"word ".repeat(1_000_000)).await;
    assert_eq!(ran.result.end_reason.unwrap().as_str(), "prompt_too_long");
    assert_eq!(world.server.request_count(), 0);
    world.server.push(Reply::text("Fine."));
    crate::support::run_in(&runtime, &ran.session_id, "A short one.").await.assert_completed();
    runtime.close().await;
}

/// DEC-18: a token budget ends the run between turns.
#[tokio::test]
async fn token_budgets_hold() {
    let world = World::with("token_budget", Protocol::OpenAi, "runtime.max_tokens = 1000").await;
    world.server.push(Reply::text("").calls([Call::new("code.list_dir", json!({"path": "."}))]).usage(990, 20));
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Work.").await;
    let error = ran.result.error.unwrap();
    assert_eq!((error.code, error.details["kind"].clone()), (ErrorCode::Cancelled, json!("budget")));
    runtime.close().await;
}

/// API-7: dropping the runtime without closing it loses nothing that was committed.
#[tokio::test]
async fn dropping_is_safe() {
    let world = World::new("dropping", Protocol::OpenAi).await;
    world.server.script([Reply::text("One."), Reply::text("Two.")]);
    let session_id = {
        let runtime = world.runtime().await;
        let handle = runtime.start("One?", StartOptions::default()).await.unwrap();
        watch(&handle).await.assert_completed();
        handle.session_id().clone()
    };
    let runtime = world.runtime().await;
    crate::support::run_in(&runtime, &session_id, "Two?").await.assert_completed();
    assert!(world.server.requests()[1].body.to_string().contains("One?"));
    runtime.close().await;
}
