-- What a plan would touch, and what became of it. No value of a marker is in these tables; those are in images alone.
CREATE TABLE plans (
    id        TEXT PRIMARY KEY,
    made_at   INTEGER NOT NULL,  -- Unix milliseconds, as all times below
    body      TEXT NOT NULL,     -- JSON
    operation TEXT               -- who has claimed it; a plan is claimed once
) STRICT;

CREATE INDEX plans_by_age ON plans (made_at);

CREATE TABLE operations (
    id          TEXT PRIMARY KEY,
    plan        TEXT NOT NULL UNIQUE REFERENCES plans (id),
    started_by  TEXT NOT NULL,
    reason      TEXT NOT NULL,
    token       TEXT NOT NULL,   -- of the request that began it; empty for none
    deed        TEXT NOT NULL,
    store       TEXT NOT NULL,
    items       INTEGER NOT NULL,
    undoes      TEXT NOT NULL,   -- the operation that this one restores; empty for none
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER,         -- NULL while it runs, and after a crash until it is recovered
    interrupted INTEGER NOT NULL DEFAULT 0,
    stopped     TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE UNIQUE INDEX operations_by_token ON operations (started_by, token) WHERE token <> '';
CREATE INDEX operations_by_start ON operations (started_at);
CREATE INDEX operations_by_undone ON operations (undoes) WHERE undoes <> '';
CREATE INDEX operations_unfinished ON operations (id) WHERE ended_at IS NULL;

CREATE TABLE outcomes (
    operation        TEXT NOT NULL REFERENCES operations (id) ON DELETE CASCADE,
    item             INTEGER NOT NULL,
    tried_at         INTEGER NOT NULL, -- a row is there before the item is touched
    done_at          INTEGER,          -- NULL while it is under way, and after a crash until it is recovered
    result           TEXT NOT NULL DEFAULT '',
    body             TEXT NOT NULL DEFAULT '', -- JSON
    restorable_until INTEGER,
    PRIMARY KEY (operation, item)
) STRICT, WITHOUT ROWID;

-- Cleared markers as they were, with their values. They are deleted when they have been kept long enough.
CREATE TABLE images (
    operation   TEXT NOT NULL,
    item        INTEGER NOT NULL,
    kept_until  INTEGER NOT NULL,
    restored_by TEXT,                  -- the operation that restored it or is doing so
    size        INTEGER NOT NULL,
    hash        TEXT NOT NULL,         -- SHA-256 of the value in hex
    body        TEXT NOT NULL,         -- JSON of all but the value
    value       BLOB NOT NULL,
    PRIMARY KEY (operation, item)
) STRICT;

CREATE INDEX images_by_end ON images (kept_until);
