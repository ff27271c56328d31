//! Rows that cannot be read.

use std::sync::Arc;

use agent_protocol::{ArtifactId, ErrorCode};
use agent_store::{
    ArtifactWriter, ContentHash, SessionArchive, SessionFilter, SessionStore, SqliteStore, StoreError, Write,
};
use rusqlite::types::Value;

use crate::support::{Place, Writing, event};

/// A session with a row in every table.
async fn full(place: &Place) -> (SqliteStore, Writing) {
    let store = place.open().await;
    let writing = Writing::begin(&store, "1").await;
    let artifact = ArtifactWriter::new(place.sessions_dir()).begin_artifact(writing.session(), "x").unwrap().finish();
    let bytes: Arc<[u8]> = b"b"[..].into();
    let writes = vec![
        writing.node(1, 0),
        writing.node(2, 1),
        event(1),
        Write::Artifact(artifact),
        Write::Blob { hash: ContentHash::of(&bytes), bytes },
        Write::FileVersion { path: "a.txt".into(), hash: "1".into(), written: true },
    ];
    store.commit(&writing.lease, writing.commit(writes)).await.unwrap();
    (store, writing)
}

/// Reads everything there is.
async fn read_all(store: &SqliteStore, writing: &Writing, artifact: &str) -> Result<(), StoreError> {
    let session = writing.session();
    store.session(session).await?;
    store.agent(&writing.agent()).await?;
    store.run(&writing.run).await?;
    store.load_path(session, &writing.run.node(2)).await?;
    store.events(session, 0, 10).await?;
    store.artifact(&ArtifactId::parse(artifact).unwrap()).await?;
    store.blob(session, &ContentHash::of(b"b")).await?;
    store.file_versions(session, &writing.agent()).await?;
    store.written_files(session).await?;
    for session in store.list_sessions(&SessionFilter::default(), 9, 0).await? {
        session.map_err(|damaged| damaged.error)?;
    }
    store.artifacts(session, None, 9).await?;
    Ok(())
}

/// What makes the columns of a table unreadable.
struct Spoilt {
    table: &'static str,
    /// The column that names a row.
    key: &'static str,
    /// Columns, each with an SQL value that does not fit.
    columns: &'static [(&'static str, &'static str)],
}

const SPOILT: &[Spoilt] = &[
    Spoilt {
        table: "sessions",
        key: "session_id",
        columns: &[
            ("root_agent_id", "'x'"),
            ("active_node_id", "'x'"),
            ("parent_session_id", "''"),
            ("status", "'sleepy'"),
            ("metadata_json", "'[]'"),
            ("created_at", "'yesterday'"),
            ("updated_at", "''"),
            ("owner_pid", "-1"),
            ("owner_since", "'x'"),
            ("last_run_id", "'run_none'"),
        ],
    },
    Spoilt {
        table: "agents",
        key: "agent_id",
        columns: &[
            ("session_id", "'sess_é'"),
            ("parent_agent_id", "'x'"),
            ("agent_type", "'boss'"),
            ("created_by_run_id", "'x'"),
            ("fork_from_node_id", "'x'"),
            ("active_node_id", "'x'"),
            ("status", "'x'"),
            ("result_json", "'{'"),
            ("metadata_json", "'1'"),
            ("created_at", "'x'"),
            ("updated_at", "'x'"),
        ],
    },
    Spoilt {
        table: "runs",
        key: "run_id",
        columns: &[
            ("session_id", "'x'"),
            ("agent_id", "'x'"),
            ("status", "'x'"),
            ("start_node_id", "'x'"),
            ("end_node_id", "'x'"),
            ("end_reason", "'x'"),
            ("turn_count", "-1"),
            ("usage_json", "'{\"tokens\": 1}'"),
            ("error_json", "'{}'"),
            ("metadata_json", "''"),
            ("created_at", "'x'"),
            ("updated_at", "'x'"),
        ],
    },
    Spoilt {
        table: "nodes",
        key: "node_id",
        columns: &[
            ("agent_id", "'x'"),
            ("run_id", "'x'"),
            ("role", "'x'"),
            ("node_type", "'x'"),
            ("content_json", "'[{\"type\": \"text\"}]'"),
            ("metadata_json", "'null'"),
            ("token_count", "-1"),
            ("created_at", "'x'"),
        ],
    },
    Spoilt {
        table: "events",
        key: "event_id",
        columns: &[
            ("run_seq", "-1"),
            ("agent_id", "'x'"),
            ("run_id", "'x'"),
            ("level", "'x'"),
            ("event_type", "'x'"),
            ("node_id", "'x'"),
            ("tool_call_id", "''"),
            ("payload_json", "'[]'"),
            ("created_at", "'x'"),
        ],
    },
    Spoilt {
        table: "artifacts",
        key: "artifact_id",
        columns: &[
            ("session_id", "'x'"),
            ("agent_id", "'x'"),
            ("run_id", "'x'"),
            ("node_id", "'x'"),
            ("tool_call_id", "'a b'"),
            ("filename", "'../../../x'"),
            ("size_bytes", "-1"),
            ("metadata_json", "'x'"),
            ("seq", "-1"),
            ("created_at", "'x'"),
        ],
    },
    Spoilt { table: "blobs", key: "hash", columns: &[("bytes", "x'00'")] },
    Spoilt {
        table: "file_versions",
        key: "path",
        columns: &[("agent_id", "'x'"), ("written", "2"), ("seen_at", "'x'")],
    },
];

/// Decoding never defaults: each column, spoiled, is an error that names table, row and column.
#[tokio::test]
async fn spoiled_columns_are_named() {
    let place = Place::new("spoiled");
    let (store, writing) = full(&place).await;
    let raw = place.raw();
    let artifact: String = raw.query_row("SELECT artifact_id FROM artifacts", [], |row| row.get(0)).unwrap();
    read_all(&store, &writing, &artifact).await.unwrap();
    raw.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    for Spoilt { table, key, columns } in SPOILT {
        for (column, value) in *columns {
            // One row of each table is spoilt: the first.
            let (id, good): (String, Value) = raw
                .query_row(&format!("SELECT {key}, {column} FROM {table} ORDER BY 1 LIMIT 1"), [], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })
                .unwrap();
            raw.execute(&format!("UPDATE {table} SET {column} = {value} WHERE {key} = ?1"), [&id]).unwrap();
            let error = read_all(&store, &writing, &artifact).await.unwrap_err();
            assert_eq!(error.code(), ErrorCode::StorageError);
            let StoreError::CorruptRow { table: in_table, id: in_row, column: in_column, .. } = &error else {
                panic!("{table}.{column}: {error:?}")
            };
            assert_eq!((*in_table, in_row, in_column.as_str()), (*table, &id, *column));
            raw.execute(&format!("UPDATE {table} SET {column} = ?2 WHERE {key} = ?1"), (&id, good)).unwrap();
        }
    }
    read_all(&store, &writing, &artifact).await.unwrap();
}

/// An artifact's path out of the database leads nowhere but to its own folder.
#[tokio::test]
async fn an_artifacts_path_cannot_lead_elsewhere() {
    let place = Place::new("artifact-path");
    let (store, writing) = full(&place).await;
    let raw = place.raw();
    let artifact: String = raw.query_row("SELECT artifact_id FROM artifacts", [], |row| row.get(0)).unwrap();
    for path in ["/etc/passwd", "../../x", "sess_2/artifacts/art_1/x"] {
        raw.execute("UPDATE artifacts SET path = ?1", [path]).unwrap();
        let error = read_all(&store, &writing, &artifact).await.unwrap_err();
        assert!(matches!(error, StoreError::CorruptRow { table: "artifacts", .. }), "{error:?}");
    }
}

/// A broken path is an error that names where, not a shorter path; a circle ends.
#[tokio::test]
async fn a_broken_path_is_named() {
    let place = Place::new("broken-path");
    let (store, writing) = full(&place).await;
    let raw = place.raw();
    for (sql, at) in [
        ("UPDATE nodes SET parent_id = 'node_none' WHERE node_id = 'node_1_1'", "node_1_1"),
        ("UPDATE nodes SET parent_id = 'node_1_2' WHERE node_id = 'node_1_1'", "node_1_1"),
        ("DELETE FROM nodes WHERE node_id = 'node_1_1'", "node_1_2"),
    ] {
        raw.execute_batch(sql).unwrap();
        let error = store.load_path(writing.session(), &writing.run.node(2)).await.unwrap_err();
        let StoreError::CorruptRow { table: "nodes", id, column, .. } = &error else { panic!("{sql}: {error:?}") };
        assert_eq!((id.as_str(), column.as_str()), (at, "parent_id"), "{sql}");
    }
}
