-- What people and deployments say happened: drawn among the events of a pipeline, or of all when it names none.
CREATE TABLE marks (
    id       INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL, -- Unix milliseconds
    pipeline TEXT NOT NULL,    -- empty for all
    text     TEXT NOT NULL,
    made_by  TEXT NOT NULL,
    made_at  INTEGER NOT NULL  -- Unix milliseconds
) STRICT;
CREATE INDEX marks_by_time ON marks (at);
