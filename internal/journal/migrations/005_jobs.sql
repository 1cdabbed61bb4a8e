-- Plans of moves of dead letters, the jobs that carry them out, and what became of their messages. No body and no header of a message is
-- in these tables. What is left to do is what is left in the queue: without this file a job does not go on, and nothing is lost.
CREATE TABLE move_plans (
    id      TEXT PRIMARY KEY,
    made_at INTEGER NOT NULL,  -- Unix milliseconds, as all times below
    body    TEXT NOT NULL,     -- JSON
    job     TEXT               -- who has claimed it; a plan is claimed once
) STRICT;

CREATE INDEX move_plans_by_age ON move_plans (made_at);

CREATE TABLE jobs (
    id         TEXT PRIMARY KEY,
    plan       TEXT NOT NULL UNIQUE REFERENCES move_plans (id),
    started_by TEXT NOT NULL,
    reason     TEXT NOT NULL,
    token      TEXT NOT NULL,  -- of the request that began it; empty for none
    move       TEXT NOT NULL,
    pipeline   TEXT NOT NULL,
    broker     TEXT NOT NULL,
    vhost      TEXT NOT NULL,
    queue      TEXT NOT NULL,  -- the dead-letter queue, of a restore too
    source     TEXT NOT NULL,  -- the queue that messages are taken from
    state      TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER,        -- NULL while it has not ended
    judged     INTEGER NOT NULL DEFAULT 0, -- 1 when it is known what became of its messages
    body       TEXT NOT NULL   -- JSON of all that changes
) STRICT;

CREATE UNIQUE INDEX jobs_by_token ON jobs (started_by, token) WHERE token <> '';
-- One job at a time moves messages of a queue.
CREATE UNIQUE INDEX jobs_holding ON jobs (broker, vhost, source) WHERE ended_at IS NULL;
CREATE INDEX jobs_by_start ON jobs (started_at);

CREATE TABLE job_items (
    job        TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    ref        TEXT NOT NULL,
    message_id BLOB NOT NULL,  -- as the message has it, which need not be UTF-8
    target     BLOB NOT NULL,
    class      TEXT NOT NULL,
    outcome    TEXT NOT NULL,
    text       BLOB NOT NULL,
    PRIMARY KEY (job, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_items_by_id ON job_items (message_id) WHERE length(message_id) > 0;
