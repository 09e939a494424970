-- Sessions of which a part was lost when the file was damaged.
CREATE TABLE salvaged (
    session_id TEXT NOT NULL PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    at         INTEGER NOT NULL, -- when, in milliseconds since the epoch
    lost       TEXT NOT NULL, -- what of it, in words
    file       TEXT NOT NULL -- the name of the damaged file, which was set aside
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 6;
