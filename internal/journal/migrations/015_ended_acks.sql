-- Acknowledgements of alerts that hold no more. Times are Unix milliseconds, tiers those of dedup.Tier.
CREATE TABLE alert_acks_ended (
    id       INTEGER PRIMARY KEY,
    key      TEXT NOT NULL,
    made_by  TEXT NOT NULL,
    note     TEXT NOT NULL,
    made_at  INTEGER NOT NULL,
    until    INTEGER,
    tier     INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    why      TEXT NOT NULL,
    ended_by TEXT NOT NULL -- who took it back or replaced it, empty for every other end
) STRICT;

CREATE INDEX alert_acks_ended_by_key ON alert_acks_ended (key, ended_at);
CREATE INDEX alert_acks_ended_by_time ON alert_acks_ended (ended_at);
