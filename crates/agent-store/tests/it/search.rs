//! Search: what is found, and that the index is always whole.

use std::sync::Arc;

use agent_protocol::{ContentBlock, ErrorCode, NodeType, Role};
use agent_store::{NewSession, SearchHit, SessionArchive, SessionFilter, SessionStore, SqliteStore, StoreError, Write};
use serde_json::json;

use crate::child::Child;
use crate::support::{Place, Writing, new_session, node, run_id, session_id, whole};

async fn search(store: &SqliteStore, words: &str) -> Vec<SearchHit> {
    whole(store.search(words, &SessionFilter::default(), u32::MAX, 0).await.unwrap().hits)
}

/// The sessions that are found, without `sess_`.
async fn found(store: &SqliteStore, words: &str) -> String {
    let hits = search(store, words).await;
    let names: Vec<_> = hits.iter().map(|hit| &hit.summary.session.session_id.as_str()[5..]).collect();
    names.join(" ")
}

/// DEC-77: words by the index's rules, in any node of a session; what looks like syntax is data.
#[tokio::test]
async fn words_are_found() {
    let place = Place::new("search-words");
    let store = place.open().await;
    let a = Writing::begin(&store, "a").await;
    a.say(&store, 1, &["The Login fails", "an ERROR in the parser", "x AND y"]).await;
    let b = Writing::begin(&store, "b").await;
    b.say(&store, 1, &["login works; Grüße aus Köln", "日本語のテキスト und 한국어", "text:value -minus near(x"]).await;
    let c = Writing::begin(&store, "c").await;
    c.say(&store, 1, &["migration of the database, a 日x本", "say \"so\" a*b"]).await;
    for (words, expected) in [
        ("login", "b a"),
        ("LOGIN", "b a"),
        ("login error", "a"),
        ("error login parser", "a"),
        ("login migration", ""),
        ("migr", ""),
        ("migr*", "c"),
        ("log* err*", "a"),
        ("grusse koln", ""),
        ("gruße KOLN", "b"),
        ("日本", "b"),
        ("本日", ""),
        ("語のテ", "b"),
        ("日", "c b"),
        ("한국어", "b"),
        ("한국*", "b"),
        ("AND", "a"),
        ("x AND y", "a"),
        ("x NOT login", ""),
        ("login OR migration", ""),
        ("text:value", "b"),
        ("text:login", ""),
        ("-minus", "b"),
        ("NEAR(x", "b"),
        ("near(", "b"),
        ("a*b", "c"),
        ("\"so\"", "c"),
        ("\"the parser\"", "a"),
        ("say;so", "c"),
        ("so;say", ""),
        ("( login )", "b a"),
        ("{text}: ^login", "b"),
    ] {
        assert_eq!(found(&store, words).await, expected, "{words}");
    }
    for words in ["", "  ", "* - ( \"", "\u{0}"] {
        let error = store.search(words, &SessionFilter::default(), 9, 0).await.unwrap_err();
        assert!(matches!(error, StoreError::NothingToSearch), "{error:?}");
        assert_eq!(error.code(), ErrorCode::ValidationError);
    }
}

/// What people and models said and what tools were asked for is found; results, notes of core and the like are not.
#[tokio::test]
async fn only_what_was_said_is_found() {
    let place = Place::new("search-what");
    let store = place.open().await;
    let writing = Writing::begin(&store, "a").await;
    let call = json!([
        {"type": "text", "text": "let me look"},
        {"type": "tool_call", "tool_call_id": "c1", "name": "code.read_file", "arguments": {"keyword": {"path": ["src/deepest.rs"]}}},
    ]);
    let result =
        json!([{"type": "tool_result", "tool_call_id": "c1", "content": [{"type": "text", "text": "resulting"}]}]);
    let mut writes = Vec::new();
    for (n, (role, node_type, synthetic, content)) in [
        (Role::User, NodeType::Message, false, json!([{"type": "text", "text": "asked"}])),
        (Role::Assistant, NodeType::Message, false, call),
        (Role::Tool, NodeType::Message, false, result),
        (Role::User, NodeType::Message, true, json!([{"type": "text", "text": "synthesised"}])),
        (Role::User, NodeType::SystemNote, false, json!([{"type": "text", "text": "noted"}])),
        (Role::System, NodeType::Message, false, json!([{"type": "text", "text": "instructed"}])),
    ]
    .into_iter()
    .enumerate()
    {
        let mut draft = node(writing.run.node(n as u64 + 1), None, "");
        (draft.role, draft.node_type) = (role, node_type);
        draft.content = serde_json::from_value::<Vec<ContentBlock>>(content).unwrap().into();
        if synthetic {
            draft.metadata.insert("synthetic".into(), true.into());
        }
        writes.push(Write::Node(draft));
    }
    store.commit(&writing.lease, writing.commit(writes)).await.unwrap();
    for (words, is_found) in [
        ("asked", true),
        ("look", true),
        ("read_file", true),
        ("code.read_file", true),
        ("deepest.rs", true),
        ("keyword", false),
        ("resulting", false),
        ("synthesised", false),
        ("noted", false),
        ("instructed", false),
    ] {
        assert_eq!(!search(&store, words).await.is_empty(), is_found, "{words}");
    }
}

/// A hit is the newest of the nodes that have most words; the session that was used last comes first.
#[tokio::test]
async fn a_hit_shows_the_best_node() {
    let place = Place::new("search-hit");
    let store = place.open().await;
    let cwd = |name: &str, cwd: &str| NewSession { cwd: cwd.into(), ..new_session(&format!("sess_{name}")) };
    for (name, folder) in [("a", "/p"), ("b", "/q"), ("c", "/p")] {
        let lease = store.create_session(cwd(name, folder)).await.unwrap();
        let writing = Writing { lease, run: run_id(&format!("run_{name}")) };
        store.commit(&writing.lease, writing.commit(vec![writing.new_run()])).await.unwrap();
        let long = format!("{} red\n\tand green {}", "before ".repeat(40), "after ".repeat(40));
        writing.say(&store, 1, &["red", "green and red", &long, "green", "nothing"]).await;
    }
    let hits = search(&store, "red green").await;
    assert_eq!(
        hits.iter().map(|hit| hit.summary.session.session_id.as_str()).collect::<Vec<_>>(),
        ["sess_c", "sess_b", "sess_a"]
    );
    let hit = &hits[0];
    assert_eq!((hit.node_id.as_str(), hit.role, hit.nodes), ("node_c_3", Role::User, 4));
    assert!(hit.excerpt.contains("before red and green after"), "{}", hit.excerpt);
    assert!(hit.excerpt.chars().count() <= 200);
    assert_eq!((hit.summary.runs, hit.summary.first_message.as_deref()), (1, Some("red")));

    let in_p = SessionFilter { cwd: Some("/p".into()) };
    for (limit, offset, expected) in [(9, 0, vec!["sess_c", "sess_a"]), (1, 1, vec!["sess_a"]), (9, 2, vec![])] {
        let hits = whole(store.search("red", &in_p, limit, offset).await.unwrap().hits);
        assert_eq!(hits.iter().map(|hit| hit.summary.session.session_id.as_str()).collect::<Vec<_>>(), expected);
    }
    let first = store.claim_session(&session_id("sess_a"), None).await.unwrap().lease;
    Writing { lease: first, run: run_id("run_a") }.next_run(&store, "again").await;
    assert_eq!(found(&store, "red").await, "a c b");
}

/// The index knows each node once.
fn indexed(place: &Place) -> u64 {
    place.raw().query_row("SELECT count(*) FROM search_text_docsize", [], |row| row.get(0)).unwrap()
}

/// Nodes that come later are found by the next search; rewriting the file changes nothing; what is deleted is not found.
#[tokio::test]
async fn the_index_follows_the_sessions() {
    let place = Place::new("search-follows");
    let store = place.open().await;
    let a = Writing::begin(&store, "a").await;
    a.say(&store, 1, &["first"]).await;
    let b = Writing::begin(&store, "b").await;
    b.say(&store, 1, &["first"]).await;
    assert_eq!(found(&store, "first").await, "b a");
    assert_eq!(found(&store, "second").await, "");
    a.say(&store, 2, &["second"]).await;
    assert_eq!(found(&store, "second").await, "a");
    place.raw().execute_batch("VACUUM").unwrap();
    assert_eq!(found(&store, "second").await, "a");
    assert_eq!(indexed(&place), 3);

    store.delete_session(a.lease).await.unwrap();
    assert_eq!((found(&store, "second").await, found(&store, "first").await), (String::new(), "b".to_owned()));
    // The number of the session that is gone may be given to another one.
    let c = Writing::begin(&store, "c").await;
    c.say(&store, 1, &["third"]).await;
    assert_eq!((found(&store, "third").await, found(&store, "second").await), ("c".to_owned(), String::new()));
    assert_eq!(indexed(&place), 2);
}

/// So many sessions with a few nodes each, and a common word in all of them.
async fn fill(store: &SqliteStore, sessions: usize, filler: &str) {
    for n in 0..sessions {
        let writing = Writing::begin(store, &n.to_string()).await;
        writing.say(store, 1, &[&format!("common unique{n} {filler}"), filler, filler]).await;
    }
}

/// Two processes, or two stores, may fill the index at the same time: nothing is in it twice or not at all.
#[tokio::test]
async fn several_may_search_at_once() {
    let place = Place::new("search-together");
    let (one, two) = (place.open().await, place.open().await);
    fill(&one, 60, &"filler word ".repeat(2_000)).await;
    let mut children = [Child::start("search common", &place.folder), Child::start("search unique7", &place.folder)];
    let (a, b) = tokio::join!(search(&one, "common"), search(&two, "unique59"));
    assert_eq!((a.len(), b.len()), (60, 1));
    children[0].expect("60");
    children[1].expect("1");
    assert_eq!(indexed(&place), 180);
}

/// RUN-20: a process that is killed while it fills the index costs the next search nothing but the rest of the work.
#[tokio::test]
async fn a_killed_search_loses_nothing() {
    let place = Place::new("search-killed");
    let store = place.open().await;
    fill(&store, 120, &"filler word ".repeat(2_000)).await;
    let mut child = Child::start("search common", &place.folder);
    let raw = place.raw();
    let begun = || raw.query_row("SELECT count(*) FROM search_sessions", [], |row| row.get::<_, u64>(0)).unwrap();
    while begun() == 0 {
        tokio::task::yield_now().await;
    }
    child.kill();
    let (before, all) = (indexed(&place), 360);
    assert!(before < all, "the search was killed too late");
    assert_eq!(search(&store, "common").await.len(), 120);
    assert_eq!(indexed(&place), all);
    raw.execute_batch("INSERT INTO search_text (search_text) VALUES ('integrity-check')").unwrap();
}

/// STO-1: the index is filled in pieces, and commits get their turn between them.
#[tokio::test]
async fn a_search_lets_others_write() {
    let place = Place::new("search-yields");
    let store = Arc::new(place.open().await);
    fill(&store, 100, &"filler word ".repeat(4_000)).await;
    let writing = Writing::begin(&*store, "live").await;
    let mut searching = std::pin::pin!(search(&store, "common"));
    let mut commits = 0;
    let hits = loop {
        commits += 1;
        tokio::select! {
            biased;
            hits = &mut searching => break hits,
            done = store.commit(&writing.lease, writing.turn(commits)) => done.unwrap(),
        };
    };
    assert_eq!(hits.len(), 100);
    assert!(commits > 20, "only {commits} commits during a search");
}

/// A session that goes while it is being indexed is no failure, and leaves nothing in the index.
#[tokio::test]
async fn a_session_may_go_during_a_search() {
    let place = Place::new("search-deletion");
    let store = place.open().await;
    fill(&store, 60, &"filler word ".repeat(2_000)).await;
    let delete = async {
        for n in (0..60).rev().step_by(2) {
            let lease = store.claim_session(&session_id(&format!("sess_{n}")), None).await.unwrap().lease;
            store.delete_session(lease).await.unwrap();
        }
    };
    let (_, ()) = tokio::join!(search(&store, "common"), delete);
    assert_eq!(search(&store, "common").await.len(), 30);
    assert_eq!(indexed(&place), 90);
}
