CREATE TABLE sessions (
    id                     TEXT NOT NULL PRIMARY KEY,
    cwd                    TEXT NOT NULL,
    additional_directories TEXT NOT NULL, -- a JSON array of paths
    model                  TEXT NOT NULL,
    mode                   TEXT NOT NULL,
    permission_mode        TEXT NOT NULL,
    title                  TEXT,
    created_at             INTEGER NOT NULL, -- milliseconds since the epoch, like every time here
    updated_at             INTEGER NOT NULL,
    last_seq               INTEGER NOT NULL,
    lease_epoch            INTEGER NOT NULL,
    lease_owner            TEXT, -- for people: pid@host since when; NULL when nobody holds it
    lease_host             TEXT,
    lease_pid              INTEGER,
    lease_start            INTEGER,
    lease_since            INTEGER,
    lease_seen             INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_use ON sessions (updated_at DESC, id DESC);
CREATE INDEX sessions_by_folder ON sessions (cwd, updated_at DESC, id DESC);

CREATE TABLE events (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    format     INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    body       TEXT NOT NULL,
    at         INTEGER NOT NULL,
    damaged    TEXT, -- why the row is left out when the session is read; NULL when it is fine
    PRIMARY KEY (session_id, seq)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 1;
