-- Trace sessions of pipelines, with what came of them: each body is JSON. Ids stand in it of duplicated messages alone.
CREATE TABLE measurements (
    id         TEXT PRIMARY KEY,
    pipeline   TEXT NOT NULL,
    started_at INTEGER NOT NULL, -- Unix milliseconds
    started_by TEXT NOT NULL,
    token      TEXT,             -- of the request that started it, NULL for none
    running    INTEGER NOT NULL CHECK (running IN (0, 1)),
    summary    TEXT NOT NULL,    -- the body without its lists of ids
    body       TEXT NOT NULL,
    UNIQUE (started_by, token)
) STRICT;
CREATE INDEX measurements_by_pipeline ON measurements (pipeline, started_at);
