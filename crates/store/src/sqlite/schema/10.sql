-- What a list of sessions shows of each: what git had checked out when it was last used, the turns it has begun, and the cost of all its
-- tokens in picodollars, from its last count.
ALTER TABLE sessions ADD COLUMN branch TEXT;
ALTER TABLE sessions ADD COLUMN turns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN cost INTEGER;

UPDATE sessions SET
    turns = (SELECT count(*) FROM events WHERE session_id = sessions.id AND kind = 'turn_started'),
    cost = (
        SELECT CAST(coalesce(json_extract(body, '$.total.cost'), 0) + coalesce(json_extract(body, '$.subagents.cost'), 0) AS INTEGER)
        FROM events
        WHERE session_id = sessions.id AND kind = 'usage' AND CASE WHEN json_valid(body)
            THEN coalesce(json_extract(body, '$.total.cost'), json_extract(body, '$.subagents.cost')) IS NOT NULL END
        ORDER BY seq DESC
        LIMIT 1
    );

PRAGMA user_version = 10;
