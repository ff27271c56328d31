//! Rows that cannot be read: what they do to others (FND-09).

use std::sync::Arc;

use agent_protocol::{RunStatus, SessionId};
use agent_store::{
    ContentHash, ReplayCursor, ReplayPage, ReplayScope, SessionArchive, SessionFilter, SessionStore, SqliteStore, Write,
};
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::support::{Internal, Place, Writing, event, session_id};

/// What a column may hold after damage.
const VALUES: &[&str] = &[
    "NULL",
    "x'00ff41'",
    "9223372036854775807",
    "-9223372036854775808",
    "-1",
    "1.5",
    "1e300",
    "''",
    "'{\"a\":'",
    "'x'",
    "'[[[[[[1]]]]]]'",
    "'9999-99-99T99:99:99.999Z'",
];

/// Two sessions with rows in every table, the second without any damage.
async fn two(place: &Place) -> SqliteStore {
    let store = place.open().await;
    for name in ["1", "2"] {
        let writing = Writing::begin(&store, name).await;
        for n in 1..=3 {
            store.commit(&writing.lease, writing.turn(n)).await.unwrap();
        }
        let artifact = Write::Artifact(writing.artifact(place, "bytes"));
        let version = Write::FileVersion { path: "a.txt".into(), hash: "1".into(), written: true };
        let bytes: Arc<[u8]> = name.as_bytes().into();
        let blob = Write::Blob { hash: ContentHash::of(&bytes), bytes };
        let writes = vec![event(9), artifact, version, blob];
        store.commit(&writing.lease, writing.commit(writes)).await.unwrap();
        let child = Internal::new(&writing, &format!("child{name}"), RunStatus::Running);
        store.commit(&writing.lease, child.commit(child.rows.clone())).await.unwrap();
    }
    store.search("text", &SessionFilter::default(), 9, 0).await.unwrap();
    store
}

/// Everything of a timeline, in pages.
async fn replayed(store: &SqliteStore, scope: ReplayScope) -> ReplayPage {
    let mut whole = store.replay(&scope, ReplayCursor::default()).await.unwrap();
    let mut pages = 0;
    while let Some(after) = whole.next {
        let page = store.replay(&scope, after).await.unwrap();
        whole.events.extend(page.events);
        whole.nodes.extend(page.nodes);
        whole.artifacts.extend(page.artifacts);
        whole.damaged.extend(page.damaged);
        whole.next = page.next;
        pages += 1;
        assert!(pages < 100, "it ends");
    }
    whole
}

async fn session_of(store: &SqliteStore, id: &SessionId, root_only: bool) -> ReplayPage {
    let agent_id = root_only.then(|| crate::support::agent_id(id.as_str()));
    replayed(store, ReplayScope::Session { session_id: id.clone(), from_seq: None, to_seq: None, agent_id }).await
}

/// Takes the rules off the tables, as damage of the file does not heed them.
fn without_rules(raw: &Connection) -> Vec<(String, Vec<String>)> {
    let mut statement = raw
        .prepare(
            "SELECT name FROM sqlite_schema
             WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'search_text%'",
        )
        .unwrap();
    let names: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    drop(statement);
    raw.execute_batch(
        "PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON;
         UPDATE sqlite_schema SET sql = replace(
             replace(replace(sql, 'STRICT, WITHOUT ROWID', 'WITHOUT ROWID'), ') STRICT', ')'), ' NOT NULL', '')
         WHERE type = 'table';
         PRAGMA writable_schema = RESET;",
    )
    .unwrap();
    let columns = |table: &String| {
        let mut statement = raw.prepare("SELECT name FROM pragma_table_info(?1)").unwrap();
        let names = statement.query_map([table], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        (table.clone(), names)
    };
    names.iter().map(columns).collect()
}

/// Gives a column back what it held.
fn restore(raw: &Connection, table: &str, columns: &[String], column: &String, before: &[Value]) {
    if table == "search_sessions" {
        // A search has numbered the session anew meanwhile.
        raw.execute("DELETE FROM search_sessions WHERE session_id = 'sess_1'", []).unwrap();
        let places: Vec<_> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
        let row = rusqlite::params_from_iter(before.iter());
        raw.execute("DELETE FROM search_sessions WHERE session_id IS NOT 'sess_2'", []).unwrap();
        raw.execute(&format!("INSERT OR REPLACE INTO search_sessions VALUES ({})", places.join(", ")), row).unwrap();
        return;
    }
    let others = columns.iter().enumerate().filter(|(_, name)| *name != column);
    let same: Vec<_> = others.map(|(at, name)| format!("{name} IS ?{}", at + 1)).collect();
    let at = columns.iter().position(|name| name == column).unwrap() + 1;
    let same = if same.is_empty() { "1".to_owned() } else { same.join(" AND ") };
    let sql = format!("UPDATE {table} SET {column} = ?{at} WHERE {same}");
    assert_eq!(raw.execute(&sql, rusqlite::params_from_iter(before.iter())).unwrap(), 1, "{sql}");
}

/// FND-09: whichever column of whichever table holds what it cannot, of one row of a session, the list and the search show the
/// other session, whose replay is what it was; the damaged one's goes on behind the row, which it names; and nothing panics.
#[tokio::test]
async fn damage_of_one_is_no_end_of_others() {
    let place = Place::new("damaged-rows");
    let store = two(&place).await;
    let (first, second) = (session_id("sess_1"), session_id("sess_2"));
    let good = session_of(&store, &second, true).await;
    let own = session_of(&store, &first, true).await;
    assert!(good.damaged.is_empty() && own.damaged.is_empty());
    store.close().await;
    let raw = place.raw();
    let tables = without_rules(&raw);
    assert!(tables.len() >= 11, "{tables:?}");
    let store = place.open().await;
    let (mut damaged, mut listed, mut told, mut refused) = (0, 0, 0, 0);
    for (table, columns) in &tables {
        // Derived, and made for long sessions only: what cannot be read there is made anew.
        if table == "path_checkpoints" {
            continue;
        }
        let first_of = if columns.iter().any(|column| column == "session_id") { "session_id = 'sess_1'" } else { "1" };
        for column in columns {
            for value in VALUES {
                // NULLs are equal to nothing: `IS` compares rows.
                let is = |name: &String| format!("{table}.{name} IS one.{name}");
                let one = format!("(SELECT * FROM {table} WHERE {first_of} LIMIT 1) AS one");
                let before: Vec<Value> = raw
                    .query_row(&format!("SELECT * FROM {one}"), [], |row| {
                        (0..columns.len()).map(|at| row.get(at)).collect()
                    })
                    .unwrap();
                let same = columns.iter().map(is).collect::<Vec<_>>().join(" AND ");
                match raw.execute(&format!("UPDATE {table} SET {column} = {value} FROM {one} WHERE {same}"), []) {
                    Ok(changed) => assert_eq!(changed, 1, "{table}.{column} = {value}"),
                    // The key of a table is never NULL, and a number where it is the place of the row.
                    Err(_) => {
                        refused += 1;
                        continue;
                    }
                }
                damaged += 1;
                let what = format!("{table}.{column} = {value}");

                let list = store.list_sessions(&SessionFilter::default(), 9, 0).await;
                let list = list.unwrap_or_else(|error| panic!("{what}: {error:?}"));
                assert!(list.iter().flatten().any(|it| it.session.session_id == second), "{what}: {list:?}");
                listed += usize::from(list.iter().any(Result::is_err));
                let found = store.search("text", &SessionFilter::default(), 9, 0).await;
                let found = found.unwrap_or_else(|error| panic!("{what}: {error:?}"));
                let hits = found.hits.iter().flatten();
                assert!(hits.map(|hit| &hit.summary.session.session_id).any(|id| *id == second), "{what}: {found:?}");
                assert_eq!(
                    store.sessions_beginning("sess_2", 9).await.unwrap(),
                    std::slice::from_ref(&second),
                    "{what}"
                );
                assert_eq!(session_of(&store, &second, true).await, good, "{what}");

                if store.session(&first).await.is_ok_and(|row| row.is_some()) {
                    let replay = session_of(&store, &first, true).await;
                    told += replay.damaged.len();
                    let shown =
                        replay.events.len() + replay.nodes.len() + replay.artifacts.len() + replay.damaged.len();
                    let whole = own.events.len() + own.nodes.len() + own.artifacts.len();
                    // A row that says it is another session's, run's or agent's is nobody's here.
                    let elsewhere = ["session_id", "agent_id", "run_id"].contains(&column.as_str());
                    assert!(shown >= whole - usize::from(elsewhere), "{what}: {shown} of {whole}");
                    let _ = session_of(&store, &first, false).await;
                }
                restore(&raw, table, columns, column, &before);
            }
        }
    }
    assert!(
        damaged > 800 && listed > 100 && told > 200,
        "{damaged} damages, {listed} listed, {told} told, {refused} refused"
    );
    assert_eq!(session_of(&store, &first, true).await, own, "all is as it was");
}
