-- What all migrations together make, for a database that is new: it is made at once. A test compares the two ways, so whoever
-- adds a migration changes this, too. Why things are as they are is said in the migrations.
PRAGMA application_id = 1397706574;

CREATE TABLE schema_migrations (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at TEXT NOT NULL
) STRICT;

CREATE TABLE sessions (
    session_id        TEXT NOT NULL PRIMARY KEY,
    cwd               TEXT NOT NULL,
    root_agent_id     TEXT NOT NULL,
    active_node_id    TEXT,
    parent_session_id TEXT,
    status            TEXT NOT NULL,
    metadata_json     TEXT NOT NULL,
    created_at        TEXT NOT NULL,
    updated_at        TEXT NOT NULL,
    owner_pid         INTEGER,
    owner_host        TEXT,
    owner_since       TEXT,
    fence             INTEGER NOT NULL,
    used              INTEGER,
    last_run_id       TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_use ON sessions (used);
CREATE INDEX sessions_of_project ON sessions (cwd, used);

CREATE TABLE agents (
    agent_id          TEXT NOT NULL PRIMARY KEY,
    session_id        TEXT NOT NULL REFERENCES sessions (session_id),
    parent_agent_id   TEXT,
    agent_type        TEXT NOT NULL,
    created_by_run_id TEXT,
    fork_from_node_id TEXT,
    status            TEXT NOT NULL,
    result_json       TEXT,
    metadata_json     TEXT NOT NULL,
    created_at        TEXT NOT NULL,
    updated_at        TEXT NOT NULL,
    number            INTEGER NOT NULL DEFAULT 0,
    active_node_id    TEXT
) STRICT, WITHOUT ROWID;

CREATE INDEX agents_in_order ON agents (session_id, number);
CREATE INDEX agents_of_run ON agents (created_by_run_id) WHERE created_by_run_id IS NOT NULL;

CREATE TABLE runs (
    run_id        TEXT NOT NULL PRIMARY KEY,
    session_id    TEXT NOT NULL REFERENCES sessions (session_id),
    agent_id      TEXT NOT NULL,
    status        TEXT NOT NULL,
    start_node_id TEXT,
    end_node_id   TEXT,
    end_reason    TEXT,
    turn_count    INTEGER NOT NULL,
    usage_json    TEXT NOT NULL,
    error_json    TEXT,
    metadata_json TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL,
    number        INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX runs_of_session ON runs (session_id, status);
CREATE INDEX runs_in_order ON runs (session_id, number);
CREATE INDEX runs_of_agent ON runs (agent_id, number);

CREATE TABLE nodes (
    session_id    TEXT NOT NULL REFERENCES sessions (session_id),
    node_seq      INTEGER NOT NULL,
    node_id       TEXT NOT NULL UNIQUE,
    parent_id     TEXT,
    agent_id      TEXT NOT NULL,
    run_id        TEXT NOT NULL,
    role          TEXT NOT NULL,
    node_type     TEXT NOT NULL,
    content_json  TEXT NOT NULL,
    metadata_json TEXT NOT NULL,
    token_count   INTEGER NOT NULL,
    created_at    TEXT NOT NULL,
    long_content  BLOB,
    PRIMARY KEY (session_id, node_seq)
) STRICT;

CREATE INDEX nodes_spine ON nodes (node_id, parent_id, node_seq, role, node_type, token_count);
CREATE INDEX nodes_said ON nodes (session_id, agent_id, node_seq) WHERE role = 'user' AND node_type = 'message';

CREATE TABLE path_checkpoints (
    session_id TEXT NOT NULL REFERENCES sessions (session_id),
    node_seq   INTEGER NOT NULL,
    node_id    TEXT NOT NULL,
    state_json TEXT NOT NULL,
    PRIMARY KEY (session_id, node_seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
    session_id   TEXT NOT NULL REFERENCES sessions (session_id),
    seq          INTEGER NOT NULL,
    run_seq      INTEGER,
    event_id     TEXT NOT NULL,
    agent_id     TEXT,
    run_id       TEXT,
    level        TEXT NOT NULL,
    event_type   TEXT NOT NULL,
    node_id      TEXT,
    tool_call_id TEXT,
    payload_json TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    PRIMARY KEY (session_id, seq)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX events_of_run ON events (run_id, run_seq);
CREATE INDEX events_rare ON events (session_id, event_type, seq)
WHERE event_type GLOB 'compact_*' OR event_type GLOB 'memory_extraction_*';
CREATE INDEX events_contexts ON events (agent_id, seq) WHERE event_type = 'context_built';

CREATE TABLE artifacts (
    artifact_id   TEXT NOT NULL PRIMARY KEY,
    session_id    TEXT NOT NULL REFERENCES sessions (session_id),
    agent_id      TEXT,
    run_id        TEXT,
    node_id       TEXT,
    tool_call_id  TEXT,
    path          TEXT NOT NULL,
    filename      TEXT NOT NULL,
    mime_type     TEXT,
    size_bytes    INTEGER NOT NULL,
    summary       TEXT,
    metadata_json TEXT NOT NULL,
    created_at    TEXT NOT NULL,
    seq           INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX artifacts_in_order ON artifacts (session_id, seq, artifact_id);

CREATE TABLE blobs (
    session_id TEXT NOT NULL REFERENCES sessions (session_id),
    hash       TEXT NOT NULL,
    bytes      BLOB NOT NULL,
    PRIMARY KEY (session_id, hash)
) STRICT;

CREATE TABLE file_versions (
    session_id TEXT NOT NULL REFERENCES sessions (session_id),
    agent_id   TEXT NOT NULL,
    path       TEXT NOT NULL,
    hash       TEXT NOT NULL,
    written    INTEGER NOT NULL,
    seen_at    TEXT NOT NULL,
    PRIMARY KEY (session_id, agent_id, path)
) STRICT, WITHOUT ROWID;

CREATE INDEX files_written ON file_versions (session_id, path, agent_id) WHERE written = 1;

CREATE TABLE search_sessions (
    number     INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL UNIQUE REFERENCES sessions (session_id),
    indexed    INTEGER NOT NULL
) STRICT;

CREATE TABLE search_state (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    dirty INTEGER NOT NULL
) STRICT;

INSERT INTO search_state (one, dirty) VALUES (1, 0);
