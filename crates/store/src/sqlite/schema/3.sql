-- What files held before and after tools changed them, each content once a session. The events that name it are in the log.
CREATE TABLE contents (
    id         INTEGER NOT NULL PRIMARY KEY, -- grows, so that the oldest are known
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    hash       TEXT NOT NULL, -- BLAKE3, hexadecimal
    size       INTEGER NOT NULL,
    bytes      BLOB NOT NULL,
    UNIQUE (session_id, hash)
) STRICT;

PRAGMA user_version = 3;
