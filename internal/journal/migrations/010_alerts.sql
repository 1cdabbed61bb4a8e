-- The life of every alert that is not plainly normal, as it was after the newest evaluation. Times are Unix milliseconds, tiers those of
-- dedup.Tier, and bodies JSON.
CREATE TABLE alert_states (
    key   TEXT PRIMARY KEY,   -- rule/kind/subject
    quiet INTEGER NOT NULL,   -- 1 when it is over and only some channel has not heard so yet
    body  TEXT NOT NULL
) STRICT;

CREATE INDEX alert_states_quiet ON alert_states (key) WHERE quiet = 1;

-- What happened to alerts.
CREATE TABLE alert_edges (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    key     TEXT NOT NULL,
    subject TEXT NOT NULL,
    edge    TEXT NOT NULL,
    body    TEXT NOT NULL
) STRICT;

-- An evaluation makes one edge of an alert at most: one that is kept again is the same.
CREATE UNIQUE INDEX alert_edges_once ON alert_edges (key, at);
CREATE INDEX alert_edges_by_subject ON alert_edges (subject, at);
CREATE INDEX alert_edges_by_time ON alert_edges (at);

-- Messages to people. A row is marked as under way before it is sent and as sent after: one that is found under way at the start may or
-- may not have arrived, and is sent once more.
CREATE TABLE alert_outbox (
    seq       INTEGER PRIMARY KEY,
    id        TEXT NOT NULL UNIQUE,
    channel   TEXT NOT NULL,
    kind      TEXT NOT NULL,
    grouping  TEXT NOT NULL,               -- of a digest and whatever else has no group: empty
    state     TEXT NOT NULL DEFAULT 'due' CHECK (state IN ('due', 'sending', 'sent', 'failed', 'unknown')),
    made_at   INTEGER NOT NULL,
    due_at    INTEGER NOT NULL,
    done_at   INTEGER,                     -- NULL while it is to be sent
    tries     INTEGER NOT NULL DEFAULT 0,
    repeated  INTEGER NOT NULL DEFAULT 0,  -- 1 when it was found under way
    error     TEXT NOT NULL DEFAULT '',    -- why it was last not taken
    error_at  INTEGER,
    body      TEXT NOT NULL
) STRICT;

CREATE INDEX alert_outbox_open ON alert_outbox (channel, seq) WHERE done_at IS NULL;
CREATE INDEX alert_outbox_done ON alert_outbox (done_at) WHERE done_at IS NOT NULL;

-- What each channel was last told of each alert that is not over for it.
CREATE TABLE alert_sent (
    channel  TEXT NOT NULL,
    key      TEXT NOT NULL,
    tier     INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    began    INTEGER,
    left_out INTEGER NOT NULL,
    flapping INTEGER,
    peak     INTEGER NOT NULL,
    PRIMARY KEY (channel, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX alert_sent_by_key ON alert_sent (key);

CREATE TABLE alert_silences (
    id        TEXT PRIMARY KEY,
    starts_at INTEGER NOT NULL,
    ends_at   INTEGER NOT NULL, -- earlier than in the body once it was expired
    body      TEXT NOT NULL
) STRICT;

CREATE INDEX alert_silences_by_end ON alert_silences (ends_at);

CREATE TABLE alert_acks (
    key     TEXT PRIMARY KEY,
    made_by TEXT NOT NULL,
    note    TEXT NOT NULL,
    made_at INTEGER NOT NULL,
    until   INTEGER,
    tier    INTEGER NOT NULL
) STRICT;
