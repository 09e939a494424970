-- The words of what was said, filled when somebody searches: nothing that is appended waits for it.
CREATE VIRTUAL TABLE words USING fts5 (text, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2');

CREATE TABLE searchable (
    id         INTEGER NOT NULL PRIMARY KEY, -- the row in words
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL
) STRICT;
CREATE INDEX searchable_by_session ON searchable (session_id);
CREATE TRIGGER searchable_gone AFTER DELETE ON searchable BEGIN
    DELETE FROM words WHERE rowid = old.id;
END;

ALTER TABLE sessions ADD COLUMN searched INTEGER NOT NULL DEFAULT 0; -- the last event whose words are there

PRAGMA user_version = 4;
