-- Each agent goes on from a node of its own; a session follows its root agent.
ALTER TABLE agents ADD COLUMN active_node_id TEXT;

UPDATE agents SET active_node_id = sessions.active_node_id
FROM sessions
WHERE sessions.session_id = agents.session_id AND sessions.root_agent_id = agents.agent_id;

-- Finds the children of a run.
CREATE INDEX agents_of_run ON agents (created_by_run_id) WHERE created_by_run_id IS NOT NULL;
CREATE INDEX runs_of_agent ON runs (agent_id, number);

-- Finds the last request of an agent. Whoever asks repeats the condition.
CREATE INDEX events_contexts ON events (agent_id, seq) WHERE event_type = 'context_built';

-- Each agent has seen versions of its own. So far only root agents had any; what of it they wrote was not kept.
ALTER TABLE file_versions RENAME TO file_versions_of_sessions;

CREATE TABLE file_versions (
    session_id TEXT NOT NULL REFERENCES sessions (session_id),
    agent_id   TEXT NOT NULL,
    path       TEXT NOT NULL,
    hash       TEXT NOT NULL,
    written    INTEGER NOT NULL,
    seen_at    TEXT NOT NULL,
    PRIMARY KEY (session_id, agent_id, path)
) STRICT, WITHOUT ROWID;

INSERT INTO file_versions (session_id, agent_id, path, hash, written, seen_at)
SELECT seen.session_id, sessions.root_agent_id, seen.path, seen.hash, 0, seen.seen_at
FROM file_versions_of_sessions AS seen JOIN sessions ON sessions.session_id = seen.session_id;

DROP TABLE file_versions_of_sessions;

CREATE INDEX files_written ON file_versions (session_id, path, agent_id) WHERE written = 1;
