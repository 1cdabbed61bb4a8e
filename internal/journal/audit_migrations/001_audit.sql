CREATE TABLE audit (
    number INTEGER PRIMARY KEY, -- 1, 2, 3, ... without a gap
    entry  TEXT NOT NULL,       -- canonical JSON
    hash   BLOB NOT NULL        -- SHA-256(hash of the entry before || entry)
) STRICT;

CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER audit_is_never_deleted BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
