-- Sessions, runs and agents get an order that does not ask the clock. One count runs over the runs of all sessions: a run
-- keeps the number it was given when it began, a session has what its last run was given when it began or ended.
ALTER TABLE sessions ADD COLUMN used INTEGER;
ALTER TABLE sessions ADD COLUMN last_run_id TEXT;
ALTER TABLE runs ADD COLUMN number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agents ADD COLUMN number INTEGER NOT NULL DEFAULT 0;

-- The clock is all that older rows have.
UPDATE runs SET number = ranked.number
FROM (
    SELECT runs.run_id,
           row_number() OVER (
               ORDER BY sessions.updated_at, sessions.session_id, runs.created_at, runs.run_id
           ) AS number
    FROM runs JOIN sessions ON sessions.session_id = runs.session_id
) AS ranked
WHERE runs.run_id = ranked.run_id;

UPDATE sessions SET used = newest.number, last_run_id = newest.run_id
FROM (SELECT session_id, run_id, max(number) AS number FROM runs GROUP BY session_id) AS newest
WHERE sessions.session_id = newest.session_id;

UPDATE agents SET number = ranked.number
FROM (
    SELECT agent_id, row_number() OVER (PARTITION BY session_id ORDER BY created_at, agent_id) AS number FROM agents
) AS ranked
WHERE agents.agent_id = ranked.agent_id;

CREATE INDEX sessions_by_use ON sessions (used);
CREATE INDEX sessions_of_project ON sessions (cwd, used);
CREATE INDEX runs_in_order ON runs (session_id, number);
DROP INDEX agents_of_session;
CREATE INDEX agents_in_order ON agents (session_id, number);

-- Where an artifact stands among the events: 0 where that was not written down.
ALTER TABLE artifacts ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
DROP INDEX artifacts_of_session;
CREATE INDEX artifacts_in_order ON artifacts (session_id, seq, artifact_id);

-- How far the search has read each session. The number stands for the session in the index of words, whose row ids are
-- number * 2^32 + node_seq.
CREATE TABLE search_sessions (
    number     INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL UNIQUE REFERENCES sessions (session_id),
    indexed    INTEGER NOT NULL
) STRICT;

-- The index of words itself, `search_text`, is made by the first search: most homes never see one, and every start reads the
-- schema.

-- One row: whether words of deleted sessions are still to be cleared out of the index.
CREATE TABLE search_state (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    dirty INTEGER NOT NULL
) STRICT;

INSERT INTO search_state (one, dirty) VALUES (1, 0);
