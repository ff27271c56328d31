-- What a path holds up to one of its nodes: counted once, so that going on with a session does not walk all of it again. Derived
-- from `nodes`, whose paths never change; what is missing here is walked and counted anew.
CREATE TABLE path_checkpoints (
    session_id TEXT NOT NULL REFERENCES sessions (session_id),
    node_seq   INTEGER NOT NULL,
    node_id    TEXT NOT NULL,
    state_json TEXT NOT NULL,
    PRIMARY KEY (session_id, node_seq)
) STRICT, WITHOUT ROWID;

-- Finds what users said without passing over everything between. Whoever asks repeats the condition.
CREATE INDEX nodes_said ON nodes (session_id, agent_id, node_seq) WHERE role = 'user' AND node_type = 'message';
