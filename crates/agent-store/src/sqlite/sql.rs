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

macro_rules! agent_columns {
    () => {
        "agent_id, session_id, parent_agent_id, agent_type, created_by_run_id, fork_from_node_id, active_node_id,
         status, result_json, metadata_json, created_at, updated_at"
    };
}

/// A node's content, wherever it is kept.
macro_rules! node_content {
    () => {
        "CASE WHEN long_content IS NULL THEN content_json ELSE CAST(long_content AS TEXT) END AS content_json"
    };
}

macro_rules! node_columns {
    () => {
        concat!(
            "node_id, session_id, node_seq, parent_id, agent_id, run_id, role, node_type, ",
            node_content!(),
            ", metadata_json, token_count, created_at"
        )
    };
}

macro_rules! artifact_columns {
    () => {
        "artifact_id, session_id, agent_id, run_id, node_id, tool_call_id, path, filename, mime_type, size_bytes, summary,
         metadata_json, created_at"
    };
}

macro_rules! event_columns {
    () => {
        "event_id, seq, run_seq, session_id, agent_id, run_id, level, event_type, node_id, tool_call_id, payload_json,
         created_at"
    };
}

/// The number of a run that begins: behind all that were used, and behind all of its session.
macro_rules! next_number {
    ($session:literal) => {
        concat!(
            "1 + max(coalesce((SELECT max(used) FROM sessions), 0),
                     coalesce((SELECT max(number) FROM runs WHERE session_id = ",
            $session,
            "), 0))"
        )
    };
}

/// Which types of events `events_rare` holds. A query uses it only if it says so in the same words.
macro_rules! is_rare {
    () => {
        "(event_type GLOB 'compact_*' OR event_type GLOB 'memory_extraction_*')"
    };
}

/// What a user said to an agent; what core said in the user's place is told by the metadata.
macro_rules! user_messages_after {
    () => {
        " FROM nodes
         INDEXED BY nodes_said
         WHERE session_id = ?1 AND node_seq > ?3 AND agent_id = ?2 AND role = 'user' AND node_type = 'message'
         ORDER BY node_seq"
    };
}

/// Rows of an agent, if one is asked for: its own, those of nobody, and those that name none.
macro_rules! of_agent {
    ($agent:literal) => {
        concat!(
            "(",
            $agent,
            " IS NULL OR agent_id = ",
            $agent,
            "
              OR typeof(agent_id) <> 'text' OR agent_id NOT GLOB 'agent_*')"
        )
    };
}

/// Rows whose place is no whole number above 0. Texts and bytes sort behind all numbers.
macro_rules! misplaced {
    ($table:literal, $id:literal, $of:literal, $place:literal) => {
        concat!(
            "SELECT ",
            $id,
            ", ",
            $place,
            " FROM ",
            $table,
            " WHERE ",
            $of,
            " = ?1 AND ",
            $place,
            " IS NULL
             UNION ALL SELECT ",
            $id,
            ", ",
            $place,
            " FROM ",
            $table,
            " WHERE ",
            $of,
            " = ?1 AND ",
            $place,
            " < 1
             UNION ALL SELECT ",
            $id,
            ", ",
            $place,
            " FROM ",
            $table,
            " WHERE ",
            $of,
            " = ?1
                   AND ",
            $place,
            " > 9223372036854775807"
        )
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
    /// Checks the fence, dates the session and lets it follow its root agent in one step: no row changes once somebody else
    /// has claimed it.
    HOLD_FENCE = "
        UPDATE sessions
        SET updated_at = ?3, active_node_id = iif(root_agent_id = ?4, coalesce(?5, active_node_id), active_node_id)
        WHERE session_id = ?1 AND fence = ?2";
    HAS_FENCE = "SELECT 1 FROM sessions WHERE session_id = ?1 AND fence = ?2";
    MOVE_SESSION = "
        UPDATE sessions SET active_node_id = ?3 WHERE session_id = ?1 AND fence = ?2 RETURNING root_agent_id";
    SET_PROJECT = "UPDATE sessions SET cwd = ?3 WHERE session_id = ?1 AND fence = ?2";
    /// Only to a node that the agent may have children below: see [`MAY_BE_PARENT`].
    ACTIVATE = "
        UPDATE agents SET active_node_id = ?2
        WHERE agent_id = ?3 AND session_id = ?1 AND EXISTS (
            SELECT 1 FROM nodes
            WHERE node_id = ?2 AND session_id = ?1
                  AND (nodes.agent_id = ?3 OR node_id = agents.fork_from_node_id)
        )";

    /// The last places given out: of nodes, of events, of the run's events.
    LAST_PLACES = "
        SELECT coalesce((SELECT node_seq FROM nodes WHERE session_id = ?1 ORDER BY node_seq DESC LIMIT 1), 0),
               coalesce((SELECT seq FROM events WHERE session_id = ?1 ORDER BY seq DESC LIMIT 1), 0),
               coalesce((SELECT run_seq FROM events WHERE run_id = ?2 ORDER BY run_seq DESC LIMIT 1), 0)";
    RUN_IS_HERE = "SELECT 1 FROM runs WHERE run_id = ?1 AND session_id = ?2 AND agent_id = ?3";

    ADD_AGENT = "
        INSERT INTO agents (agent_id, session_id, parent_agent_id, agent_type, created_by_run_id, fork_from_node_id,
                            status, metadata_json, created_at, updated_at, number)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9,
                (SELECT coalesce(max(number), 0) + 1 FROM agents WHERE session_id = ?2))";
    SET_AGENT = "
        UPDATE agents SET status = ?3, result_json = coalesce(?4, result_json), updated_at = ?5
        WHERE agent_id = ?1 AND session_id = ?2";
    /// Only for an agent of the same session.
    ADD_RUN = concat!(
        "INSERT INTO runs (run_id, session_id, agent_id, status, start_node_id, turn_count, usage_json, metadata_json,
                           created_at, updated_at, number)
         SELECT ?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?8, ", next_number!("?2"), "
         WHERE EXISTS (SELECT 1 FROM agents WHERE agent_id = ?3 AND session_id = ?2)"
    );
    /// After the run is added: its session is the one that was used last, if the run is one of the agent people talk to.
    USE_SESSION = "
        UPDATE sessions SET used = (SELECT number FROM runs WHERE run_id = ?2), last_run_id = ?2
        WHERE session_id = ?1 AND root_agent_id = (SELECT agent_id FROM runs WHERE run_id = ?2)";
    /// A run that waited gets its number when it begins; before its status is changed.
    BEGIN_RUN = concat!(
        "UPDATE runs SET number = ", next_number!("?1"), "
         WHERE run_id = ?2 AND session_id = ?1 AND status = 'queued'"
    );
    /// A run that ends uses its session once more, if its agent is the one people talk to.
    USE_SESSION_AGAIN = "
        UPDATE sessions SET used = (SELECT max(used) + 1 FROM sessions)
        WHERE session_id = ?1 AND root_agent_id = ?2 AND used < (SELECT max(used) FROM sessions)";
    SET_RUN = "
        UPDATE runs SET status = ?3, end_reason = ?4, end_node_id = ?5, turn_count = ?6, usage_json = ?7,
                        error_json = ?8, updated_at = ?9
        WHERE run_id = ?1 AND session_id = ?2";
    /// Only below a node of the same session (STO-7) that is of the agent's own tree, or that the agent was forked from
    /// (STO-8).
    /// Whether an agent may have nodes below that one.
    MAY_BE_PARENT = "
        SELECT 1 FROM nodes
        WHERE node_id = ?1 AND session_id = ?2
              AND (agent_id = ?3 OR node_id = (SELECT fork_from_node_id FROM agents WHERE agent_id = ?3))";
    /// With values and no condition: rows that are selected first are kept in a table of their own, and copied twice more.
    ADD_NODE = "
        INSERT INTO nodes (session_id, node_seq, node_id, parent_id, agent_id, run_id, role, node_type, content_json,
                           metadata_json, token_count, created_at, long_content)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
    ADD_EVENT = "
        INSERT INTO events (session_id, seq, run_seq, event_id, agent_id, run_id, level, event_type, node_id,
                            tool_call_id, payload_json, created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    ADD_ARTIFACT = "
        INSERT INTO artifacts (artifact_id, session_id, agent_id, run_id, node_id, tool_call_id, path, filename,
                               mime_type, size_bytes, summary, metadata_json, created_at, seq)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
    ADD_BLOB = "INSERT INTO blobs (session_id, hash, bytes) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    /// What an agent wrote and then saw unchanged stays written by it.
    SET_FILE_VERSION = "
        INSERT INTO file_versions (session_id, agent_id, path, hash, written, seen_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT DO UPDATE SET
            hash = excluded.hash, seen_at = excluded.seen_at,
            written = excluded.written OR (file_versions.written AND file_versions.hash = excluded.hash)";

    // The first column of what is read names the row in errors.
    SESSION = concat!("SELECT ", session_columns!(), " FROM sessions WHERE session_id = ?1");
    AGENT = concat!("SELECT ", agent_columns!(), " FROM agents WHERE agent_id = ?1");
    RUN = concat!("SELECT ", run_columns!(), " FROM runs WHERE run_id = ?1");
    /// By status: in the order of their numbers all runs of the session would be looked at.
    UNFINISHED_RUNS = concat!(
        "SELECT ", run_columns!(), " FROM runs INDEXED BY runs_of_session
         WHERE session_id = ?1 AND status IN ('queued', 'pending', 'running') ORDER BY number"
    );
    LAST_RUN = concat!(
        "SELECT ", run_columns!(), " FROM runs
         WHERE run_id = (SELECT last_run_id FROM sessions WHERE session_id = ?1) AND session_id = ?1"
    );
    ARTIFACT = concat!("SELECT ", artifact_columns!(), " FROM artifacts WHERE artifact_id = ?1");
    /// A parent always has the smaller place: the walk ends, whatever a damaged file holds.
    SPINE = "
        WITH RECURSIVE spine (node_id, parent_id, node_seq, role, node_type, token_count) AS (
            SELECT node_id, parent_id, node_seq, role, node_type, token_count
            FROM nodes INDEXED BY nodes_spine WHERE node_id = ?1
            UNION ALL
            SELECT parent.node_id, parent.parent_id, parent.node_seq, parent.role, parent.node_type, parent.token_count
            FROM spine JOIN nodes AS parent INDEXED BY nodes_spine
                 ON parent.node_id = spine.parent_id AND parent.node_seq < spine.node_seq
        )
        SELECT node_id, parent_id, node_seq, role, node_type, token_count FROM spine";
    /// The newest checkpoint before a place.
    CHECKPOINT_BEFORE = "
        SELECT node_id, node_seq, state_json FROM path_checkpoints
        WHERE session_id = ?1 AND node_seq < ?2 ORDER BY node_seq DESC LIMIT 1";
    /// One that answers another question gives way.
    ADD_CHECKPOINT = "
        INSERT INTO path_checkpoints (session_id, node_seq, node_id, state_json)
        SELECT session_id, node_seq, node_id, ?4 FROM nodes WHERE session_id = ?1 AND node_seq = ?2 AND node_id = ?3
        ON CONFLICT DO UPDATE SET state_json = excluded.state_json";
    NODE_IS_HERE = "SELECT 1 FROM nodes WHERE node_id = ?1 AND session_id = ?2";
    NODE_METADATA = "SELECT node_id, metadata_json FROM nodes WHERE node_id = ?1";
    NODES = concat!(
        "SELECT ", node_columns!(), " FROM nodes
         WHERE session_id = ?1 AND node_seq BETWEEN ?2 AND ?3 ORDER BY node_seq"
    );
    EVENTS = concat!(
        "SELECT ", event_columns!(), " FROM events WHERE session_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3"
    );
    RUN_EVENTS = concat!(
        "SELECT ", event_columns!(), " FROM events WHERE run_id = ?1 AND run_seq > ?2 AND run_seq <= 9223372036854775807
         ORDER BY run_seq LIMIT ?3"
    );
    /// Of a type that `events_rare` holds.
    LAST_RARE_EVENT = concat!(
        "SELECT ", event_columns!(), " FROM events INDEXED BY events_rare
         WHERE session_id = ?1 AND event_type = ?2 AND ", is_rare!(), " ORDER BY seq DESC LIMIT 1"
    );
    /// Of any type: from the end of the session backwards.
    LAST_EVENT = concat!(
        "SELECT ", event_columns!(), " FROM events
         WHERE session_id = ?1 AND event_type = ?2 ORDER BY seq DESC LIMIT 1"
    );
    USER_MESSAGES = concat!("SELECT ", node_columns!(), user_messages_after!());
    /// The same, the newest first.
    NEWEST_USER_MESSAGES = concat!("SELECT ", node_columns!(), user_messages_after!(), " DESC");
    FILE_VERSIONS = "
        SELECT path, agent_id, hash, written, seen_at FROM file_versions
        WHERE session_id = ?1 AND agent_id = ?2 ORDER BY path";
    WRITTEN_FILES = "
        SELECT path, agent_id, hash, written, seen_at FROM file_versions INDEXED BY files_written
        WHERE session_id = ?1 AND written = 1 ORDER BY path, agent_id";
    LAST_CONTEXT = concat!(
        "SELECT ", event_columns!(), " FROM events INDEXED BY events_contexts
         WHERE agent_id = ?1 AND event_type = 'context_built' ORDER BY seq DESC LIMIT 1"
    );
    BLOB = "SELECT hash, bytes FROM blobs WHERE session_id = ?1 AND hash = ?2";

    // Looking back.
    SESSION_OF_PROJECT = "SELECT 1 FROM sessions WHERE session_id = ?1 AND cwd = ?2";
    SESSION_IS_HERE = "SELECT 1 FROM sessions WHERE session_id = ?1";
    ARTIFACT_IS_HERE = "SELECT 1 FROM artifacts WHERE artifact_id = ?1 AND session_id = ?2";
    NODE = concat!("SELECT ", node_columns!(), " FROM nodes WHERE node_id = ?1");
    /// What a list says of a session beyond its row; the first column names it in errors.
    ///
    /// Only runs of the root agent count. Whose they are is looked up only where there are other agents: without, the index
    /// alone tells.
    RUNS_IN_SHORT = "
        SELECT session_id, last_run_id,
               CASE WHEN EXISTS (SELECT 1 FROM agents WHERE session_id = ?1 AND agent_id <> root_agent_id)
                    THEN (SELECT count(*) FROM runs WHERE session_id = ?1 AND agent_id = root_agent_id)
                    ELSE (SELECT count(*) FROM runs WHERE session_id = ?1) END
        FROM sessions WHERE session_id = ?1";
    SESSIONS = concat!(
        "SELECT ", session_columns!(), " FROM sessions ORDER BY used DESC, session_id DESC LIMIT ?1 OFFSET ?2"
    );
    SESSIONS_OF_PROJECT = concat!(
        "SELECT ", session_columns!(), " FROM sessions WHERE cwd = ?3
         ORDER BY used DESC, session_id DESC LIMIT ?1 OFFSET ?2"
    );
    /// From a prefix up to what sorts behind everything that begins so.
    SESSIONS_BEGINNING = "
        SELECT session_id FROM sessions WHERE session_id >= ?1 AND session_id < ?2 ORDER BY session_id LIMIT ?3";
    /// What users have said, first things first.
    FIRST_MESSAGES = concat!("SELECT node_id, metadata_json, ", node_content!(), user_messages_after!());
    RUNS = concat!(
        "SELECT ", run_columns!(), " FROM runs WHERE session_id = ?1 ORDER BY number LIMIT ?2 OFFSET ?3"
    );
    /// From the end of the run backwards.
    LAST_QUESTION = concat!(
        "SELECT ", event_columns!(), " FROM events
         WHERE run_id = ?1 AND event_type IN ('permission_requested', 'permission_resolved')
         ORDER BY run_seq DESC LIMIT 1"
    );
    AGENTS = concat!("SELECT ", agent_columns!(), " FROM agents WHERE session_id = ?1 ORDER BY number");
    CHILDREN = concat!(
        "SELECT ", run_columns!(), " FROM runs INDEXED BY runs_of_agent
         WHERE agent_id IN (SELECT agent_id FROM agents INDEXED BY agents_of_run WHERE created_by_run_id = ?1)
         ORDER BY number"
    );
    ARTIFACTS = concat!(
        "SELECT ", artifact_columns!(), ", seq FROM artifacts
         WHERE session_id = ?1 AND (seq, artifact_id) > (?2, ?3) ORDER BY seq, artifact_id LIMIT ?4"
    );

    // Replay. Of an agent: what is its own, or nobody's, also where nobody can tell whose it is.
    EVENT_SPAN = concat!(
        "SELECT ", event_columns!(), " FROM events
         WHERE session_id = ?1 AND seq BETWEEN ?2 AND ?3 AND ", of_agent!("?4"), "
         ORDER BY seq LIMIT ?5"
    );
    EVENT_BEYOND = "SELECT 1 FROM events WHERE session_id = ?1 AND seq > ?2 LIMIT 1";
    RUN_SEQ_OF_EVENT = "SELECT run_seq FROM events WHERE session_id = ?1 AND seq = ?2";
    PLACE_OF_NODE = "SELECT node_seq FROM nodes INDEXED BY nodes_spine WHERE node_id = ?1";
    /// The last place of a node that an event before this one names.
    PLACE_NAMED_BEFORE = "
        SELECT max(named.node_seq)
        FROM events CROSS JOIN nodes AS named INDEXED BY nodes_spine ON named.node_id = events.node_id
        WHERE events.session_id = ?1 AND events.seq < ?2
              AND (?3 IS NULL OR events.agent_id = ?3 OR events.agent_id IS NULL)";
    /// What has no place in its session's order, or in its run's: damaged, since the store gives every row one.
    MISPLACED_EVENTS = misplaced!("events", "event_id", "session_id", "seq");
    MISPLACED_RUN_EVENTS = misplaced!("events", "event_id", "run_id", "run_seq");
    MISPLACED_NODES = misplaced!("nodes", "node_id", "session_id", "node_seq");
    /// Those from before places were kept stand at 0.
    MISPLACED_ARTIFACTS = "
        SELECT artifact_id, seq FROM artifacts WHERE session_id = ?1 AND seq IS NULL
        UNION ALL SELECT artifact_id, seq FROM artifacts WHERE session_id = ?1 AND seq < 0
        UNION ALL SELECT artifact_id, seq FROM artifacts WHERE session_id = ?1 AND seq > 9223372036854775807";
    ARTIFACT_SPAN = concat!(
        "SELECT ", artifact_columns!(), " FROM artifacts
         WHERE session_id = ?1 AND seq BETWEEN ?2 AND ?3 AND ", of_agent!("?4"), "
               AND (?5 IS NULL OR run_id = ?5)
         ORDER BY seq, artifact_id"
    );

    // Search.
    SEARCH_IS_DIRTY = "SELECT dirty FROM search_state WHERE one = 1";
    SET_SEARCH_DIRTY = "UPDATE search_state SET dirty = ?1 WHERE one = 1";
    /// Sessions after this one whose newest node has not been indexed. It looks at every session, a few microseconds each:
    /// commits do not tell the search what they add.
    SESSIONS_TO_INDEX = "
        SELECT sessions.session_id, coalesce(search_sessions.indexed, 0) AS indexed,
               (SELECT node_seq FROM nodes WHERE nodes.session_id = sessions.session_id
                ORDER BY node_seq DESC LIMIT 1) AS last_node,
               sessions.root_agent_id
        FROM sessions LEFT JOIN search_sessions ON search_sessions.session_id = sessions.session_id
        WHERE sessions.session_id > ?1 AND last_node <> coalesce(search_sessions.indexed, 0)
        ORDER BY sessions.session_id LIMIT ?2";
    NODES_TO_INDEX = concat!(
        "SELECT node_id, node_seq, agent_id, role, node_type, metadata_json, ", node_content!(), " FROM nodes
         WHERE session_id = ?1 AND node_seq > ?2 ORDER BY node_seq"
    );
    NUMBER_SESSION = "
        INSERT INTO search_sessions (session_id, indexed) SELECT session_id, 0 FROM sessions WHERE session_id = ?1
        ON CONFLICT DO NOTHING";
    /// Only if nobody else has been there since.
    SET_INDEXED = "
        UPDATE search_sessions SET indexed = ?3 WHERE session_id = ?1 AND indexed = ?2 RETURNING number";
    HAS_INDEX = "SELECT 1 FROM sqlite_schema WHERE name = 'search_text'";
    ADD_TEXT = "INSERT INTO search_text (rowid, text) VALUES (?1, ?2)";
    TEXTS_WITH = "SELECT rowid FROM search_text WHERE search_text MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid";
    NUMBERED_SESSION = "
        SELECT sessions.session_id, sessions.used
        FROM search_sessions CROSS JOIN sessions ON sessions.session_id = search_sessions.session_id
        WHERE search_sessions.number = ?1 AND (?2 IS NULL OR sessions.cwd = ?2)";
    NUMBER_OF_SESSION = "SELECT number FROM search_sessions WHERE session_id = ?1";
    /// One step of rewriting the index without what was deleted.
    MERGE_TEXTS = "INSERT INTO search_text (search_text, rank) VALUES ('merge', ?1)";

    // Clearing away.
    DELETE_TEXTS = "DELETE FROM search_text WHERE rowid BETWEEN ?1 AND ?2";
    DELETE_NUMBER = "DELETE FROM search_sessions WHERE session_id = ?1";
    DELETE_CHECKPOINTS = "DELETE FROM path_checkpoints WHERE session_id = ?1";
    DELETE_NODES = "DELETE FROM nodes WHERE session_id = ?1";
    DELETE_EVENTS = "DELETE FROM events WHERE session_id = ?1";
    DELETE_RUNS = "DELETE FROM runs WHERE session_id = ?1";
    DELETE_AGENTS = "DELETE FROM agents WHERE session_id = ?1";
    DELETE_ARTIFACTS = "DELETE FROM artifacts WHERE session_id = ?1";
    DELETE_BLOBS = "DELETE FROM blobs WHERE session_id = ?1";
    DELETE_FILE_VERSIONS = "DELETE FROM file_versions WHERE session_id = ?1";
    DELETE_SESSION = "DELETE FROM sessions WHERE session_id = ?1";
    DELETE_ARTIFACT = "DELETE FROM artifacts WHERE artifact_id = ?1 AND session_id = ?2";
    /// Takes effect when it is prepared: never out of the cache.
    OVERWRITE = "PRAGMA secure_delete = ON";
    /// Overwrites what costs no further page.
    OVERWRITE_CHEAPLY = "PRAGMA secure_delete = FAST";
}

// What a repair has copied, whole tables. Not among the statements, since these walk on purpose. The first column is the key.
pub(super) const REPAIRED_SESSIONS: &str = concat!("SELECT ", session_columns!(), " FROM sessions");
pub(super) const REPAIRED_AGENTS: &str = concat!("SELECT ", agent_columns!(), " FROM agents");
pub(super) const REPAIRED_RUNS: &str = concat!("SELECT ", run_columns!(), " FROM runs");
pub(super) const REPAIRED_NODES: &str = concat!("SELECT ", node_columns!(), " FROM nodes");
pub(super) const REPAIRED_EVENTS: &str = concat!("SELECT ", event_columns!(), " FROM events");
pub(super) const REPAIRED_ARTIFACTS: &str = concat!("SELECT ", artifact_columns!(), " FROM artifacts");
pub(super) const REPAIRED_BLOBS: &str = "SELECT hash, bytes, session_id FROM blobs";
pub(super) const REPAIRED_FILE_VERSIONS: &str =
    "SELECT path, agent_id, hash, written, seen_at, session_id FROM file_versions";

/// The index of words: it knows words and places, not the text. Not among the statements, since those are planned on a database
/// that has it.
pub(super) const MAKE_INDEX: &str = "
    CREATE VIRTUAL TABLE IF NOT EXISTS search_text USING fts5 (
        text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
    )";

#[cfg(test)]
mod tests;
