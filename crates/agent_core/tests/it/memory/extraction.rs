//! What becomes of what was said: files, events, the cursor.

use agent_core::EventType;
use agent_testkit::{Call, Protocol, Reply, ScriptedServer};
use serde_json::json;

use super::{
    completed, extracting, extraction, extractions, failed, folder, memories, new, payloads, remember, rest, world,
};
use crate::support::{World, run, run_in};

/// MEM-1, MEM-2, MEM-10: a wish becomes a file with its sources, a line in the catalog and events without its words; asked
/// without tools, the same way each time.
#[tokio::test]
async fn a_wish_becomes_a_memory() {
    for &protocol in Protocol::ALL {
        let world = World::with("a_wish", protocol, "model.temperature = 0.7").await;
        extracting(&world, |told| json!([new("tabs", "The user uses tabs.", &[told.id_of("tabs")])]));
        let runtime = world.runtime().await;
        let ran = run(&runtime, "Remember that I use tabs.").await;
        ran.assert_completed();
        rest(&runtime).await;

        let started = payloads(&runtime, &ran.session_id, EventType::MemoryExtractionStarted).await;
        assert_eq!(
            (started.len(), &started[0]["reason"], &started[0]["messages"]),
            (1, &json!("explicit_wish"), &json!(1))
        );
        let completed = completed(&runtime, &ran.session_id).await;
        let [said] = completed.as_slice() else { panic!("{completed:?}") };
        let [(path, text)] = &memories(&world)[..] else { panic!("{:?}", memories(&world)) };
        let id = said["created"][0].as_str().unwrap();
        assert!(path.starts_with("user/tabs-") && path.ends_with(&format!("-{id}.md")), "{path}");
        assert!(text.ends_with("\nThe user uses tabs.\n"), "{text}");
        let node = said["source_node_ids"][0].as_str().unwrap();
        for line in [ran.session_id.as_str(), node, world.home.project.to_str().unwrap()] {
            assert!(text.contains(line), "{line}: {text}");
        }
        let path_of = runtime.get_node_path(&ran.events.iter().find_map(|event| event.node_id.clone()).unwrap()).await;
        let user = &path_of.unwrap()[0];
        assert_eq!((user.node_id.as_str(), said["scan_cursor"].as_u64()), (node, Some(user.node_seq)));
        for key in ["updated", "conflict", "refused"] {
            assert_eq!(said[key], json!([]), "{key}");
        }
        assert_eq!((&said["ignored"], &said["duplicate"]), (&json!(0), &json!(0)));
        assert_eq!(said["files_changed"], json!([path, "MEMORY.md"]));
        assert!(!format!("{said:?}").contains("uses tabs"), "events hold no words of memories");
        let catalog = std::fs::read_to_string(folder(&world).join("MEMORY.md")).unwrap();
        assert!(catalog.contains(id) && catalog.contains("About tabs"), "{catalog}");

        let requests = world.server.requests();
        let asked = requests.iter().find(|request| extraction(request).is_some()).unwrap();
        assert!(asked.tools().is_empty() && asked.messages().len() == 2);
        let body = asked.body.to_string();
        assert!(body.contains("\"temperature\":0.0") || body.contains("\"temperature\":0,"), "{body}");
        runtime.close().await;
    }
}

/// MEM-2, CFG-4: a profile of its own has a model server of its own, and its own temperature.
#[tokio::test]
async fn a_profile_of_its_own() {
    let other = ScriptedServer::start().await;
    let url = other.base_url(Protocol::OpenAi);
    let profile = format!("memory.extract_model_profile = {{ base_url = {url:?}, temperature = 0.25 }}");
    let world = world("memory_profile", &profile).await;
    world.server.push(Reply::text("Noted."));
    other.push(Reply::text("{\"decisions\":[]}"));
    let runtime = world.runtime().await;
    let ran = run(&runtime, "From now on be brief.").await;
    rest(&runtime).await;
    assert_eq!((world.server.request_count(), other.request_count()), (1, 1));
    assert_eq!(other.requests()[0].body["temperature"], json!(0.25));
    assert_eq!(completed(&runtime, &ran.session_id).await.len(), 1);
    runtime.close().await;
}

/// MEM-6: nothing to remember moves the cursor, and so do duplicates; a failure does not.
#[tokio::test]
async fn the_cursor() {
    let world = world("memory_cursor", "").await;
    let runtime = world.runtime().await;
    let answers = [
        "{\"decisions\":[]}",
        "I would rather not.",
        "{\"decisions\":[{\"action\":\"duplicate\",\"memory_id\":\"mem_20261130094143_a\"},{\"action\":\"ignore\"}]}",
        "{\"decisions\":[]}",
    ];
    let mut session = None;
    let shown = [vec!["one"], vec!["two"], vec!["two", "three"], vec!["four"]];
    for (turn, (answer, shown)) in answers.iter().zip(shown).enumerate() {
        world.server.script([Reply::text("Yes."), Reply::text(*answer)]);
        let message = format!("Remember {}.", ["one", "two", "three", "four"][turn]);
        let ran = match &session {
            None => run(&runtime, &message).await,
            Some(session) => run_in(&runtime, session, &message).await,
        };
        rest(&runtime).await;
        let shown: Vec<_> = shown.iter().map(|word| format!("Remember {word}.")).collect();
        assert_eq!(extractions(&world).pop().unwrap().texts(), shown, "turn {turn}");
        session = Some(ran.session_id);
    }
    let session = session.unwrap();
    let completed = completed(&runtime, &session).await;
    let counts: Vec<_> = completed.iter().map(|said| (said["duplicate"].clone(), said["ignored"].clone())).collect();
    assert_eq!(counts, [(json!(0), json!(0)), (json!(1), json!(1)), (json!(0), json!(0))]);
    let failed = failed(&runtime, &session).await;
    assert_eq!((failed.len(), &failed[0]["error"]["code"]), (1, &json!("memory_write_failed")));
    assert!(!folder(&world).exists(), "nothing was to be written, so no folder was made");
    runtime.close().await;
}

/// MEM-6: a process that died between the files and the event finds its own memory, and goes on behind it.
#[tokio::test]
async fn died_before_the_event() {
    let world = world("memory_died", "").await;
    remember(&world, "mem_20261130094143_a", Some(&world.home.project), "About tabs", "The user uses tabs.");
    extracting(&world, |told| json!([new("tabs", "The user uses tabs.", &[told.id_of("tabs")])]));
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Remember that I use tabs.").await;
    rest(&runtime).await;
    assert_eq!(memories(&world).len(), 1, "it is there once");
    let completed = completed(&runtime, &ran.session_id).await;
    assert_eq!((completed.len(), &completed[0]["duplicate"]), (1, &json!(1)));
    runtime.close().await;
}

/// MEM-2, MEM-5: the model sees the memories there are, and an update or conflict keeps id and path.
#[tokio::test]
async fn memories_are_replaced() {
    for action in ["update", "conflict"] {
        let world = world("memory_replaced", "").await;
        let path = remember(&world, "mem_20261130094143_a", None, "Likes tabs", "The user likes tabs.");
        extracting(&world, move |told| {
            assert!(told.text.contains("The user likes tabs.") && told.text.contains("mem_20261130094143_a"));
            json!([{
                "action": action, "memory_id": "mem_20261130094143_a", "scope": "user", "summary": "Likes blanks",
                "content": "The user likes blanks.", "source_node_ids": [told.id_of("blanks")],
            }])
        });
        let runtime = world.runtime().await;
        let ran = run(&runtime, "Remember that I like blanks now.").await;
        rest(&runtime).await;
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("The user likes blanks.") && !text.contains("tabs"), "{text}");
        let field = if action == "update" { "updated" } else { "conflict" };
        assert_eq!(completed(&runtime, &ran.session_id).await[0][field], json!(["mem_20261130094143_a"]));
        runtime.close().await;
    }
}

/// MEM-06: what a person wrote into the catalog stays byte for byte; a memory that was edited meanwhile is decided about again, on
/// what it says now.
#[tokio::test]
async fn hand_written_text_stays() {
    let world = world("memory_by_hand", "").await;
    let path = remember(&world, "mem_20261130094143_a", None, "Likes tabs", "The user likes tabs.");
    let by_hand = "# Mine\n\nA note of my own: call Bo.  \n";
    world.home.write(folder(&world).join("MEMORY.md"), by_hand);
    let edited = path.clone();
    extracting(&world, move |told| {
        let before = std::fs::read_to_string(&edited).unwrap();
        let seen = before.contains("An editor was here.");
        if !seen {
            std::fs::write(&edited, before + "An editor was here.\n").unwrap();
        }
        assert_eq!(told.text.contains("An editor was here."), seen);
        json!([{
            "action": "update", "memory_id": "mem_20261130094143_a", "scope": "user", "summary": "Likes blanks",
            "content": if seen { "Both." } else { "The user likes blanks." }, "source_node_ids": [told.id_of("blanks")],
        }])
    });
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Remember that I like blanks now.").await;
    rest(&runtime).await;
    let failed = failed(&runtime, &ran.session_id).await;
    assert_eq!((failed.len(), &failed[0]["error"]["details"]["kind"]), (1, &json!("conflict")));
    assert_eq!(completed(&runtime, &ran.session_id).await[0]["updated"], json!(["mem_20261130094143_a"]));
    assert!(std::fs::read_to_string(&path).unwrap().ends_with("\nBoth.\n"));
    let catalog = std::fs::read_to_string(folder(&world).join("MEMORY.md")).unwrap();
    assert!(catalog.starts_with(by_hand) && catalog.contains("Likes blanks"), "{catalog}");
    runtime.close().await;
}

/// MEM-8: switched off, nothing is asked, offered, read or made.
#[tokio::test]
async fn switched_off() {
    let world = world("memory_off", "memory.enabled = false\nmemory.extract_every_messages = 1").await;
    world
        .server
        .script([Reply::text("").calls([Call::new("code.list_dir", json!({"path": "."}))]), Reply::text("Noted.")]);
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Remember that I use tabs.").await;
    rest(&runtime).await;
    assert_eq!(world.server.request_count(), 2);
    for request in world.server.requests() {
        assert!(request.tool_names().iter().all(|name| !name.contains("recall_memory")), "{:?}", request.tool_names());
    }
    assert!(!folder(&world).exists());
    assert!(payloads(&runtime, &ran.session_id, EventType::MemoryExtractionStarted).await.is_empty());
    runtime.close().await;
}

/// MEM-12: a memory of another project is neither shown nor changed; one that holds everywhere is.
#[tokio::test]
async fn projects_are_kept_apart() {
    let world = world("memory_projects", "").await;
    let other = world.home.root.join("other");
    let theirs = remember(&world, "mem_20261130094143_a", Some(&other), "Client X", "The secret plan of client X.");
    let before = std::fs::read_to_string(&theirs).unwrap();
    remember(&world, "mem_20261130094143_b", None, "Name", "The user is called Ana.");
    extracting(&world, |told| {
        assert!(told.text.contains("called Ana") && !told.text.to_lowercase().contains("client x"), "{}", told.text);
        json!([{
            "action": "update", "memory_id": "mem_20261130094143_a", "scope": "user", "summary": "Mine",
            "content": "Mine.", "source_node_ids": [told.id_of("mine")],
        }])
    });
    let runtime = world.runtime().await;
    let ran = run(&runtime, "Remember that this is mine.").await;
    rest(&runtime).await;
    assert_eq!(std::fs::read_to_string(&theirs).unwrap(), before);
    let completed = completed(&runtime, &ran.session_id).await;
    assert_eq!(completed[0]["refused"].as_array().unwrap().len(), 1, "{completed:?}");
    runtime.close().await;
}
