//! What `[permissions]`, `[tools]` and their lists change, from the configuration file to what happens.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent_core::error::{ErrorPayload, RegisterError};
use agent_core::message::Object;
use agent_core::permission::{CallbackError, DecisionKind, PermissionCallback};
use agent_core::tool::{CallContext, FnTool, Permission, Prepared, Tool, ToolClass};
use agent_core::{EventType, PermissionDecision, PermissionRequest, StartOptions, ToolDefinition};
use agent_testkit::{Call, Protocol, Reply};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::support::{World, counting, definition, run, watch};

fn read(path: &str) -> Call {
    Call::new("code.read_file", json!({ "path": path }))
}

fn write(path: &str) -> Call {
    Call::new("code.write_file", json!({"path": path, "content": "x"}))
}

/// The names of the tools in a request.
fn offered(world: &World, request: usize) -> Vec<String> {
    let body = world.server.requests()[request].body.clone();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    // Anthropic has no `function` around it.
    let name = |tool: &Value| tool.pointer("/function/name").unwrap_or(&tool["name"]).as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

/// PRM-11, TOL-4, RUN-15: with `readonly_default = "deny"` tools that only read are not even offered.
#[tokio::test]
async fn reading_can_be_off() {
    for &protocol in Protocol::ALL {
        let extra = "[permissions]\nreadonly_default = \"deny\"\n";
        let world = World::with("reading_off", protocol, extra).await;
        world.home.write("project/a.txt", "text of a\n");
        world.server.script([Reply::text("").calls([read("a.txt")]), Reply::text("I cannot.")]);
        let runtime = world.runtime().await;
        let ran = run(&runtime, "Read.").await;
        ran.assert_completed();
        assert_eq!(
            offered(&world, 0),
            [
                "agent__create_sub_agent",
                "agent__fork_agent",
                "agent__list_agent_definitions",
                "agent__plan_template",
                "code__edit_file",
                "code__run_command",
                "code__write_file"
            ]
        );
        assert_eq!(ran.of_type(EventType::ToolFailed)[0].payload["error"]["code"], "tool_not_available");
        assert!(!world.server.requests()[1].body.to_string().contains("text of a"));
        runtime.close().await;
    }
}

/// PRM-11: where reading asks, an edit that does not apply tells nothing of the file before somebody was asked.
#[tokio::test]
async fn edits_do_not_read_unasked() {
    for policy in ["confirm", "deny"] {
        let extra = format!("[permissions]\nreadonly_default = \"{policy}\"\n");
        let world = World::with("edits_unasked", Protocol::OpenAi, &extra).await;
        world.home.write("project/a.txt", "one\npassphrase  = swordfish\n");
        let edit = json!({"path": "a.txt", "edits": [{"old": "passphrase =", "new": "x"}]});
        let diff = json!({"path": "a.txt", "unified_diff": "@@ -1,2 +1,2 @@\n one\n-passphrase =\n+x\n"});
        for arguments in [edit, diff] {
            world.server.push(Reply::text("").calls([Call::new("code.edit_file", arguments)]));
        }
        let overwrite = json!({"path": "a.txt", "content": "one\npassphrase = x\n"});
        world.server.push(Reply::text("").calls([Call::new("code.write_file", overwrite)]));
        world.server.push(Reply::text("No."));
        let (runtime, person) = world.answering(DecisionKind::Deny).await;
        run(&runtime, "Edit.").await.assert_completed();
        assert_eq!(person.asked().len(), 2);
        let sent: String = world.server.requests().iter().map(|request| request.body.to_string()).collect();
        assert!(!sent.contains("swordfish"), "{sent}");
        runtime.close().await;
    }
}

/// Counts how many questions are open at once, and keeps each open until others had every chance to come.
struct OneByOne {
    decision: DecisionKind,
    open: AtomicUsize,
    most: AtomicUsize,
    asked: AtomicUsize,
}

impl OneByOne {
    fn new(decision: DecisionKind) -> Arc<Self> {
        Arc::new(Self { decision, open: 0.into(), most: 0.into(), asked: 0.into() })
    }
}

impl PermissionCallback for OneByOne {
    fn decide(&self, _: PermissionRequest) -> BoxFuture<'_, Result<PermissionDecision, CallbackError>> {
        async {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(open, Ordering::SeqCst);
            for _ in 0..200 {
                tokio::task::yield_now().await;
            }
            self.open.fetch_sub(1, Ordering::SeqCst);
            Ok(PermissionDecision::new(self.decision))
        }
        .boxed()
    }
}

/// PRM-9, PRM-11: parallel reads that ask are asked one at a time, and an allow for the session answered meanwhile is
/// honoured without asking again.
#[tokio::test]
async fn one_question_at_a_time() {
    for (decision, expected) in [(DecisionKind::AllowOnce, 4), (DecisionKind::AllowForSession, 2)] {
        let extra = "[permissions]\nreadonly_default = \"confirm\"\n";
        let world = World::with("one_question", Protocol::OpenAi, extra).await;
        for path in ["a", "b", "c", "sub/d"] {
            world.home.write(format!("project/{path}"), "x\n");
        }
        world
            .server
            .script([Reply::text("").calls([read("a"), read("b"), read("c"), read("sub/d")]), Reply::text("Read.")]);
        let person = OneByOne::new(decision);
        let runtime = world.builder().permission_callback(person.clone()).build().await.unwrap();
        let ran = run(&runtime, "Read.").await;
        ran.assert_completed();
        assert_eq!(ran.of_type(EventType::ToolCompleted).len(), 4);
        assert_eq!(person.asked.load(Ordering::SeqCst), expected, "{decision:?}");
        assert_eq!(person.most.load(Ordering::SeqCst), 1);
        runtime.close().await;
    }
}

/// PRM-9, PERM-14: sessions of one runtime share the person, not the grants.
#[tokio::test]
async fn two_sessions_of_one_runtime() {
    let world = World::new("two_sessions", Protocol::OpenAi).await;
    let person = OneByOne::new(DecisionKind::AllowForSession);
    let runtime = world.builder().permission_callback(person.clone()).build().await.unwrap();
    // Whichever session asks first gets these: both do the same.
    for _ in 0..2 {
        world.server.push(Reply::text("").calls([write("a.txt")]));
    }
    for _ in 0..2 {
        world.server.push(Reply::text("Done."));
    }
    let start = || async { runtime.start("Write a.", StartOptions::default()).await.unwrap() };
    let (one, other) = (start().await, start().await);
    let (one, other) = tokio::join!(watch(&one), watch(&other));
    one.assert_completed();
    other.assert_completed();
    assert_eq!(person.asked.load(Ordering::SeqCst), 2, "a grant of one session is none of the other's");
    assert_eq!(person.most.load(Ordering::SeqCst), 1);
    runtime.close().await;
}

/// PRM-11: `write_without_callback = "allow"` lets plain writes in the project run, and nothing else.
#[tokio::test]
async fn writes_without_anybody() {
    let extra = "[permissions]\nwrite_without_callback = \"allow\"\n";
    let world = World::with("writes_without", Protocol::Ollama, extra).await;
    world.home.write("project/.git/config", "[core]\n");
    let outside = world.home.root.join("outside.txt").display().to_string();
    let command = Call::new("code.run_command", json!({"argv": ["sh", "-c", "echo x > ran"]}));
    let denied = [write(".env"), write(".git/hooks/x"), write(&outside), command];
    for call in [write("a.txt")].into_iter().chain(denied.clone()) {
        world.server.push(Reply::text("").calls([call]));
    }
    world.server.push(Reply::text("Done."));
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Write.").await;
    ran.assert_completed();
    assert_eq!(world.file("a.txt").as_deref(), Some("x"));
    assert_eq!(ran.of_type(EventType::ToolDenied).len(), denied.len());
    assert_eq!((world.file(".env"), world.file(".git/hooks/x"), world.file("ran")), (None, None, None));
    assert!(!world.home.root.join("outside.txt").exists());
    runtime.close().await;
}

fn fetcher(name: &str, count: &Arc<AtomicUsize>) -> Arc<FnTool> {
    let counted = Arc::clone(count);
    let definition = ToolDefinition {
        input_schema: json!({"type": "object", "properties": {"host": {"type": "string"}}}),
        tags: vec!["network".to_owned()],
        ..definition(name, Permission::Readonly)
    };
    let tool = FnTool::new(definition, ToolClass::Readonly, move |_: Object, _: CallContext| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok::<Value, ErrorPayload>(json!("fetched")) }
    });
    Arc::new(tool.with_host(|arguments| arguments.get("host")?.as_str().map(str::to_owned)))
}

/// PRM-7, PRM-12: the lists of the configuration decide about tools that talk to other hosts.
#[tokio::test]
async fn network_tools() {
    let extra = "[permissions.network_policy]\nallowed_hosts = [\"api.example.com\"]\nallowed_domains = [\"Example.ORG\"]\n\
                 [tools.network]\nallowed_domains = [\"example.com\", \"example.org\"]\n";
    let world = World::with("network_tools", Protocol::OpenAi, extra).await;
    let count = Arc::new(AtomicUsize::new(0));
    let fetch = |host: &str| Call::new("web.fetch", json!({ "host": host }));
    // Trusted: twice; inside the limit: asks (and is denied); outside it, or unknown: not even a question.
    let hosts = ["api.example.com", "deep.example.org", "www.example.com", "evil.test"];
    for host in hosts {
        world.server.push(Reply::text("").calls([fetch(host)]));
    }
    world.server.push(Reply::text("").calls([Call::new("web.fetch", json!({}))]));
    world.server.push(Reply::text("Done."));
    let person = world.answering_with(DecisionKind::Deny);
    let builder = world.builder().tool(fetcher("web.fetch", &count)).permission_callback(person.clone());
    let runtime = builder.build().await.unwrap();
    let ran = run(&runtime, "Fetch.").await;
    ran.assert_completed();
    assert_eq!(count.load(Ordering::SeqCst), 2);
    let asked: Vec<_> = person.asked().into_iter().map(|asked| asked.network_host).collect();
    assert_eq!(asked, [Some("www.example.com".to_owned())]);
    let denied = ran.of_type(EventType::ToolDenied);
    let reasons: Vec<_> = denied.iter().map(|event| event.payload["error"]["message"].as_str().unwrap()).collect();
    assert_eq!(reasons.len(), 3);
    assert!(reasons[1].contains("evil.test is not in tools.network"), "{reasons:?}");
    assert!(reasons[2].contains("not told in advance"), "{reasons:?}");
    runtime.close().await;
}

/// `tools.overrides`: a tool that reads can be made to ask, any tool can be given a time limit, and commands too.
#[tokio::test]
async fn overrides() {
    let extra = "[tools.overrides.\"code.read_file\"]\npermission = \"write\"\n\
                 [tools.overrides.\"my.slow\"]\ntimeout_ms = 50\n\
                 [tools.overrides.\"code.run_command\"]\ntimeout_ms = 200\n";
    let world = World::with("overrides", Protocol::OpenAi, extra).await;
    world.home.write("project/a.txt", "x\n");
    world.server.script([
        Reply::text("").calls([read("a.txt")]),
        Reply::text("").calls([Call::new("my.slow", json!({}))]),
        Reply::text("").calls([Call::new("code.run_command", json!({"argv": ["sleep", "30"]}))]),
        Reply::text("Done."),
    ]);
    let (runtime, person) = world.answering(DecisionKind::AllowOnce).await;
    let slow = definition("my.slow", Permission::Readonly);
    runtime
        .register_tool(slow, |_, context| async move {
            context.cancel.cancelled().await;
            Err::<Value, _>(ErrorPayload::new(agent_core::error::ErrorCode::Cancelled, "stopped"))
        })
        .unwrap();
    let ran = run(&runtime, "Go.").await;
    ran.assert_completed();
    let asked: Vec<_> = person.asked().into_iter().map(|asked| asked.tool_name).collect();
    assert_eq!(asked, ["code.read_file", "code.run_command"]);
    let failed = ran.of_type(EventType::ToolFailed);
    let codes: Vec<_> = failed.iter().map(|event| event.payload["error"]["code"].as_str().unwrap()).collect();
    assert_eq!(codes, ["timeout", "timeout"]);
    runtime.close().await;
}

/// PRM-13: the names of core's own tools, which never ask, are for nobody else.
#[tokio::test]
async fn reserved_names() {
    let world = World::new("reserved_names", Protocol::OpenAi).await;
    for name in ["agent.deploy", "internal.x", "mcp.server.tool"] {
        let (tool, _) = counting(name, Permission::Write);
        let refused = world.builder().tool(tool.clone()).build().await.err().unwrap().payload().message;
        assert!(refused.contains(name) && refused.contains("core's own"), "{refused}");
        let runtime = world.runtime().await;
        assert!(matches!(runtime.register(tool), Err(RegisterError::Name { .. })));
        runtime.close().await;
    }
}

/// A callback of the embedding program, by what it does.
struct Odd(fn() -> BoxFuture<'static, Result<PermissionDecision, CallbackError>>);

impl PermissionCallback for Odd {
    fn decide(&self, _: PermissionRequest) -> BoxFuture<'_, Result<PermissionDecision, CallbackError>> {
        (self.0)()
    }
}

/// PRM-5: a callback that panics, or that does not answer in time, has denied; the timeline says so and the run goes on.
#[tokio::test]
async fn callbacks_that_do_not_answer() {
    let panics_at_once = Odd(|| panic!("no window"));
    let panics_later = Odd(|| async { panic!("window closed") }.boxed());
    let silent = Odd(|| std::future::pending().boxed());
    for (callback, words) in
        [(panics_at_once, "no window"), (panics_later, "window closed"), (silent, "did not answer within 50 ms")]
    {
        let world = World::new("callbacks", Protocol::OpenAi).await;
        world.server.script([Reply::text("").calls([write("a.txt")]), Reply::text("No.")]);
        let builder = world.builder().permission_callback(Arc::new(callback));
        let runtime = builder.permission_timeout(Duration::from_millis(50)).build().await.unwrap();
        let ran = run(&runtime, "Write.").await;
        ran.assert_completed();
        let failed = ran.of_type(EventType::PermissionFailed);
        assert!(failed[0].payload["message"].as_str().unwrap().contains(words), "{:?}", failed[0].payload);
        assert_eq!(ran.of_type(EventType::PermissionResolved)[0].payload["decision"], "deny");
        assert_eq!(world.file("a.txt"), None);
        runtime.close().await;
    }
}

/// PRM-5, RUN-17: a question that is open when the run is cancelled is resolved as denied, and nothing runs.
#[tokio::test]
async fn cancelled_while_asking() {
    let world = World::new("cancelled_asking", Protocol::OpenAi).await;
    world.server.script([Reply::text("").calls([write("a.txt")])]);
    let callback = Odd(|| std::future::pending().boxed());
    let runtime = world.builder().permission_callback(Arc::new(callback)).build().await.unwrap();
    let handle = runtime.start("Write.", StartOptions::default()).await.unwrap();
    let mut stream = handle.events(false).unwrap();
    let mut resolved = None;
    while let Some(event) = stream.next().await.unwrap() {
        match event.event_type {
            EventType::PermissionRequested => {
                let _ = handle.cancel().await;
            }
            EventType::PermissionResolved => resolved = Some(event.payload["decision"].clone()),
            _ => {}
        }
    }
    assert_eq!(resolved, Some(json!("deny")));
    assert_eq!(handle.wait().await.status.as_str(), "aborted");
    assert_eq!(world.file("a.txt"), None);
    runtime.close().await;
}

/// A tool of both phases that panics in one of them.
struct Panics {
    definition: ToolDefinition,
    in_prepare: bool,
}

impl Tool for Panics {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn class(&self) -> ToolClass {
        ToolClass::Readonly
    }

    fn prepare(&self, _: Object, _: CallContext) -> BoxFuture<'_, Result<Prepared, ErrorPayload>> {
        assert!(!self.in_prepare, "a fault in the first phase");
        let call = Box::new(|| async { panic!("a fault in the second phase") }.boxed());
        async { Ok(Prepared { facts: Default::default(), call }) }.boxed()
    }
}

/// RUN-12: a tool of the embedding program that panics has failed; the run goes on and ends.
#[tokio::test]
async fn tools_that_panic() {
    let world = World::new("tools_panic", Protocol::OpenAi).await;
    world.server.script([
        Reply::text("").calls([Call::new("my.first", json!({})), Call::new("my.second", json!({}))]),
        Reply::text("Both failed."),
    ]);
    let mut builder = world.builder();
    for (name, in_prepare) in [("my.first", true), ("my.second", false)] {
        builder = builder.tool(Arc::new(Panics { definition: definition(name, Permission::Readonly), in_prepare }));
    }
    let runtime = builder.build().await.unwrap();
    let ran = run(&runtime, "Go.").await;
    ran.assert_completed();
    let failed = ran.of_type(EventType::ToolFailed);
    assert_eq!(failed.len(), 2);
    let messages = format!("{failed:?}");
    assert!(messages.contains("first phase") && messages.contains("second phase"), "{messages}");
    runtime.close().await;
}

/// TOL-4: `tools.disabled` takes tools away; a code tool that does not exist is an error, not silence.
#[tokio::test]
async fn disabled_tools() {
    let world = World::with("disabled", Protocol::OpenAi, "[tools]\ndisabled = [\"code.run_command\"]\n").await;
    world.server.script([
        Reply::text("").calls([Call::new("code.run_command", json!({"argv": ["true"]}))]),
        Reply::text("No."),
    ]);
    let (runtime, person) = world.answering(DecisionKind::AllowOnce).await;
    let ran = run(&runtime, "Run.").await;
    ran.assert_completed();
    assert!(!offered(&world, 0).contains(&"code__run_command".to_owned()));
    assert_eq!(ran.of_type(EventType::ToolFailed)[0].payload["error"]["code"], "tool_not_available");
    assert!(person.asked().is_empty());
    runtime.close().await;
    world.configure("[tools]\ndisabled = [\"code.run_comand\"]\n");
    let error = world.builder().build().await.err().unwrap().payload().message;
    assert!(error.contains("code.run_command") && error.contains("does not exist"), "{error}");
}

/// STO-10: what looks like a secret is not in any event or error, though the node and the next request hold it.
#[tokio::test]
async fn shapes_of_secrets_are_not_shown() {
    let secret = format!("ghp_{}", "a8Kd03jf7Qm2Zx91Lp4Rt6Vb5Nw0Ys2Ue3Hc");
    let world = World::new("shapes_not_shown", Protocol::OpenAi).await;
    world.home.write("project/notes.txt", format!("TOKEN={secret}\n"));
    let command = |script: &str| Call::new("code.run_command", json!({"argv": ["sh", "-c", script]}));
    world.server.script([
        Reply::text("").calls([read("notes.txt"), command(&format!("echo {secret}; exit 0"))]),
        Reply::text("").calls([Call::new("my.fails", json!({}))]),
        Reply::text(format!("It is {secret}.")),
        Reply::error(400, format!("what is {secret}?")),
    ]);
    let (runtime, _) = world.answering(DecisionKind::AllowOnce).await;
    let said = secret.clone();
    runtime
        .register_tool(definition("my.fails", Permission::Readonly), move |_, _| {
            let error = ErrorPayload::new(agent_core::error::ErrorCode::InternalError, format!("cannot use {said}"));
            async { Err::<Value, _>(error) }
        })
        .unwrap();
    let ran = run(&runtime, "Look.").await;
    ran.assert_completed();
    let deltas = [EventType::MessageDelta, EventType::ToolCallDelta, EventType::ModelReasoningDelta];
    let (content, others): (Vec<_>, Vec<_>) = ran.events.iter().partition(|event| deltas.contains(&event.event_type));
    assert!(!format!("{others:?}").contains(&secret), "{others:#?}");
    assert!(format!("{others:?}").contains("[redacted github token]"));
    assert!(format!("{content:?}").contains(&secret), "the answer is what the model said");
    assert!(world.server.requests()[1].body.to_string().contains(&secret), "the model gets what the file holds");
    let failed = crate::support::run_in(&runtime, &ran.session_id, "Again.").await;
    let error = failed.result.error.unwrap();
    assert!(error.redacted && !format!("{error:?}").contains(&secret), "{error:?}");
    runtime.close().await;
}
