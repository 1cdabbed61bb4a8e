-- What the effect check of each pipeline remembers, so that a restart takes no new double effect for an old one.
CREATE TABLE effect_records (
    pipeline TEXT PRIMARY KEY,
    kept_at  INTEGER NOT NULL, -- Unix milliseconds
    record   BLOB NOT NULL     -- JSON
) STRICT;
