-- For the list of what was done, one row for each action: intents, plans and refusals, without the single items of an operation.
-- The entries stay as they are.
CREATE INDEX audit_acts ON audit (number) WHERE CASE WHEN json_valid(entry) THEN json_extract(entry, '$.phase') IN ('intent', 'planned', 'denied') AND json_extract(entry, '$.action') NOT IN ('clear_marker', 'set_expiry_marker', 'restore_marker') ELSE 1 END;
