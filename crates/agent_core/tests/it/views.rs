//! What was stored, as views that can be serialised (STO-10).

use agent_core::archive::TimelineOptions;
use agent_testkit::{Call, Protocol, Reply};
use serde_json::json;

use crate::support::{World, run};

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// STO-10: what looks like a secret is in no view unless it is asked for; a line is cut after that.
#[tokio::test]
async fn views_show_no_secret() {
    let world = World::new("timeline_secrets", Protocol::OpenAi).await;
    world.server.respond_with(|_, answered| match answered {
        0 => Reply::text("").calls([Call::new("code.list_dir", json!({"path": TOKEN}))]),
        _ => Reply::text(format!("{} {TOKEN}", "x".repeat(180))),
    });
    let runtime = world.runtime().await;
    let ran = run(&runtime, &format!("My token is {TOKEN}, keep it.")).await;
    ran.assert_completed();
    let (archive, session, run_id) = (runtime.archive(), &ran.session_id, ran.events[0].run_id.clone().unwrap());
    for include_sensitive in [false, true] {
        let options = TimelineOptions { include_sensitive, all_events: true };
        let timeline = archive.session_timeline(session, options).await.unwrap().collect().await.unwrap();
        let tree = archive.agent_tree(session, include_sensitive).await.unwrap();
        let context = archive.session_context(session, include_sensitive).await.unwrap().collect().await.unwrap();
        let turn = archive.inspect_turn(&run_id, 1, include_sensitive).await.unwrap();
        let inspected = archive.inspect_run(&run_id, include_sensitive).await.unwrap();
        let shown = [json!(timeline), json!(tree), json!(turn)].map(|view| view.to_string());
        assert_eq!(shown.each_ref().map(|view| view.contains(TOKEN)), [include_sensitive; 3], "{shown:#?}");
        let listing = json!(archive.session(session).await.unwrap()).to_string();
        let others = [json!(context).to_string(), json!(inspected).to_string(), listing];
        assert!(others.iter().all(|view| !view.contains(TOKEN)), "{others:#?}");
        let asked = tree.root.runs[0].asked.as_deref().unwrap();
        assert!(asked.starts_with("My token is ") && asked.ends_with("keep it."), "{asked}");
        if !include_sensitive {
            let answered = tree.root.runs[0].answered.as_deref().unwrap();
            assert!(!answered.contains("ghp_"), "no half of a secret: {answered}");
        }
    }
    runtime.close().await;
}
