CREATE TABLE users (
    name          TEXT PRIMARY KEY, -- canonical: lower case
    shown_name    TEXT NOT NULL,
    role          TEXT NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    password_hash TEXT NOT NULL,
    created_at    INTEGER NOT NULL  -- Unix seconds
) STRICT;

CREATE TABLE sessions (
    token      TEXT PRIMARY KEY,    -- SHA-256 of the cookie's value
    data       BLOB NOT NULL,
    expires_at INTEGER NOT NULL     -- Unix milliseconds
) STRICT;

CREATE INDEX sessions_by_expiry ON sessions (expires_at);
