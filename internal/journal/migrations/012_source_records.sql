-- How each source was at the last round, so that an outage goes on over a restart: one document, which each round replaces.
CREATE TABLE source_records (
    id      INTEGER PRIMARY KEY CHECK (id = 1),
    kept_at INTEGER NOT NULL, -- Unix milliseconds
    record  BLOB NOT NULL     -- JSON
) STRICT;
