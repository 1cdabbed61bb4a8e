-- From here on the hash of an entry is HMAC-SHA-256(key of the installation, hash of the entry before || entry). The entries before stay as they are;
-- the entry key_audit is the first with the key.
-- The list of what was done gets what happened without an intent: signing in, and the begin of the key.
DROP INDEX audit_acts;
CREATE INDEX audit_acts ON audit (number) WHERE CASE WHEN json_valid(entry) THEN json_extract(entry, '$.phase') IN ('intent', 'planned', 'denied') AND json_extract(entry, '$.action') NOT IN ('clear_marker', 'set_expiry_marker', 'restore_marker') OR json_extract(entry, '$.action') IN ('key_audit', 'sign_in', 'sign_out_everywhere') ELSE 1 END;
