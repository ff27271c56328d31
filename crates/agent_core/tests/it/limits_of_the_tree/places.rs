//! One gate per model server: so many requests at once, the others wait in their order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_core::runtime::RunStatus;
use agent_core::{EventType, StartOptions};
use agent_testkit::Protocol;
use serde_json::{Value, json};

use super::stage::{Cue, Stage, Step};
use crate::support::{World, run, watch};

/// So many children, each of which answers twice.
const CHILDREN: usize = 4;

fn sends(profiles: &[Option<Value>]) -> Step {
    let arguments = |(n, profile): (usize, &Option<Value>)| {
        let mut arguments = json!({ "task": format!("Task {n}") });
        if let Some(profile) = profile {
            arguments["profile"] = profile.to_string().into();
        }
        ("test.send", arguments)
    };
    Step::calls(&profiles.iter().enumerate().map(arguments).collect::<Vec<_>>())
}

/// One server is asked by as many at a time as its configuration says, whoever they are and whatever profile leads them there; it is as
/// many wherever there are enough. All come to their end.
#[tokio::test(flavor = "multi_thread")]
async fn one_server_is_asked_by_so_many_at_a_time() {
    let other_model = || Some(json!({ "name": "other" }));
    let other_options = || Some(json!({ "timeout_ms": 5_000 }));
    let by_another_name = || Some(json!({ "base_url": "http://localhost:9/v1" }));
    let less = || Some(json!({ "parallel_requests": 2 }));
    let cases: [(u32, usize, [Option<Value>; CHILDREN]); 7] = [
        (1, 1, [None, None, None, None]),
        (2, 2, [None, None, None, None]),
        (3, 3, [None, None, None, None]),
        (9, 4, [None, None, None, None]),
        (2, 2, [None, other_model(), other_options(), other_model()]),
        (2, 2, [by_another_name(), None, by_another_name(), other_options()]),
        (3, 2, [less(), less(), less(), less()]),
    ];
    for (places, expected, profiles) in cases {
        let extra = format!(
            "model.provider = \"stage\"\nmodel.base_url = \"http://127.0.0.1:9\"\nmodel.parallel_requests = {places}"
        );
        let world = World::with("places", Protocol::OpenAi, &extra).await;
        let stage = Stage::new();
        let sent = profiles.clone();
        stage.on("Go.", move |turn| if turn == 0 { vec![sends(&sent)] } else { vec![Step::text("Done.")] });
        let together = Cue::new();
        for n in 0..CHILDREN {
            let together = together.clone();
            stage.on(&format!("Task {n}"), move |turn| match turn {
                // Ends once as many are on as ever will be.
                0 => vec![Step::At(together.clone()), Step::calls(&[("code.list_dir", json!({"path": "."}))])],
                _ => vec![Step::text("Done.")],
            });
        }
        let runtime = stage.builder(&world).build().await.unwrap();
        let handle = runtime.start("Go.", StartOptions::default()).await.unwrap();
        stage.until(|stage| stage.log().iter().filter(|line| line.ends_with(" asks")).count() == 1 + expected).await;
        together.give();
        let ran = watch(&handle).await;
        ran.assert_completed();
        let most: usize = if stage.most().len() == 1 { stage.most().into_values().sum() } else { expected };
        assert_eq!(most, expected, "{places} {profiles:?}");
        assert_eq!(ran.of_type(EventType::ChildAgentCompleted).len(), CHILDREN, "{places} {profiles:?}");
        let asked = stage.log().iter().filter(|line| line.ends_with(" asks")).count();
        assert_eq!(asked, 2 + 2 * CHILDREN);
        runtime.close().await;
    }
}

/// First come, first served; and who waits is not asked for anything: its request is made when it has its place.
#[tokio::test]
async fn first_come_first_served() {
    let world = World::with("places_order", Protocol::OpenAi, "model.provider = \"stage\"").await;
    let stage = Stage::new();
    let first = Cue::new();
    stage.on("Go.", |turn| if turn == 0 { vec![sends(&[None, None, None, None])] } else { vec![Step::text("Done.")] });
    for n in 0..CHILDREN {
        let first = first.clone();
        stage.on(&format!("Task {n}"), move |_| vec![Step::At(first.clone()), Step::text("Done.")]);
    }
    let runtime = stage.builder(&world).build().await.unwrap();
    let handle = runtime.start("Go.", StartOptions::default()).await.unwrap();
    stage.until(|stage| stage.log().len() == 3).await;
    let first_asks = stage.log()[2].clone();
    first.give();
    watch(&handle).await.assert_completed();
    let log = stage.log();
    let of = |end: &str| -> Vec<String> {
        let tasks = log.iter().filter(|line| line.starts_with("Task") && line.ends_with(end));
        tasks.map(|line| line[..line.len() - end.len()].to_owned()).collect()
    };
    assert_eq!(format!("{} asks", of(" asks")[0]), first_asks);
    assert_eq!(of(" asks"), of(" ends"), "one after another: {log:?}");
    assert_eq!(of(" asks").len(), CHILDREN);
    runtime.close().await;
}

/// A request that waits is cancelled at once with its run, and never made; who waits behind it is not held up.
#[tokio::test]
async fn a_waiting_request_is_cancelled_at_once() {
    let world = World::with("places_cancel", Protocol::OpenAi, "model.provider = \"stage\"").await;
    let stage = Stage::new();
    let first = Cue::new();
    let at_work = first.clone();
    stage.on("First", move |_| vec![Step::At(at_work.clone()), Step::text("Done.")]);
    for task in ["Second", "Third"] {
        stage.on(task, |_| vec![Step::text("Done.")]);
    }
    let runtime = stage.builder(&world).build().await.unwrap();
    let start = async |task: &str| runtime.start(task, StartOptions::default()).await.unwrap();
    let one = start("First").await;
    stage.until(|stage| stage.log() == ["First asks"]).await;
    let two = start("Second").await;
    let mut events = two.events(false).unwrap();
    // It is asked for, and waits.
    while events.next().await.unwrap().unwrap().event_type != EventType::ModelStarted {}
    let three = start("Third").await;
    let began = Instant::now();
    two.cancel().await;
    assert!(began.elapsed() < Duration::from_secs(5), "the cancel timeout is 10 s");
    assert_eq!(two.wait().await.status, RunStatus::Aborted);
    first.give();
    assert_eq!((one.wait().await.status, three.wait().await.status), (RunStatus::Completed, RunStatus::Completed));
    assert_eq!(stage.log(), ["First asks", "First ends", "Third asks", "Third ends"]);
    runtime.close().await;
}

/// Who waits before it asks again holds no place meanwhile, and takes its turn like everybody else; where the wait is over at once, it
/// keeps its place.
#[tokio::test]
async fn a_wait_before_another_attempt_holds_no_place() {
    for (wait_ms, expected) in [
        (100, ["First asks", "Second asks", "Second ends", "First asks again", "First ends"].as_slice()),
        (0, ["First asks", "First asks again", "First ends", "Second asks", "Second ends"].as_slice()),
    ] {
        let world = World::with("places_retry", Protocol::OpenAi, "model.provider = \"stage\"").await;
        let stage = Stage::new();
        let (refused, second) = (Cue::new(), Cue::new());
        let (cue, end) = (refused.clone(), second.clone());
        stage.on("First", move |_| vec![Step::At(cue.clone()), Step::Retry(wait_ms), Step::text("Done.")]);
        stage.on("Second", move |_| vec![Step::At(end.clone()), Step::text("Done.")]);
        let runtime = stage.builder(&world).build().await.unwrap();
        let one = runtime.start("First", StartOptions::default()).await.unwrap();
        stage.until(|stage| stage.log() == ["First asks"]).await;
        let two = runtime.start("Second", StartOptions::default()).await.unwrap();
        let mut events = two.events(false).unwrap();
        while events.next().await.unwrap().unwrap().event_type != EventType::ModelStarted {}
        refused.give();
        stage.until(|stage| stage.log().contains(&"Second asks".to_owned())).await;
        if wait_ms > 0 {
            // By now the first one would ask again, had it a place.
            tokio::time::sleep(Duration::from_millis(3 * wait_ms)).await;
        }
        second.give();
        one.wait().await;
        two.wait().await;
        assert_eq!(stage.log(), expected);
        runtime.close().await;
    }
}

/// AGT-C03: what a child waits for its place does not count against its time, what it works does.
#[tokio::test]
async fn waiting_for_a_place_does_not_count() {
    let world = World::with("places_clock", Protocol::OpenAi, "model.provider = \"stage\"").await;
    let stage = Stage::new();
    let (begin, first, never) = (Cue::new(), Cue::new(), Cue::new());
    let begins = begin.clone();
    stage.on("Go.", move |turn| match turn {
        0 => vec![Step::At(begins.clone()), Step::calls(&[("test.send", json!({"task": "Quick", "timeout_ms": 250}))])],
        1 => vec![Step::calls(&[("test.send", json!({"task": "Too slow", "timeout_ms": 250}))])],
        _ => vec![Step::text("Done.")],
    });
    let at_work = first.clone();
    stage.on("Another session", move |_| vec![Step::At(at_work.clone()), Step::text("Slowly.")]);
    stage.on("Quick", |_| vec![Step::text("Quickly.")]);
    stage.on("Too slow", move |_| vec![Step::At(never.clone())]);
    let runtime = stage.builder(&world).build().await.unwrap();
    let handle = runtime.start("Go.", StartOptions::default()).await.unwrap();
    stage.until(|stage| stage.log() == ["Go. asks"]).await;
    // Before the child, which has to wait for it.
    let other = runtime.start("Another session", StartOptions::default()).await.unwrap();
    let mut events = other.events(false).unwrap();
    while events.next().await.unwrap().unwrap().event_type != EventType::ModelStarted {}
    begin.give();
    stage.until(|stage| stage.log().contains(&"Another session asks".to_owned())).await;
    // Three times as long as the other one may take.
    tokio::time::sleep(Duration::from_millis(750)).await;
    first.give();
    watch(&handle).await.assert_completed();
    let answers: Vec<_> = stage.reports().into_iter().map(|report| report.unwrap()).collect();
    assert_eq!(answers.iter().map(|report| report.answer.as_deref()).collect::<Vec<_>>(), [Some("Quickly."), None]);
    let error = answers[1].error.as_ref().unwrap();
    assert!(error.message.contains("did not end within 250 ms of work"), "{error:?}");
    runtime.close().await;
}

/// Each server has places of its own: with one place each, two of them work at the same time.
#[tokio::test]
async fn another_server_has_places_of_its_own() {
    let world = World::with("places_other", Protocol::OpenAi, "model.provider = \"stage\"").await;
    let stage = Stage::new();
    let other = Some(json!({ "base_url": "http://127.0.0.1:9" }));
    stage.on("Go.", move |turn| {
        if turn == 0 { vec![sends(&[None, other.clone(), None, other.clone()])] } else { vec![Step::text("Done.")] }
    });
    let together = Arc::new(Cue::new());
    for n in 0..CHILDREN {
        let together = Arc::clone(&together);
        stage.on(&format!("Task {n}"), move |_| vec![Step::At((*together).clone()), Step::text("Done.")]);
    }
    let runtime = stage.builder(&world).build().await.unwrap();
    let handle = runtime.start("Go.", StartOptions::default()).await.unwrap();
    // One of each is on.
    stage.until(|stage| stage.log().iter().filter(|line| line.starts_with("Task")).count() == 2).await;
    together.give();
    watch(&handle).await.assert_completed();
    assert_eq!(stage.most().into_values().collect::<Vec<_>>(), [1, 1]);
    run(&runtime, "Go.").await.assert_completed();
    runtime.close().await;
}

/// 64 children of one session, by configuration, all wait for the one place of their server: each gets its turn, in the order in which they
/// came, and none loses its time by waiting.
#[tokio::test]
async fn many_children_wait_for_one_place() {
    const MANY: usize = 64;
    let extra = format!(
        "model.provider = \"stage\"\nmodel.context_window = 131072\nagents.max_children_per_run = {MANY}\nagents.max_concurrent_children_per_session = {MANY}"
    );
    let world = World::with("places_many", Protocol::OpenAi, &extra).await;
    let stage = Stage::new();
    let first = Cue::new();
    stage.on("Go.", |turn| match turn {
        0 => {
            let arguments = |n| ("test.send", json!({ "task": format!("Task {n}") }));
            vec![Step::calls(&(0..MANY).map(arguments).collect::<Vec<_>>())]
        }
        _ => vec![Step::text("Done.")],
    });
    for n in 0..MANY {
        let first = first.clone();
        stage.on(&format!("Task {n}"), move |_| vec![Step::At(first.clone()), Step::text("Done.")]);
    }
    let runtime = stage.builder(&world).build().await.unwrap();
    let handle = runtime.start("Go.", StartOptions::default()).await.unwrap();
    stage.until(|stage| stage.log().len() == 3).await;
    first.give();
    let ran = watch(&handle).await;
    ran.assert_completed();
    assert_eq!(ran.of_type(EventType::ChildAgentCompleted).len(), MANY);
    assert_eq!((ran.result.tree.children as usize, stage.most().into_values().max()), (MANY, Some(1)));
    runtime.close().await;
}
