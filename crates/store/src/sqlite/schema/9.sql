-- Memories: notes of one session for later ones.
CREATE TABLE memories (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, -- never reused: people write it down
    project     TEXT, -- the root of the project; NULL when the memory is valid everywhere
    session_id  TEXT, -- the session that saved it, which may be gone
    type        TEXT NOT NULL,
    class       TEXT NOT NULL,
    title       TEXT NOT NULL,
    content     TEXT NOT NULL,
    title_key   TEXT NOT NULL, -- the folded title and a hash of the folded content, to find equal ones
    content_key TEXT NOT NULL,
    pinned      INTEGER NOT NULL,
    expires_at  INTEGER, -- milliseconds since the epoch, like every time here; NULL means never
    surfaced_at INTEGER, -- when it was last sent to a model
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX memories_by_project ON memories (project);

-- The words of title and content, which stay in their table.
CREATE VIRTUAL TABLE memory_words USING fts5 (title, content, content = 'memories', content_rowid = 'id',
    tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER memory_added AFTER INSERT ON memories BEGIN
    INSERT INTO memory_words (rowid, title, content) VALUES (new.id, new.title, new.content);
END;
CREATE TRIGGER memory_gone AFTER DELETE ON memories BEGIN
    INSERT INTO memory_words (memory_words, rowid, title, content) VALUES ('delete', old.id, old.title, old.content);
END;
CREATE TRIGGER memory_changed AFTER UPDATE OF title, content ON memories BEGIN
    INSERT INTO memory_words (memory_words, rowid, title, content) VALUES ('delete', old.id, old.title, old.content);
    INSERT INTO memory_words (rowid, title, content) VALUES (new.id, new.title, new.content);
END;

PRAGMA user_version = 9;
