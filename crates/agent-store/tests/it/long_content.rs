//! Content that is too long to be one value of a row.

use std::time::Duration;

use agent_protocol::{ContentBlock, NodeDraft};
use agent_store::{Clock, SessionStore, SqliteStore, StoreSettings, Write};

use crate::support::{NOW, Place, Writing, node};

/// Texts around the length from which on content is written in pieces, and far beyond: with what JSON writes otherwise, and with
/// letters of several bytes wherever a piece may end.
fn texts() -> Vec<String> {
    const FROM: usize = 1 << 20;
    let frame = r#"[{"type":"text","text":""}]"#.len();
    let around = (FROM - frame - 2..=FROM - frame + 2).map(|length| "x".repeat(length));
    let odd = ["é", "\"\\\n", "𝄞x", "\u{0}"].map(|piece| piece.repeat((3 << 20) / piece.len()));
    std::iter::once("short".to_owned()).chain(around).chain(odd).collect()
}

/// FND-13, STO-3: content of whatever length comes back as it was, in each way in which it is read, and after a repair. Only
/// what is long is not in the row's own column.
#[tokio::test]
async fn content_of_any_length() {
    let place = Place::new("long-content");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let mut nodes = Vec::new();
    for (n, text) in (1..).zip(texts()) {
        let parent = (n > 1).then(|| writing.run.node(n - 1));
        let content = vec![ContentBlock::text(format!("word{n}")), ContentBlock::text(text)];
        let draft = NodeDraft { content: content.into(), ..node(writing.run.node(n), parent, "") };
        let writes = vec![Write::Node(draft.clone()), Write::Activate(draft.node_id.clone())];
        let committed = store.commit(&writing.lease, writing.commit(writes)).await.unwrap();
        assert!(committed.nodes[0].content == draft.content, "{n}");
        nodes.extend(committed.nodes);
    }
    let check = async |store: &SqliteStore| {
        let last = &nodes.last().unwrap().node_id;
        let path = store.load_path(writing.session(), last).await.unwrap();
        let between = store.nodes_between(writing.session(), 1, 99, 99).await.unwrap();
        // Not printed: they are long.
        assert!(path == nodes && between == nodes);
        for node in &nodes {
            assert!(store.node(&node.node_id).await.unwrap().as_ref() == Some(node), "{}", node.node_id);
        }
    };
    check(&store).await;
    let said = store.user_messages(writing.session(), &writing.agent(), 0, 99).await.unwrap();
    assert!(said == nodes);
    store.close().await;
    let long = "SELECT sum(long_content IS NOT NULL), sum(content_json = '') FROM nodes";
    let counts: (u64, u64) = place.raw().query_row(long, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert!(counts.0 == counts.1 && counts.0 > 4 && counts.0 < nodes.len() as u64, "{counts:?} of {}", nodes.len());
    SqliteStore::repair(StoreSettings {
        database: place.database(),
        sessions_dir: place.sessions_dir(),
        busy_timeout: Duration::from_secs(5),
        clock: Clock::new(|| NOW),
    })
    .await
    .unwrap();
    check(&place.open().await).await;
}

/// STO-9: damage of long content is told like any other: no other text is given for it.
#[tokio::test]
async fn damaged_long_content() {
    let place = Place::new("long-damaged");
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let draft = node(writing.run.node(1), None, &"y".repeat(2 << 20));
    store.commit(&writing.lease, writing.commit(vec![Write::Node(draft)])).await.unwrap();
    for damage in ["x'ff'", "x''", "substr(long_content, 1, 1000)"] {
        place.raw().execute_batch(&format!("UPDATE nodes SET long_content = {damage}")).unwrap();
        let error = store.node(&writing.run.node(1)).await.unwrap_err().to_string();
        assert!(error.contains("content_json"), "{damage}: {error}");
    }
}
