-- The dead letters of each pipeline that were acknowledged: only those beyond them count as new.
CREATE TABLE dead_letter_baselines (
    pipeline     TEXT PRIMARY KEY,
    count        INTEGER NOT NULL CHECK (count >= 0), -- falls with the depth of the dead-letter queues
    acknowledged INTEGER NOT NULL,                    -- the count when it was made
    made_by      TEXT NOT NULL,
    made_at      INTEGER NOT NULL,                    -- Unix milliseconds
    reason       TEXT NOT NULL
) STRICT;
