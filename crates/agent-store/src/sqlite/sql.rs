//! Every statement that runs after opening, in one place, so that one test can ask the planner about all of them.

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:expr;)*) => {
        $($(#[$doc])* pub(super) const $name: &str = $sql;)*

        #[cfg(test)]
        pub(super) const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),*];
    };
}

macro_rules! session_columns {
    () => {
        "session_id, cwd, root_agent_id, active_node_id, parent_session_id, status, metadata_json, created_at, updated_at,
         owner_pid, owner_host, owner_since"
    };
}

macro_rules! run_columns {
    () => {
        "run_id, session_id, agent_id, status, start_node_id, end_node_id, end_reason, turn_count, usage_json, error_json,
         metadata_json, created_at, updated_at"
    };
}

macro_rules! event_columns {
    () => {
        "event_id, seq, run_seq, session_id, agent_id, run_id, level, event_type, node_id, tool_call_id, payload_json,
         created_at"
    };
}

statements! {
    BEGIN = "BEGIN IMMEDIATE";
    COMMIT = "COMMIT";
    ROLLBACK = "ROLLBACK";
    SAVE = "SAVEPOINT one";
    KEEP = "RELEASE one";
    UNDO = "ROLLBACK TO one";

    ADD_SESSION = "
        INSERT INTO sessions (session_id, cwd, root_agent_id, status, metadata_json, created_at, updated_at, owner_pid,
                              owner_host, owner_since, fence)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?6, 1)
        ON CONFLICT DO NOTHING";
    CLAIM_SESSION = "
        UPDATE sessions SET fence = fence + 1, owner_pid = ?2, owner_host = ?3, owner_since = ?4
        WHERE session_id = ?1 RETURNING fence";
    /// Checks the fence and dates the session in one step: no row changes once somebody else has claimed it.
    HOLD_FENCE = "UPDATE sessions SET updated_at = ?3 WHERE session_id = ?1 AND fence = ?2";
    ACTIVATE = "
        UPDATE sessions SET active_node_id = ?2
        WHERE session_id = ?1 AND EXISTS (SELECT 1 FROM nodes WHERE node_id = ?2 AND session_id = ?1)";

    /// The last places given out: of nodes, of events, of the run's events.
    LAST_PLACES = "
        SELECT coalesce((SELECT node_seq FROM nodes WHERE session_id = ?1 ORDER BY node_seq DESC LIMIT 1), 0),
               coalesce((SELECT seq FROM events WHERE session_id = ?1 ORDER BY seq DESC LIMIT 1), 0),
               coalesce((SELECT run_seq FROM events WHERE run_id = ?2 ORDER BY run_seq DESC LIMIT 1), 0)";
    RUN_IS_HERE = "SELECT 1 FROM runs WHERE run_id = ?1 AND session_id = ?2 AND agent_id = ?3";

    ADD_AGENT = "
        INSERT INTO agents (agent_id, session_id, parent_agent_id, agent_type, created_by_run_id, fork_from_node_id,
                            status, metadata_json, created_at, updated_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)";
    SET_AGENT = "
        UPDATE agents SET status = ?3, result_json = coalesce(?4, result_json), updated_at = ?5
        WHERE agent_id = ?1 AND session_id = ?2";
    /// Only for an agent of the same session.
    ADD_RUN = "
        INSERT INTO runs (run_id, session_id, agent_id, status, start_node_id, turn_count, usage_json, metadata_json,
                          created_at, updated_at)
        SELECT ?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?8
        WHERE EXISTS (SELECT 1 FROM agents WHERE agent_id = ?3 AND session_id = ?2)";
    SET_RUN = "
        UPDATE runs SET status = ?3, end_reason = ?4, end_node_id = ?5, turn_count = ?6, usage_json = ?7,
                        error_json = ?8, updated_at = ?9
        WHERE run_id = ?1 AND session_id = ?2";
    /// Only below a node of the same session, so that a path never leaves it (STO-7).
    ADD_NODE = "
        INSERT INTO nodes (session_id, node_seq, node_id, parent_id, agent_id, run_id, role, node_type, content_json,
                           metadata_json, token_count, created_at)
        SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
        WHERE ?4 IS NULL OR EXISTS (SELECT 1 FROM nodes WHERE node_id = ?4 AND session_id = ?1)";
    ADD_EVENT = "
        INSERT INTO events (session_id, seq, run_seq, event_id, agent_id, run_id, level, event_type, node_id,
                            tool_call_id, payload_json, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    ADD_ARTIFACT = "
        INSERT INTO artifacts (artifact_id, session_id, agent_id, run_id, node_id, tool_call_id, path, filename,
                               mime_type, size_bytes, summary, metadata_json, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
    ADD_BLOB = "INSERT INTO blobs (session_id, hash, bytes) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    SET_FILE_VERSION = "
        INSERT INTO file_versions (session_id, path, hash, seen_at) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT DO UPDATE SET hash = excluded.hash, seen_at = excluded.seen_at";

    // The first column of what is read names the row in errors.
    SESSION = concat!("SELECT ", session_columns!(), " FROM sessions WHERE session_id = ?1");
    AGENT = "
        SELECT agent_id, session_id, parent_agent_id, agent_type, created_by_run_id, fork_from_node_id, status,
               result_json, metadata_json, created_at, updated_at
        FROM agents WHERE agent_id = ?1";
    RUN = concat!("SELECT ", run_columns!(), " FROM runs WHERE run_id = ?1");
    UNFINISHED_RUNS = concat!(
        "SELECT ", run_columns!(), " FROM runs
         WHERE session_id = ?1 AND status IN ('queued', 'pending', 'running') ORDER BY created_at, run_id"
    );
    ARTIFACT = "
        SELECT artifact_id, session_id, agent_id, run_id, node_id, tool_call_id, path, filename, mime_type, size_bytes,
               summary, metadata_json, created_at
        FROM artifacts WHERE artifact_id = ?1";
    /// A parent always has the smaller place: the walk ends, whatever a damaged file holds.
    SPINE = "
        WITH RECURSIVE spine (node_id, parent_id, node_seq) AS (
            SELECT node_id, parent_id, node_seq FROM nodes INDEXED BY nodes_spine WHERE node_id = ?1
            UNION ALL
            SELECT parent.node_id, parent.parent_id, parent.node_seq
            FROM spine JOIN nodes AS parent INDEXED BY nodes_spine
                 ON parent.node_id = spine.parent_id AND parent.node_seq < spine.node_seq
        )
        SELECT node_id, parent_id, node_seq FROM spine";
    NODE_IS_HERE = "SELECT 1 FROM nodes WHERE node_id = ?1 AND session_id = ?2";
    NODES = "
        SELECT node_id, session_id, node_seq, parent_id, agent_id, run_id, role, node_type, content_json, metadata_json,
               token_count, created_at
        FROM nodes WHERE session_id = ?1 AND node_seq BETWEEN ?2 AND ?3 ORDER BY node_seq";
    EVENTS = concat!(
        "SELECT ", event_columns!(), " FROM events WHERE session_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3"
    );
    RUN_EVENTS = concat!(
        "SELECT ", event_columns!(), " FROM events WHERE run_id = ?1 AND run_seq > ?2 ORDER BY run_seq LIMIT ?3"
    );
    FILE_VERSIONS = "SELECT path, hash, seen_at FROM file_versions WHERE session_id = ?1 ORDER BY path";
    BLOB = "SELECT hash, bytes FROM blobs WHERE session_id = ?1 AND hash = ?2";
}

#[cfg(test)]
mod tests;
