-- How much the model is to think, so that a session opens without a look through its log.
ALTER TABLE sessions ADD COLUMN effort TEXT;

UPDATE sessions SET effort = told.effort FROM (
    SELECT session_id, max(seq), iif(json_valid(body), json_extract(body, '$.effort'), NULL) AS effort
    FROM events WHERE kind = 'effort_changed' AND damaged IS NULL GROUP BY session_id
) AS told WHERE sessions.id = told.session_id;

PRAGMA user_version = 2;
