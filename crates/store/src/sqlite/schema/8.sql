-- Sessions of subagents belong to a session. They are left out of lists and searches, and deleted with it.
ALTER TABLE sessions ADD COLUMN parent_id TEXT;
CREATE INDEX sessions_by_parent ON sessions (parent_id) WHERE parent_id IS NOT NULL;

PRAGMA user_version = 8;
