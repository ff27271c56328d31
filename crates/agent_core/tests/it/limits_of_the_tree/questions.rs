//! Questions of children to the one person there is (PRM-3, PRM-6, PRM-9).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_core::event::{PermissionRequested, PermissionResolved};
use agent_core::permission::{CallbackError, DecisionKind, PermissionCallback};
use agent_core::session::AgentRole;
use agent_core::{AgentRuntime, EventType, PermissionDecision, PermissionRequest, RuntimeEvent, StartOptions};
use agent_store::SessionStore;
use agent_testkit::Protocol;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::stage::{Stage, Step};
use crate::stored::Stored;
use crate::support::{World, watch as watched};

/// A person who answers when the test says so, and sees one question at a time.
struct Person {
    asked: Mutex<Vec<PermissionRequest>>,
    open: Mutex<usize>,
    answers: watch::Sender<Vec<DecisionKind>>,
    stage: Stage,
}

impl Person {
    fn of(stage: &Stage) -> Arc<Self> {
        let answers = watch::Sender::new(Vec::new());
        Arc::new(Self { asked: Mutex::default(), open: Mutex::default(), answers, stage: stage.clone() })
    }

    fn asked(&self) -> Vec<PermissionRequest> {
        self.asked.lock().unwrap().clone()
    }

    /// The answer to the next question that has none.
    fn answers(&self, decision: DecisionKind) {
        self.answers.send_modify(|answers| answers.push(decision));
    }

    async fn until_asked(&self, count: usize) {
        self.stage.until(|_| self.asked.lock().unwrap().len() == count).await;
    }
}

/// An open question.
struct Open<'p>(&'p Person);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        *self.0.open.lock().unwrap() -= 1;
    }
}

impl PermissionCallback for Person {
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Result<PermissionDecision, CallbackError>> {
        async move {
            let number = {
                let mut open = self.open.lock().unwrap();
                *open += 1;
                assert_eq!(*open, 1, "one question at a time");
                let mut asked = self.asked.lock().unwrap();
                asked.push(request);
                asked.len()
            };
            let _open = Open(self);
            self.stage.note(format!("question {number}"));
            let mut answers = self.answers.subscribe();
            let answers = answers.wait_for(|answers| answers.len() >= number).await.expect("the person lives");
            Ok(PermissionDecision::new(answers[number - 1]))
        }
        .boxed()
    }
}

const SLOTS: &str = "model.provider = \"stage\"\nmodel.parallel_requests = 16";

fn writes(n: usize) -> Value {
    json!({ "path": format!("file_{n}.txt"), "content": "words\n" })
}

/// Sends so many children that write a file each, and one that only reads.
fn split_up(stage: &Stage, writers: usize, timeout_ms: u64) {
    stage.on("Go.", move |turn| {
        if turn > 0 {
            return vec![Step::text("Done.")];
        }
        let writer = |n| {
            let tools = ["code.write_file"];
            json!({ "task": format!("Write {n}"), "timeout_ms": timeout_ms, "tools": tools })
        };
        let reader = json!({ "task": "Read", "timeout_ms": 60_000 });
        let calls: Vec<_> =
            (0..writers).map(writer).chain([reader]).map(|arguments| ("test.send", arguments)).collect();
        vec![Step::calls(&calls)]
    });
    for n in 0..writers {
        stage.on(&format!("Write {n}"), move |turn| match turn {
            0 => vec![Step::calls(&[("code.write_file", writes(n))])],
            _ => vec![Step::text("Written.")],
        });
    }
    stage.on("Read", |turn| match turn {
        0 => vec![Step::calls(&[("code.list_dir", json!({"path": "."}))])],
        _ => vec![Step::text("Read.")],
    });
}

async fn events_of(world: &World, session: &agent_core::id::SessionId) -> Vec<RuntimeEvent> {
    let store = Stored::open(&world.home.home).await.store;
    let events = store.events(session, 0, 10_000).await.unwrap();
    store.close().await;
    events
}

/// The results of children's own calls, by what stopped them: `denied_by` of each denial.
fn denials(events: &[RuntimeEvent]) -> Vec<String> {
    let denied = events.iter().filter(|event| event.event_type == EventType::ToolDenied);
    denied.map(|event| event.payload["error"]["details"]["denied_by"].as_str().unwrap_or("-").to_owned()).collect()
}

/// AGT-C03, PRM-6, PRM-9: three children ask at once, a fourth runs on. Each is asked for once, one at a time, with the child and its
/// parent named. The time that the person takes is nobody's: neither who is asked for nor who waits in line loses any of its own.
#[tokio::test]
async fn children_ask_one_at_a_time() {
    let world = World::with("questions", Protocol::OpenAi, SLOTS).await;
    let stage = Stage::new();
    split_up(&stage, 3, 700);
    let person = Person::of(&stage);
    let runtime = stage.builder(&world).permission_callback(Arc::clone(&person)).build().await.unwrap();
    let handle = runtime.start("Go.", StartOptions::default()).await.unwrap();
    person.until_asked(1).await;
    stage.until(|stage| stage.log().contains(&"Read is over".to_owned())).await;
    // Longer than any of them may take.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(person.asked().len(), 1, "the others wait in line");
    for (n, decision) in [DecisionKind::AllowOnce, DecisionKind::Deny, DecisionKind::AllowOnce].into_iter().enumerate()
    {
        person.until_asked(n + 1).await;
        person.answers(decision);
    }
    let ran = watched(&handle).await;
    ran.assert_completed();
    let asked = person.asked();
    assert_eq!(asked.len(), 3, "each once");
    let root = &ran.events[0];
    for request in &asked {
        assert_eq!(request.agent_role, AgentRole::Sub);
        assert_eq!(
            (request.parent_agent_id.as_ref(), request.parent_run_id.as_ref()),
            (root.agent_id.as_ref(), root.run_id.as_ref())
        );
        assert_ne!(Some(&request.agent_id), root.agent_id.as_ref());
        let told = |key: &str| request.metadata[key].as_str().unwrap();
        assert_eq!(
            (told("agent_name"), told("agent_definition_id"), told("parent_role")),
            ("The helper", "helper", "main")
        );
    }
    let reports = stage.reports();
    assert!(reports.iter().all(|report| report.as_ref().unwrap().status.as_str() == "completed"), "{reports:?}");
    let written = (0..3).filter(|n| world.file(&format!("file_{n}.txt")).is_some()).count();
    assert_eq!(written, 2);
    assert_eq!(denials(&events_of(&world, &ran.session_id).await), ["user"]);
    runtime.close().await;
}

/// AGT-C03: an agent that is stopped while its question is open takes it back: the callback is dropped, the timeline says so, nothing
/// is written, and the next question comes. So it is for one that still stands in line.
#[tokio::test]
async fn a_dead_childs_question_is_withdrawn() {
    let world = World::with("questions_withdrawn", Protocol::OpenAi, SLOTS).await;
    let stage = Stage::new();
    split_up(&stage, 3, 60_000);
    let person = Person::of(&stage);
    let runtime = stage.builder(&world).permission_callback(Arc::clone(&person)).build().await.unwrap();
    let handle = runtime.start("Go.", StartOptions::default()).await.unwrap();
    person.until_asked(1).await;
    let file = |request: &PermissionRequest| request.target_scope.clone().unwrap();
    let task_of = |request: &PermissionRequest| {
        let n = (0..3).find(|n| file(request).ends_with(&format!("file_{n}.txt"))).unwrap();
        (n, format!("Write {n}"))
    };
    let (first, task) = task_of(&person.asked()[0]);
    stage.recalled(&task).give();
    person.until_asked(2).await;
    let (second, _) = task_of(&person.asked()[1]);
    let third = 3 - first - second;
    stage.recalled(&format!("Write {third}")).give();
    person.answers(DecisionKind::AllowOnce);
    // The first answer is that of nobody's question.
    person.answers(DecisionKind::AllowOnce);
    let ran = watched(&handle).await;
    ran.assert_completed();
    let written: Vec<_> = (0..3).filter(|n| world.file(&format!("file_{n}.txt")).is_some()).collect();
    assert_eq!(written, [second]);
    let events = events_of(&world, &ran.session_id).await;
    let of = |of: EventType| events.iter().filter(move |event| event.event_type == of);
    let asked: Vec<PermissionRequested> =
        of(EventType::PermissionRequested).map(|event| event.read().unwrap()).collect();
    let settled: Vec<PermissionResolved> =
        of(EventType::PermissionResolved).map(|event| event.read().unwrap()).collect();
    assert_eq!((asked.len(), settled.len(), person.asked().len()), (2, 2, 2), "who stood in line was not asked for");
    let withdrawn = settled.iter().find(|settled| settled.request_id == asked[0].request_id).unwrap();
    assert_eq!(
        (withdrawn.decision, withdrawn.reason.as_deref()),
        (DecisionKind::Deny, Some("cancelled before it was answered"))
    );
    runtime.close().await;
}

/// PRM-3: an allow for the session is one for all of its agents, also for those whose question stands in line.
#[tokio::test]
async fn a_grant_is_the_sessions() {
    let world = World::with("questions_grant", Protocol::OpenAi, SLOTS).await;
    let stage = Stage::new();
    split_up(&stage, 3, 60_000);
    let person = Person::of(&stage);
    person.answers(DecisionKind::AllowForSession);
    let runtime = stage.builder(&world).permission_callback(Arc::clone(&person)).build().await.unwrap();
    let ran = crate::support::run(&runtime, "Go.").await;
    ran.assert_completed();
    assert_eq!(person.asked().len(), 1);
    let written = (0..3).filter(|n| world.file(&format!("file_{n}.txt")).is_some()).count();
    assert_eq!(written, 3);
    runtime.close().await;
}

/// How a question ends without a yes.
enum Says {
    No,
    NobodyThere,
    Nothing,
    Fails,
}

/// AGT-C03, PRM-5, SUB-04: no, nobody there, too late, a callback that fails and none at all are told apart, at once, in the child's
/// result and for the user's run; the child goes on and nothing is written.
#[tokio::test]
async fn why_there_was_no_yes_is_told() {
    for (says, by, words, unanswered) in [
        (Some(Says::No), "user", "the user said no", 0),
        (Some(Says::NobodyThere), "nobody", "nobody answered: no terminal", 1),
        (Some(Says::Nothing), "timeout", "did not answer within 200 ms", 1),
        (Some(Says::Fails), "callback_failed", "the permission callback failed: the window is gone", 1),
        (None, "no_callback", "permission denied", 1),
    ] {
        let world = World::with("questions_no_yes", Protocol::OpenAi, SLOTS).await;
        let stage = Stage::new();
        split_up(&stage, 1, 60_000);
        let mut builder = stage.builder(&world).permission_timeout(Duration::from_millis(200));
        if let Some(says) = says {
            builder = builder.permission_callback(Said(says));
        }
        let runtime: AgentRuntime = builder.build().await.unwrap();
        let ran = crate::support::run(&runtime, "Go.").await;
        ran.assert_completed();
        assert_eq!(world.file("file_0.txt"), None);
        assert_eq!(denials(&events_of(&world, &ran.session_id).await), [by]);
        let told = stage.requests("Write 0").pop().unwrap();
        let told = told.messages.iter().map(|message| format!("{:?}", message.content)).collect::<String>();
        assert!(told.contains(words), "{by}: {told}");
        assert_eq!(ran.result.unanswered.len(), unanswered, "{by}");
        runtime.close().await;
    }
}

struct Said(Says);

impl PermissionCallback for Said {
    fn decide(&self, _: PermissionRequest) -> BoxFuture<'_, Result<PermissionDecision, CallbackError>> {
        async move {
            match self.0 {
                Says::No => Ok(PermissionDecision::new(DecisionKind::Deny)),
                Says::NobodyThere => Ok(PermissionDecision::unanswered("no terminal")),
                Says::Nothing => std::future::pending().await,
                Says::Fails => Err(CallbackError("the window is gone".to_owned())),
            }
        }
        .boxed()
    }
}
