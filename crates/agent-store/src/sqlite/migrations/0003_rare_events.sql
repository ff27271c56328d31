-- Finds the last event of a type that is rare and asked for by name. Events of other types are not in it, so they cost no more
-- than the look at their type. Whoever asks repeats the condition.
CREATE INDEX events_rare ON events (session_id, event_type, seq)
WHERE event_type GLOB 'compact_*' OR event_type GLOB 'memory_extraction_*';
