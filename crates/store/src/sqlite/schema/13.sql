-- By what the directory of a session is recognized after a move, as JSON; NULL if it is not known.
ALTER TABLE sessions ADD COLUMN identity TEXT;

PRAGMA user_version = 13;
