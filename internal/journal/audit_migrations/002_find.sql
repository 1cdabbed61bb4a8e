-- For the history of one marker and one operation. An entry that is no JSON was tampered with; it is found by its number.
CREATE INDEX audit_by_target ON audit (CASE WHEN json_valid(entry) THEN json_extract(entry, '$.target') END, number);
CREATE INDEX audit_by_operation ON audit (CASE WHEN json_valid(entry) THEN json_extract(entry, '$.operation') END, number);
